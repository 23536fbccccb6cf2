"""Reading and adding at places that are computed: the integer arrays in a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler.affine import Affine, Place, number
from wengert.graph.ir import Node, Operation
from wengert.ops.indexing.key import Hole, Index

INDICES = frozenset(map(np.dtype, ("i8", "i4")))


class GatherAxis(NamedTuple):
    """One axis of the array that is read: at a place known from the counters, or at the numbers of an index array."""

    place: Affine | None
    operand: int | None
    extent: int


class Gathered(NamedTuple):
    """Where an element of a gather comes from: the axes of the source, and the place in the index arrays."""

    axes: list[GatherAxis]
    at: Place


def is_native_key(key: Index, shape: tuple[int, ...], indices: Sequence[Node]) -> bool:
    """Whether all arrays in a key are integers, and nothing in it is a new axis."""
    parts = key.key if isinstance(key.key, tuple) else (key.key,)
    plain = all(p in (Hole.ARRAY, Hole.SCALAR) or p is Ellipsis or isinstance(p, slice | int) for p in parts)
    return plain and all(i.dtype in INDICES for i in indices) and 0 not in shape


def gathered(shape: tuple[int, ...], key: Index, indices: Sequence[Node], place: Place) -> Gathered:
    """Follows NumPy: the axes of the index arrays come where the first one stands, or in front if slices stand between
    them.
    """
    result = np.broadcast_shapes(*[i.shape for i in indices])
    parts = key.parts(len(shape))
    advanced = [k for k, p in enumerate(parts) if isinstance(p, Hole) or (indices and not isinstance(p, slice))]
    together = bool(advanced) and advanced == list(range(advanced[0], advanced[-1] + 1))
    start = advanced[0] if together else 0
    at = place[start : start + len(result)]
    rest = iter((*place[:start], *place[start + len(result) :]))
    axes, operand = [], 0
    for part, extent in zip(parts, shape, strict=True):
        if isinstance(part, slice):
            first, _, step = part.indices(extent)
            axes.append(GatherAxis(next(rest).times(step).shifted(first), None, extent))
        elif isinstance(part, Hole):
            axes.append(GatherAxis(None, operand, extent))
            operand += 1
        else:
            axes.append(GatherAxis(number(part % extent), None, extent))
    return Gathered(axes, at)


def of_gather(node: Operation, place: Place) -> Gathered:
    return gathered(node.args[0].shape, node.params["key"], node.args[1:], place)


def of_scatter(node: Operation, place: Place) -> Gathered:
    """Where an element of the operand is added."""
    return gathered(node.shape, node.params["key"], node.args[1:], place)
