"""Calls of compiled functions under transforms.

Such a call is one operation, whose vjp, jvp and batched versions are compiled functions again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wengert.control.call import Call, call_operation, has_history
from wengert.control.values import is_smooth
from wengert.core.levels import find_own, is_own, payloads, strip_level
from wengert.core.primitive import Primitive
from wengert.core.tree import flatten
from wengert.graph.graph import Graph, is_traced
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.taylor import Jet
from wengert.transforms.products import conjugate, jvp, vjp
from wengert.transforms.vmap import vmap

if TYPE_CHECKING:
    from wengert.compiler.compiled import Signature


@lru_cache(1024)
def operation_of(name: str) -> Primitive:
    """The operation of the compiled functions of this name."""
    return call_operation(name)


class CompiledCall(Call):
    """One call of a compiled function with values of some mode among its arguments or captured values.

    Derivatives are those of the traced graph. Their functions refer to the graph and not to this call, so that they
    keep no arrays alive.
    """

    def __init__(self, signature: Signature, leaves: Sequence[Any]):
        self.name, self.signature = signature.name, signature
        self.arrays = [*[x for x in leaves if is_traced(x)], *signature.captured]
        self.has_values = True
        self.is_tracked = has_history(self.arrays)
        self.structure_out = flatten([0] * len(signature.graph.outputs))[1]
        self.specs = [node.spec for node in signature.graph.outputs]

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.signature.native(x))

    def run_inline(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results, one operation at a time."""
        return tuple(self.signature.graph.run(x))

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
        axes = tuple([0 if mine else None for mine in own])
        whole = self.signature.derive("vmap", own, lambda graph: vmap(lambda *x: tuple(graph.run(x)), in_axes=axes))
        return tuple([Batched(y, top.level) for y in whole(*payloads(x, own))])


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
