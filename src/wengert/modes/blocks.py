"""The backward pass over large arrays, block by block.

The cotangents between consecutive elementwise operations would be written to memory only to be read again by the next
rule, and memory limits the speed. So a run of such nodes is pulled for one block of elements at a time, on all cores,
and intermediate cotangents stay in the cache. Each element is computed by the same rules in the same order, so the
numbers are the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.array import Array
from wengert.core.parallel import EXPENSIVE, share

BLOCK = EXPENSIVE - 1
"""Elements of one block: they fit in the cache, and operations on them are not shared again."""

if TYPE_CHECKING:
    from wengert.modes.tape import TapeNode


def pull_large(
    node: TapeNode,
    t: np.ndarray,
    order: list[TapeNode],
    cotangents: dict[TapeNode, Any],
    owned: set[TapeNode],
    retain: bool,
) -> bool:
    """Pull a node together with the nodes that follow it, if they are a run; returns whether they are."""
    run = find_run(node, order)
    if len(run) < 2:
        return False
    cotangents[node] = t
    pulled = pull_run(run, cotangents)
    if pulled is None:
        del cotangents[node]
        return False
    cotangents.update(pulled)
    owned.update(pulled)
    if not retain:
        for member in run:
            member.saved, member.parents = None, ()
    return True


def find_run(node: TapeNode, order: list[TapeNode]) -> list[TapeNode]:
    """The node and those right after it that are elementwise operations on arrays of its shape and dtype."""
    start = stop = order.index(node)
    while stop < len(order) and can_join_run(order[stop], node):
        stop += 1
    return order[start:stop]


def can_join_run(node: TapeNode, first: TapeNode) -> bool:
    """Whether a node may belong to the run of its first node."""
    primitive = node.primitive
    return (
        primitive is not None
        and primitive.kind == "elementwise"
        and primitive.is_plain
        and node.hooks is None
        and node.shape == first.shape
        and node.dtype is first.dtype
        and all(p is None or (p.shape == first.shape and p.dtype is first.dtype) for p in node.parents)
        and all(as_row(s, first.shape) is not None for s in node.saved or ())
    )


def as_row(x: Any, shape: tuple[int, ...]) -> Any:
    """An array as one row, or as a number if it was broadcast from one; None if neither is possible."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return None if isinstance(x, tuple | Array) else x
    if x.shape != shape:
        return None
    return x.reshape(-1) if x.flags.c_contiguous else x[(0,) * x.ndim] if not any(x.strides) else None


def pull_run(run: list[TapeNode], cotangents: dict[TapeNode, Any]) -> dict[TapeNode, np.ndarray] | None:
    """The cotangents of the parents of a run, with what they had before; None if the run cannot be pulled in blocks.

    Removes the cotangents of the nodes of the run.
    """
    shape, inside = run[0].shape, set(run)
    behind = dict.fromkeys(p for node in run for p in node.parents if p is not None and p not in inside)
    arrived = {node: as_row(cotangents[node], shape) for node in (*run, *behind) if node in cotangents}
    if any(t is None for t in arrived.values()):
        return None
    saved = {node: [as_row(s, shape) for s in node.saved or ()] for node in run}
    pulled = {p: np.empty(shape, p.dtype) for p in behind}
    rows = {p: t.reshape(-1) for p, t in pulled.items()}

    def pull_block(i: int, j: int) -> None:
        here = {node: slice_row(t, i, j) for node, t in arrived.items()}
        for node in run:
            assert node.primitive is not None
            t = here.pop(node)
            values = [slice_row(s, i, j) for s in saved[node]]
            for pull, parent in zip(node.primitive.pulls, node.parents, strict=True):
                if parent is not None:
                    c = pull(t, values, node.params)
                    here[parent] = here[parent] + c if parent in here else c
        for parent, row in rows.items():
            row[i:j] = here[parent]

    def work(start: int, stop: int) -> None:
        for i in range(start, stop, BLOCK):
            pull_block(i, min(i + BLOCK, stop))

    share(work, math.prod(shape))
    for node in inside & arrived.keys():
        del cotangents[node]
    return pulled


def slice_row(x: Any, i: int, j: int) -> Any:
    """One block of a row; a number as it is."""
    return x[i:j] if isinstance(x, np.ndarray) and x.ndim else x
