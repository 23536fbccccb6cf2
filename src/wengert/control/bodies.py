"""Bodies: the functions that control-flow operations hold, as graphs, and what each mode makes of them.

A body is a graph of a flat list of arrays. It is closed: a value that the user's function captured is an input like any
other. From a body come the body that pushes tangents too, the body that pulls cotangents, and the body on a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from wengert.control.residuals import choose_residuals, find_late, find_needed
from wengert.core import machine
from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, user_error
from wengert.core.infer import is_elementwise
from wengert.core.levels import find_own, is_own, new_level, strip_level
from wengert.core.primitive import Primitive, register
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation, make_operation
from wengert.modes import recording
from wengert.modes.backward import backward_pass, conform
from wengert.modes.batch import Batched, bind_axis
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import Leaf, TapeNode
from wengert.modes.taylor import Jet, Run, Series
from wengert.modes.tensor import Tensor
from wengert.modes.trace import Trace
from wengert.ops.shape.casting import _astype, _astype_discrete
from wengert.ops.shape.reshaping import broadcast_to

ASTYPE, ASTYPE_DISCRETE = primitive_of(_astype), primitive_of(_astype_discrete)

Live = tuple[bool, ...]
"""Which of some values have a derivative."""


class Closed(NamedTuple):
    """A function of arrays as a graph, whose last inputs are the values that it captured."""

    body: Graph
    captured: list[Any]


class HeldTrace(Trace):
    """A trace inside another: symbols that stand for Python numbers do so here too."""

    def node_of(self, value: Any) -> Node:
        node = super().node_of(value)
        if isinstance(value, Symbol) and isinstance(node, Constant):
            node.weak = value.node.weak
        return node


def close_function(
    f: Callable[[list[Any]], Sequence[Any]],
    specs: Sequence[Spec],
    what: str,
    names: Iterable[str | None] = (),
    weak: Iterable[type | None] = (),
) -> Closed:
    """Trace a function of a flat list of arrays; the values that it captures become further inputs.

    Arrays may stand for Python numbers, whose types `weak` has.

    What it calls by `recording.as_read` is read, also where eager code asks for the trace.
    """
    inputs = [Input(spec, number, name) for spec, name, number in zip_longest(specs, names, weak)]
    level = new_level()
    trace = HeldTrace(level, is_held=True)
    try:
        with recording.override(trace=trace, enabled=True, inference=False, reader=recording.read_source):
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
    return close_graph(inputs, outputs)


def lift_captured(graph: Graph) -> Closed:
    """A graph with captured values as further inputs, and these values; its operations keep their order."""
    captured = [node for node in graph.constants if node.is_captured]
    if not captured:
        return Closed(graph, [])
    new: dict[Node, Node] = {node: Input(Spec.of(node.value), name=name_of(node)) for node in captured}
    for node in graph.operations:  # all of them, so that they keep their order
        new[node] = node.with_args([new.get(a, a) for a in node.args])
    inputs = [*graph.inputs, *[new[node] for node in captured]]
    return Closed(Graph(inputs, [new.get(y, y) for y in graph.outputs]), [node.value for node in captured])  # type: ignore[arg-type]  # inputs


def close_graph(inputs: Sequence[Node], outputs: Sequence[Node]) -> Closed:
    """A graph with captured values as further inputs, and these values; nothing in it is a Python number any more."""
    graph = Graph(inputs, outputs)  # type: ignore[arg-type]  # inputs
    captured: dict[int, tuple[Any, Input]] = {}
    new: dict[Node, Node] = {node: Input(node.spec, None, node.name) for node in inputs}
    for constant in graph.constants:
        if constant.is_captured:
            value = constant.value
            new[constant] = captured.setdefault(id(value), (value, Input(Spec.of(value), None, name_of(constant))))[1]
    for operation in graph.operations:  # all of them, so that they keep their order
        new[operation] = strong_operation(operation, new)
    lifted = [x for _, x in captured.values()]
    return Closed(
        Graph([*[new[node] for node in inputs], *lifted], [new.get(y, y) for y in graph.outputs]),  # type: ignore[list-item]  # inputs
        [value for value, _ in captured.values()],
    )


def strong_operation(node: Operation, new: dict[Node, Node]) -> Operation:
    """An operation on new nodes, in which Python numbers have the dtype that they take from the other operands."""
    args = [new.get(a, a) for a in node.args]
    own = [a.weak for a in node.args]
    strong = [a.dtype for a, w in zip(args, own, strict=True) if w is None]
    if strong and any(own) and is_elementwise(node.primitive):
        dtype = np.result_type(*strong, *[w(0) for w in own if w is not None])
        args = [
            cast_node(a, dtype) if w is not None and not isinstance(a, Constant) and a.dtype != dtype else a
            for a, w in zip(args, own, strict=True)
        ]
    return Operation(node.primitive, tuple(args), node.params, node.spec, None, node.name, node.source)


def cast_node(node: Node, dtype: Any) -> Node:
    """A node in another dtype."""
    smooth = node.dtype.kind in "fc" and np.dtype(dtype).kind in "fc"
    return make_operation(ASTYPE if smooth else ASTYPE_DISCRETE, [node], dtype=np.dtype(dtype))


def weak_type(x: Any) -> type | None:
    """The type of a Python number, or of a symbol that stands for one."""
    if isinstance(x, Symbol):
        return x.node.weak
    return x.__class__ if x.__class__ in PYTHON_NUMBERS else None


def share_captured(closed: Sequence[Closed]) -> tuple[list[Any], list[Graph]]:
    """The values that any of several functions captured, and the bodies as functions that take all of them."""
    captured: list[Any] = []
    for _, values in closed:
        captured += [v for v in values if not any(v is known for known in captured)]
    bodies = []
    for body, values in closed:
        n = len(body.inputs) - len(values)
        own = [next(i for i, v in enumerate(captured) if v is value) for value in values]
        others = {i: Input(Spec.of(v)) for i, v in enumerate(captured) if i not in own}
        inputs = {**others, **dict(zip(own, body.inputs[n:], strict=True))}
        bodies.append(Graph([*body.inputs[:n], *[inputs[i] for i in range(len(captured))]], body.outputs))
    return captured, bodies


def name_of(captured: Constant) -> str | None:
    """The user's name of a captured value, where it is known."""
    value = captured.value
    return value.node.name if isinstance(value, Symbol) else captured.name


def trace_body(function: Callable[[list[Any]], Sequence[Any]], specs: Sequence[Spec]) -> Graph:
    """The graph of a function that captures nothing."""
    body, captured = close_function(function, specs, "a body")
    assert not captured
    return body


def specs_of(nodes: Sequence[Node]) -> list[Spec]:
    """The specs of some nodes."""
    return [node.spec for node in nodes]


def check_operands(operands: Sequence[Spec], body: Graph) -> None:
    """Raise if operands have other shapes or dtypes than the inputs of a body."""
    for i, (spec, given) in enumerate(zip(operands, body.inputs, strict=True)):
        if spec != given.spec:
            raise user_error(TypeError, f"Operand {i} of a body is {spec!r}, and its input {given.spec!r}")


# Forward and Taylor mode.


class Lift(NamedTuple):
    """A mode whose values carry others along: one tangent, or, for an `order`, so many Taylor coefficients."""

    order: int = 0

    @staticmethod
    def of(value: Dual | Jet) -> Lift:
        """The mode of a value."""
        return Lift(value.series.run.order if isinstance(value, Jet) else 0)

    @property
    def mode(self) -> type[Array]:
        """The class of its values."""
        return Jet if self.order else Dual

    @property
    def width(self) -> int:
        """How many others a value carries."""
        return self.order or 1

    def wrap(self, x: Any, parts: Sequence[Any], level: int, run: Run) -> Any:
        """A value that carries these parts; `run` is that of all values in Taylor mode."""
        return Jet(Series(run, [x, *parts]), level) if self.order else Dual(x, parts[0], level)

    def parts(self, y: Any) -> list[Any]:
        """What a value carries."""
        if not self.order:
            return [y.tangent]
        return [zeros_like(y.value) if (c := y.series[k]) is None else c for k in range(1, self.order + 1)]

    def zeros(self, x: Any) -> list[Any]:
        """What a constant carries."""
        return [zeros_like(x)] * self.width


class Pushed(NamedTuple):
    """A body with what its live inputs carry behind them, and what its live outputs carry behind these."""

    body: Graph
    live: Live  # of the outputs


@lru_cache(256)
def push_body(body: Graph, live: Live, wanted: Live | None, lift: Lift) -> Pushed:
    """The body in forward or Taylor mode, for these live inputs; `wanted` outputs are live, be it with zeros."""
    live_out: Live = ()
    n = lift.width

    def pushed(symbols: list[Any]) -> list[Any]:
        nonlocal live_out
        level, run, parts = new_level(), Run(lift.order), iter(symbols[len(body.inputs) :])
        args = [
            lift.wrap(x, [next(parts) for _ in range(n)], level, run) if alive else x
            for x, alive in zip(symbols, live, strict=False)
        ]
        outs = body.run(args)
        own = find_own(outs, lift.mode, level)
        live_out = tuple([mine or bool(wanted and wanted[i]) for i, mine in enumerate(own)])
        found = [
            lift.parts(y) if mine else lift.zeros(y) for y, mine, out in zip(outs, own, live_out, strict=True) if out
        ]
        return [*[strip_level(y, level) for y in outs], *[t for parts in found for t in parts]]

    carried = [node.spec for node, alive in zip(body.inputs, live, strict=True) for _ in range(n if alive else 0)]
    graph = trace_body(pushed, [*specs_of(body.inputs), *carried])
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
def pull_body(
    body: Graph,
    live: Live,
    free: Live | None = None,
    recompute: bool = False,
    rewrite: Callable[[Graph], Graph] | None = None,
) -> Pulled:
    """The two parts of a body, for derivatives with respect to its live inputs.

    The backward part may read inputs that are `free`, all by default, without anything being kept for it. With
    `recompute`, it begins with the forward part, and there are no residuals. `rewrite` is a pass over both parts as one
    graph, before it is split.
    """
    trace, inputs = Trace(new_level(), is_held=True), [Input(node.spec, node.weak) for node in body.inputs]
    level = new_level()

    def symbol(node: Node) -> Symbol:
        return Symbol(node, trace.level, trace)

    def node_of(y: Any) -> Node:
        node: Node = y.node if is_own(y, Symbol, trace.level) else trace.node_of(y)
        return node

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
        primal = [node_of(strip_level(y, level)) for y in outs]
        results = [node_of(t) for t in pulled]
    trace.close()
    if recompute:
        needed = set(Graph(inputs, results).nodes)
        uses = tuple([i for i, node in enumerate(inputs) if node in needed])
        backward = Graph([*[inputs[i] for i in uses], *cotangents], results)
        return Pulled(Graph(inputs, primal), backward, uses, live_out)
    at_hand = {node for node, is_free in zip(inputs, free or [True] * len(inputs), strict=True) if is_free}
    return split_passes(inputs, primal, cotangents, results, live_out, at_hand, rewrite)


machine.on_change(pull_body.cache_clear)


def split_passes(
    inputs: Sequence[Input],
    primal: Sequence[Node],
    cotangents: Sequence[Input],
    pulled: Sequence[Node],
    live: Live,
    free: set[Input],
    rewrite: Callable[[Graph], Graph] | None = None,
) -> Pulled:
    """What depends on cotangents belongs to the backward part, and reads or repeats the rest."""
    from wengert.graph.passes.subexpressions import merge_common  # passes are loaded when they are first used

    whole = merge_common(Graph([*inputs, *cotangents], [*primal, *pulled]))
    whole = whole if rewrite is None else rewrite(whole)
    primal, pulled = whole.outputs[: len(primal)], whole.outputs[len(primal) :]
    late = find_late(whole, cotangents)
    kept = choose_residuals(find_needed(whole, late, pulled), free)
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
                new[node] = residuals[node] = Input(node.spec, node.weak)
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
        [*[residuals[inputs[i]] for i in uses], *[residuals[node] for node in saved], *cotangents], results
    )
    return Pulled(forward, backward, uses, live)


def gain_history(operands: Sequence[Any], known: Sequence[Any]) -> bool:
    """Whether a backward pass that is recorded (`create_graph=True`) has given these operands a history."""
    return any(isinstance(x, Tensor) and not isinstance(y, Tensor) for x, y in zip(operands, known, strict=True))


def pull_through(t: Sequence[Any], operands: Sequence[Any], gradient: Any) -> Sequence[Any]:
    """The cotangents of operands by a backward pass that is a parameter."""
    pulled: Sequence[Any] = gradient.pull_through(t, operands)
    return pulled


def gradient_primitive(name: str, outputs: int = 0, vjp: Callable[..., Any] = pull_through) -> Primitive:
    """An operation that stands on the tape for one that holds bodies; its parameter `gradient` is the backward pass.

    It has as many outputs as there are, unless their number is given with a `vjp`.
    """
    return Primitive(
        Definition(
            name=name,
            impl=lambda *_, gradient: None,
            kind="general",
            inputs=("*operands",),
            takes_params=True,
            outputs=outputs,
            vjp=vjp,
        )
    )


def control_primitive(
    name: str,
    run: Callable[..., Any],
    spec: Callable[..., Any],
    in_mode: Callable[..., Any],
    inputs: tuple[str, ...] = ("*operands",),
) -> Primitive:
    """Register an operation that holds bodies: `run` is its implementation, `in_mode` runs it on values."""
    primitive = Primitive(
        Definition(
            name=name,
            impl=run,
            kind="control",
            inputs=inputs,
            takes_params=True,
            outputs=0,
            spec=spec,
            in_mode=in_mode,
            vjp=lambda t, operands: None,
        )
    )
    register(primitive)
    return primitive


# Batches.


@lru_cache(256)
def batch_body(body: Graph, mine: Live, n: int, name: str | None, wanted: Live | None = None) -> tuple[Graph, Live]:
    """The body on a batch of n: `mine` says which inputs have it as their first axis; and which outputs do.

    `name` is that of the axis, if it has one.
    """
    out: Live = ()

    def batched(symbols: list[Any]) -> list[Any]:
        nonlocal out
        level = new_level()
        with bind_axis(name, level, n):
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


def refuse_collectives(name: str | None, *bodies: Graph | None) -> None:
    """Raise an error if a body that only some elements of a batch run uses all elements along the named axis."""
    left = [body for body in bodies if body is not None and name is not None]
    while left:
        for node in left.pop().operations:
            if node.primitive.definition.collect is not None and node.params["axis_name"] == name:
                raise user_error(
                    ValueError,
                    f"{node.primitive.name} along {name!r} in a branch or a step that only some elements of the axis "
                    f"run",
                    "Compute it outside, or choose between its results with wg.where.",
                )
            left += [held.graph for held in graphs_of(node)]
