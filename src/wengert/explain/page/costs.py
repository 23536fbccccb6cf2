"""What each step of the page costs: the arithmetic of values and derivatives, and the memory that is held."""

from __future__ import annotations

from typing import Any

from wengert.core.primitive import OUTPUT
from wengert.explain.page.timeline import Arrival, Timeline
from wengert.explain.tables.derivation import Derivation
from wengert.graph.costs import flops_of
from wengert.graph.ir import Operation


def cost_columns(timeline: Timeline, rows: list[Arrival]) -> dict[str, list]:
    """Flops of each value, tangent and term, and the bytes that the tape keeps for each value."""
    explanation = timeline.explanation
    nodes = [step.node for step in timeline.formulas.steps]
    found: dict[str, list] = {"value": [value_flops(node) for node in nodes], "bytes": [node.nbytes for node in nodes]}
    if explanation.tangents is not None:
        found["tangent"] = [tangent_flops(timeline, node) for node in nodes]
    if explanation.adjoints is not None:
        found["kept"] = [explanation.adjoints.kept.get(node, 0) for node in nodes]
        found["term"] = [term_flops(timeline, row) for row in rows]
    return found


def value_flops(node: Any) -> int:
    """The arithmetic of one value."""
    return flops_of(node) if isinstance(node, Operation) and node.primitive is not OUTPUT else 0


def rule_flops(found: Derivation | None, node: Operation) -> int:
    """The arithmetic of a rule; one that is too long to be written counts as twice that of the value."""
    return sum(map(flops_of, found.graph.operations)) if found is not None else 2 * value_flops(node)


def tangent_flops(timeline: Timeline, node: Any) -> int:
    """The arithmetic of a tangent."""
    tangents = timeline.explanation.tangents or {}
    if not isinstance(node, Operation) or node.primitive is OUTPUT or node not in tangents:
        return 0
    live = [a in tangents for a in node.args]
    return sum([rule_flops(part, node) for part in timeline.formulas.derivations.tangent(node, live)])


def term_flops(timeline: Timeline, row: Arrival) -> int:
    """The arithmetic of a term of an adjoint, and of adding it to those before."""
    if row.source is None:
        return 0
    return rule_flops(timeline.formulas.adjoint_derivation(row.source), row.source.consumer)
