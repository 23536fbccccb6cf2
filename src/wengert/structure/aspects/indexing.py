"""Indexing, where numbers of the indices may be unknown: then a whole axis stands for each of its elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _add_at, _scatter, _set_at
from wengert.ops.indexing.subscripts import gather as _gather
from wengert.structure.incidence import Sets, Shape, along, everything, moved, numbered, taken, union
from wengert.structure.propagation import Step, propagation, stacked


class Reading(NamedTuple):
    """What a key reads from an array: `matrix` has a row for each element that is read, in the shape `shape`."""

    matrix: Sets
    shape: Shape


def reading(shape: Shape, key: Index, indices: Sequence[Any]) -> Reading | None:
    """None where not even the number of elements is known."""
    size = math.prod(shape)
    unknown = [isinstance(index, Array) for index in indices]
    if not any(unknown):
        places = numbered(shape)[key.fill(indices)]
        return Reading(taken(np.asarray(places), size), np.shape(places))
    if Hole.MASK in key.key:
        return None
    axes = [axis for axis, missing in zip(key.array_axes(len(shape)), unknown, strict=True) if missing]
    groups = along(shape, axes)
    corner = groups[tuple([slice(0, 1) if i in axes else slice(None) for i in range(len(shape))])]
    places = corner[key.fill([np.zeros(i.shape, int) if m else i for i, m in zip(indices, unknown, strict=True)])]
    return Reading(taken(np.asarray(places), corner.size) @ taken(groups, corner.size).T.tocsr(), np.shape(places))


@propagation(_gather)
def gather(step: Step) -> Sets:
    read = reading(step.shapes[0], step.params["key"], step.values[1:])
    sets = step.live[0][1]
    return everything(sets, math.prod(step.shape)) if read is None else read.matrix @ sets


@propagation(_scatter)
def scatter(step: Step) -> Sets:
    read = reading(step.shape, step.params["key"], step.values[1:])
    return written(read, step.live[0][1], step.shapes[0], step.shape)


def written(read: Reading | None, sets: Sets, shape: Shape, whole: Shape) -> Sets:
    """The sets of an array of zeros into which a value of this shape is written, or added, where something else would
    be read.
    """
    if read is None:
        return everything(sets, math.prod(whole))
    numbers = numbered(shape)
    if len(shape) > len(read.shape):
        numbers = numbers.reshape(shape[len(shape) - len(read.shape) :])  # leading axes of length one
    return read.matrix.T.tocsr() @ moved(sets, np.broadcast_to(numbers, read.shape))


@propagation(_add_at, _set_at)
def change(step: Step) -> Sets:
    """An array with a value written, or added, at a key."""
    overwrites = step.primitive is primitive_of(_set_at)
    indices = step.values[2:]
    if overwrites and not any(isinstance(index, Array) for index in indices):
        places = numbered(step.shape, 1)
        v_numbers = numbered(step.shapes[1], 1 + places.size)
        moved_to = step.primitive.impl(places, v_numbers, *indices, key=step.params["key"], reuse=False)
        both = Step(step.primitive, step.values[:2], step.sets[:2], step.outs, step.params)
        return moved(stacked(both), moved_to - 1)
    families = [] if step.sets[0] is None else [step.sets[0]]
    if step.sets[1] is not None:
        read = reading(step.shape, step.params["key"], indices)
        families.append(written(read, step.sets[1], step.shapes[1], step.shape))
    return union(families)
