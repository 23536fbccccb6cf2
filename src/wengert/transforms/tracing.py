"""From functions to graphs: `trace`; and graphs by hand: `symbol` and `gradients`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.checks import attach_checks
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import is_own, new_level, strip_level
from wengert.core.primitive import OUTPUT, SHAPED, as_operand
from wengert.core.spec import Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import Structure, flatten, leaf_names, unflatten
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation, make_constant, topological_order
from wengert.modes import recording
from wengert.modes.backward import backward_pass, conform
from wengert.modes.forward import zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import Leaf, TapeNode, output_nodes
from wengert.modes.taped_trace import TapedTrace
from wengert.modes.tensor import Tensor
from wengert.modes.trace import Assignment, TapeNeeded, Trace
from wengert.ops.shape.reshaping import extents

__all__ = ["gradients", "symbol", "trace"]


def symbol(name: str, shape: Any = (), dtype: Any = np.float64) -> Symbol:
    """A named value, to build a graph with; `function` compiles it.

    >>> x = symbol("x", 3)
    >>> np.sin(x) * 2.0
    symbol(multiply: f64[3])
    """
    return Symbol(Input(Spec(extents(shape), np.dtype(dtype)), name=name))


def trace(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """The graph of a function, for arguments like these.

    Arguments are arrays, numbers, specs (`wg.Spec(shape, dtype)`), or trees of them. Booleans, strings and other
    objects are constants of the graph, and so are captured arrays.

    >>> trace(lambda x: x * x, np.ones(2)).evaluate(np.array([2.0, 3.0]))
    array([4., 9.])
    """
    if not callable(f):
        raise user_error(
            TypeError,
            f"wg.trace gives the graph of a function, and was given a {type(f).__name__}",
            "The sum of a diagonal is wg.linalg.trace, or np.trace.",
        )
    leaves, structure = flatten((args, kwargs))
    run = Traced(f, leaves, structure)
    if run.assignments or run.removed or run.gradients:
        raise user_error(
            GradientError,
            "The function assigns to a tensor that it captures, or to its gradient",
            because="a graph is a function of its inputs. Return the new value, or use wg.compile, which writes it "
            "back.",
        )
    return run.graph


class Traced:
    """A run of a function on symbols: its `graph`, and the `assignments` to captured tensors and their gradients.

    The last outputs of the graph are the values that are assigned, its last inputs the `gradients` that are read;
    others are `removed`. `leaves` are those of the positional and keyword arguments; the `fixed` ones are constants.
    `arrays` are those that the function captured, `guards` what it has read of other objects.
    """

    def __init__(
        self, f: Callable[..., Any], leaves: Sequence[Any], structure: Structure, fixed: Sequence[bool] | None = None
    ):
        names = leaf_names(f, structure)
        fixed = fixed or [False] * len(leaves)
        inputs = [
            input_of(x, name) if is_traced(x) and not still else None
            for x, name, still in zip(leaves, names, fixed, strict=True)
        ]
        self.assignments: list[Assignment] = []
        trace = Trace(new_level())
        trace.can_restart = True
        try:
            outputs, result = self.run(trace, f, leaves, structure, inputs)
        except TapeNeeded:
            trace = TapedTrace(new_level())
            outputs, result = self.run(trace, f, leaves, structure, inputs)
        self.is_taped = isinstance(trace, TapedTrace)
        self.has_rules, self.guards = trace.has_rules, list(trace.guards.values())
        self.unrolled = list(trace.unrolled.values())
        outputs = attach_checks(outputs, trace.checks)
        self.arrays = [value for value, _, _ in trace.known.values() if isinstance(value, np.ndarray)]
        outputs += [assignment.node for assignment in self.assignments]
        self.removed = trace.removed
        self.gradients = [gradient for gradient in trace.gradients.values() if gradient.given is not None]
        given = [node for node in (*inputs, *[gradient.given for gradient in self.gradients]) if node is not None]
        self.graph = Graph(given, outputs, structure, result)

    def run(
        self, trace: Trace, f: Callable[..., Any], leaves: Sequence[Any], structure: Structure, inputs: Sequence[Any]
    ) -> tuple[list[Node], Structure]:
        """Run the function in a trace; returns the outputs and their structure."""
        from wengert.source.reading import hide_frames  # which is needed for traces only

        level = trace.level
        symbols = [x if node is None else Symbol(node, level, trace) for x, node in zip(leaves, inputs, strict=True)]
        args, kwargs = unflatten(structure, symbols)
        try:
            with recording.override(trace=trace, enabled=True, inference=False, reader=read_source):
                outs, result = flatten(read_source(f)(*args, **kwargs))
                outs = [strip_level(y, trace.tape) for y in outs]
                outputs = [y.node if is_own(y, Symbol, level) else output_of(y, level, trace) for y in outs]
        except Exception as error:
            hide_frames(error)
            raise
        finally:
            self.assignments = trace.close()
        return outputs, result


def read_source(f: Any) -> Any:
    """What a trace runs in place of a function: one that its source becomes."""
    from wengert.source.reading import read_function  # which is needed for traces only

    return read_function(f)


recording.read_source = read_source


def input_of(x: Any, name: str | None) -> Input:
    """The input of the graph for an argument."""
    return Input(input_spec(x), x.__class__ if x.__class__ in PYTHON_NUMBERS else None, name)


def input_spec(x: Any) -> Spec:
    """The spec of an array, a value, a number or a spec, in native byte order."""
    refuse_subclass(x)
    spec = Spec(extents(x.shape), np.dtype(x.dtype)) if isinstance(x, Spec) else Spec.of(x)
    if spec.dtype.kind not in "biufc":
        raise user_error(
            TypeError, f"A traced function takes arrays of numbers, and was given one of dtype {spec.dtype}"
        )
    return spec if spec.dtype.isnative else Spec(spec.shape, spec.dtype.newbyteorder("="))


def output_of(y: Any, level: int, trace: Trace) -> Node:
    """The node of a result that does not depend on the inputs."""
    if isinstance(y, Array) and y.level > level:
        raise user_error(
            GradientError,
            "A traced function returned a value of a transform that has ended",
            "Return what the transform returns.",
        )
    if not isinstance(y, (*SHAPED, *PYTHON_NUMBERS)) or Spec.of(y).dtype.kind not in "biufc":
        raise user_error(
            TypeError, f"A traced function returned a {type(y).__name__}", "Return arrays, numbers, or trees of them."
        )
    return trace.node_of(y)


def gradients(ys: Any, xs: Sequence[Symbol] | Symbol, grad_ys: Any = None) -> Any:
    """The derivatives of the sum of `ys` with respect to each of `xs`, as symbols.

    `grad_ys` are weights for the elements of `ys`, ones if None.

    >>> x = symbol("x")
    >>> (slope,) = gradients(np.sin(x), [x])
    >>> slope
    symbol(multiply: f64[])
    """
    single = isinstance(xs, Symbol)
    wanted: list[Symbol] = [xs] if isinstance(xs, Symbol) else list(xs)
    outs = [ys] if isinstance(ys, Symbol) else list(ys)
    seeds = [None] * len(outs) if grad_ys is None else [grad_ys] if isinstance(ys, Symbol) else list(grad_ys)
    for x in (*wanted, *outs):
        if not isinstance(x, Symbol):
            raise user_error(
                TypeError, f"gradients takes symbols, and was given a {type(x).__name__}", "Make one with wg.symbol."
            )
        if x.dtype.kind not in "fc":
            raise user_error(
                GradientError,
                f"gradients of, or with respect to, a symbol of dtype {x.dtype}",
                because="derivatives need floating-point numbers.",
            )
    found = pull_nodes([y.node for y in outs], seeds, [x.node for x in wanted], outs[0])
    results = [zeros_like(x) if t is None else t for x, t in zip(wanted, found, strict=True)]
    results = [t if isinstance(t, Symbol) else Symbol(make_constant(t), outs[0].level, outs[0].extra) for t in results]
    return results[0] if single else results


def pull_nodes(outs: Sequence[Node], seeds: Sequence[Any], targets: Sequence[Node], like: Symbol) -> list[Any]:
    """Cotangents of nodes of a graph, as symbols: a backward pass over the tape that recording it would make."""
    wanted = set(targets)

    def wrap(node: Node) -> Any:
        if isinstance(node, Constant) and not node.is_captured:
            return node.value
        return Symbol(node, like.level, like.extra)

    tape: dict[Node, TapeNode] = {}
    for node in topological_order((*outs, *targets)):
        if isinstance(node, Operation) and any(a in tape for a in node.args):
            recorded = record_node(node, tape, wrap)
            if recorded is not None:
                tape[node] = recorded
        if node in wanted and node not in tape:
            tape[node] = Leaf(node)
    started: list[tuple[TapeNode, Any]] = []
    for node, seed in zip(outs, seeds, strict=True):
        if node in tape:
            t = (
                np.broadcast_to(node.dtype.type(1), node.shape)[()]
                if seed is None
                else conform(as_operand(seed), node.shape, node.dtype)
            )
            started.append((tape[node], t))
    found: dict[TapeNode, Any] = {}
    if started:
        backward_pass(started, found.__setitem__, targets=[tape[node] for node in targets])
    return [None if (t := found.get(tape[node])) is None else conform(t, node.shape, node.dtype) for node in targets]


def record_node(node: Operation, tape: dict[Node, TapeNode], wrap: Callable[[Node], Any]) -> TapeNode | None:
    """The tape node of an operation, None where no gradient flows through it."""
    primitive = node.primitive
    if primitive is OUTPUT:
        return TapeNode(OUTPUT, node.params, (tape[node.args[0]],), (), node)
    if primitive.definition.in_mode is not None:
        return run_on_tape(node, tape, wrap)
    keep = primitive.keep(*[a in tape for a in node.args])
    if keep is None:
        return None
    parents = [tape.get(a) for a in node.args]
    for i in primitive.constants:
        if i < len(parents):
            parents[i] = None
    if primitive.outputs == 1:
        return TapeNode(primitive, node.params, tuple(parents), keep(wrap(node), *map(wrap, node.args)), node)
    whole = output_nodes(primitive, node.params, tuple(parents), keep(None, *map(wrap, node.args)), node.spec)
    parent: TapeNode | None = whole[0].parents[0]
    return parent


def run_on_tape(node: Operation, tape: dict[Node, TapeNode], wrap: Callable[[Node], Any]) -> TapeNode | None:
    """The tape node of an operation that holds graphs: it runs once more, and keeps what its backward pass needs."""
    level = new_level()
    args = [Tensor(wrap(a), level, tape[a]) if a in tape else wrap(a) for a in node.args]
    outs = node.primitive.op(*args, **node.params)
    tracked = [y.node for y in outs if is_own(y, Tensor, level) and y.node is not None]
    parent: TapeNode | None = tracked[0].parents[0] if tracked else None
    return parent
