"""The lines of the tables: equations of values, tangents and adjoints, in order of computation.

Text, Markdown, LaTeX and HTML have the same equations; a style decides how they are written.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from wengert.explain.explanation import Explanation
from wengert.explain.steps import TraceStep
from wengert.explain.sweeps import Term
from wengert.explain.tables.formulas import Formulas, numeral, value_text
from wengert.graph.ir import Input, Node
from wengert.graph.typesetting import Style


class Equation(NamedTuple):
    """`left = formula = numbers = value`."""

    left: str
    formula: str
    numbers: str
    value: str

    @property
    def rights(self) -> list[str]:
        """The right sides, each once."""
        return [text for text in dict.fromkeys((self.formula, self.numbers, self.value)) if text]

    def __str__(self) -> str:
        return " = ".join([self.left, *self.rights])


class Arrival(NamedTuple):
    """A contribution to an adjoint: a seed, or a term.

    `before` is the adjoint without it, None if it is the first.
    """

    target: Node
    term: Term | None
    before: Any
    after: Any


class Equations:
    """The equations of an explanation in one style."""

    def __init__(self, explanation: Explanation, style: Style | None = None):
        self.explanation = explanation
        self.formulas = Formulas(explanation, style)
        self.style = self.formulas.style
        self.steps: list[TraceStep] = self.formulas.steps

    def evaluation(self, step: TraceStep) -> Equation:
        of = self.formulas
        return Equation(of.name(step), of.value(step), of.value_numbers(step), of.literal(step.value))

    def changes(self, step: TraceStep) -> bool:
        """Whether a step has a tangent."""
        return step.node in (self.explanation.tangents or {}) and not isinstance(step.value, tuple)

    def tangent(self, step: TraceStep) -> Equation | None:
        of, tangents = self.formulas, self.explanation.tangents
        if tangents is None or not self.changes(step):
            return None
        return Equation(
            of.tangent_name(step), of.tangent(step), of.tangent_numbers(step), of.literal(tangents[step.node])
        )

    def adjoint(self, arrival: Arrival) -> Equation:
        """`v̄0 = v̄3 · cos v0`, or `v̄0 = v̄0 + v̄2 · v-1`."""
        of = self.formulas
        left = of.names.adjoint(arrival.target)
        if arrival.term is None:
            return Equation(left, "", "", of.literal(arrival.after))
        formula = of.term(arrival.term, of.by_name, of.adjoint_by_name)
        numbers = of.term(arrival.term, of.by_number, of.adjoint_by_number)
        if arrival.before is not None:
            known = numeral(arrival.before, self.style)
            formula = join_sum(left, formula)
            numbers = join_sum(of.program.with_sign(known) if known else left, numbers)
        return Equation(left, formula, numbers, of.literal(arrival.after))

    @cached_property
    def seeds(self) -> list[Arrival]:
        """The seeds of the backward pass."""
        adjoints = self.explanation.adjoints
        if adjoints is None:
            return []
        return [Arrival(node, None, None, seed) for node, seed in adjoints.seeds.items()]

    @cached_property
    def arrivals(self) -> dict[Node, list[Arrival]]:
        """What each operation contributes to its operands, in the order of the backward pass, operand by operand."""
        found: dict[Node, list[Arrival]] = {}
        if self.explanation.adjoints is None:
            return found
        sent: dict[Node, list[tuple[Node, Term]]] = {}
        for target, terms in self.explanation.adjoints.terms.items():
            for term in terms:
                sent.setdefault(term.consumer, []).append((target, term))
        totals = {seed.target: seed.after for seed in self.seeds}
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                for target, term in sorted(sent.get(step.node, ()), key=lambda pair: pair[1].operand):
                    before = totals.get(target)
                    totals[target] = term.value if before is None else before + term.value
                    found.setdefault(step.node, []).append(Arrival(target, term, before, totals[target]))
        return found

    # Around the table

    def source_line(self, step: TraceStep) -> str:
        """The number of the source line, with the function if there are several."""
        if step.line is None:
            return ""
        return f"{step.line}" if self.one_function else f"{(step.function or '').split('.')[-1]}:{step.line}"

    @cached_property
    def one_function(self) -> bool:
        return len({(step.filename, step.function) for step in self.steps if step.line is not None}) <= 1

    @property
    def function(self) -> str:
        name = getattr(self.explanation.recording.function, "__name__", "f")
        return name if name.isidentifier() else "f"

    def given_name(self, node: Input) -> str:
        return node.name or self.formulas.names.called[node]

    def heading(self) -> str:
        """`f(x1, x2) = 11.652`."""
        outputs = self.explanation.outputs
        results = ", ".join(
            [value_text(self.explanation.recording.values[node], self.formulas.style) for node in outputs]
        )
        inside = ", ".join([self.given_name(node) for node in self.explanation.recording.inputs])
        return f"{self.function}({inside}) = {results if len(outputs) == 1 else f'({results})'}"

    def results(self) -> list[tuple[str, str]]:
        """The derivatives: `∂f/∂x1`, `5.5`."""
        recording, found = self.explanation.recording, []
        single = len(recording.outputs) == 1 and recording.outputs[0].size == 1
        tangents, adjoints = self.explanation.tangents, self.explanation.adjoints
        if tangents is not None:
            changed = [node for node in recording.inputs if node in tangents and np.any(tangents[node])]
            one = len(changed) == 1 and changed[0].size == 1 and tangents[changed[0]] == 1
            name = f"∂{self.function}/∂{self.given_name(changed[0])}" if one else f"d{self.function}"
            if not one or adjoints is None:  # else it is one of the adjoints
                found += [
                    (name, self.formulas.literal(tangents[node])) for node in recording.outputs if node in tangents
                ]
        if adjoints is not None:
            plain = single and all(np.all(seed.after == 1) for seed in self.seeds)
            for node in recording.inputs:
                if node.dtype.kind in "fc":
                    name = self.given_name(node)
                    left = f"∂{self.function}/∂{name}" if plain else f"grad_{name}"
                    known = node in adjoints.values
                    found.append((left, self.formulas.literal(adjoints.values[node]) if known else "0, by no path"))
        return found


def join_sum(left: str, right: str) -> str:
    """A sum, or a difference if the second term has a minus sign."""
    return f"{left} - {right[1:].lstrip()}" if right.startswith("-") else f"{left} + {right}"
