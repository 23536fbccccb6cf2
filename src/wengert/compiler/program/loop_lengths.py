"""How many steps loops take where only numbers say it: NumPy runs them, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler.forms.iterations import ITERATED
from wengert.compiler.kernels.iteration import comparison_period
from wengert.control.loop import LOOP
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Operation, make_operation


def loop_lengths(graph: Graph, inputs: Sequence[Any]) -> dict[Operation, float]:
    """The numbers of steps of loops that are not known before they run, and the mean of those that elements need."""
    loops = [node for node in graph.operations if node.primitive is LOOP and node.params["shape"].length is None]
    counts = [
        node.args[0]
        if node.params["condition"] is None
        else make_operation(OUTPUT, [node], index=len(node.params["body"].outputs))
        for node in loops
    ]
    lengths: dict[Operation, float] = {}
    if loops:
        lengths |= zip(loops, map(int, graph.with_outputs(counts).run(inputs)), strict=True)
    found: dict[Any, float] = {}
    for node in graph.operations:
        if node.primitive is ITERATED and comparison_period(node.params["shape"].length):
            key = node.params["body"], node.args
            if key not in found:
                found[key] = mean_steps(node, graph.with_outputs(node.args).run(inputs))
            lengths[node] = found[key]
    return lengths


def mean_steps(node: Operation, operands: Sequence[Any]) -> float:
    """The mean number of steps of a loop of elements: one takes no further step when its states come again."""
    body, shape = node.params["body"], node.params["shape"]
    longest = comparison_period(shape.length)
    periods = [p for p in range(1, longest + 1) if longest % p == 0]  # with which states are recognised
    operands = [np.broadcast_to(x, node.shape) for x in operands]
    constants, states = operands[: shape.constants], operands[shape.constants :]
    before, is_running, steps = [states], np.ones(node.shape, bool), 0
    for _ in range(shape.length):
        if not is_running.any():
            break
        steps += int(np.count_nonzero(is_running))
        states = body.run([*constants, *states])
        for period in periods:
            if period <= len(before):
                pairs = zip(states, before[-period], strict=True)
                is_running &= ~np.logical_and.reduce([are_same(x, y) for x, y in pairs])
        before = [*before[max(len(before) + 1 - longest, 0) :], states]
    return steps / max(node.size, 1)


def are_same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where numbers are equal, or both NaN."""
    return (x == y) | ((x != x) & (y != y))
