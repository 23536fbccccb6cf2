"""Places in arrays: affine functions of loop counters, and how operations that only move elements change them.

An element of a view is an element of what it views, at another place. So views cost nothing: a kernel asks for an element, and the place is
followed back to where numbers are made or stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.core.spec import Spec
from wengert.ops.key import Index


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


# Views: the place in the operand


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


def sliced(place: Place, key: Index, shape: tuple[int, ...]) -> Place:
    """For the keys of `getitem`: numbers, slices, new axes and an ellipsis."""
    rest = list(place)
    found: list[Affine] = []
    for part, n in zip(key.parts(len(shape)), _lengths(key, shape), strict=True):
        if part is None:
            rest.pop(0)
        elif isinstance(part, slice):
            start, _, step = part.indices(n)
            found.append(rest.pop(0).times(step).shifted(start))
        else:
            found.append(number(part + n if part < 0 else part))
    return tuple(found)


def _lengths(key: Index, shape: tuple[int, ...]) -> list[int]:
    """For each part of a key the length of the axis that it is for, 0 for a new axis."""
    axes = iter(shape)
    return [0 if part is None else next(axes) for part in key.parts(len(shape))]


def with_axes_removed(place: Place, axes: Sequence[int]) -> Place:
    return tuple([i for k, i in enumerate(place) if k not in axes])


def flipped(place: Place, shape: Sequence[int], axis: Sequence[int]) -> Place:
    return tuple([i.times(-1).shifted(n - 1) if k in axis else i for k, (i, n) in enumerate(zip(place, shape, strict=True))])


def on_diagonal(place: Place, offset: int, axis1: int, axis2: int) -> Place:
    *lead, k = place
    found = list(lead)
    for axis in sorted((axis1, axis2)):
        found.insert(axis, k.shifted(max(-offset, 0)) if axis == axis1 else k.shifted(max(offset, 0)))
    return tuple(found)


VIEWS: dict[str, Callable[..., Place | None]] = {
    "reshape": lambda place, x, shape: reshaped(place, x.shape, shape),
    "expand_dims": lambda place, x, axis: with_axes_removed(place, axis),
    "transpose": lambda place, x, axes: tuple([place[axes.index(i)] for i in range(len(axes))]),
    "broadcast_to": lambda place, x, shape: broadcast(place, x.shape),
    "getitem": lambda place, x, key: sliced(place, key, x.shape),
    "flip": lambda place, x, axis: flipped(place, x.shape, axis),
    "diagonal": lambda place, x, offset, axis1, axis2: on_diagonal(place, offset, axis1, axis2),
}
"""By name of an operation: the place in its operand for a place in its result; None where that is not affine."""


# Choices: which operand an element comes from depends on its place


def joined(place: Place, specs: Sequence[Spec], axis: int) -> list[Read]:
    """Pieces one behind the other; the last one needs no guard."""
    reads, start = [], 0
    for k, spec in enumerate(specs):
        end = start + spec.shape[axis]
        guards = () if k == len(specs) - 1 else (Guard(place[axis].times(-1).shifted(end - 1)),)
        if end > start:
            reads.append(Read(guards, k, (*place[:axis], place[axis].shifted(-start), *place[axis + 1 :])))
        start = end
    return reads


def stacked(place: Place, specs: Sequence[Spec], axis: int) -> list[Read]:
    inner = (*place[:axis], *place[axis + 1 :])
    last = len(specs) - 1
    return [Read(() if k == last else (Guard(place[axis].times(-1).shifted(k)),), k, inner) for k in range(len(specs))]


def padded(place: Place, x: Spec, pad_width: Sequence[tuple[int, int]]) -> list[Read]:
    inner = tuple([i.shifted(-before) for i, (before, _) in zip(place, pad_width, strict=True)])
    guards = [g for i, n in zip(inner, x.shape, strict=True) for g in inside(i, 0, n)]
    return [Read(tuple(guards), 0, inner), Read((), None, ())]


def embedded(place: Place, x: Spec, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> list[Read]:
    k = place[axis1].shifted(-max(-offset, 0))
    on = place[axis2].shifted(-max(offset, 0))
    guards = (Guard(k.plus(on.times(-1)), is_zero=True), *inside(k, 0, x.shape[-1]))
    inner = (*[i for axis, i in enumerate(place) if axis not in (axis1, axis2)], k)
    return [Read(guards, 0, inner), Read((), None, ())]


def triangle(place: Place, x: Spec, k: int, lower: bool) -> list[Read]:
    """Rows less columns tell on which side of the diagonal an element is; one row stands for all."""
    below = place[-2].plus(place[-1].times(-1)).shifted(k)
    return [Read((Guard(below if lower else below.times(-1)),), 0, broadcast(place, x.shape)), Read((), None, ())]


def unsliced(place: Place, key: Index, shape: tuple[int, ...]) -> tuple[tuple[Guard, ...], Place] | None:
    """The inverse of `sliced`: where in a slice an element of the whole array is, and the guards that it is there at all.

    None where the steps of a slice would need a division.
    """
    guards: list[Guard] = []
    found: list[Affine] = []
    rest = iter(place)
    for part, n in zip(key.parts(len(shape)), _lengths(key, shape), strict=True):
        if part is None:
            found.append(ZERO)
            continue
        i = next(rest)
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            length = len(range(start, stop, step))
            if abs(step) == 1 or not i.terms:
                inner, remainder = i.shifted(-start), 0
                if abs(step) == 1:
                    inner = inner.times(step)
                else:
                    quotient, remainder = divmod(inner.constant, step)
                    inner = number(quotient)
                guards += [Guard(number(remainder), is_zero=True)] * (remainder != 0) + inside(inner, 0, length)
                found.append(inner)
            else:
                return None
        else:
            guards.append(Guard(i.shifted(-(part + n if part < 0 else part)), is_zero=True))
    return tuple(guards), tuple(found)


def scattered(place: Place, x: Spec, key: Index, shape: tuple[int, ...]) -> list[Read] | None:
    """Zeros, but for what was put at a key."""
    there = unsliced(place, key, shape)
    if there is None:
        return None
    guards, inner = there
    return [Read(guards, 0, broadcast(inner, x.shape)), Read((), None, ())]


def written(place: Place, x: Spec, v: Spec, key: Index) -> list[Read] | None:
    """x, but for what was put at a key."""
    there = unsliced(place, key, x.shape)
    if there is None:
        return None
    guards, inner = there
    extra = len(v.shape) - len(inner)
    inner = (ZERO,) * extra + inner if extra > 0 else inner
    return [Read(guards, 1, broadcast(inner, v.shape)), Read((), 0, place)]


def rolled(place: Place, x: Spec, shift: tuple[int, ...], axis: tuple[int, ...]) -> list[Read]:
    """Each axis comes from one of two pieces: 2**k reads for k axes."""
    total: dict[int, int] = {}
    for s, a in zip(shift, axis, strict=True):
        total[a] = total.get(a, 0) + s
    reads = [Read((), 0, place)]
    for a, s in total.items():
        n = x.shape[a]
        s %= max(n, 1)
        if s:
            early = [(r, r.place[a].shifted(n - s)) for r in reads]
            late = [(r, r.place[a].shifted(-s)) for r in reads]
            first = Guard(place[a].times(-1).shifted(s - 1))
            reads = [Read((*r.guards, first), 0, (*r.place[:a], i, *r.place[a + 1 :])) for r, i in early] + [
                Read(r.guards, 0, (*r.place[:a], i, *r.place[a + 1 :])) for r, i in late
            ]
    return reads


CHOICES: dict[str, Callable[..., list[Read] | None]] = {
    "concatenate": lambda place, *specs, axis: joined(place, specs, axis),
    "stack": lambda place, *specs, axis: stacked(place, specs, axis),
    "pad": padded,
    "embed_diagonal": embedded,
    "tril": lambda place, x, k: triangle(place, x, k, True),
    "triu": lambda place, x, k: triangle(place, x, k, False),
    "scatter": scattered,
    "set_at": lambda place, x, v, key, reuse: written(place, x, v, key),
    "roll": rolled,
}
"""By name of an operation: where an element of its result comes from, the first read whose guards hold; None where that is not affine."""
