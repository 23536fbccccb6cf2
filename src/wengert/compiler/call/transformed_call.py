"""Calls of compiled functions under transforms.

Such a call is one operation, whose vjp, jvp and batched versions are compiled functions again. On a tape of plain
arrays, the program of the call keeps what the rules need, and that of its backward pass reads it. If the backward pass
is recorded or transformed itself, it computes the call again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.compiler.forms.attention import block_attention
from wengert.compiler.forms.blocked_attention import ATTENTION
from wengert.control.bodies import Live, Pulled, gradient_primitive, pull_body
from wengert.control.call import Call, call_operation, pull_call
from wengert.control.values import is_smooth
from wengert.core import machine, native
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.definition import Definition
from wengert.core.levels import find_own, is_own, payloads, strip_level
from wengert.core.primitive import SHAPED, Primitive
from wengert.core.tree import Structure, flatten
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import Node, is_a
from wengert.graph.passes import REWRITES, run_until_stable
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.in_place import protect
from wengert.modes.outlines import ArrayHolder
from wengert.modes.tape import TapeNode
from wengert.modes.taylor import Jet
from wengert.modes.tensor import Tensor, record_result, split_operands
from wengert.ops.special.entropy import softmax_weights
from wengert.transforms.products import conjugate, jvp, vjp
from wengert.transforms.vmap import vmap

if TYPE_CHECKING:
    from wengert.compiler.call.compiled import Signature


@lru_cache(1024)
def operation_of(name: str) -> Primitive:
    """The operation of the compiled functions of this name."""
    return call_operation(name)


@lru_cache(1024)
def list_structure(length: int) -> Structure:
    """The structure of a list of leaves."""
    return flatten([0] * length)[1]


@lru_cache(1024)
def gradient_of(name: str) -> Primitive:
    """The operation that stands on the tape for a call that has kept what its backward pass needs."""
    return gradient_primitive(name)


@lru_cache(1024)
def first_gradient_of(name: str) -> Primitive:
    """The same for a call of which only the first result has a derivative: that is one node of the tape."""
    return gradient_primitive(name, outputs=1, vjp=lambda t, operands, gradient: gradient.pull_first(t, operands))


class CompiledCall(Call):
    """One call of a compiled function with values of some mode among its arguments or captured values.

    Derivatives are those of the traced graph. Their functions refer to the graph and not to this call, so that they
    keep no arrays alive.
    """

    def __init__(self, signature: Signature, leaves: Sequence[Any]):
        self.name, self.signature = signature.name, signature
        self.arrays = [*[x for x in leaves if is_traced(x)], *signature.captured]
        self.has_values = True
        self.structure_out = list_structure(len(signature.graph.outputs))
        self.specs = [node.spec for node in signature.graph.outputs]

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.signature.run(x))

    def run_inline(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results, one operation at a time."""
        return tuple(self.signature.graph.run(x))

    def in_reverse_mode(self, primitive: Primitive, top: Tensor, x: Sequence[Any]) -> tuple[Any, ...]:
        values, parents, constants = split_operands(x, top.level)
        live = tuple([parent is not None for parent in parents])
        if not any(live) or not recording.is_recording() or any(isinstance(v, Array) for v in values):
            return super().in_reverse_mode(primitive, top, x)
        forward, pulled, count = self.forward_pass(live), pull_graph(self.signature.graph, live), len(self.specs)
        values = [as_contiguous(v) for v in values]  # once for both passes
        found = forward(*values)
        outs = [found[i] for i in output_places(pulled.forward)]
        native.met_large |= max([y.size for y in outs]) >= machine.current.min_elements_of_native_function
        gradient = CompiledGradient(self, pulled, live, as_residuals(pulled, outs[count:]))
        parameters = {"gradient": gradient}
        primal = record_result(gradient_of(self.name), top.level, parameters, values, parents, constants, outs[:count])
        for y, alive in zip(primal, pulled.live, strict=True):
            if not alive:
                y.node = None
        return tuple(primal)

    def forward_pass(self, live: Live) -> Callable[..., Any]:
        """The compiled function of the results and of what the backward pass with these live inputs needs."""
        return self.signature.derive(
            "forward pass", live, lambda graph: graph_function(without_repeats(pull_graph(graph, live).forward))
        )

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        given = tuple([c is not None for c in t])
        chosen = tuple([i for i, alive in enumerate(live) if alive])
        pullback = self.signature.derive("vjp", (given, chosen), lambda graph: make_pullback(graph, given, chosen))
        # the public vjp has adjoints, the engine transposes
        found = iter(pullback(tuple(x), tuple([conjugate(c) for c in t if c is not None])))
        return [conjugate(next(found)) if alive else None for alive in live]

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        return self.push_chosen(x, t, tuple([i for i, v in enumerate(x) if is_smooth(v)]))

    def push_chosen(
        self, x: Sequence[Any], t: Sequence[Any], chosen: tuple[int, ...]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """The results and their tangents, where only the `chosen` inputs have tangents."""
        function = self.signature.derive("jvp", chosen, lambda graph: make_pushforward(graph, chosen))
        outs, tangents = function(tuple(x), tuple([t[i] for i in chosen]))
        return outs, tangents

    def in_forward_mode(self, level: int, x: Sequence[Any]) -> tuple[Any, ...]:
        own = tuple([i for i, a in enumerate(x) if is_own(a, Dual, level)])
        values, tangents = [strip_level(a, level) for a in x], [getattr(a, "tangent", None) for a in x]
        outs, pushed = self.push_chosen(values, tangents, own)
        return tuple([Dual(y, t, level) if is_smooth(y) else y for y, t in zip(outs, pushed, strict=True)])

    def in_taylor_mode(self, primitive: Primitive, top: Jet, x: Sequence[Any]) -> tuple[Any, ...]:  # noqa: ARG002  # as in Call
        """The results, one operation at a time: series are not compiled."""
        return self.run_inline(x)

    def in_batched_mode(self, primitive: Primitive, top: Batched, x: Sequence[Any]) -> tuple[Any, ...]:  # noqa: ARG002  # as in Call
        own = tuple(find_own(x, Batched, top.level))
        axes, name = tuple([0 if mine else None for mine in own]), name_of_level(top.level)
        whole = self.signature.derive(
            "vmap", (own, name), lambda graph: vmap(lambda *x: tuple(graph.run(x)), in_axes=axes, axis_name=name)
        )
        return tuple([Batched(y, top.level) for y in whole(*payloads(x, own))])


class RecordedCalls:
    """The calls of a compiled function of which only the first result has a derivative, with these live inputs.

    What is the same for all of them is found once. Nothing is asked of arguments: the signature must be theirs, and of
    a function that captures nothing.
    """

    def __init__(self, signature: Signature, live: Live):
        self.call, self.live, self.primitive = CompiledCall(signature, ()), live, first_gradient_of(signature.name)
        self.forward, self.pulled = self.call.forward_pass(live), pull_graph(signature.graph, live)
        self.places, self.count = output_places(self.pulled.forward), len(signature.graph.outputs)
        self.has_weak = any(node.weak is not None for node in residual_inputs(self.pulled))

    def record(
        self, level: int, values: Sequence[Any], parents: Sequence[Any], constants: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The results for plain arrays with these nodes; those of `constants` could still change."""
        values = [v if v.flags.c_contiguous else v.copy() for v in values]  # once for both passes
        found = self.forward(*values)
        out, *others = [found[i] for i in self.places]
        residuals = others[self.count - 1 :]
        if self.has_weak:
            residuals = as_residuals(self.pulled, residuals)
        gradient = CompiledGradient(self.call, self.pulled, self.live, residuals)
        saved: tuple[Any, ...] = (tuple(values),)
        if constants:
            saved = protect(saved, constants)
        node = TapeNode(self.primitive, {"gradient": gradient}, tuple(parents), saved, out)
        return Tensor(out, level, node), *others[: self.count - 1]


class CompiledGradient(ArrayHolder):
    """The backward pass of one call: a compiled function of inputs that it uses, of residuals, and of cotangents.

    `arrays` are the residuals, as `as_residuals` gives them.
    """

    def __init__(self, call: CompiledCall, pulled: Pulled, live: Live, arrays: Sequence[Any]):
        self.call, self.pulled, self.live, self.arrays = call, pulled, live, arrays
        self.outline = call.signature, live

    def pull_through(self, t: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of the live operands."""
        if any(isinstance(v, Array) for v in (*t, *operands)):
            return pull_call(self.call, t, operands, self.live)
        return self.run_backward(t, operands, self.backward_function)

    def backward_function(self, given: Live) -> Callable[..., Any]:
        """The compiled function for the cotangents that are given."""
        return self.call.signature.derive(
            "backward pass", (self.live, given), lambda _: make_backward(self.pulled.backward, given)
        )

    def pull_first(self, t: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of the live operands where only the first result has one."""
        return self.pull_through([t, *[None] * (len(self.pulled.live) - 1)], operands)

    def run_backward(
        self, t: Sequence[Any], operands: Sequence[Any], function_of: Callable[[Live], Callable[..., Any]]
    ) -> list[Any]:
        """The cotangents of the live operands, from a function for the cotangents that are given."""
        pulled = self.pulled
        given = tuple([c is not None for c, alive in zip(t, pulled.live, strict=True) if alive])
        cotangents = [c for c, alive in zip(t, pulled.live, strict=True) if alive and c is not None]
        found = iter(function_of(given)(*[operands[i] for i in pulled.uses], *self.arrays, *cotangents))
        return [next(found) if alive else None for alive in self.live]

    def with_arrays(self, arrays: Sequence[Any]) -> ArrayHolder:
        return TracedGradient(self.call, self.pulled, self.live, arrays)


class TracedGradient(CompiledGradient):
    """The same pass in the trace of a tape: one operation, whose compiled function has the bits that it has alone."""

    def pull_through(self, t: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
        return self.run_backward(t, operands, lambda given: TracedBackward(self, given))


class TracedBackward:
    """The compiled backward pass of a gradient, on arrays or symbols; Python's numbers are parameters of it."""

    def __init__(self, gradient: CompiledGradient, given: Live):
        self.function, self.graph = gradient.backward_function(given), gradient.pulled.backward

    def __call__(self, *x: Any) -> Sequence[Any]:
        is_number = [not isinstance(v, SHAPED) for v in x]
        numbers = tuple([v if fixed else None for v, fixed in zip(x, is_number, strict=True)])
        arrays = [v for v, fixed in zip(x, is_number, strict=True) if not fixed]
        found: Sequence[Any] = BACKWARD_PASS.op(*arrays, backward=self, numbers=numbers)
        return found

    def run(self, x: Sequence[Any], numbers: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents, with these numbers between the arrays."""
        rest = iter(x)
        return tuple(self.function(*[next(rest) if v is None else v for v in numbers]))


BACKWARD_PASS = Primitive(
    Definition(
        name="backward pass",
        impl=lambda *x, backward, numbers: backward.run(x, numbers),
        kind="general",
        inputs=("*x",),
        takes_params=True,
        outputs=0,
        spec=lambda *_, backward, numbers: tuple([node.spec for node in backward.graph.outputs]),
        vjp=lambda t, x, backward, numbers: None,
    )
)
"""The backward pass of a compiled function in the trace of a tape."""


def residual_inputs(pulled: Pulled) -> Sequence[Node]:
    """The inputs of a backward pass that are residuals; cotangents follow."""
    return pulled.backward.inputs[len(pulled.uses) : len(pulled.backward.inputs) - sum(pulled.live)]


def as_residuals(pulled: Pulled, values: Sequence[Any]) -> list[Any]:
    """What a forward pass has kept, with Python's numbers where they were some."""
    return [x if n.weak is None else n.weak(x) for x, n in zip(values, residual_inputs(pulled), strict=True)]


def as_contiguous(x: Any) -> Any:
    """An array as native entries take it: as it is, or a copy."""
    return x if x.__class__ is not np.ndarray or x.flags.c_contiguous else x.copy()


def pull_graph(graph: Graph, live: Live) -> Pulled:
    """The two parts of a graph, for derivatives with respect to its live inputs; attention is in blocks in both."""
    return pull_body(graph, live, rewrite=block_both)


def block_both(whole: Graph) -> Graph:
    """A graph and its backward pass with attention in blocks, so that no weights are kept for the derivative."""
    if not any(is_a(node, softmax_weights) for node in whole.operations):
        return whole
    blocked = block_attention(run_until_stable(whole, REWRITES))
    return blocked if any(node.primitive is ATTENTION for node in blocked.operations) else whole


def without_repeats(graph: Graph) -> Graph:
    """A graph with each of its outputs once: a result that the backward pass needs is not stored twice."""
    return Graph(graph.inputs, list(dict.fromkeys(graph.outputs)))


@lru_cache(1024)
def output_places(graph: Graph) -> list[int]:
    """The number of each output among those of the graph without repeats."""
    numbers = {node: i for i, node in enumerate(dict.fromkeys(graph.outputs))}
    return [numbers[node] for node in graph.outputs]


def graph_function(graph: Graph) -> Callable[..., Any]:
    """A graph as a function of its inputs."""
    return lambda *x: tuple(graph.run(x))


def make_backward(graph: Graph, given: Sequence[bool]) -> Callable[..., Any]:
    """A backward pass as a function of what it reads and of the `given` cotangents; the others are zero."""
    first = len(graph.inputs) - len(given)

    def function(*x: Any) -> tuple[Any, ...]:
        rest = iter(x[first:])
        cotangents = [
            next(rest) if there else zeros_like(node.spec)
            for node, there in zip(graph.inputs[first:], given, strict=True)
        ]
        return tuple(graph.run([*x[:first], *cotangents]))

    return function


def restrict_graph(
    graph: Graph, x: Sequence[Any], chosen: Sequence[int], wanted: Sequence[bool] | None = None
) -> Callable[..., Any]:
    """The `wanted` outputs of a graph as a function of the `chosen` inputs; the others are taken from x."""

    def function(*parts: Any) -> tuple[Any, ...]:
        whole = list(x)
        for i, part in zip(chosen, parts, strict=True):
            whole[i] = part
        outs = graph.run(whole)
        return tuple(outs if wanted is None else [y for y, w in zip(outs, wanted, strict=True) if w])

    return function


def make_pullback(graph: Graph, given: Sequence[bool], chosen: Sequence[int]) -> Callable[..., Any]:
    """The function from inputs and cotangents of the `given` outputs to cotangents of the `chosen` inputs."""
    return lambda x, t: vjp(restrict_graph(graph, x, chosen, given), *[x[i] for i in chosen])[1](tuple(t))


def make_pushforward(graph: Graph, chosen: Sequence[int]) -> Callable[..., Any]:
    """The function from inputs and tangents of the `chosen` ones to outputs and their tangents."""
    return lambda x, t: jvp(restrict_graph(graph, x, chosen), [x[i] for i in chosen], list(t))
