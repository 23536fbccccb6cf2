"""What a `for` goes over: counters and slices of arrays, of which item i is a function of i."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import maximum
from wengert.source.values import is_unknown


class Items:
    """A sequence of `length` items; the length may be traced."""

    length: Any

    def at(self, i: Any) -> Any:
        """Item i, where i may be traced."""
        raise NotImplementedError  # each kind defines it

    def drop(self, k: int) -> Items:
        """All items but the first k."""
        raise NotImplementedError  # each kind defines it

    @property
    def arrays(self) -> list[Any]:
        """The arrays of which an item is made of slices."""
        return []

    def bind(self, i: Any, slices: Iterator[Any]) -> Any:  # noqa: ARG002  # for those with arrays
        """Item i, of slices of the arrays."""
        return self.at(i)

    def __iter__(self) -> Iterator[Any]:
        if is_unknown(self.length):
            raise user_error(
                TrackedValueError,
                "The number of items of a range with traced bounds is not known yet",
                "Use a `for` loop over it.",
            )
        return (self.at(i) for i in builtins.range(self.length))

    def __len__(self) -> int:
        return int(self.length)


class Counter(Items):
    """`range(start, ..., step)`."""

    def __init__(self, start: Any, step: Any, length: Any):
        self.start, self.step, self.length = start, step, length

    def at(self, i: Any) -> Any:
        scaled = i if self.step.__class__ is int and self.step == 1 else i * self.step
        return scaled if self.start.__class__ is int and self.start == 0 else self.start + scaled

    def drop(self, k: int) -> Counter:
        return Counter(self.start + k * self.step, self.step, self.length - k)

    def reverse(self) -> Counter:
        """The same items, the last one first."""
        return Counter(self.start + (self.length - 1) * self.step, -self.step, self.length)


class Slices(Items):
    """The slices of an array along its first axis."""

    def __init__(self, array: Any, length: Any = None, is_reversed: bool = False):
        self.array, self.is_reversed = array, is_reversed
        self.length = array.shape[0] if length is None else length

    def at(self, i: Any) -> Any:
        return self.array[self.array.shape[0] - 1 - i] if self.is_reversed else self.array[i]

    @property
    def arrays(self) -> list[Any]:
        return [self.array[::-1] if self.is_reversed else self.array]

    def bind(self, i: Any, slices: Iterator[Any]) -> Any:  # noqa: ARG002  # the slice is given
        return next(slices)

    def drop(self, k: int) -> Slices:
        return Slices(self.arrays[0][k:], self.length - k)

    def reverse(self) -> Slices:
        """The same items, the last one first."""
        return Slices(self.array, self.length, not self.is_reversed)


class Together(Items):
    """`zip`: a tuple of items."""

    def __init__(self, parts: Sequence[Items], length: Any):
        self.parts, self.length = parts, length

    def at(self, i: Any) -> Any:
        return tuple([part.at(i) for part in self.parts])

    def drop(self, k: int) -> Together:
        return Together([part.drop(k) for part in self.parts], self.length - k)

    @property
    def arrays(self) -> list[Any]:
        return [x for part in self.parts for x in part.arrays]

    def bind(self, i: Any, slices: Iterator[Any]) -> Any:
        return tuple([part.bind(i, slices) for part in self.parts])


def items_of(x: Any) -> Items | None:
    """The items of something to iterate over; None if they are arbitrary objects."""
    if isinstance(x, Items):
        return x
    if isinstance(x, range):
        return Counter(x.start, x.step, len(x))
    if isinstance(x, np.ndarray | Array) and x.ndim and x.dtype.kind in "biufc":
        return Slices(x)
    return None


def count_range(*bounds: Any) -> Any:
    """`range`, of bounds that may be traced."""
    if not any(map(is_unknown, bounds)):
        return builtins.range(*bounds)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if is_unknown(step):
        raise user_error(TypeError, "range with a traced step", "Pass a number, or use a `while` loop.")
    for bound in (start, stop):
        if as_operand(bound).dtype.kind not in "iub" or as_operand(bound).shape != ():
            raise user_error(
                TypeError,
                f"range with a bound of dtype {as_operand(bound).dtype} and shape {as_operand(bound).shape}",
                "Convert it with x.astype(int).",
            )
    distance = stop - start
    steps = distance if step == 1 else -((-distance) // step) if step > 0 else -(distance // -step)
    return Counter(start, step, maximum(steps, 0))


def enumerate_items(items: Any, start: Any = 0) -> Any:
    """`enumerate`, of slices of an array too."""
    inner = items_of(items)
    if inner is None:
        return builtins.enumerate(items, start)
    return Together([Counter(start, 1, inner.length), inner], inner.length)


def zip_items(*items: Any, strict: bool = False) -> Any:
    """`zip`, of slices of arrays too."""
    parts = [items_of(x) for x in items]
    known = [part for part in parts if part is not None]
    lengths = {part.length for part in known if not is_unknown(part.length)}
    if not parts or len(known) < len(parts) or any(is_unknown(part.length) for part in known):
        return builtins.zip(*items, strict=strict)
    if strict and len(lengths) > 1:
        raise user_error(ValueError, f"zip(strict=True) of arguments of lengths {sorted(lengths)}")
    n = min(lengths)
    return Together([shorten(part, n) for part in known], n)


def shorten(items: Items, n: int) -> Items:
    """The first n items."""
    if isinstance(items, Slices) and n < items.array.shape[0]:
        return Slices((items.array[::-1] if items.is_reversed else items.array)[:n])
    return Together([shorten(part, n) for part in items.parts], n) if isinstance(items, Together) else items


def reverse_items(items: Any) -> Any:
    """`reversed`, of slices of an array too."""
    found = items_of(items)
    return found.reverse() if isinstance(found, Counter | Slices) else builtins.reversed(items)
