"""Tensors that speak PyTorch: the value classes of the modes, with PyTorch's methods and type promotion.

Each class adds no data to that of its mode, so a value is moved to the other class by assignment to `__class__`. The
engine makes values of its own classes; `process` runs an operation there and moves the result. Inside the functions of
this layer (`layered`) all values are Wengert's, and everywhere else they are PyTorch's: no function of Wengert ever
meets `x.size()` where it expects `x.size`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from wengert.compat.torch.dtypes import float32, float64, get_default_dtype, result_type
from wengert.core.array import NO_PARAMS, Array
from wengert.core.errors import user_error
from wengert.core.levels import bottom_array, copy_value, iterate_payloads
from wengert.core.primitive import Primitive
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.in_place import is_traced, snapshot
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor as EngineTensor
from wengert.modes.tensor import adopt_array, operations_of
from wengert.ops.shape.casting import astype

F = TypeVar("F", bound=Callable[..., Any])

NUMBERS = frozenset((bool, int, float))
"""Classes of numbers whose type NumPy ignores beside tensors of floating-point numbers, as PyTorch does."""
OF_NUMPY = {"axis": "dim", "keepdims": "keepdim"}
"""Names of parameters that PyTorch's functions know from NumPy."""


class TorchValue:
    """What the classes of all modes share; methods.py attaches PyTorch's methods and operators.

    `_mode` is the class of the engine.
    """

    __slots__ = ()
    _mode: type[Array]

    def _become(self, new: Any) -> None:
        refuse_view(self)
        super()._become(new)  # type: ignore[misc]  # of Array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return adopt(Array.__array_ufunc__(plain(self), ufunc, method, *plain(inputs), **plain(kwargs)))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return adopt(Array.__array_function__(plain(self), function, types, plain(args), plain(kwargs)))


class Tensor(TorchValue, EngineTensor):
    """A value of reverse mode with PyTorch's methods. What users call `torch.Tensor` is in creation.py.

    >>> import wengert.compat.torch as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.max(dim=1).values.sum().backward()
    >>> x.grad
    tensor([[0., 1.],
            [0., 1.]])
    """

    __slots__ = ()
    _mode = EngineTensor


run_unary, run_binary, run_any = operations_of(Tensor, lambda x: adopt(x))


def process_unary(primitive: Primitive, level: int, x: Any) -> Any:
    """Run an operation of one argument. Those of integers may have results of floating-point numbers."""
    dtype = x.value.dtype
    if dtype is float32 or dtype is float64:
        return run_unary(primitive, level, x)
    return finish(run_unary(primitive, level, x), primitive, dtype, x)


def process_binary(primitive: Primitive, level: int, x: Any, y: Any) -> Any:
    """Run an operation of two arguments, of which one is a tensor, by PyTorch's type promotion."""
    if x.__class__ is y.__class__:
        dtype = x.value.dtype
        if (dtype is float32 or dtype is float64) and y.value.dtype is dtype and (not level or x.level == y.level):
            return run_binary(primitive, level, x, y)
    elif x.__class__ in NUMBERS or y.__class__ in NUMBERS:
        dtype = x.value.dtype if y.__class__ in NUMBERS else y.value.dtype
        if dtype is float32 or dtype is float64:
            return run_binary(primitive, level, x, y)
    elif not level and isinstance(x, EngineTensor) and isinstance(y, EngineTensor):  # one is a parameter of a module
        dtype = x.value.dtype
        if (dtype is float32 or dtype is float64) and y.value.dtype is dtype:
            return run_binary(primitive, level, x, y)
    dtype, x, y = promote(x, y)
    return finish(run_binary(primitive, level, lower(x), lower(y)), primitive, dtype, x, y)


def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run an operation of any number of arguments."""
    out = run_any(primitive, level, tuple(map(lower, args)) if level else args, params)
    return out if out.__class__ is Tensor else adopt(out)


Tensor.process_unary = staticmethod(process_unary)  # type: ignore[method-assign]  # of the engine's
Tensor.process_binary = staticmethod(process_binary)  # type: ignore[method-assign]  # the same
Tensor.process = staticmethod(process)  # type: ignore[method-assign]  # the same


class OtherMode(TorchValue):
    """Values of the other modes, which are made inside transforms: what they run is not worth a fast path."""

    __slots__ = ()

    @classmethod
    def process_unary(cls, primitive: Primitive, level: int, x: Any) -> Any:
        return finish(cls._mode.process(primitive, level, (lower(x),), NO_PARAMS), primitive, x.dtype, x)

    @classmethod
    def process_binary(cls, primitive: Primitive, level: int, x: Any, y: Any) -> Any:
        dtype, x, y = promote(x, y)
        return finish(cls._mode.process(primitive, level, (lower(x), lower(y)), NO_PARAMS), primitive, dtype, x, y)

    @classmethod
    def process(cls, primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return adopt(cls._mode.process(primitive, level, tuple(map(lower, args)), params))


class InTransform(OtherMode):
    """Values of transforms, which are not leaves of the user's tape."""

    __slots__ = ()
    grad = None

    @property
    def requires_grad(self: Any) -> bool:
        """Whether the user's tape reaches this value."""
        return any(isinstance(x, EngineTensor) and x.node is not None for x in iterate_payloads(self))

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this value."""
        return not self.requires_grad


class DualTensor(InTransform, Dual):
    """A tensor with a tangent."""

    __slots__ = ()
    _mode = Dual


class BatchedTensor(InTransform, Batched):
    """A batch of tensors, under `vmap`."""

    __slots__ = ()
    _mode = Batched


class SymbolTensor(OtherMode, Symbol):
    """A tensor in a function that is traced."""

    __slots__ = ()
    _mode = Symbol


class SymbolView(SymbolTensor):
    """What is a view of another value in PyTorch, in a trace, where no memory tells so. `sources()` are the others."""

    __slots__ = ("sources",)
    sources: tuple[Callable[[], Any], ...]

    def _become(self: Any, new: Any) -> None:
        if any(source() is not None for source in self.sources):
            raise view_error()
        changed = plain(self)
        changed._become(plain(new))
        if not isinstance(changed, Symbol):
            raise user_error(
                RuntimeError, f"A {type(new).__name__} was written into a view", "Write into a copy: y = x.t().clone()."
            )
        self.level, self.value, self.extra = changed.level, changed.value, changed.extra


LAYERED: dict[type, type] = {EngineTensor: Tensor, Dual: DualTensor, Batched: BatchedTensor, Symbol: SymbolTensor}
"""The class of this layer for each class of the engine."""


def adopt(x: Any) -> Any:
    """A result of the engine as PyTorch's: values, plain arrays, and what lists, tuples and dicts hold of them."""
    found = LAYERED.get(x.__class__)
    if found is not None:
        x.__class__ = found
        return x
    if isinstance(x, np.ndarray | np.generic):
        return adopt(adopt_array(np.asarray(x)))
    if isinstance(x, tuple):
        return x._make(map(adopt, x)) if hasattr(x, "_make") else tuple(map(adopt, x))
    if isinstance(x, list):
        return list(map(adopt, x))
    return {key: adopt(part) for key, part in x.items()} if x.__class__ is dict else x


def plain(x: Any) -> Any:
    """A value of this layer as Wengert's, with the same numbers and history; also inside lists, tuples and dicts."""
    if isinstance(x, TorchValue):
        if is_traced(x):  # type: ignore[arg-type]  # all are values
            return snapshot(x)
        new = object.__new__(x._mode)
        new.level, new.value, new.extra = x.level, x.value, x.extra  # type: ignore[attr-defined]  # all are values
        return new
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([plain(part) for part in x])
    return {key: plain(part) for key, part in x.items()} if x.__class__ is dict else x


def lower(x: Any) -> Any:
    """An operand as the engine's, except for the user's tensors inside a trace, which it knows by their identity."""
    return x if not isinstance(x, TorchValue) or is_traced(x) else plain(x)  # type: ignore[arg-type]  # all are values


def layered(function: F) -> F:
    """A function of this layer written with Wengert's functions: it gets and returns Wengert's values."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return adopt(
                function(*[plain(a) for a in args], **{OF_NUMPY.get(k, k): plain(x) for k, x in kwargs.items()})
            )
        return adopt(function(*[plain(a) for a in args]))

    return call  # type: ignore[return-value]  # the same signature


# Type promotion.


def promote(x: Any, y: Any) -> tuple[np.dtype, Any, Any]:
    """The operands of an operation in the type that PyTorch gives them, and this type."""
    dtype = result_type(x, y)
    return dtype, as_type(x, dtype), as_type(y, dtype)


def as_type(x: Any, dtype: np.dtype) -> Any:
    """An operand in this type; a number becomes Python's, whose type NumPy ignores."""
    if not isinstance(x, Array | np.ndarray):
        return x.item() if isinstance(x, np.generic) else x
    return x if x.dtype == dtype else astype(x, dtype)


def finish(out: Any, primitive: Primitive, dtype: np.dtype, *operands: Any) -> Any:
    """The result of an operation on operands of this type; if integers have other results, these have the default."""
    if dtype.kind in "biu" and out.dtype.kind == "f" and out.dtype != get_default_dtype():
        return primitive.op(*[as_type(x, get_default_dtype()) for x in operands])
    return adopt(out)


# Memory. PyTorch's views share it, and values here do not.


def refuse_view(x: Any) -> None:
    """Raise if PyTorch would change another tensor together with x, because one is a view of the other."""
    if is_view(bottom_array(x)):
        raise view_error()


def view_error() -> Exception:
    """The error of a change in place of what may be a view."""
    return user_error(
        RuntimeError,
        "A tensor that may be a view of another one (x.view(...), x.t() and the like, or the argument of a function "
        "under vmap or jvp) was changed in place",
        because="PyTorch would change both, and here no memory is shared. Write into the other tensor (x[0, 1] = v), "
        "or work on a copy (y = x.t().clone()).",
    )


def is_view(value: Any) -> bool:
    """Whether an array shares the memory of one that something else refers to, or was marked as one that would."""
    while isinstance(value, np.ndarray):
        base = value.base
        if not value.flags.writeable or (base is not None and sys.getrefcount(base) > 3):  # value, base, and the call
            return True
        value = base
    return False


def viewing(function: F) -> F:
    """A layered function whose results are views in PyTorch, of its first argument."""
    made = layered(function)

    @wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        out = made(input, *args, **kwargs)
        if isinstance(out, tuple):
            return tuple([view_of(input, part) for part in out])
        return view_of(input, out)

    return call  # type: ignore[return-value]  # the same signature


def reshaping(function: F) -> F:
    """The same, of a function that leaves the numbers in their order.

    What has no axes has no memory to share here, so that the result is a part of it: `x[None]`.
    """
    made = viewing(function)

    @wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        out = made(input, *args, **kwargs)
        return out if input.ndim else input[(None,) * out.ndim]

    return call  # type: ignore[return-value]  # the same signature


def view_of(x: Any, out: Any) -> Any:
    """`out` as a view of x: in a trace it says so itself, and elsewhere its memory does."""
    if out.__class__ is not SymbolTensor:
        return out
    new = object.__new__(SymbolView)
    new.level, new.value, new.extra = out.level, out.value, out.extra
    of_x = (*getattr(x, "sources", ()), *([x.source] if hasattr(x, "source") else []))
    new.sources = (weakref.ref(x), *of_x)
    return new


def mark_view(x: Any) -> Any:
    """A result of Wengert that is a copy, and would be a view in PyTorch."""
    if isinstance(x.value, np.generic):
        x.value = np.asarray(x.value)
    value = bottom_array(x)
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return x


# Functions of users, which the engine calls.


def lend(x: Any) -> Any:
    """Tensors as Wengert's, of which the function that gets them must not change the numbers."""
    if isinstance(x, TorchValue):
        x = plain(x)
        if isinstance(x.value, np.ndarray | np.generic):
            x.value = np.asarray(x.value).view()
            x.value.flags.writeable = False
        return x
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([lend(part) for part in x])
    return {key: lend(part) for key, part in x.items()} if x.__class__ is dict else x


def hand_in(x: Any) -> Any:
    """What the engine passes to a function of the user: copies of its values, as PyTorch's."""
    if isinstance(x, Array):
        return adopt(copy_value(x))
    if isinstance(x, tuple | list):
        return x._make(map(hand_in, x)) if hasattr(x, "_make") else x.__class__(map(hand_in, x))
    return {key: hand_in(part) for key, part in x.items()} if x.__class__ is dict else x


def hand_out(x: Any) -> Any:
    """What a transform returns, as PyTorch's: copies of values that the engine may hold, and new tensors of arrays."""
    return adopt(hand_in(x))


def inward(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user as the engine calls it, with Wengert's values."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return plain(function(*hand_in(args), **hand_in(kwargs)))

    return call
