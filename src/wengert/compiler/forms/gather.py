"""Reads, writes and additions at computed indices: the integer arrays in a key."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler.forms.affine import ZERO, Affine, Position, broadcast_position, flat_index
from wengert.compiler.forms.lowering import Scatter, lowering_of
from wengert.core.aspects import primitive_of
from wengert.core.infer import infer
from wengert.graph.ir import Node, Operation
from wengert.graph.passes.rewrite import constant_value
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _getitem, gather

GATHER, GETITEM = map(primitive_of, (gather, _getitem))
INDEX_DTYPES = frozenset(map(np.dtype, ("i8", "i4")))


class IndexedAxis(NamedTuple):
    """One axis of the indexed array: its index is affine, or an element of an index array (the number `operand`)."""

    affine: Affine | None
    operand: int | None
    extent: int


class IndexedPosition(NamedTuple):
    """An element of the indexed array: its axes, and the position in the index arrays."""

    axes: list[IndexedAxis]
    in_arrays: Position

    @property
    def affine_part(self) -> Affine:
        """What the axes without an index array add to the index in memory."""
        return flat_index(
            tuple([axis.affine or ZERO for axis in self.axes]), tuple([axis.extent for axis in self.axes])
        )

    @property
    def step(self) -> int:
        """What index arrays add to the index in memory is a multiple of this; zero if there are none."""
        arrays = [k for k, axis in enumerate(self.axes) if axis.operand is not None]
        return math.prod([axis.extent for axis in self.axes[arrays[-1] + 1 :]]) if arrays else 0


def is_native_key(key: Index, shape: tuple[int, ...], indices: Sequence[Node]) -> bool:
    """Whether all arrays in a key have integers, and the key has no new axes."""
    parts = key.key if isinstance(key.key, tuple) else (key.key,)
    plain = all(p in (Hole.ARRAY, Hole.SCALAR) or p is Ellipsis or isinstance(p, slice | int) for p in parts)
    return plain and all(i.dtype in INDEX_DTYPES for i in indices) and 0 not in shape


def are_indices(array: Node, extent: int) -> bool:
    """Whether an array is part of the program, and all its numbers are indices of an axis: none counts from the end."""
    table = constant_value(array)
    return table is not None and np.size(table) > 0 and np.min(table) >= 0 and np.max(table) < extent


def indexed_position(
    shape: tuple[int, ...], key: Index, indices: Sequence[Node], position: Position
) -> IndexedPosition:
    """The element of an array of this shape that a key selects at a position.

    As in NumPy, the axes of the index arrays replace the first of them, or come first if slices separate them.
    """
    result = np.broadcast_shapes(*[i.shape for i in indices])
    parts = key.parts(len(shape))
    advanced = [k for k, p in enumerate(parts) if isinstance(p, Hole) or (indices and not isinstance(p, slice))]
    is_one_run = bool(advanced) and advanced == list(range(advanced[0], advanced[-1] + 1))
    start = advanced[0] if is_one_run else 0
    in_arrays = position[start : start + len(result)]
    rest = iter((*position[:start], *position[start + len(result) :]))
    axes, operand = [], 0
    for part, extent in zip(parts, shape, strict=True):
        if isinstance(part, slice):
            first, _, step = part.indices(extent)
            axes.append(IndexedAxis(next(rest).times(step).plus(first), None, extent))
        elif isinstance(part, Hole):
            axes.append(IndexedAxis(None, operand, extent))
            operand += 1
        else:
            axes.append(IndexedAxis(Affine(part % extent), None, extent))
    return IndexedPosition(axes, in_arrays)


def gather_source(node: Operation, position: Position) -> IndexedPosition:
    """The element of the operand that a gather reads."""
    return indexed_position(node.args[0].shape, node.params["key"], node.args[1:], position)


class Written(NamedTuple):
    """What a scatter does: it writes `value` at `key` with `indices` into zeros or a copy of `base`, or adds it."""

    value: Node
    indices: tuple[Node, ...]
    base: Node | None
    key: Index
    shape: tuple[int, ...]  # of what the key selects
    adds: bool
    ndim: int  # of the result

    @staticmethod
    def by(node: Operation) -> Written:
        """What this scatter does."""
        found, key = lowering_of(node, Scatter), node.params["key"]
        arity = found.arity or 1
        value, indices, base = node.args[arity - 1], node.args[arity:], node.args[0] if arity > 1 else None
        shape = infer(GATHER if indices else GETITEM, (node.spec, *[i.spec for i in indices]), {"key": key}).shape
        return Written(value, indices, base, key, shape, found.adds or (base is None and key.repeats), node.ndim)

    @property
    def size(self) -> int:
        """The number of elements that are written."""
        return math.prod(self.shape)

    @property
    def inner_axes(self) -> int:
        """The number of last axes that only slices select: within them, targets differ."""
        count = 0
        for part in reversed(self.key.parts(self.ndim)):
            if not isinstance(part, slice):
                break
            count += 1
        return count

    def target(self, shape: tuple[int, ...], position: Position) -> IndexedPosition:
        """The element of the result that an element of the selection is written to."""
        return indexed_position(shape, self.key, self.indices, position)

    def value_position(self, position: Position) -> Position:
        """The position in the value, which may have fewer axes, or more of length one."""
        extra = self.value.ndim - len(position)
        return broadcast_position((ZERO,) * max(extra, 0) + position, self.value.shape)
