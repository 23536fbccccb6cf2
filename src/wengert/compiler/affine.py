"""Places in arrays: affine functions of loop counters.

An element of a view is an element of what it views, at another place. So views cost nothing: a kernel asks for an
element, and the place is followed back to where numbers are made or stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Counter:
    """A loop: counts from 0 to `extent` - 1, in steps of as many lanes as `lanes` says."""

    __slots__ = ("extent", "lanes", "number")

    def __init__(self, number: int, extent: int, lanes: int = 1):
        self.number, self.extent, self.lanes = number, extent, lanes


class Affine(NamedTuple):
    """A whole number: a constant plus multiples of counters."""

    constant: int
    terms: tuple[tuple[Counter, int], ...] = ()

    def shifted(self, by: int) -> Affine:
        return self if not by else Affine(self.constant + by, self.terms)

    def times(self, factor: int) -> Affine:
        if factor == 1:
            return self
        return Affine(self.constant * factor, tuple([(c, k * factor) for c, k in self.terms]) if factor else ())

    def plus(self, other: Affine) -> Affine:
        if not other.terms:
            return self.shifted(other.constant)
        coefficients = dict(self.terms)
        for counter, k in other.terms:
            coefficients[counter] = coefficients.get(counter, 0) + k
        terms = sorted([(c, k) for c, k in coefficients.items() if k], key=lambda term: term[0].number)
        return Affine(self.constant + other.constant, tuple(terms))

    def divided(self, by: int) -> tuple[Affine, Affine] | None:
        """Quotient and remainder, if both are affine."""
        quotient, remainder = divmod(self.constant, by)
        whole = Affine(quotient, tuple([(c, k // by) for c, k in self.terms if k % by == 0]))
        rest = Affine(remainder, tuple([(c, k) for c, k in self.terms if k % by]))
        return (whole, rest) if rest.is_within(by) else None

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number that it can be."""
        low = high = self.constant
        for counter, k in self.terms:
            if k < 0:
                low += k * (counter.extent - 1)
            else:
                high += k * (counter.extent - 1)
        return low, high

    def is_within(self, extent: int) -> bool:
        low, high = self.range
        return low >= 0 and high < extent


Place = tuple[Affine, ...]
ZERO = Affine(0)


def number(n: int) -> Affine:
    return Affine(n)


def flat(place: Place, shape: Sequence[int]) -> Affine:
    """The number of an element in the order of memory."""
    total, stride = ZERO, 1
    for i, n in zip(reversed(place), reversed(shape), strict=True):
        total = total.plus(i.times(stride))
        stride *= n
    return total


def broadcast(place: Place, shape: tuple[int, ...]) -> Place:
    """The place of an operand of this shape in an elementwise operation, for a place in the result."""
    place = place[len(place) - len(shape) :]
    return tuple([ZERO if n == 1 else i for i, n in zip(place, shape, strict=True)])


class Guard(NamedTuple):
    """A condition on a place: a number is zero, or it is not negative."""

    value: Affine
    is_zero: bool = False

    @property
    def known(self) -> bool | None:
        """Whether it always holds, never holds, or depends on the counters."""
        low, high = self.value.range
        if self.is_zero:
            return True if low == high == 0 else False if low > 0 or high < 0 else None
        return True if low >= 0 else False if high < 0 else None


class Read(NamedTuple):
    """An element of an operand (None: zero), taken if all guards hold."""

    guards: tuple[Guard, ...]
    operand: int | None
    place: Place


def inside(i: Affine, low: int, high: int) -> list[Guard]:
    """Whether low <= i < high, as far as that is not certain."""
    return [Guard(i.shifted(-low)), Guard(i.times(-1).shifted(high - 1))]


def reshaped(place: Place, old: tuple[int, ...], new: tuple[int, ...]) -> Place | None:
    """Axes that are kept or joined always have a place; for one that is split, its number must come apart."""
    if 0 in old:
        return (ZERO,) * len(old)
    found: list[Affine] = []
    old_axes, new_axes = [n for n in old if n != 1], [(n, i) for n, i in zip(new, place, strict=True) if n != 1]
    while old_axes:
        # the shortest run of axes on either side with as many elements
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
            parts = inner.divided(stride)
            if parts is None:
                return None
            found.append(parts[0])
            inner = parts[1]
        found.append(inner)
    long = iter(found)
    return tuple([ZERO if n == 1 else next(long) for n in old])
