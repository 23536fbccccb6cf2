"""The walk back over large arrays, block by block.

Where one elementwise operation follows another, cotangents of whole arrays would be written to memory only to be read
again by the next rule, and memory is what limits the speed. So a run of such nodes is walked for one block of elements
at a time, on all cores: what lies in between stays in the cache. Every element is computed alone, by the same rules in
the same order, so the numbers are the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.parallel import EXPENSIVE, share

BLOCK = EXPENSIVE - 1
"""Elements of one block: they fit the cache, and no operation on them is shared again."""

Nodes = list[Any]


def pull_large(node: Any, t: np.ndarray, order: Nodes, cotangents: dict, owned: set, retain: bool) -> bool:
    """Pull a node together with those that follow it, if they are a run.

    Says whether they are, and the walk is done with them.
    """
    run = run_from(node, order)
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


def run_from(node: Any, order: Nodes) -> Nodes:
    """The node and those right after it, as long as they are elementwise operations on arrays of its shape and dtype."""
    start = stop = order.index(node)
    while stop < len(order) and eligible(order[stop], node):
        stop += 1
    return order[start:stop]


def eligible(node: Any, first: Any) -> bool:
    primitive = node.primitive
    return (
        primitive is not None
        and primitive.kind == "elementwise"
        and primitive.is_plain
        and node.hooks is None
        and node.shape == first.shape
        and node.dtype is first.dtype
        and all(p is None or (p.shape == first.shape and p.dtype is first.dtype) for p in node.parents)
        and all(flat(s, first.shape) is not None for s in node.saved)
    )


def flat(x: Any, shape: tuple[int, ...]) -> Any:
    """An array as one row, what is stretched from a number as that number; None where neither is possible."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return None if isinstance(x, tuple | Array) else x
    if x.shape != shape:
        return None
    return x.reshape(-1) if x.flags.c_contiguous else x[(0,) * x.ndim] if not any(x.strides) else None


def pull_run(run: Nodes, cotangents: dict) -> dict[Any, np.ndarray] | None:
    """The cotangents that a run of nodes hands to what lies behind it, what has arrived there included.

    None if it cannot be run so.

    Cotangents that have arrived at nodes of the run are used up.
    """
    shape, inside = run[0].shape, set(run)
    behind = dict.fromkeys(p for node in run for p in node.parents if p is not None and p not in inside)
    arrived = {node: flat(cotangents[node], shape) for node in (*run, *behind) if node in cotangents}
    if any(t is None for t in arrived.values()):
        return None
    saved = {node: [flat(s, shape) for s in node.saved] for node in run}
    pulled = {p: np.empty(shape, p.dtype) for p in behind}
    rows = {p: t.reshape(-1) for p, t in pulled.items()}

    def pull_block(i: int, j: int) -> None:
        here = {node: part(t, i, j) for node, t in arrived.items()}
        for node in run:
            t = here.pop(node)
            values = [part(s, i, j) for s in saved[node]]
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


def part(x: Any, i: int, j: int) -> Any:
    return x[i:j] if isinstance(x, np.ndarray) and x.ndim else x
