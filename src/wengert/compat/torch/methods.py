"""PyTorch's methods, operators and attributes of tensors, attached to the classes of all modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.torch import (
    creation,
    drawing,
    dtypes,
    elementwise,
    indexing,
    linalg,
    ordering,
    products,
    reductions,
    shaping,
    sharing,
    writing,
)
from wengert.compat.torch.devices import CPU, check_device
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.settings import PRINTING
from wengert.compat.torch.shaping import Size
from wengert.compat.torch.values import Tensor, TorchValue, adopt, mark_view, plain, reshaping, viewing
from wengert.core.errors import user_error
from wengert.modes.history import differentiate
from wengert.modes.in_place import is_traced
from wengert.modes.tensor import Tensor as EngineTensor

FAMILIES = (elementwise, reductions, ordering, shaping, indexing, products)
NOT_METHODS = {
    "Size", "complex", "polar", "broadcast_shapes", "broadcast_tensors", "cat", "concat", "concatenate", "stack",
    "hstack", "vstack", "dstack", "column_stack", "block_diag", "meshgrid", "einsum", "tensordot", "chain_matmul",
    "cartesian_prod", "cdist", "cosine_similarity", "searchsorted", "bucketize", "trapezoid", "trapz",
    "cumulative_trapezoid", "std_mean", "var_mean", "rsub", "atleast_1d", "atleast_2d", "atleast_3d", "view_as_real",
    "view_as_complex", "combinations", "row_stack", "gradient", "unravel_index", "pdist", "fill",
}  # fmt: skip
"""Functions that are not methods in PyTorch."""


# Shape and type.


def size(self: Any, dim: int | None = None) -> Any:
    """The shape, or the length of one axis."""
    return self.shape if dim is None else self.shape[dim]


def stride(self: Any, dim: int | None = None) -> Any:
    """The steps of a contiguous tensor of this shape: memory has no other meaning here."""
    steps = tuple(math.prod(self.shape[i + 1 :]) for i in range(self.ndim))
    return steps if dim is None else steps[dim]


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another type: `to(torch.float64)`, `to("cpu")`, `to(other)`."""
    dtype = kwargs.pop("dtype", None)
    copy = kwargs.pop("copy", False)
    given = [*args, kwargs.pop("device", None)]
    kwargs.pop("non_blocking", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {min(kwargs)!r}")
    for x in given:
        if isinstance(x, TorchValue):
            dtype = x.dtype  # type: ignore[attr-defined]  # a value
        elif isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)):
            dtype = x
        elif not isinstance(x, bool):
            check_device(x)
    if dtype is None or np.dtype(dtype) == self.dtype:
        return creation.clone(self) if copy else self
    return wg.astype(self, dtype)


def cast_to(dtype: np.dtype) -> Callable[..., Any]:
    """A method that converts to a type: `x.double()`."""

    def method(self: Any) -> Any:
        return self if self.dtype == dtype else wg.astype(self, dtype)

    method.__doc__ = f"The tensor as numbers of {dtype}."
    return method


CASTS: dict[str, np.dtype] = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}  # fmt: skip


def type_(self: Any, dtype: Any = None) -> Any:
    """The tensor in another type; without one, the name of its class in PyTorch."""
    if dtype is None:
        return next(
            (f"torch.{name}" for name, made in creation.TYPED.items() if made.dtype == self.dtype), "torch.Tensor"
        )
    return to(self, getattr(dtype, "dtype", dtype))


def view(self: Any, *shape: Any, dtype: Any = None) -> Any:
    """The elements in another shape."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], np.dtype)):
        raise user_error(TypeError, "view(dtype) would read the same memory as another type", "Use x.to(dtype).")
    return shaping.reshape(self, *shape)


def itself(self: Any, *_: Any, **__: Any) -> Any:
    """The tensor itself: it is on the CPU, and how it lies in memory has no meaning."""
    return self


def contiguous(self: Any, memory_format: Any = None) -> Any:
    """The tensor itself if its numbers lie in order, else a copy."""
    value = self.value
    lies_in_order = not isinstance(value, np.ndarray) or (value.flags.c_contiguous and value.flags.writeable)
    return self if lies_in_order else creation.clone(self)


def on_other_device(self: Any, *_: Any, **__: Any) -> Any:
    """An error: there is only the CPU."""
    raise user_error(RuntimeError, "x.cuda(): there is no GPU", "Leave it out, or use x.to(device) with device='cpu'.")


def where(self: Any, condition: Any, other: Any) -> Any:
    """The tensor where the condition holds, and `other` elsewhere."""
    return elementwise.where(condition, self, other)


# New tensors of the type of one.


def new_like(make: Callable[..., Any]) -> Callable[..., Any]:
    """`x.new_zeros(2, 3)` and its like: as `torch.zeros`, of the type of x."""

    def method(self: Any, *args: Any, dtype: Any = None, **options: Any) -> Any:
        return make(*args, dtype=dtype or self.dtype, **options)

    method.__doc__ = f"`torch.{make.__name__}`, of the type of this tensor."
    return method


# Numbers.


def numpy(self: Any, *, force: bool = False) -> np.ndarray:
    """The numbers as a read-only array; of a tensor that requires a gradient, only with `force` or after `detach`."""
    if isinstance(self, EngineTensor) and self.node is not None and not force:
        raise user_error(RuntimeError, "numpy() of a tensor that requires a gradient", "Use x.detach().numpy().")
    return self._mode.numpy(sharing.detach(self) if force else self)


def item(self: Any) -> Any:
    """The number of a tensor of one element."""
    if math.prod(self.shape) != 1:
        raise user_error(RuntimeError, f"item() of a tensor with {math.prod(self.shape)} elements")
    return self._mode.item(self)


def represent(self: Any) -> str:
    """The numbers, the type unless it is the usual one, and the history."""
    if not isinstance(self, EngineTensor) or self.level or is_traced(self):
        return self._mode.__repr__(self)
    value = np.asarray(self.value)
    is_whole = value.dtype.kind != "f" or np.array_equal(value, np.round(value), equal_nan=True)
    floatmode: Any = "maxprec_equal" if is_whole else "fixed"
    numbers = np.array2string(value, separator=", ", prefix="tensor(", floatmode=floatmode, **PRINTING)
    details = (
        "" if self.dtype in (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool) else f", dtype=torch.{self.dtype}"
    )
    if self.node is not None:
        details += ", requires_grad=True" if self.grad_fn is None else f", grad_fn=<{self.grad_fn.name}>"
    return f"tensor({numbers}{details})"


def format_number(self: Any, spec: str) -> str:
    """One number by a format, and anything else as it is printed."""
    return format(item(self), spec) if spec and math.prod(self.shape) == 1 else format(repr(self), spec)


# Derivatives.


def backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the gradient of this value to the `grad` of the leaves that it was computed from, or of `inputs`."""
    targets = [inputs] if isinstance(inputs, EngineTensor) else inputs
    differentiate([plain(self)], [plain(gradient)], retain_graph, create_graph, targets)


def register_hook(self: Any, hook: Callable[..., Any]) -> Any:
    """Call `hook` with each gradient of this value; its result, or what it writes into the gradient, replaces it."""

    def call(t: Any) -> Any:
        gradient = adopt(t)
        returned = hook(gradient)
        return plain(gradient if returned is None else returned)

    return EngineTensor.register_hook(self, call)


def get_grad(self: Any) -> Any:
    """The gradient that `backward` accumulated."""
    return adopt(EngineTensor.grad.fget(self))  # type: ignore[attr-defined]  # a property


def set_grad(self: Any, value: Any) -> None:
    """Replace the gradient."""
    EngineTensor.grad.fset(self, value if value is None or isinstance(value, TorchValue) else plain(value))  # type: ignore[attr-defined]  # a property


def apply_(self: Any, function: Callable[..., Any]) -> Any:
    """A Python function of each number, in place; without derivatives."""
    numbers = np.vectorize(function, otypes=[self.dtype])(numpy(self))
    return writing.rebind(self, creation.make(numbers))


def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """The windows of a length along an axis, as a last axis."""
    starts = np.arange(0, self.shape[dimension] - size + 1, step)
    return unfolded(self, dimension % self.ndim, starts[:, None] + np.arange(size))


@viewing
def unfolded(input: Any, axis: int, windows: np.ndarray) -> Any:
    """The elements at the indices of windows, which are the last axis."""
    return mark_view(wg.moveaxis(wg.take(input, windows, axis), axis + 1, -1))


OF_MATRICES: dict[str, Callable[..., Any]] = {
    "cholesky": linalg.cholesky, "cholesky_inverse": linalg.cholesky_inverse, "cholesky_solve": linalg.cholesky_solve,
    "det": linalg.det, "inverse": linalg.inv, "logdet": linalg.logdet, "matrix_exp": linalg.matrix_exp,
    "matrix_power": linalg.matrix_power, "pinverse": linalg.pinv, "qr": linalg.qr, "slogdet": linalg.slogdet,
    "svd": linalg.svd_transposed,
}  # fmt: skip

METHODS: dict[str, Callable[..., Any]] = {
    **OF_MATRICES,
    **{name: cast_to(dtype) for name, dtype in CASTS.items()},
    **writing.METHODS,
    "__complex__": lambda self: complex(item(self)), "__float__": lambda self: float(item(self)),
    "__int__": lambda self: int(item(self)), "__format__": format_number, "__getitem__": sharing.getitem,
    "__repr__": represent, "narrow": sharing.narrow, "select": sharing.select,
    "__iter__": sharing.iterate, "unbind": sharing.unbind,
    "__reversed__": lambda self: shaping.flip(self, 0) if self.ndim else self,
    "__pos__": elementwise.positive,
    "__imatmul__": lambda self, other: self @ other,
    "__setitem__": indexing.setitem,
    "apply_": apply_, "bernoulli": drawing.bernoulli, "clone": creation.clone, "contiguous": contiguous, "cpu": itself,
    "cuda": on_other_device, "detach": sharing.detach, "dim": lambda self: self.ndim, "expand": shaping.expand,
    "expand_as": lambda self, other: shaping.expand(self, *other.shape), "is_complex": dtypes.is_complex,
    "element_size": lambda self: self.dtype.itemsize, "get_device": lambda self: -1,
    "is_contiguous": lambda self, **_: True, "is_floating_point": dtypes.is_floating_point,
    "is_pinned": lambda self: False, "is_signed": lambda self: self.dtype.kind not in "bu", "item": item,
    "multinomial": drawing.multinomial, "ndimension": lambda self: self.ndim, "nelement": shaping.numel,
    "new_empty": new_like(creation.empty), "new_full": new_like(creation.full), "new_ones": new_like(creation.ones),
    "new_tensor": new_like(creation.tensor), "new_zeros": new_like(creation.zeros), "numpy": numpy,
    "repeat": shaping.repeat, "reshape_as": lambda self, other: shaping.reshape(self, *other.shape), "size": size,
    "sum_to_size": shaping.sum_to_size,
    "stride": stride, "to": to, "type": type_, "type_as": to, "unfold": unfold, "view": view, "where": where,
    "view_as": lambda self, other: shaping.reshape(self, *other.shape), "is_same_size": shaping.is_same_size,
}  # fmt: skip


@reshaping
def reversed_axes(input: Any) -> Any:
    """The axes in reverse order."""
    return wg.transpose(input)


@viewing
def transposed_matrices(input: Any) -> Any:
    """The last two axes exchanged."""
    return wg.matrix_transpose(input)


PROPERTIES: dict[str, tuple[Any, ...]] = {
    "H": (shaping.adjoint,), "T": (reversed_axes,), "mH": (shaping.adjoint,),
    "mT": (transposed_matrices,), "device": (lambda self: CPU,), "imag": (elementwise.imag,),
    "real": (elementwise.real,), "is_cuda": (lambda self: False,), "is_sparse": (lambda self: False,),
    "data": (sharing.detach, writing.set_data),
    "layout": (lambda self: "strided",), "shape": (lambda self: Size(self._mode.shape.fget(self)),),
}  # fmt: skip

OF_TENSORS: dict[str, Any] = {
    "backward": backward,
    "register_hook": register_hook,
    "grad": property(get_grad, set_grad),
}
"""What only values of reverse mode have."""

for _family in FAMILIES:
    for _name in set(_family.__all__) - NOT_METHODS:
        setattr(TorchValue, _name, getattr(_family, _name))
for _name, _method in METHODS.items():
    setattr(TorchValue, _name, _method)
for _name, _accessors in PROPERTIES.items():
    setattr(TorchValue, _name, property(*_accessors))
for _name, _attribute in OF_TENSORS.items():
    setattr(Tensor, _name, _attribute)


def missing(name: str) -> property:
    """A property that raises: with `__getattr__` instead, every attribute would take twice as long to read."""
    return property(lambda self: refuse(name))


refuse = without("wengert.compat.torch.Tensor", ABSENT)
for _name in ABSENT:
    if _name.startswith("torch.Tensor."):
        setattr(TorchValue, _name.removeprefix("torch.Tensor."), missing(_name.removeprefix("torch.Tensor.")))
