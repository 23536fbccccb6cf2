"""Reading at places that are computed: the integer arrays in a key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert.compiler.index import Affine, Place, broadcast, number
from wengert.compiler.index import parts as key_parts
from wengert.graph.ir import Operation
from wengert.ops.key import Hole

INDICES = frozenset(map(np.dtype, ("i8", "i4")))


class GatherAxis(NamedTuple):
    """One axis of the array that is read: at a place known from the counters, or at the numbers of an operand."""

    place: Affine | None
    operand: int | None
    extent: int


class Gathered(NamedTuple):
    """Where an element of a gather comes from: the axes of the source, and the place in the index arrays."""

    axes: list[GatherAxis]
    at: Place


def is_native_gather(node: Operation) -> bool:
    """Whether all arrays in the key are integers, and nothing in it is a new axis."""
    source, *indices = node.args
    key = node.params["key"]
    plain = all(p in (Hole.ARRAY, Hole.SCALAR) or p is Ellipsis or isinstance(p, slice | int) for p in key.key)
    return plain and all(i.dtype in INDICES for i in indices) and 0 not in source.shape


def gathered(node: Operation, place: Place) -> Gathered:
    """Follows NumPy: the axes of the index arrays come where the first one stands, or in front if slices stand between them."""
    source, *indices = node.args
    shape = np.broadcast_shapes(*[i.shape for i in indices])
    parts = key_parts(node.params["key"], source.ndim)
    advanced = [k for k, p in enumerate(parts) if not isinstance(p, slice)]
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    start = advanced[0] if together else 0
    at = place[start : start + len(shape)]
    rest = iter((*place[:start], *place[start + len(shape) :]))
    axes, operand = [], 0
    for part, extent in zip(parts, source.shape, strict=True):
        if isinstance(part, slice):
            first, _, step = part.indices(extent)
            axes.append(GatherAxis(next(rest).times(step).shifted(first), None, extent))
        elif isinstance(part, Hole):
            operand += 1
            axes.append(GatherAxis(None, operand, extent))
        else:
            axes.append(GatherAxis(number(part % extent), None, extent))
    return Gathered(axes, at)


def index_place(node: Operation, operand: int, at: Place) -> Place:
    """The place in one of the index arrays, which broadcast against each other."""
    return broadcast(at, node.args[operand].shape)
