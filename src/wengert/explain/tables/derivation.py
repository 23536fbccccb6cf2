"""The derivative of one operation as a small graph: its own rule, run on symbols and simplified.

The graph is the same for all operations of a kind on values of the same shapes, so it is made once for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.aspects import primitive_of
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation, topological_order
from wengert.graph.mathematics import expression
from wengert.graph.notation import notation
from wengert.graph.passes import REWRITES, settled
from wengert.graph.passes.rewrite import rebuilt, stretched
from wengert.graph.stats import tree_size
from wengert.modes.backward import pull_node
from wengert.modes.forward import push
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import TapeNode as TapeNode
from wengert.ops.elementwise.choices import _where
from wengert.ops.elementwise.predicates import (
    equal,
    isfinite,
    isinf,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims, _reshape

LARGEST = 16
"""How many operations a formula may have, calls by name counted three times.

What has more is not for a line of a table.
"""
HUGE = 200
"""How many it may have before its guards are decided."""
PLAIN_NUMBERS = range(-9, 10)
"""Twice the constants that a formula is simplified for.

Others are names for it, or each constant of a program would need its own.
"""
WHERE = primitive_of(_where)
GUARDS = frozenset(
    map(
        primitive_of,
        (
            equal,
            not_equal,
            isinf,
            isnan,
            isfinite,
            logical_and,
            logical_or,
            logical_not,
            _reshape,
            _expand_dims,
            _broadcast_to,
        ),
    )
)
"""What rules ask to keep clear of single points where their formula breaks.

Numbers are known here, so the answer is too.
"""


class Derivation(NamedTuple):
    """A derivative as a graph of one output.

    Its inputs, as far as it needs them, are by place: operands, outputs, incoming derivatives.

    `guards` are the conditions in it that only ask for single points.
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
    """All that were needed so far. None stands for a derivative that is too large to be shown, or has no formula."""

    def __init__(self) -> None:
        self.known: dict[Any, list[Derivation | None]] = {}
        self.short: dict[tuple[int, tuple], tuple[Derivation, Derivation | None]] = {}

    def tangent(self, node: Operation, live: Sequence[bool]) -> list[Derivation | None]:
        """How each output's tangent is made of the tangents of the live operands."""
        return self._cached("tangent", node, live, pushed)

    def adjoints(self, node: Operation, live: Sequence[bool], flowing: Sequence[bool]) -> list[Derivation | None]:
        """For each operand, what it receives of the adjoints of the outputs, of which some may have none."""
        return self._cached(("adjoint", *flowing), node, live, lambda node, live: pulled(node, live, flowing))

    def _cached(
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
        except TypeError:  # metadata of the user's own that has no hash
            return find(node, live)

    def decided(self, found: Derivation, operands: Sequence[Any], outs: Sequence[Any]) -> Derivation | None:
        """The formula for these numbers, if it can be shown."""
        answers = tuple(decisions(found, operands, outs))
        key = id(found.graph), answers  # the graph is kept as long as this is, so its id is its own
        if key not in self.short:
            made = pruned(found, answers) if any(answer is not None for answer in answers) else found
            self.short[key] = found, made if length(made.graph) <= LARGEST else None
        return self.short[key][1]


def length(graph: Graph) -> int:
    """About how long the formula is, each use of a value written out."""
    sizes: dict[Node, int] = {}
    for node in graph.operations:
        is_short = node.primitive in notation or node.primitive in expression
        sizes[node] = (1 if is_short else 3) + sum([sizes.get(a, 0) for a in node.args])
    return sizes.get(graph.outputs[0], 0)


def plain_number(node: Node) -> Any:
    """A small number of the program's own, such as an exponent or a factor of two; else None."""
    value = node.value if isinstance(node, Constant) else None
    return (
        value
        if isinstance(value, int | float | np.number) and not node.shape and (value * 2) in PLAIN_NUMBERS
        else None
    )


def symbols(node: Operation) -> tuple[list[Any], list[Any]]:
    """Operands and outputs as symbols; numbers stay numbers."""
    given = [Symbol(Input(a.spec, a.weak)) if (value := plain_number(a)) is None else value for a in node.args]
    outs = [Symbol(Input(spec)) for spec in ([node.spec] if isinstance(node.spec, Spec) else node.spec)]
    return given, outs


def pushed(node: Operation, live: Sequence[bool]) -> list[Derivation | None]:
    values, outs = symbols(node)
    tangents = [Symbol(Input(a.spec)) if alive else None for a, alive in zip(node.args, live, strict=True)]
    several = not isinstance(node.spec, Spec)
    try:
        found = push(node.primitive, values, tangents, tuple(outs) if several else outs[0], node.params)
    except Exception:  # a rule that needs numbers, perhaps of the user's own, may raise anything
        return [None] * len(outs)
    parts = found if several else [found]
    return [derivation(part, values, outs, tangents) for part in parts]


def pulled(node: Operation, live: Sequence[bool], flowing: Sequence[bool]) -> list[Derivation | None]:
    values, outs = symbols(node)
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
        places = {parent: i for i, parent in enumerate(parents) if parent is not None}
        for parent, found, _ in pull_node(kept, list(given) if several else given[0], saved, None, None):
            parts[places[parent]] = derivation(found, values, outs, given)
    except Exception:  # as above
        return [None] * len(node.args)
    return parts


def derivation(found: Any, values: Sequence[Any], outs: Sequence[Any], given: Sequence[Any]) -> Derivation | None:
    """What a rule gave, simplified, unless that is too large to be shown."""
    if not isinstance(found, Symbol):
        return None
    groups = [{i: x.value for i, x in enumerate(group) if isinstance(x, Symbol)} for group in (values, outs, given)]
    graph = run_until_stable(Graph([x for group in groups for x in group.values()], [found.value]), REWRITES)
    return None if tree_size(graph) > HUGE else described(graph, *groups)


def described(graph: Graph, operands: dict[int, Node], outs: dict[int, Node], given: dict[int, Node]) -> Derivation:
    used = set(graph.nodes)
    operands, outs, given = [{i: x for i, x in group.items() if x in used} for group in (operands, outs, given)]
    plain: set[Node] = {*operands.values(), *outs.values(), *graph.constants}
    certain: set[Node] = set()
    for node in graph.operations:
        if node.primitive in GUARDS and all(a in certain or a in plain for a in node.args):
            certain.add(node)
        elif all(a in plain for a in node.args):
            plain.add(node)
    guards = [node.args[0] for node in graph.operations if node.primitive is WHERE and node.args[0] in certain]
    return Derivation(graph, operands, outs, given, list(dict.fromkeys(guards)))


def decisions(found: Derivation, operands: Sequence[Any], outs: Sequence[Any]) -> list[bool | None]:
    """For each guard, whether it holds everywhere; None if it does here and there."""
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


def pruned(found: Derivation, answers: Sequence[bool | None]) -> Derivation:
    """The derivation without branches that are not taken."""
    answer = dict(zip(found.guards, answers, strict=True))

    def rule(node: Operation, before: Operation) -> Node | None:
        taken = answer.get(before.args[0]) if node.primitive is WHERE else None
        if taken is None:
            return None
        branch = node.args[1 if taken else 2]
        if isinstance(branch, Constant):
            branch = Constant(np.broadcast_to(branch.value, node.shape).astype(node.dtype)[()])
        return broadcast_node(node, branch, node.shape)

    graph = run_until_stable(rebuild(found.graph, rule), REWRITES)
    return described(graph, found.operands, found.outs, found.given)
