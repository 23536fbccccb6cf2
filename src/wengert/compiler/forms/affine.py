"""Affine positions: the index of an element in its array, as affine functions of loop counters.

An element of a view is an element of the array behind it, at another position. So views cost nothing: a kernel asks for
an element, and its position is traced back to an array that is computed or stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Counter:
    """The counter of the loop over an axis of an `extent`, in steps of `lanes`: from `first` to `last`."""

    __slots__ = ("axis", "extent", "first", "lanes", "last")

    def __init__(self, axis: int, extent: int, lanes: int = 1, within: range | None = None):
        self.axis, self.extent, self.lanes = axis, extent, lanes
        self.first, self.last = (0, extent - 1) if within is None else (within.start, within.stop - 1)


class Affine(NamedTuple):
    """An integer: a constant plus multiples of counters."""

    constant: int
    terms: tuple[tuple[Counter, int], ...] = ()

    def plus(self, other: Affine | int) -> Affine:
        """The sum of both."""
        if not isinstance(other, Affine):
            return Affine(self.constant + other, self.terms) if other else self
        if not other.terms:
            return self.plus(other.constant)
        coefficients = dict(self.terms)
        for counter, k in other.terms:
            coefficients[counter] = coefficients.get(counter, 0) + k
        terms = sorted([(c, k) for c, k in coefficients.items() if k], key=lambda term: term[0].axis)
        return Affine(self.constant + other.constant, tuple(terms))

    def times(self, factor: int) -> Affine:
        """The product with an integer."""
        if factor == 1:
            return self
        return Affine(self.constant * factor, tuple([(c, k * factor) for c, k in self.terms]) if factor else ())

    def divide(self, by: int) -> tuple[Affine, Affine] | None:
        """Quotient and remainder, or None unless both are affine."""
        quotient, remainder = divmod(self.constant, by)
        whole = Affine(quotient, tuple([(c, k // by) for c, k in self.terms if k % by == 0]))
        rest = Affine(remainder, tuple([(c, k) for c, k in self.terms if k % by]))
        return (whole, rest) if rest.is_within(by) else None

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        low = high = self.constant
        for counter, k in self.terms:
            first, last = (counter.first, counter.last) if k > 0 else (counter.last, counter.first)
            low += k * first
            high += k * last
        return low, high

    def is_within(self, extent: int) -> bool:
        """Whether all values are valid indices of an axis."""
        low, high = self.range
        return low >= 0 and high < extent


Position = tuple[Affine, ...]
ZERO = Affine(0)


def loop_position(shape: Sequence[int]) -> Position:
    """The position of a loop over all axes of a shape, without SIMD lanes."""
    return tuple([Affine(0, ((Counter(i, n), 1),)) for i, n in enumerate(shape)])


def flat_index(position: Position, shape: Sequence[int]) -> Affine:
    """The index of an element in memory order."""
    total, stride = ZERO, 1
    for i, n in zip(reversed(position), reversed(shape), strict=True):
        total = total.plus(i.times(stride))
        stride *= n
    return total


def lane_stride(index: Affine) -> tuple[int, int]:
    """The distance between neighbouring lanes, and the number of lanes."""
    for counter, k in index.terms:
        if counter.lanes > 1:
            return k, counter.lanes
    return 0, 1


def broadcast_position(position: Position, shape: tuple[int, ...]) -> Position:
    """The position in an operand of this shape that broadcasts to a position in the result."""
    position = position[len(position) - len(shape) :]
    return tuple([ZERO if n == 1 else i for i, n in zip(position, shape, strict=True)])


class Guard(NamedTuple):
    """A condition on the counters: a value is zero, or it is not negative."""

    value: Affine
    is_zero: bool = False

    @property
    def outcome(self) -> bool | None:
        """Whether it always holds or never holds; None if that depends on the counters."""
        low, high = self.value.range
        if self.is_zero:
            return True if low == high == 0 else False if low > 0 or high < 0 else None
        return True if low >= 0 else False if high < 0 else None

    @property
    def where_true(self) -> tuple[Counter, range] | None:
        """The counter that it depends on, and the values for which it holds; None if it depends on several."""
        if len(self.value.terms) != 1:
            return None
        ((counter, k),), constant = self.value.terms, self.value.constant
        start, stop = counter.first, counter.last + 1
        if self.is_zero:
            zero = -constant // k
            return counter, range(max(zero, start), min(zero + 1, stop) if constant % k == 0 else start)
        if k > 0:
            return counter, range(max(-(constant // k), start), stop)
        return counter, range(start, min(constant // -k + 1, stop))


class Read(NamedTuple):
    """An element of an operand (None: zero), read if all guards hold."""

    guards: tuple[Guard, ...]
    operand: int | None
    position: Position


def bounds_guards(i: Affine, extent: int) -> list[Guard]:
    """The guards for 0 <= i < extent."""
    return [Guard(i), Guard(i.times(-1).plus(extent - 1))]


def reshape_position(position: Position, old: tuple[int, ...], new: tuple[int, ...]) -> Position | None:
    """The position before a reshape from `old` to `new`.

    Axes that are kept or merged always have one. An axis that is split has one only if its index divides; else None.
    """
    if 0 in old:
        return (ZERO,) * len(old)
    found: list[Affine] = []
    old_axes, new_axes = [n for n in old if n != 1], [(n, i) for n, i in zip(new, position, strict=True) if n != 1]
    while old_axes:
        # the shortest run of axes on either side with equally many elements
        run = [old_axes.pop(0)]
        count, inner = new_axes.pop(0)
        while count != (stride := math.prod(run)):
            if count > stride:
                run.append(old_axes.pop(0))
            else:
                n, i = new_axes.pop(0)
                inner, count = inner.times(n).plus(i), count * n
        for n in run[:-1]:
            stride //= n
            parts = inner.divide(stride)
            if parts is None:
                return None
            found.append(parts[0])
            inner = parts[1]
        found.append(inner)
    long = iter(found)
    return tuple([ZERO if n == 1 else next(long) for n in old])
