"""Indexing. Where the numbers of an index are unknown, all elements along its axis may be meant."""

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
from wengert.structure.incidence import (
    Sets,
    Shape,
    line_numbers,
    move_sets,
    number_elements,
    selection_matrix,
    spread_to_all,
    unite_sets,
)
from wengert.structure.propagation import OperationStep, propagation, stack_operands


class Reading(NamedTuple):
    """The elements that a key reads from an array: `matrix` has a row for each, in the shape `shape`."""

    matrix: Sets
    shape: Shape


def read_key(shape: Shape, key: Index, indices: Sequence[Any]) -> Reading | None:
    """The elements that a key reads; None where not even their number is known."""
    size = math.prod(shape)
    unknown = [isinstance(index, Array) for index in indices]
    if not any(unknown):
        elements = number_elements(shape)[key.fill(indices)]
        return Reading(selection_matrix(np.asarray(elements), size), np.shape(elements))
    if Hole.MASK in key.key:
        return None
    axes = [axis for axis, missing in zip(key.array_axes(len(shape)), unknown, strict=True) if missing]
    groups = line_numbers(shape, axes)
    corner = groups[tuple([slice(0, 1) if i in axes else slice(None) for i in range(len(shape))])]
    elements = corner[key.fill([np.zeros(i.shape, int) if m else i for i, m in zip(indices, unknown, strict=True)])]
    return Reading(
        selection_matrix(np.asarray(elements), corner.size) @ selection_matrix(groups, corner.size).T.tocsr(),
        np.shape(elements),
    )


@propagation(_gather)
def propagate_gather(step: OperationStep) -> Sets:
    """Each element depends on the element that it is read from."""
    read = read_key(step.shapes[0], step.params["key"], step.values[1:])
    sets = step.live[0][1]
    return spread_to_all(sets, math.prod(step.shape)) if read is None else read.matrix @ sets


@propagation(_scatter)
def propagate_scatter(step: OperationStep) -> Sets:
    """Each element depends on the values that are added to it."""
    read = read_key(step.shape, step.params["key"], step.values[1:])
    return write_sets(read, step.live[0][1], step.shapes[0], step.shape)


def write_sets(read: Reading | None, sets: Sets, shape: Shape, whole: Shape) -> Sets:
    """The sets of zeros of the shape `whole`, into which a value of the shape `shape` is written where `read` reads."""
    if read is None:
        return spread_to_all(sets, math.prod(whole))
    numbers = number_elements(shape)
    if len(shape) > len(read.shape):
        numbers = numbers.reshape(shape[len(shape) - len(read.shape) :])  # leading axes of length one
    return read.matrix.T.tocsr() @ move_sets(sets, np.broadcast_to(numbers, read.shape))


@propagation(_add_at, _set_at)
def propagate_update(step: OperationStep) -> Sets:
    """An array with a value written, or added, at a key."""
    overwrites = step.primitive is primitive_of(_set_at)
    indices = step.values[2:]
    if overwrites and not any(isinstance(index, Array) for index in indices):
        elements = number_elements(step.shape, 1)
        v_numbers = number_elements(step.shapes[1], 1 + elements.size)
        moved_to = step.primitive.impl(elements, v_numbers, *indices, key=step.params["key"], reuse=False)
        both = OperationStep(step.primitive, step.values[:2], step.sets[:2], step.outs, step.params)
        return move_sets(stack_operands(both), moved_to - 1)
    families = [] if step.sets[0] is None else [step.sets[0]]
    if step.sets[1] is not None:
        read = read_key(step.shape, step.params["key"], indices)
        families.append(write_sets(read, step.sets[1], step.shapes[1], step.shape))
    return unite_sets(families)
