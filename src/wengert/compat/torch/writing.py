"""Changes in place: `add_`, `zero_`, `copy_` and their like, and `data`, whose changes are not recorded."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch import creation, drawing, elementwise, indexing, reductions, shaping
from wengert.compat.torch.values import BatchedTensor, DualTensor, SymbolTensor, Tensor, TorchValue, adopt, plain
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.in_place import is_traced
from wengert.modes.tensor import Tensor as EngineTensor
from wengert.modes.tensor import as_tensor
from wengert.ops.indexing.subscripts import getitem as read_at

__all__ = ["narrow", "select"]  # the others are methods


WHOLE = slice(None)
"""The key of an alias of a whole tensor."""


class Shared(TorchValue):
    """A value that shares memory with another one in PyTorch: what is written into it is written into the other too.

    It keeps the other only as long as someone else does, and does not see what is written into the other later.
    `source()` is the other value, and this one is `source()[key]`.
    """

    __slots__ = ()
    source: Callable[[], Any]
    key: Any

    def _become(self: Any, new: Any) -> None:
        if is_traced(self):
            super()._become(new)
            return
        if not isinstance(new, self._mode) or new.level != self.level:
            raise user_error(
                RuntimeError,
                f"A {type(new).__name__} was written into a part of a {self._mode.__name__} (x[0].copy_(v), x[0] += v)",
                "Write x[0] = v, or x[0] = x[0] + v.",
            )
        if not isinstance(self, EngineTensor):
            self.extra = new.extra
        elif recording.is_recording():
            self._refuse_leaf()
            self.node = new.node
        self.value, self._changes = new.value, self._version + 1
        source = self.source()
        if source is not None:
            self._write(source, adopt(plain(self)))

    def _write(self, source: Any, new: Any) -> None:
        source[self.key] = new

    def __reduce__(self) -> Any:
        reduced: Any = super().__reduce__()
        rebuild, (_, *parts) = reduced
        return rebuild, (Tensor, *parts)


class Part(Shared, Tensor):
    """`x[key]` with numbers and slices: `x[0].zero_()` and `x[0][1] = v` change x, and are recorded."""

    __slots__ = ("key", "source")


class DualPart(Shared, DualTensor):
    """The same of a tensor with a tangent."""

    __slots__ = ("key", "source")


class BatchedPart(Shared, BatchedTensor):
    """The same under `vmap`."""

    __slots__ = ("key", "source")


class SymbolPart(Shared, SymbolTensor):
    """The same in a trace."""

    __slots__ = ("key", "source")


class Alias(Shared, Tensor):
    """`x.data` and `x.detach()`: the numbers of x without history, whose changes are not recorded."""

    __slots__ = ("key", "source")

    def _write(self, source: Any, new: Any) -> None:
        with recording.override(enabled=False):
            if self.key is WHOLE:
                source._become(new)
            else:
                source[self.key] = new


PARTS: dict[type, Any] = {Tensor: Part, DualTensor: DualPart, BatchedTensor: BatchedPart, SymbolTensor: SymbolPart}


def part_of(x: Any, out: Any, key: Any) -> Any:
    """`out`, which is `x[key]`, as a part of x. If x is a part or a view itself, nothing else may refer to it."""
    new = object.__new__(PARTS[out.__class__])
    new.level, new.value, new.extra = out.level, out.value, out.extra
    is_temporary = isinstance(x, Shared) or getattr(x.value, "base", None) is not None
    new.source, new.key = (lambda: x) if is_temporary else weakref.ref(x), key
    return new


def alias_of(x: Any) -> Any:
    """The alias of a tensor; that of one which shares the memory of another is one of the other."""
    new = Alias(x.value, x.level)
    new.source, new.key = (x.source, x.key) if isinstance(x, Shared) else (weakref.ref(x), WHOLE)
    return new


BASIC = frozenset((int, slice, type(None), type(...)))
"""Classes of keys that have no arrays."""


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`."""
    if key.__class__ in BASIC or (key.__class__ is tuple and BASIC.issuperset(map(type, key))):
        out = read_at(x, key)
        return part_of(x, out, key) if out.__class__ in PARTS else out
    return indexing.getitem(x, key)


def select(input: Any, dim: int, index: int) -> Any:
    """One slice along an axis."""
    return getitem(input, (*(slice(None),) * (dim % input.ndim), int(index)))


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """A part of an axis."""
    start = int(start) % input.shape[dim] if int(start) < 0 else int(start)
    return getitem(input, (*(slice(None),) * (dim % input.ndim), slice(start, start + length)))


def detach(x: Any) -> Any:
    """The same numbers without history."""
    if not isinstance(x, EngineTensor) or is_traced(x):
        return adopt(x._mode.detach(plain(x)) if is_traced(x) else x._mode.detach(x))
    return alias_of(x)


def set_data(x: Any, value: Any) -> None:
    """Replace the numbers, unrecorded; the shape and the type may change."""
    new = as_tensor(plain(value)).detach()
    if new.shape == x.shape and new.dtype == x.dtype:
        with recording.override(enabled=False):
            x._become(adopt(new))
        return
    needs = x.requires_grad
    x.requires_grad = False
    x.value = new.value
    x.requires_grad = needs


def rebind(x: Any, new: Any) -> Any:
    """x, changed to a new value of its shape."""
    x._rebind(new)
    return x


def in_place(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method that writes the result of a function into its first argument: `add_` for `add`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return rebind(self, function(self, *args, **kwargs))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name.removesuffix('_')}`, in place."
    return method


NOT_IN_PLACE = {
    "allclose", "argwhere", "complex", "diagonal_scatter", "equal", "fill", "frexp", "gather", "gradient",
    "index_select", "is_nonzero", "masked_select", "nonzero", "polar", "select_scatter", "slice_scatter", "take",
    "take_along_dim", "unravel_index", "view_as_complex", "view_as_real", "where",
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(elementwise, name) for name in elementwise.__all__ if name not in NOT_IN_PLACE},
    **{name: getattr(reductions, name) for name in ("cumsum", "cumprod")},
    **{name: getattr(shaping, name) for name in ("tril", "triu")},
    **{name: getattr(indexing, name) for name in indexing.__all__ if name not in NOT_IN_PLACE},
}


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`self + alpha * other`, in place."""
    self += other if alpha == 1 else wg.multiply(other, alpha)
    return self


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`self - alpha * other`, in place."""
    self -= other if alpha == 1 else wg.multiply(other, alpha)
    return self


def mul_(self: Any, other: Any) -> Any:
    """`self * other`, in place."""
    self *= other
    return self


def div_(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`self / other`, in place."""
    if rounding_mode is None:
        self /= other
        return self
    return rebind(self, elementwise.div(self, other, rounding_mode=rounding_mode))


def fill_(self: Any, value: Any) -> Any:
    """One number everywhere, in place."""
    self[...] = value
    return self


def zero_(self: Any) -> Any:
    """Zeros, in place."""
    return fill_(self, 0)


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The numbers of another tensor, in place."""
    self[...] = src
    return self


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """One number on the diagonal, in place."""
    if wrap:
        raise user_error(NotImplementedError, "fill_diagonal_(wrap=True)", "Write into the rows that repeat it.")
    n = min(self.shape)
    self[(np.arange(n),) * self.ndim] = fill_value
    return self


def detach_(self: Any) -> Any:
    """Without history, in place."""
    self.node = None
    return self


def drawn(make: Callable[..., Any]) -> Callable[..., Any]:
    """A method that writes random numbers into a tensor, from NumPy's generator and the tensor's shape."""

    def method(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
        numbers = make(drawing.source(generator), tuple(self.shape), *args, **kwargs)
        return rebind(self, creation.make(np.asarray(numbers).astype(self.dtype)))

    method.__doc__ = "Random numbers, in place."
    return method


def random_integers(source: Any, shape: Any, start: int = 0, end: int | None = None) -> Any:
    """Integers from `start`, or below it if it is alone."""
    return source.integers(*((0, start or 2**24) if end is None else (start, end)), shape)


DRAWN: dict[str, Callable[..., Any]] = {
    "normal_": lambda source, shape, mean=0.0, std=1.0: source.normal(mean, std, shape),
    "uniform_": lambda source, shape, a=0.0, b=1.0: source.uniform(a, b, shape),
    "bernoulli_": lambda source, shape, p=0.5: source.random(shape) < drawing.numbers_of(p),
    "exponential_": lambda source, shape, lambd=1.0: source.exponential(1 / lambd, shape),
    "cauchy_": lambda source, shape, median=0.0, sigma=1.0: median + sigma * source.standard_cauchy(shape),
    "geometric_": lambda source, shape, p: source.geometric(p, shape),
    "log_normal_": lambda source, shape, mean=1.0, std=2.0: source.lognormal(mean, std, shape),
    "random_": random_integers,
}


def reshaped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes the shape of a tensor in place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, Shared):
            raise user_error(
                RuntimeError,
                f"{function.__name__}_ of a part of a tensor, of x.data or of x.detach()",
                f"Use its result: y = y.{function.__name__}(...).",
            )
        self._become(function(self, *args, **kwargs))
        return self

    method.__doc__ = f"`{function.__name__}`, in place."
    return method


RESHAPED = ("squeeze", "t", "transpose", "unsqueeze")

METHODS: dict[str, Callable[..., Any]] = {
    **{f"{name}_": in_place(function, f"{name}_") for name, function in FUNCTIONS.items()},
    **{name: drawn(make) for name, make in DRAWN.items()},
    **{f"{name}_": reshaped(getattr(shaping, name)) for name in RESHAPED},
    "add_": add_, "sub_": sub_, "subtract_": sub_, "mul_": mul_, "multiply_": mul_, "div_": div_, "divide_": div_,
    "true_divide_": div_, "fill_": fill_, "zero_": zero_, "copy_": copy_, "fill_diagonal_": fill_diagonal_,
    "detach_": detach_,
}  # fmt: skip
