"""Indexing: slices are views, and arrays in a key are computed indices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.compiler.forms.affine import ZERO, Affine, Guard, Position, Read, bounds_guards, broadcast_position
from wengert.compiler.forms.lowering import Gather, Scatter, View, expansion, lowering
from wengert.compiler.routines.runs import CHAIN, RUNNING
from wengert.core.spec import Spec
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.predicates import equal
from wengert.ops.indexing import repeated_updates
from wengert.ops.indexing import subscripts as ops
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, reshape

lowering.enter(Gather(), ops.gather)


@lowering(ops._getitem)
@View
def slice_position(position: Position, x: Spec, key: Index) -> Position:
    """For keys of integers, slices, new axes and an ellipsis."""
    rest = list(position)
    found: list[Affine] = []
    for part, n in axes_of_parts(key, x.shape):
        if part is None:
            rest.pop(0)
        elif isinstance(part, slice):
            start, _, step = part.indices(n)
            found.append(rest.pop(0).times(step).plus(start))
        else:
            found.append(Affine(part + n if part < 0 else part))
    return tuple(found)


def axes_of_parts(key: Index, shape: tuple[int, ...]) -> list[tuple[Any, int]]:
    """The parts of a key, each with the length of its axis; 0 for a new axis."""
    axes = iter(shape)
    return [(part, 0 if part is None else next(axes)) for part in key.parts(len(shape))]


def position_in_slice(
    position: Position, key: Index, shape: tuple[int, ...]
) -> tuple[tuple[Guard, ...], Position] | None:
    """The inverse of `slice_position`: the guards for an element to be in a slice, and its position there.

    None where the step of a slice would need a division.
    """
    guards: list[Guard] = []
    found: list[Affine] = []
    rest = iter(position)
    for part, n in axes_of_parts(key, shape):
        if part is None:
            found.append(ZERO)
            continue
        i = next(rest)
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            length = len(range(start, stop, step))
            if abs(step) == 1:
                inner = i.plus(-start).times(step)
            elif not i.terms:
                quotient, remainder = divmod(i.constant - start, step)
                inner = Affine(quotient)
                guards += [Guard(Affine(remainder), is_zero=True)] * (remainder != 0)
            else:
                return None
            guards += bounds_guards(inner, length)
            found.append(inner)
        else:
            guards.append(Guard(i.plus(-(part + n if part < 0 else part)), is_zero=True))
    return tuple(guards), tuple(found)


@lowering(ops._scatter)
@Scatter
def scatter_reads(position: Position, x: Spec, key: Index, shape: tuple[int, ...]) -> list[Read] | None:
    """Zeros, but for the operand at a key."""
    there = position_in_slice(position, key, shape)
    if there is None:
        return None
    guards, inner = there
    return [Read(guards, 0, broadcast_position(inner, x.shape)), Read((), None, ())]


def set_at_reads(position: Position, x: Spec, v: Spec, key: Index, **_: Any) -> list[Read] | None:
    """x, but for v at a key."""
    there = position_in_slice(position, key, x.shape)
    if there is None:
        return None
    guards, inner = there
    extra = len(v.shape) - len(inner)
    inner = (ZERO,) * extra + inner if extra > 0 else inner
    return [Read(guards, 1, broadcast_position(inner, v.shape)), Read((), 0, position)]


lowering.enter(Scatter(set_at_reads, arity=2), ops._set_at)
lowering.enter(Scatter(lambda *_, **__: None, arity=2, adds=True), ops._add_at)
lowering.enter(RUNNING, repeated_updates.running)
lowering.enter(CHAIN, repeated_updates.chain)


@expansion(repeated_updates.extreme_at)
def expand_extreme_at(x: Any, v: Any, *indices: Any, key: Index, update: str) -> Any:
    """The values that meet an element, one after the other."""
    offsets = repeated_updates.number_selected(x.shape, indices, key)
    if not offsets.size:
        return x
    v = reshape(broadcast_to(astype(v, x.dtype), offsets.shape), (-1,))
    flat = repeated_updates.update_in_order(reshape(x, (-1,)), reshape(offsets, (-1,)), v, update)
    return reshape(flat, x.shape)


@expansion(ops._set_at)
def expand_set_at(x: Any, v: Any, *indices: Any, key: Index, reuse: bool) -> Any:
    """Of Python integers that are written to int32: as such numbers, which they must be."""
    if x.dtype != np.int32 or not isinstance(v, Symbol) or v.node.weak is not int:
        return None
    return ops._set_at(x, v + np.int32(0), *indices, key=key, reuse=reuse)


@expansion(ops._winners)
def expand_winners(*indices: Any, key: Index, shape: tuple[int, ...]) -> Any:
    """Whether what is written last at an index is the number of the element itself."""
    if Hole.MASK in key.key:
        return None
    selected = ops._winners_spec(*[Spec(i.shape, i.dtype) for i in indices], key=key, shape=shape).shape
    order = np.arange(prod(selected)).reshape(selected)
    last = ops._set_at(np.zeros(shape, np.intp), order, *indices, key=key, reuse=False)
    return equal(ops.gather(last, *indices, key=key), order)
