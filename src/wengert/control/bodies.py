"""Bodies: the functions that control-flow operations hold, as graphs, and what each mode makes of them.

A body is a graph of a flat list of arrays. It is closed: a value that the user's function captured is an input like any
other. From a body come the body that pushes tangents too, the body that pulls cotangents, and the body on a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.control.residuals import choose_residuals
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import find_own, is_own, new_level, strip_level
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Node, Operation
from wengert.modes import recording
from wengert.modes.backward import backward_pass, conform
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol, Trace
from wengert.modes.tape import Leaf, TapeNode
from wengert.modes.tensor import Tensor
from wengert.ops.shape.reshaping import broadcast_to

Live = tuple[bool, ...]
"""Which of some values have a derivative."""


class Closed(NamedTuple):
    """A function of arrays as a graph, whose last inputs are the values that it captured."""

    body: Graph
    captured: list[Any]


def close_function(f: Callable[[list[Any]], Sequence[Any]], specs: Sequence[Spec], what: str) -> Closed:
    """Trace a function of a flat list of arrays; the values that it captures become further inputs."""
    inputs = [Input(spec) for spec in specs]
    level = new_level()
    trace = Trace(level)
    try:
        with recording.override(trace=trace, enabled=True, inference=False):
            outs = f([Symbol(node, level, trace) for node in inputs])
            outputs = [y.node if is_own(y, Symbol, level) else trace.node_of(y) for y in outs]
    finally:
        assignments = trace.close()
    if assignments:
        raise user_error(
            GradientError,
            f"The function of {what} assigns to a tensor that it captures",
            because="its value afterwards is not defined. Make it part of the state, and return the new value.",
        )
    return lift_captured(Graph(inputs, outputs))


def lift_captured(graph: Graph) -> Closed:
    """A graph with captured values as further inputs, and these values."""
    captured = [node for node in graph.constants if node.is_captured]
    if not captured:
        return Closed(graph, [])
    new: dict[Node, Node] = {node: Input(Spec.of(node.value)) for node in captured}
    for node in graph.operations:
        if any(a in new for a in node.args):
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    inputs = [*graph.inputs, *[new[node] for node in captured]]
    return Closed(Graph(inputs, [new.get(y, y) for y in graph.outputs]), [node.value for node in captured])  # type: ignore[arg-type]  # inputs


def trace_body(function: Callable[[list[Any]], Sequence[Any]], specs: Sequence[Spec]) -> Graph:
    """The graph of a function that captures nothing."""
    body, captured = close_function(function, specs, "a body")
    assert not captured
    return body


def specs_of(nodes: Sequence[Node]) -> list[Spec]:
    """The specs of some nodes."""
    return [node.spec for node in nodes]


# Forward mode.


class Pushed(NamedTuple):
    """A body with the tangents of its live inputs behind them, and the tangents of its live outputs behind these."""

    body: Graph
    live: Live  # of the outputs


@lru_cache(256)
def push_body(body: Graph, live: Live, wanted: Live | None = None) -> Pushed:
    """The body that pushes tangents of the live inputs; `wanted` outputs have a tangent, be it zero."""
    live_out: Live = ()

    def pushed(symbols: list[Any]) -> list[Any]:
        nonlocal live_out
        level, tangents = new_level(), iter(symbols[len(body.inputs) :])
        args = [Dual(x, next(tangents), level) if alive else x for x, alive in zip(symbols, live, strict=False)]
        outs = body.run(args)
        own = find_own(outs, Dual, level)
        live_out = tuple([mine or bool(wanted and wanted[i]) for i, mine in enumerate(own)])
        found = [y.tangent if mine else zeros_like(y) for y, mine, out in zip(outs, own, live_out, strict=True) if out]
        return [*[strip_level(y, level) for y in outs], *found]

    specs = [*specs_of(body.inputs), *[n.spec for n, alive in zip(body.inputs, live, strict=True) if alive]]
    graph = trace_body(pushed, specs)
    return Pushed(graph, live_out)


# Reverse mode.


class Pulled(NamedTuple):
    """A body in two parts: forward with what the rules need, and back.

    `forward` has the residuals behind its outputs. `backward` takes the inputs that it `uses`, the residuals, and the
    cotangents of the live outputs; it gives the cotangents of the live inputs.
    """

    forward: Graph
    backward: Graph
    uses: tuple[int, ...]
    live: Live  # of the outputs


@lru_cache(256)
def pull_body(body: Graph, live: Live, free: Live | None = None) -> Pulled:
    """The two parts of a body, for derivatives with respect to its live inputs.

    The backward part may read inputs that are `free`, all by default, without anything being kept for it.
    """
    level, trace = new_level(), Trace(new_level())
    inputs = [Input(node.spec) for node in body.inputs]
    symbol = lambda node: Symbol(node, trace.level, trace)
    level = new_level()
    with recording.override(trace=trace, enabled=True, inference=False):
        leaves = [Leaf(symbol(node)) if alive else None for node, alive in zip(inputs, live, strict=True)]
        args = [
            symbol(node) if leaf is None else Tensor(symbol(node), level, leaf)
            for node, leaf in zip(inputs, leaves, strict=True)
        ]
        outs = body.run(args)
        live_out = tuple([is_own(y, Tensor, level) and y.node is not None for y in outs])
        cotangents = [Input(Spec.of(y)) for y, alive in zip(outs, live_out, strict=True) if alive]
        tracked = [y.node for y, alive in zip(outs, live_out, strict=True) if alive]
        found: dict[TapeNode, Any] = {}
        backward_pass(zip(tracked, map(symbol, cotangents), strict=True), found.__setitem__)
        pulled = [
            zeros_like(leaf) if (t := found.get(leaf)) is None else conform(t, leaf.shape, leaf.dtype)
            for leaf in leaves
            if leaf is not None
        ]
        node_of = lambda y: y.node if is_own(y, Symbol, trace.level) else trace.node_of(y)
        primal = [node_of(strip_level(y, level)) for y in outs]
        results = [node_of(t) for t in pulled]
    trace.close()
    at_hand = {node for node, is_free in zip(inputs, free or [True] * len(inputs), strict=True) if is_free}
    return split_passes(inputs, primal, cotangents, results, live_out, at_hand)


def split_passes(
    inputs: Sequence[Input],
    primal: Sequence[Node],
    cotangents: Sequence[Input],
    pulled: Sequence[Node],
    live: Live,
    free: set[Input],
) -> Pulled:
    """What depends on cotangents belongs to the backward part, and reads or repeats the rest."""
    from wengert.graph.passes.subexpressions import merge_common  # passes are loaded when they are first used

    whole = merge_common(Graph([*inputs, *cotangents], [*primal, *pulled]))
    primal, pulled = whole.outputs[: len(primal)], whole.outputs[len(primal) :]
    late: set[Node] = set(cotangents)
    for node in whole.operations:
        if any(a in late for a in node.args):
            late.add(node)
    read = {a for node in whole.operations if node in late for a in node.args} | set(pulled)
    kept = choose_residuals([node for node in whole.nodes if node in read and node not in late], free)
    residuals: dict[Node, Input] = {}
    new: dict[Node, Node] = {node: node for node in (*cotangents, *whole.constants)}

    def take(node: Node) -> Node:
        """A node as the backward part knows it: its own, a residual, or computed again."""
        stack = [node]
        while stack:
            node = stack.pop()
            if node in new:
                continue
            if node in kept or not isinstance(node, Operation):
                new[node] = residuals[node] = Input(node.spec)
            elif any(a not in new for a in node.args):
                stack += [node, *node.args]
            else:
                new[node] = node.with_args([new[a] for a in node.args])
        return new[node]

    for node in whole.operations:
        if node in late:
            take(node)
    results = [take(node) for node in pulled]
    uses = tuple([i for i, node in enumerate(inputs) if node in residuals])
    saved = [node for node in residuals if node not in set(inputs)]
    forward = Graph(inputs, [*primal, *saved])
    backward = Graph(
        [*[residuals[inputs[i]] for i in uses], *[residuals[node] for node in saved], *cotangents],
        results,
    )
    return Pulled(forward, backward, uses, live)


# Batches.


@lru_cache(256)
def batch_body(body: Graph, mine: Live, n: int, wanted: Live | None = None) -> tuple[Graph, Live]:
    """The body on a batch of n: `mine` says which inputs have it as their first axis; and which outputs do."""
    out: Live = ()

    def batched(symbols: list[Any]) -> list[Any]:
        nonlocal out
        level = new_level()
        outs = body.run([Batched(x, level) if m else x for x, m in zip(symbols, mine, strict=True)])
        own = find_own(outs, Batched, level)
        out = tuple([m or bool(wanted and wanted[i]) for i, m in enumerate(own)])
        return [
            strip_level(y, level) if m or not w else broadcast_to(y, (n, *np.shape(y)))
            for y, m, w in zip(outs, own, out, strict=True)
        ]

    specs = [Spec((n, *node.shape), node.dtype) if m else node.spec for node, m in zip(body.inputs, mine, strict=True)]
    graph = trace_body(batched, specs)
    return graph, out
