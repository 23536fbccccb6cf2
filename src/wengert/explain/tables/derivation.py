"""The derivative of one operation as a small graph: its rule, run on symbols and simplified.

The graph is the same for all uses of an operation on values of the same shapes, so it is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.spec import Spec
from wengert.graph.costs import tree_size
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation, is_a, topological_order
from wengert.graph.mathematics import expression
from wengert.graph.notation import notation
from wengert.graph.passes import REWRITES, run_until_stable
from wengert.graph.passes.rewrite import broadcast_node, rebuild
from wengert.modes.backward import pull_node
from wengert.modes.forward import push
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import TapeNode as TapeNode
from wengert.ops.elementwise.choices import _where

LARGEST = 16
"""How many operations a formula on a line may have; a call by name counts three times."""
HUGE = 200
"""How many it may have before its guards are decided."""
PLAIN_NUMBERS = range(-9, 10)
"""Twice the constants that a formula is simplified for. Others are symbols, so that they share one formula."""


class Derivation(NamedTuple):
    """A derivative as a graph of one output. Its inputs are by index: operands, outputs, incoming derivatives.

    `guards` are conditions by which rules avoid single points, such as x == 0. They are decided for given numbers.
    """

    graph: Graph
    operands: dict[int, Node]
    outs: dict[int, Node]
    given: dict[int, Node]
    guards: list[Node]

    @property
    def result(self) -> Node:
        return self.graph.outputs[0]


class Derivations:
    """A cache of derivations. None stands for a derivative that is too large to be shown, or has no formula."""

    def __init__(self) -> None:
        self.known: dict[Any, list[Derivation | None]] = {}
        self.short: dict[tuple[int, tuple], tuple[Derivation, Derivation | None]] = {}

    def tangent(self, node: Operation, live: Sequence[bool]) -> list[Derivation | None]:
        """The tangent of each output, from the tangents of the live operands."""
        return self._look_up("tangent", node, live, derive_tangents)

    def adjoints(self, node: Operation, live: Sequence[bool], flowing: Sequence[bool]) -> list[Derivation | None]:
        """The contribution to each operand, from the adjoints of those outputs that have one."""
        return self._look_up(("adjoint", *flowing), node, live, lambda node, live: derive_adjoints(node, live, flowing))

    def _look_up(
        self, what: Any, node: Operation, live: Sequence[bool], find: Callable[..., list]
    ) -> list[Derivation | None]:
        operands = tuple(
            [a.operand if (value := plain_number(a)) is None else (value, value.__class__) for a in node.args]
        )
        try:
            key = what, node.primitive, tuple(sorted(node.params.items())), operands, tuple(live)
            if key not in self.known:
                self.known[key] = find(node, live)
            return self.known[key]
        except TypeError:  # parameters of a user's operation that have no hash
            return find(node, live)

    def decide(self, found: Derivation, operands: Sequence[Any], outs: Sequence[Any]) -> Derivation | None:
        """The formula for these numbers; None if it is too long."""
        answers = tuple(decide_guards(found, operands, outs))
        key = id(found.graph), answers  # the entry keeps the graph alive, so its id is unique
        if key not in self.short:
            made = prune(found, answers) if any(answer is not None for answer in answers) else found
            self.short[key] = found, made if formula_length(made.graph) <= LARGEST else None
        return self.short[key][1]


def formula_length(graph: Graph) -> int:
    """About how long the formula is, with each use of a value written out."""
    sizes: dict[Node, int] = {}
    for node in graph.operations:
        is_short = node.primitive in notation or node.primitive in expression
        sizes[node] = (1 if is_short else 3) + sum([sizes.get(a, 0) for a in node.args])
    return sizes.get(graph.outputs[0], 0)


def plain_number(node: Node) -> Any:
    """A small constant of the program, such as an exponent or a factor of two; else None."""
    value = node.value if isinstance(node, Constant) else None
    if isinstance(value, int | float | np.number) and not node.shape and (value * 2) in PLAIN_NUMBERS:
        return value
    return None


def symbols_for(node: Operation) -> tuple[list[Any], list[Any]]:
    """Operands and outputs as symbols; numbers stay numbers."""
    given = [Symbol(Input(a.spec, a.weak)) if (value := plain_number(a)) is None else value for a in node.args]
    outs = [Symbol(Input(spec)) for spec in ([node.spec] if isinstance(node.spec, Spec) else node.spec)]
    return given, outs


def derive_tangents(node: Operation, live: Sequence[bool]) -> list[Derivation | None]:
    """Push symbols forward through an operation: the tangent of each output."""
    values, outs = symbols_for(node)
    tangents = [Symbol(Input(a.spec)) if alive else None for a, alive in zip(node.args, live, strict=True)]
    several = not isinstance(node.spec, Spec)
    try:
        found = push(node.primitive, values, tangents, tuple(outs) if several else outs[0], node.params)
    except Exception:  # a rule that needs numbers, perhaps a user's, may raise anything
        return [None] * len(outs)
    parts = found if several else [found]
    return [derivation(part, values, outs, tangents) for part in parts]


def derive_adjoints(node: Operation, live: Sequence[bool], flowing: Sequence[bool]) -> list[Derivation | None]:
    """Pull symbols back through an operation: the contribution to each operand."""
    values, outs = symbols_for(node)
    given = [Symbol(Input(out.value.spec)) if flows else None for out, flows in zip(outs, flowing, strict=True)]
    several = not isinstance(node.spec, Spec)
    parts: list[Derivation | None] = [None] * len(node.args)
    try:
        keep = node.primitive.keep(*live)
        assert keep is not None
        saved = keep(tuple(outs) if several else outs[0], *values)
        parents = tuple(
            [TapeNode(None, {}, (), (), a) if alive else None for a, alive in zip(node.args, live, strict=True)]
        )
        kept = TapeNode(node.primitive, node.params, parents, saved, node)
        index = {parent: i for i, parent in enumerate(parents) if parent is not None}
        for parent, found, _ in pull_node(kept, list(given) if several else given[0], saved, None, None):
            parts[index[parent]] = derivation(found, values, outs, given)
    except Exception:  # as above
        return [None] * len(node.args)
    return parts


def derivation(found: Any, values: Sequence[Any], outs: Sequence[Any], given: Sequence[Any]) -> Derivation | None:
    """The result of a rule, simplified; None if it is too large."""
    if not isinstance(found, Symbol):
        return None
    groups = [{i: x.value for i, x in enumerate(group) if isinstance(x, Symbol)} for group in (values, outs, given)]
    graph = run_until_stable(Graph([x for group in groups for x in group.values()], [found.value]), REWRITES)
    return None if tree_size(graph) > HUGE else find_guards(graph, *groups)


def find_guards(graph: Graph, operands: dict[int, Node], outs: dict[int, Node], given: dict[int, Node]) -> Derivation:
    """A graph as a derivation, with its guards."""
    used = set(graph.nodes)
    operands, outs, given = [{i: x for i, x in group.items() if x in used} for group in (operands, outs, given)]
    plain: set[Node] = {*operands.values(), *outs.values(), *graph.constants}
    certain: set[Node] = set()
    for node in graph.operations:
        if is_guard(node) and all(a in certain or a in plain for a in node.args):
            certain.add(node)
        elif all(a in plain for a in node.args):
            plain.add(node)
    guards = [node.args[0] for node in graph.operations if is_a(node, _where) and node.args[0] in certain]
    return Derivation(graph, operands, outs, given, list(dict.fromkeys(guards)))


def is_guard(node: Operation) -> bool:
    """Whether an operation tests for single points, or combines or moves such tests."""
    facts = node.primitive.facts
    if node.dtype is None or node.dtype.kind != "b":
        return False
    return facts.tests_points or facts.moves or all(a.dtype is not None and a.dtype.kind == "b" for a in node.args)


def decide_guards(found: Derivation, operands: Sequence[Any], outs: Sequence[Any]) -> list[bool | None]:
    """For each guard, whether it is true or false everywhere; None if it is neither."""
    if not found.guards:
        return []
    values: dict[Node, Any] = {x: operands[i] for i, x in found.operands.items()} | {
        x: outs[i] for i, x in found.outs.items()
    }
    with np.errstate(all="ignore"):
        for node in topological_order(found.guards):
            if isinstance(node, Operation):
                values[node] = node.primitive.op(*[values[a] for a in node.args], **node.params)
            elif isinstance(node, Constant):
                values[node] = node.value
    return [True if np.all(values[guard]) else None if np.any(values[guard]) else False for guard in found.guards]


def prune(found: Derivation, answers: Sequence[bool | None]) -> Derivation:
    """A derivation without the branches that are not taken."""
    answer = dict(zip(found.guards, answers, strict=True))

    def rule(node: Operation, before: Operation) -> Node | None:
        taken = answer.get(before.args[0]) if is_a(node, _where) else None
        if taken is None:
            return None
        branch = node.args[1 if taken else 2]
        if isinstance(branch, Constant):
            branch = Constant(np.broadcast_to(branch.value, node.shape).astype(node.dtype)[()])
        return broadcast_node(node, branch, node.shape)

    graph = run_until_stable(rebuild(found.graph, rule), REWRITES)
    return find_guards(graph, found.operands, found.outs, found.given)
