"""Shapes: where an element of a view or a choice comes from; and copies, which may convert the dtype."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from wengert.compiler.aspects.elementwise import identity
from wengert.compiler.forms.affine import (
    Affine,
    Guard,
    Position,
    Read,
    bounds_guards,
    broadcast_position,
    reshape_position,
)
from wengert.compiler.forms.lowering import Choice, View, expansion, lowering, on_scalars
from wengert.core.spec import Spec
from wengert.ops.shape import casting, joining, rearranging, reshaping
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to

lowering.enter(on_scalars(identity, cost=0), casting._copy)

# Views: the position in the operand

lowering.enter(View(lambda position, x, shape: reshape_position(position, x.shape, shape)), reshaping._reshape)
lowering.enter(
    View(lambda position, x, axis: tuple([i for k, i in enumerate(position) if k not in axis])), reshaping._expand_dims
)
lowering.enter(
    View(lambda position, x, axes: tuple([position[axes.index(i)] for i in range(len(axes))])), reshaping._transpose
)
lowering.enter(View(lambda position, x, shape: broadcast_position(position, x.shape)), reshaping._broadcast_to)


@lowering(rearranging._flip)
@View
def flip_position(position: Position, x: Spec, axis: Sequence[int]) -> Position:
    """From the other end along some axes."""
    return tuple(
        [i.times(-1).plus(n - 1) if k in axis else i for k, (i, n) in enumerate(zip(position, x.shape, strict=True))]
    )


@lowering(rearranging._diagonal)
@View
def diagonal_position(position: Position, _: Spec, offset: int, axis1: int, axis2: int) -> Position:
    """One index for two axes."""
    *lead, k = position
    found = list(lead)
    for axis in sorted((axis1, axis2)):
        found.insert(axis, k.plus(max(-offset, 0)) if axis == axis1 else k.plus(max(offset, 0)))
    return tuple(found)


# Choices: which operand an element comes from depends on its position


def concatenate_reads(position: Position, *specs: Spec, axis: int) -> list[Read]:
    """One array after the other; the last one needs no guard."""
    ends = list(accumulate([spec.shape[axis] for spec in specs]))
    low, high = range_within(position[axis], ends[-1])
    reads = []
    for k in range(bisect_right(ends, low), min(bisect_right(ends, high) + 1, len(ends))):
        start, end = ends[k] - specs[k].shape[axis], ends[k]
        guards = () if k == len(specs) - 1 else (Guard(position[axis].times(-1).plus(end - 1)),)
        if end > start:
            reads.append(Read(guards, k, (*position[:axis], position[axis].plus(-start), *position[axis + 1 :])))
    return reads


def stack_reads(position: Position, *specs: Spec, axis: int) -> list[Read]:
    """The index along the new axis is the number of the operand."""
    inner = (*position[:axis], *position[axis + 1 :])
    last = len(specs) - 1
    low, high = range_within(position[axis], len(specs))
    return [
        Read(() if k == last else (Guard(position[axis].times(-1).plus(k)),), k, inner) for k in range(low, high + 1)
    ]


def range_within(index: Affine, extent: int) -> tuple[int, int]:
    """The smallest and the largest value of an index, within an axis: what is outside of it is not used.

    An element at a fixed index has one read, so that those of many joined arrays are written out in linear time.
    """
    low, high = index.range
    return min(max(low, 0), extent - 1), max(min(high, extent - 1), 0)


def concatenate_pieces(position: Position, *specs: Spec, axis: int) -> list[Position] | None:
    """Each array begins where the one before ends, if all have the same length."""
    if any(spec.shape != specs[0].shape for spec in specs):
        return None
    starts = [k * specs[0].shape[axis] for k in range(len(specs))]
    return [(*position[:axis], position[axis].plus(start), *position[axis + 1 :]) for start in starts]


def stack_pieces(position: Position, *specs: Spec, axis: int) -> list[Position]:
    """Each array has an index of its own along the new axis."""
    return [(*position[:axis], Affine(k), *position[axis:]) for k in range(len(specs))]


lowering.enter(Choice(concatenate_reads, arity=None, pieces=concatenate_pieces), rearranging._concatenate)
lowering.enter(Choice(stack_reads, arity=None, pieces=stack_pieces), joining._stack)


@lowering(joining._pad)
@Choice
def pad_reads(position: Position, x: Spec, pad_width: Sequence[tuple[int, int]]) -> list[Read]:
    """Zeros around the operand."""
    inner = tuple([i.plus(-before) for i, (before, _) in zip(position, pad_width, strict=True)])
    guards = [g for i, n in zip(inner, x.shape, strict=True) for g in bounds_guards(i, n)]
    return [Read(tuple(guards), 0, inner), Read((), None, ())]


@lowering(rearranging._embed_diagonal)
@Choice
def embed_diagonal_reads(position: Position, x: Spec, offset: int, axis1: int, axis2: int, **_: Any) -> list[Read]:
    """Zeros, but for the operand on one diagonal."""
    k = position[axis1].plus(-max(-offset, 0))
    on = position[axis2].plus(-max(offset, 0))
    guards = (Guard(k.plus(on.times(-1)), is_zero=True), *bounds_guards(k, x.shape[-1]))
    inner = (*[i for axis, i in enumerate(position) if axis not in (axis1, axis2)], k)
    return [Read(guards, 0, inner), Read((), None, ())]


def triangle_reads(position: Position, x: Spec, k: int, lower: bool) -> list[Read]:
    """Zeros on one side of the diagonal; the difference of row and column decides which side an element is on."""
    below = position[-2].plus(position[-1].times(-1)).plus(k)
    guard = Guard(below if lower else below.times(-1))
    return [Read((guard,), 0, broadcast_position(position, x.shape)), Read((), None, ())]


lowering.enter(Choice(lambda position, x, k: triangle_reads(position, x, k, True)), rearranging._tril)
lowering.enter(Choice(lambda position, x, k: triangle_reads(position, x, k, False)), rearranging._triu)


@lowering(rearranging._roll)
@Choice
def roll_reads(position: Position, x: Spec, shift: tuple[int, ...], axis: tuple[int, ...]) -> list[Read]:
    """Along each axis, one of two pieces: 2**k reads for k axes."""
    total: dict[int, int] = {}
    for s, a in zip(shift, axis, strict=True):
        total[a] = total.get(a, 0) + s
    reads = [Read((), 0, position)]
    for a, s in total.items():
        n = x.shape[a]
        s %= max(n, 1)
        if s:
            early = [(r, r.position[a].plus(n - s)) for r in reads]
            late = [(r, r.position[a].plus(-s)) for r in reads]
            first = Guard(position[a].times(-1).plus(s - 1))
            reads = [Read((*r.guards, first), 0, (*r.position[:a], i, *r.position[a + 1 :])) for r, i in early] + [
                Read(r.guards, 0, (*r.position[:a], i, *r.position[a + 1 :])) for r, i in late
            ]
    return reads


# Expansions


@expansion(joining._full_like)
def expand_full_like(x: Any, fill_value: Any, dtype: Any, shape: Any, **_: Any) -> Any:
    """By broadcasting."""
    spec = Spec(x.shape if shape is None else shape, np.dtype(x.dtype if dtype is None else dtype))
    return broadcast_to(astype(fill_value, spec.dtype), spec.shape)
