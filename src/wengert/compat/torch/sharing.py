"""What shares memory in PyTorch: `x[0]`, the items of x, `x.data`, `x.detach()`. What is written into it changes x."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch import indexing
from wengert.compat.torch.values import (
    BatchedTensor,
    DualTensor,
    SymbolTensor,
    SymbolView,
    Tensor,
    TorchValue,
    adopt,
    plain,
)
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.in_place import is_traced
from wengert.modes.tape import Leaf
from wengert.modes.tensor import Tensor as EngineTensor
from wengert.ops.indexing.subscripts import getitem as read_at

__all__ = ["narrow", "select", "unbind"]  # the others are methods


class Shared(TorchValue):
    """A value that shares memory with another one in PyTorch: what is written into it is written into the other too.

    It keeps the other, `source()`, only as long as someone else does. What is written into the other later, it gets
    when it is written into itself, and not before.
    """

    __slots__ = ()
    source: Callable[[], Any]

    def _read(self, source: Any) -> Any:
        """What `source` has at present in place of this value."""
        raise NotImplementedError  # each class defines it

    def _write(self, source: Any, new: Any) -> None:
        raise NotImplementedError  # each class defines it

    def _refresh(self: Any) -> None:
        """Get the numbers that the other value has at present."""
        source = self.source()
        if source is None or is_traced(self):
            return
        now = self._read(source)
        if not isinstance(now, self._mode) or (now.level, now.shape, now.dtype) != (self.level, self.shape, self.dtype):
            raise user_error(
                RuntimeError,
                "x[0], x.data or x.detach() was changed in place after x had become another kind of value",
                "Take it from x again.",
            )
        self.value = now.value
        if not isinstance(self, EngineTensor):
            self.extra = now.extra
        elif now.node is not None and not isinstance(self.node, Leaf):
            self.node = now.node

    def _become(self: Any, new: Any) -> None:
        source = self.source()
        if is_traced(self):
            if source is not None:
                raise user_error(
                    RuntimeError,
                    "x[0], x.data or x.detach(), taken before a function was traced, was changed in place inside of it",
                    "Take it from x inside of the function.",
                )
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
        if source is not None:
            self._write(source, adopt(plain(self)))

    def _update(self: Any, function: Callable[..., Any], ufunc: Any, v: Any) -> None:
        self._refresh()
        self._rebind(function(self, v))

    def __setitem__(self: Any, key: Any, v: Any) -> None:
        self._refresh()
        indexing.setitem(self, key, v)

    def __reduce__(self) -> Any:
        reduced: Any = super().__reduce__()
        rebuild, (_, *parts) = reduced
        return rebuild, (Tensor, *parts)


class Keyed(Shared):
    """`x[key]` with numbers and slices, and the items of x. `x[0].zero_()` and `x[0][1] = v` are recorded."""

    __slots__ = ()
    key: Any

    def _read(self, source: Any) -> Any:
        return indexing.getitem(source, self.key)

    def _write(self, source: Any, new: Any) -> None:
        source[self.key] = new


class Part(Keyed, Tensor):
    """A part of a tensor."""

    __slots__ = ("key", "source")


class DualPart(Keyed, DualTensor):
    """The same of a tensor with a tangent."""

    __slots__ = ("key", "source")


class BatchedPart(Keyed, BatchedTensor):
    """The same under `vmap`."""

    __slots__ = ("key", "source")


class SymbolPart(Keyed, SymbolTensor):
    """The same in a trace."""

    __slots__ = ("key", "source")


class Detached(Shared):
    """`x.data` and `x.detach()`: the numbers of x without derivatives. Their changes leave the derivatives of x."""

    __slots__ = ()

    def _read(self, source: Any) -> Any:
        return numbers_of(source)

    def _write(self, source: Any, new: Any) -> None:
        if not source.level or isinstance(source, SymbolTensor):
            with recording.override(enabled=False):
                source._become(new)
        else:
            source.value, source._changes = with_numbers(plain(source), plain(new)).value, source._version + 1


class Alias(Detached, Tensor):
    """The numbers of a tensor, or the primal of one with a tangent."""

    __slots__ = ("source",)


class DualAlias(Detached, DualTensor):
    """The primal of a tensor with a tangent, where it has one itself."""

    __slots__ = ("source",)


class BatchedAlias(Detached, BatchedTensor):
    """The numbers of a batch."""

    __slots__ = ("source",)


class SymbolAlias(Detached, SymbolTensor):
    """The numbers of a tensor in a trace."""

    __slots__ = ("source",)


PARTS: dict[type, Any] = {Tensor: Part, DualTensor: DualPart, BatchedTensor: BatchedPart, SymbolTensor: SymbolPart}
ALIASES: dict[type, Any] = {
    Tensor: Alias,
    DualTensor: DualAlias,
    BatchedTensor: BatchedAlias,
    SymbolTensor: SymbolAlias,
}


def numbers_of(x: Any) -> Any:
    """A value without derivatives at any level, as a new object."""
    return adopt(strip_derivatives(plain(x)))


def strip_derivatives(x: Any) -> Any:
    """A value of the engine without derivatives: plain numbers, or batches of them."""
    if isinstance(x, Dual):
        return strip_derivatives(x.value)
    if isinstance(x, Batched | EngineTensor):
        return type(x)(strip_derivatives(x.value), x.level)
    return x.detach() if isinstance(x, Array) else x


def with_numbers(x: Any, new: Any) -> Any:
    """`new`, which was made of x by `strip_derivatives` and then changed, with the derivatives of x."""
    if isinstance(x, Dual):
        return Dual(with_numbers(x.value, new), x.tangent, x.level)
    if isinstance(x, Batched):
        return Batched(with_numbers(x.value, new.value), x.level)
    if isinstance(x, EngineTensor):
        return EngineTensor(with_numbers(x.value, new.value), x.level, x.node)
    if isinstance(x, Array):
        raise user_error(
            RuntimeError,
            "x.data or x.detach() was changed in place under vmap, inside of a function that is traced",
            "Make a new value: y = x.detach() * 2.",
        )
    return new


def reach(x: Any) -> Callable[[], Any]:
    """How to find x later, without keeping it; a part or a view is kept, because nothing else may refer to it."""
    is_temporary = isinstance(x, Shared | SymbolView) or getattr(bottom_array(x), "base", None) is not None
    return (lambda: x) if is_temporary else weakref.ref(x)


def part_of(source: Callable[[], Any], out: Any, key: Any) -> Any:
    """`out`, which is `source()[key]`, as a part of it."""
    new = object.__new__(PARTS[out.__class__])
    new.level, new.value, new.extra = out.level, out.value, out.extra
    new.source, new.key = source, key
    return new


def detach(x: Any) -> Any:
    """The same numbers without derivatives; of a part of a tensor, the part of its numbers."""
    if isinstance(x, Keyed) and (source := x.source()) is not None:
        return getitem(detach(source), x.key)
    if isinstance(x, EngineTensor) and not x.level and not is_traced(x):
        new = Alias(x.value)
    else:
        out = numbers_of(x)
        new = object.__new__(ALIASES[out.__class__])
        new.level, new.value, new.extra = out.level, out.value, out.extra
    new.source = x.source if isinstance(x, Detached) else reach(x)
    return new


BASIC = frozenset((int, slice, type(None), type(...)))
"""Classes of keys that have no arrays."""


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`."""
    if key.__class__ in BASIC or (key.__class__ is tuple and BASIC.issuperset(map(type, key))):
        out = read_at(x, key)
        return part_of(reach(x), out, key) if out.__class__ in PARTS else out
    parts = key if isinstance(key, tuple) else (key,)
    out = indexing.getitem(x, key)
    shares = out.__class__ in PARTS and all(part.__class__ in BASIC or is_integer(part) for part in parts)
    return part_of(reach(x), out, indexing.as_key(key)) if shares else out


def is_integer(part: Any) -> bool:
    """Whether a part of a key is an integer of NumPy or a tensor, which PyTorch reads as a number and not an array."""
    if not isinstance(part, TorchValue):
        return isinstance(part, np.integer)
    x = plain(part)
    return not x.ndim and x.dtype.kind in "iu" and x.dtype != np.uint8


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    lead = (slice(None),) * (dim % max(input.ndim, 1))
    source = reach(input)
    return tuple([part_of(source, out, (*lead, i)) for i, out in enumerate(wg.unstack(input, axis=dim))])


def iterate(x: Any) -> Iterator[Any]:
    """The items of a tensor."""
    if not x.ndim:
        raise user_error(TypeError, "Iteration over a tensor without axes")
    return iter(unbind(x))


def select(input: Any, dim: int, index: int) -> Any:
    """One slice along an axis."""
    return getitem(input, (*(slice(None),) * (dim % input.ndim), int(index)))


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """A part of an axis."""
    start = int(start) % input.shape[dim] if int(start) < 0 else int(start)
    return getitem(input, (*(slice(None),) * (dim % input.ndim), slice(start, start + length)))
