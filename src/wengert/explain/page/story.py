"""What happens on the page, in order: the values computed forward, then the terms of adjoints that arrive on the way
back.

Everything is told in columns, which a script reads faster than objects and which take a third of their room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.primitive import OUTPUT
from wengert.explain.explanation import Explanation
from wengert.explain.sweeps import local_derivative
from wengert.explain.tables.formulas import Formulas, is_given
from wengert.explain.tables.numbers import value as shown
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.typesetting import Plain

LIMIT = 160
"""Characters of a formula with numbers in it, or of a value, beyond which it is cut off."""


def cut(text: str) -> str:
    return text if len(text) <= LIMIT else f"{text[: LIMIT - 1]}…"


class Story:
    """The columns of a page's data.

    Steps are numbered in the order of the trace. Behind them come the arrays that the program brought along, which have
    no line there.
    """

    def __init__(self, explanation: Explanation):
        self.explanation = explanation
        self.formulas = Formulas(explanation, Plain())
        self.index: dict[Node, int] = {step.node: i for i, step in enumerate(self.formulas.steps)}
        self.data = self.captured()
        self.edge_of: dict[tuple[int, int], int] = {}
        self.edges = self.told_edges()

    def captured(self) -> dict[str, list]:
        """Arrays that no argument has a part in; single numbers stand in the formulas."""
        columns: dict[str, list] = {"title": [], "value": []}
        for node in self.explanation.recording.graph.nodes:
            if node not in self.index and node.size > 1 and (isinstance(node, Constant) or is_given(node)):
                self.index[node] = len(self.index)
                columns["title"].append(node.name or "data")
                columns["value"].append(cut(shown(self.explanation.recording.values[node])))
        return columns

    def places(self, steps: Sequence[int]) -> list[int]:
        """Lines of the trace, from their numbers among all steps."""
        every = self.explanation.steps
        return [self.index[every[i].node] for i in steps if every[i].node in self.index]

    def steps(self) -> dict[str, list]:
        """One row for each value: its name in formulas and its other name, its formula in names and in numbers, its
        value, its tangent.
        """
        told, formulas = self.explanation, self.formulas
        outputs = set(told.outputs)
        columns: dict[str, list] = {
            key: [] for key in ("title", "label", "kind", "operation", "formula", "numbers", "value")
        }
        for step in formulas.steps:
            columns["title"].append(formulas.name(step))
            columns["label"].append(step.title if formulas.name(step) == step.label else step.label)
            columns["kind"].append(kind(step.node, outputs))
            columns["operation"].append(step.operation or "")
            columns["formula"].append(formulas.value(step))
            columns["numbers"].append("" if step.is_input else cut(formulas.value_numbers(step)))
            columns["value"].append(cut(shown(step.value)))
        if told.tangents is not None:
            columns |= {"tangentFormula": [], "tangentNumbers": [], "tangent": []}
            for step in formulas.steps:
                moves = step.node in told.tangents
                columns["tangentFormula"].append(formulas.tangent(step) if moves and not step.is_input else "")
                columns["tangentNumbers"].append(
                    cut(formulas.tangent_numbers(step)) if moves and not step.is_input else ""
                )
                columns["tangent"].append(cut(shown(told.tangents[step.node])) if moves else "")
        return columns

    def told_edges(self) -> dict[str, list]:
        """One row for each use of a value: by which step, as which operand, and the derivative of the one in the other."""
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
                columns["from"].append(self.index[arg])
                columns["to"].append(self.index[node])
                columns["local"].append(local(node, operand, values))
        return columns

    def back(self) -> dict[str, list]:
        """One row for each term of an adjoint, in the order in which they arrive: the step that receives it, along
        which edge (-1: a seed), its formula, its value, and the sum so far.
        """
        columns: dict[str, list] = {key: [] for key in ("step", "edge", "formula", "numbers", "value", "total")}
        told = self.explanation.adjoints
        if told is None:
            return columns
        totals: dict[Node, Any] = {}
        formulas: dict[Node, tuple[list[str], list[str]]] = {}

        def arrives(node: Node, edge: int, formula: str, numbers: str, term: Any) -> None:
            first = node not in totals
            totals[node] = term if first or isinstance(term, list) else totals[node] + term
            text = cut(shown(term))
            for key, entry in zip(columns, (self.index[node], edge, formula, cut(numbers), text), strict=False):
                columns[key].append(entry)
            columns["total"].append(text if first else cut(shown(totals[node])))

        arrived: dict[Node, int] = {}
        for node, seed in self.seeds().items():
            arrives(node, -1, "", "", seed)
        terms = {(term.consumer, term.operand): term for received in told.terms.values() for term in received}
        for consumer in told.order:
            if consumer.primitive is OUTPUT:
                whole = consumer.args[0]
                parts = list(totals.get(whole, [None] * len(whole.spec)))
                parts[consumer.params["index"]] = told.values[consumer]
                arrives(whole, self.edge_of[self.index[consumer], 0], "", "", parts)
                continue
            for operand, arg in enumerate(consumer.args):
                term = terms.get((consumer, operand))
                if term is None:
                    continue
                if arg not in formulas:
                    step = self.explanation.step_of[arg]
                    formulas[arg] = self.formulas.adjoint_terms(step), self.formulas.adjoint_numbers(step)
                place = arrived.get(arg, 0)
                arrived[arg] = place + 1
                names, numbers = formulas[arg]
                arrives(arg, self.edge_of[self.index[consumer], operand], names[place], numbers[place], term.value)
        return columns

    def seeds(self) -> dict[Node, Any]:
        """What the adjoints of the results begin with."""
        assert self.explanation.adjoints is not None
        return {
            node: seed for node, seed in self.explanation.adjoints.seeds.items() if node in self.explanation.step_of
        }


def kind(node: Node, outputs: set[Node]) -> str:
    """As which of four sorts a value is drawn."""
    if node in outputs and isinstance(node, Operation):
        return "result"
    if isinstance(node, Operation):
        return "value"
    return "leaf" if node.dtype.kind in "fc" else "data"


def local(node: Operation, operand: int, values: dict[Node, Any]) -> str:
    """The derivative of an operation in one operand; empty where it is a matrix or there is none."""
    if node.primitive is OUTPUT or node.args[operand].dtype is None or node.args[operand].dtype.kind not in "fc":
        return ""
    found = local_derivative(node, operand, values)
    return "" if found is None else cut(shown(found))
