"""What the page plays, in order: the values of the forward pass, then the terms of adjoints of the backward pass.

The data is in columns, which a script reads faster than objects and which take a third of the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from wengert.core.primitive import OUTPUT
from wengert.explain.explanation import Explanation
from wengert.explain.page.arrays import ArrayColumns
from wengert.explain.sweeps import Adjoints, Term, local_derivative
from wengert.explain.tables.formulas import Formulas, is_spread_constant
from wengert.explain.tables.numbers import format_value as shown
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.typesetting import Plain

LIMIT = 160
"""The most characters of a formula with numbers, or of a value."""


def cut_text(text: str) -> str:
    """A string of at most `LIMIT` characters."""
    return text if len(text) <= LIMIT else f"{text[: LIMIT - 1]}…"


class Timeline:
    """The columns of the page's data. Steps are numbered in order of the trace; captured arrays come after them."""

    def __init__(self, explanation: Explanation):
        self.explanation = explanation
        self.formulas = Formulas(explanation, Plain())
        self.index: dict[Node, int] = {step.node: i for i, step in enumerate(self.formulas.steps)}
        self.arrays = ArrayColumns()
        self.data = self.captured_columns()
        self.edge_of: dict[tuple[int, int], int] = {}
        self.edge_ends: list[tuple[Operation, int]] = []
        self.edges = self.edge_columns()

    def captured_columns(self) -> dict[str, list]:
        """Arrays that depend on no argument; single numbers are in the formulas."""
        columns: dict[str, list] = {"title": [], "value": [], "array": []}
        for node in self.explanation.recording.graph.nodes:
            if node not in self.index and node.size > 1 and (isinstance(node, Constant) or is_spread_constant(node)):
                self.index[node] = len(self.index)
                columns["title"].append(node.name or "data")
                columns["value"].append(cut_text(shown(self.explanation.recording.values[node])))
                columns["array"].append(self.arrays.entry(self.explanation.recording.values[node]))
        return columns

    def indices(self, steps: Sequence[int]) -> list[int]:
        """Indices on the page, from indices of `explanation.steps`."""
        every = self.explanation.steps
        return [self.index[every[i].node] for i in steps if every[i].node in self.index]

    def steps(self) -> dict[str, list]:
        """One row for each value: its names, its formula in names and in numbers, its value, its tangent."""
        explanation, formulas = self.explanation, self.formulas
        outputs = set(explanation.outputs)
        columns: dict[str, list] = {
            key: [] for key in ("title", "label", "kind", "operation", "spec", "formula", "numbers", "value", "array")
        }
        for step in formulas.steps:
            columns["title"].append(formulas.name(step))
            columns["label"].append(step.title if formulas.name(step) == step.label else step.label)
            columns["kind"].append(value_kind(step.node, outputs))
            columns["operation"].append(step.operation or "")
            columns["spec"].append("" if step.node.dtype is None else repr(step.node.spec))
            columns["formula"].append(formulas.value(step))
            columns["numbers"].append("" if step.is_input else cut_text(formulas.value_numbers(step)))
            columns["value"].append(cut_text(shown(step.value)))
            columns["array"].append(self.arrays.entry(step.value))
        if explanation.tangents is not None:
            columns |= {"tangentFormula": [], "tangentNumbers": [], "tangent": [], "tangentArray": []}
            for step in formulas.steps:
                moves = step.node in explanation.tangents
                columns["tangentFormula"].append(formulas.tangent(step) if moves and not step.is_input else "")
                columns["tangentNumbers"].append(
                    cut_text(formulas.tangent_numbers(step)) if moves and not step.is_input else ""
                )
                columns["tangent"].append(cut_text(shown(explanation.tangents[step.node])) if moves else "")
                columns["tangentArray"].append(self.arrays.entry(explanation.tangents[step.node]) if moves else None)
        return columns

    def edge_columns(self) -> dict[str, list]:
        """One row for each use of a value: the two steps, and the local derivative."""
        values = self.explanation.recording.values
        columns: dict[str, list] = {"from": [], "to": [], "local": []}
        for step in self.formulas.steps:
            node = step.node
            if not isinstance(node, Operation):
                continue
            for operand, arg in enumerate(node.args):
                if arg not in self.index:
                    continue
                self.edge_of[self.index[node], operand] = len(columns["from"])
                self.edge_ends.append((node, operand))
                columns["from"].append(self.index[arg])
                columns["to"].append(self.index[node])
                columns["local"].append(local_text(node, operand, values))
        return columns

    def back(self) -> dict[str, list]:
        """One row for each term of an adjoint, in the order of the backward pass.

        The columns are the step that receives it, the edge (-1: a seed), its formula, its value, and the sum so far.
        """
        columns: dict[str, list] = {
            key: [] for key in ("step", "edge", "formula", "numbers", "value", "total", "array")
        }
        adjoints, formulas = self.explanation.adjoints, self.formulas
        if adjoints is None:
            return columns
        totals: dict[Node, Any] = {}
        for node, edge, term, source in arrivals(adjoints, self):
            first = node not in totals
            totals[node] = term if first or isinstance(term, list) else totals[node] + term
            text = cut_text(shown(term))
            columns["step"].append(self.index[node])
            columns["edge"].append(edge)
            columns["formula"].append(
                formulas.term(source, formulas.by_name, formulas.adjoint_by_name) if source is not None else ""
            )
            columns["numbers"].append(
                cut_text(formulas.term(source, formulas.by_number, formulas.adjoint_by_number))
                if source is not None
                else ""
            )
            columns["value"].append(text)
            columns["total"].append(text if first else cut_text(shown(totals[node])))
            columns["array"].append(self.arrays.entry(totals[node]))
        return columns


class Arrival(NamedTuple):
    """A term of an adjoint: the node that receives it, its edge (-1: a seed), its value, and what it comes from."""

    node: Node
    edge: int
    term: Any
    source: Term | None


def arrivals(adjoints: Adjoints, timeline: Timeline) -> Iterator[Arrival]:
    """The terms of all adjoints, in the order of the backward pass. Parts of several outputs arrive as a list."""
    for node, seed in adjoints.seeds.items():
        if node in timeline.explanation.step_of:
            yield Arrival(node, -1, seed, None)
    terms = {(term.consumer, term.operand): term for received in adjoints.terms.values() for term in received}
    parts: dict[Node, list] = {}
    for consumer in adjoints.order:
        index = timeline.index[consumer]
        if consumer.primitive is OUTPUT:
            whole = consumer.args[0]
            parts[whole] = list(parts.get(whole, [None] * len(whole.spec)))
            parts[whole][consumer.params["index"]] = adjoints.values[consumer]
            yield Arrival(whole, timeline.edge_of[index, 0], parts[whole], None)
            continue
        for operand, arg in enumerate(consumer.args):
            term = terms.get((consumer, operand))
            if term is not None:
                yield Arrival(arg, timeline.edge_of[index, operand], term.value, term)


def value_kind(node: Node, outputs: set[Node]) -> str:
    """How a value is drawn: as a result, a value, a leaf or data."""
    if node in outputs and isinstance(node, Operation):
        return "result"
    if isinstance(node, Operation):
        return "value"
    return "leaf" if node.dtype.kind in "fc" else "data"


def local_text(node: Operation, operand: int, values: dict[Node, Any]) -> str:
    """The derivative of an operation with respect to one operand; empty if it is a matrix or there is none."""
    if node.primitive is OUTPUT or node.args[operand].dtype is None or node.args[operand].dtype.kind not in "fc":
        return ""
    found = local_derivative(node, operand, values)
    return "" if found is None else cut_text(shown(found))
