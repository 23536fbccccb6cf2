"""The backward pass over large arrays: runs of elementwise nodes, block by block.

The cotangents between consecutive elementwise operations would be written to memory only to be read again by the next
rule, and memory limits the speed. So a run of such nodes is pulled for one block of elements at a time, on all cores,
and intermediate cotangents stay in the cache: by NumPy at first, and where the same run comes again often enough, by
one native kernel, in which they stay in registers. Each element is computed by the same rules in the same order, and a
run has only operations whose bits are the same in both.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.core import machine, native, parallel
from wengert.core.array import Array
from wengert.ops.elementwise.complex_numbers import real

if TYPE_CHECKING:
    from wengert.modes.tape import TapeNode

Source = int | tuple[Any, str]
"""What a rule of a run reads: one of the inputs of the run, or a Python number, with its digits."""


class RunNode(NamedTuple):
    """A node of a run: what its rules are called with, and the numbers of its parents in the run."""

    primitive: Any
    params: tuple[tuple[str, Any], ...]
    saved: tuple[Source | None, ...]
    parents: tuple[int | None, ...]


class Run(NamedTuple):
    """A run of elementwise nodes, without its arrays: equal runs have equal rules, wires and dtypes.

    Nodes have numbers: those of the run come first, those behind it follow. `arrived` has the cotangents from outside,
    by number.
    """

    steps: tuple[RunNode, ...]
    arrived: tuple[tuple[int, Source], ...]
    inputs: tuple[tuple[np.dtype, bool], ...]
    """The dtype of each input, and whether it is a row or one number."""
    dtype: np.dtype
    results: int
    """The number of nodes behind the run, which get the results."""


class Pull(NamedTuple):
    """A run with its arrays, and the nodes behind it."""

    run: Run
    inputs: list[np.ndarray]
    behind: list[TapeNode]
    shape: tuple[int, ...]


def pull_large(
    node: TapeNode,
    t: np.ndarray,
    order: list[TapeNode],
    cotangents: dict[TapeNode, Any],
    owned: set[TapeNode],
    retain: bool,
) -> TapeNode | None:
    """Pull a node together with the nodes that follow it, if that is faster than one by one.

    Returns None if it was. Otherwise it returns the last node of the run: none of its nodes begins another one.
    """
    if not can_join_run(node, node, t):
        return node
    cotangents[node] = t
    nodes = find_run(node, order, cotangents)
    results = None
    if len(nodes) > 1:
        pull = describe_run(nodes, cotangents)
        results = pull_natively(pull)
        if results is None and t.size >= machine.current.min_elements_shared:
            results = pull_in_blocks(pull)
    if results is None:
        del cotangents[node]
        return nodes[-1]
    for member in nodes:
        cotangents.pop(member, None)
    for parent, row in zip(pull.behind, results, strict=True):
        left = cotangents.get(parent)
        total = row.reshape(pull.shape)
        cotangents[parent] = total if left is None or as_row(left, pull.shape) is not None else left + total
    owned.update(pull.behind)
    if not retain:
        for member in nodes:
            member.saved, member.parents = None, ()
    return None


def find_run(node: TapeNode, order: list[TapeNode], cotangents: dict[TapeNode, Any]) -> list[TapeNode]:
    """The node and those right after it that are elementwise operations on arrays of its shape and dtype."""
    start = bisect_left(order, -node.sequence, key=lambda other: -other.sequence)  # newest first
    stop = start + 1
    last = min(len(order), start + machine.current.max_operations_of_pulled_run)
    while stop < last and can_join_run(order[stop], node, cotangents.get(order[stop])):
        stop += 1
    return order[start:stop]


def can_join_run(node: TapeNode, first: TapeNode, t: Any) -> bool:
    """Whether a node may belong to the run of its first node; `t` is its cotangent so far."""
    primitive = node.primitive
    return (
        primitive is not None
        and primitive.kind == "elementwise"
        and primitive.is_plain
        and node.hooks is None
        and node.shape == first.shape
        and node.dtype is first.dtype
        and (t is None or as_row(t, first.shape) is not None)
        and all(p is None or (p.shape == first.shape and p.dtype is first.dtype) for p in node.parents)
        and all(s is None or as_row(s, first.shape) is not None for s in node.saved or ())
    )


def as_row(x: Any, shape: tuple[int, ...]) -> Any:
    """An array as one row, or as a number if it was broadcast from one; None if neither is possible."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return None if isinstance(x, tuple | Array) else x
    if x.shape != shape:
        return None
    return x.reshape(-1) if x.flags.c_contiguous else x[(0,) * x.ndim] if not any(x.strides) else None


def describe_run(nodes: list[TapeNode], cotangents: dict[TapeNode, Any]) -> Pull:
    """The run of some nodes. A cotangent behind it that is neither a row nor a number is added afterwards."""
    shape, inside = nodes[0].shape, set(nodes)
    behind = list(dict.fromkeys(p for node in nodes for p in node.parents if p is not None and p not in inside))
    numbers = {node: i for i, node in enumerate((*nodes, *behind))}
    inputs: list[np.ndarray] = []
    known: dict[int, int] = {}

    def source_of(x: Any) -> Source | None:
        if x is None or isinstance(x, int | float) and not isinstance(x, np.generic):
            return None if x is None else (x, repr(x))
        if id(x) not in known:
            known[id(x)] = len(inputs)
            inputs.append(np.asarray(as_row(x, shape)))
        return known[id(x)]

    arrived = []
    for node, i in numbers.items():
        t = cotangents.get(node)
        if t is not None and as_row(t, shape) is not None:
            arrived.append((i, source_of(t)))
    steps = tuple(
        [
            RunNode(
                node.primitive,
                tuple(node.params.items()),
                tuple([source_of(s) for s in node.saved or ()]),
                tuple([None if p is None else numbers[p] for p in node.parents]),
            )
            for node in nodes
        ]
    )
    kinds = tuple([(x.dtype, x.ndim > 0) for x in inputs])
    return Pull(Run(steps, tuple(arrived), kinds, nodes[0].dtype, len(behind)), inputs, behind, shape)  # type: ignore[arg-type]  # none of those that arrived is None


def pull_values(run: Run, inputs: Sequence[Any]) -> list[Any]:
    """The cotangents of the nodes behind a run, with what they had before, from arrays or symbols."""

    def value_of(source: Source | None) -> Any:
        return inputs[source] if source.__class__ is int else source and source[0]  # type: ignore[index]  # a Python number

    cotangents = {i: value_of(source) for i, source in run.arrived}
    for i, step in enumerate(run.steps):
        t = cotangents.pop(i)
        saved, params = [value_of(s) for s in step.saved], dict(step.params)
        for pull, parent in zip(step.primitive.pulls, step.parents, strict=True):
            if parent is not None:
                c = pull(t, saved, params)
                if c.dtype != run.dtype:
                    c = (real(c) if c.dtype.kind == "c" and run.dtype.kind != "c" else c).astype(run.dtype)
                cotangents[parent] = cotangents[parent] + c if parent in cotangents else c
    first = len(run.steps)
    return [cotangents[i] for i in range(first, first + run.results)]


def pull_in_blocks(pull: Pull) -> list[np.ndarray] | None:
    """The results of NumPy, block by block; None where there is one core, which gains little.

    Native code may run functions of large arrays, but not of blocks: then the bits would differ.
    """
    if parallel.num_threads() == 1:
        return None
    is_exact = native.find_native("eager_pulls", "is_exact_run") if native.IS_ON else None
    if is_exact is not None and not is_exact(pull.run):
        return None
    block = machine.current.elements_of_numpy_block
    size = math.prod(pull.shape)
    rows = [np.empty(size, pull.run.dtype) for _ in pull.behind]

    def work(start: int, stop: int) -> None:
        for i in range(start, stop, block):
            part = slice(i, min(i + block, stop))
            found = pull_values(pull.run, [x[part] if x.ndim else x[()] for x in pull.inputs])
            for row, c in zip(rows, found, strict=True):
                row[part] = c

    parallel.share(work, size)
    return rows


# Native kernels


SPENT: dict[Run, int] = {}
"""The nanoseconds that NumPy has spent on each run, roughly."""
machine.on_change(SPENT.clear)


def pull_natively(pull: Pull) -> list[np.ndarray] | None:
    """The results of a kernel; None if there is none, or if the run has not come often enough."""
    if not native.IS_ON:
        return None
    size = math.prod(pull.shape)
    now = machine.current
    if len(SPENT) >= now.max_runs_counted:
        SPENT.clear()
    length = len(pull.run.steps)
    pays = native.compile_time(length)
    spent = SPENT[pull.run] = min(SPENT.get(pull.run, 0) + size * length * now.nanoseconds_of_pulled_element, pays)
    kernels = native.find_native("eager_pulls", "pull_rows") if spent == pays else None
    return None if kernels is None else kernels(pull.run, pull.inputs, size)
