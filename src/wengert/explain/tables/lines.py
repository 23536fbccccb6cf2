"""The lines of the tables: equations of values, tangents and adjoints, in the order in which they are computed.

What is said is the same in text, Markdown, LaTeX and HTML; a style decides how it is set.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.explain.sweeps import Term
from wengert.explain.tables.formulas import Formulas, literal, numeral
from wengert.graph.ir import Input, Node

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation
    from wengert.explain.steps import Step
    from wengert.graph.typesetting import Style


class Equation(NamedTuple):
    """`left = formula = numbers = value`; a formula without names or numbers of its own is left out."""

    left: str
    formula: str
    numbers: str
    value: str

    @property
    def rights(self) -> list[str]:
        """Each side once."""
        return [text for text in dict.fromkeys((self.formula, self.numbers, self.value)) if text]

    def __str__(self) -> str:
        return " = ".join([self.left, *self.rights])


class Arrival(NamedTuple):
    """What reaches an adjoint on the way back: a seed, or a term.

    `before` is what the adjoint was, None if this is the first to come.
    """

    target: Node
    term: Term | None
    before: Any
    after: Any


class Lines:
    """The equations of an explanation in one style."""

    def __init__(self, explanation: Explanation, style: Style | None = None):
        self.explanation = explanation
        self.formulas = Formulas(explanation, style)
        self.style = self.formulas.style
        self.steps: list[Step] = self.formulas.steps

    def evaluation(self, step: Step) -> Equation:
        of = self.formulas
        return Equation(of.name(step), of.value(step), of.value_numbers(step), of.literal(step.value))

    def changes(self, step: Step) -> bool:
        """Whether a step has a tangent of its own."""
        return step.node in (self.explanation.tangents or {}) and not isinstance(step.value, tuple)

    def tangent(self, step: Step) -> Equation | None:
        of, tangents = self.formulas, self.explanation.tangents
        if tangents is None or not self.changes(step):
            return None
        return Equation(
            of.tangent_name(step), of.tangent(step), of.tangent_numbers(step), of.literal(tangents[step.node])
        )

    def adjoint(self, arrival: Arrival) -> Equation:
        """`v̄0 = v̄3 · cos v0`, and later `v̄0 = v̄0 + v̄2 · v-1`."""
        of = self.formulas
        left = of.names.adjoint(arrival.target)
        if arrival.term is None:
            return Equation(left, "", "", of.literal(arrival.after))
        formula = of.term(arrival.term, of.named, of.adjoint_named)
        numbers = of.term(arrival.term, of.numbered, of.adjoint_numbered)
        if arrival.before is not None:
            known = numeral(arrival.before, self.style)
            formula = added(left, formula)
            numbers = added(of.program.with_sign(known) if known else left, numbers)
        return Equation(left, formula, numbers, of.literal(arrival.after))

    @cached_property
    def seeds(self) -> list[Arrival]:
        """Where the walk back begins."""
        adjoints = self.explanation.adjoints
        if adjoints is None:
            return []
        return [Arrival(node, None, None, seed) for node, seed in adjoints.seeds.items()]

    @cached_property
    def arrivals(self) -> dict[Node, list[Arrival]]:
        """What each operation sends back to its operands, in the order of the walk: the last line first, then operand
        by operand.
        """
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

    def place(self, step: Step) -> str:
        """The user's line, with the function where there are several."""
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
        """`f(x1, x2) = 11.652`, in plain text."""
        outputs = self.explanation.outputs
        results = ", ".join([literal(self.explanation.recording.values[node], self.formulas.style) for node in outputs])
        inside = ", ".join([self.given_name(node) for node in self.explanation.recording.inputs])
        return f"{self.function}({inside}) = {results if len(outputs) == 1 else f'({results})'}"

    def results(self) -> list[tuple[str, str]]:
        """The derivatives that were asked for: `∂f/∂x1`, `5.5`."""
        recording, found = self.explanation.recording, []
        single = len(recording.outputs) == 1 and recording.outputs[0].size == 1
        tangents, adjoints = self.explanation.tangents, self.explanation.adjoints
        if tangents is not None:
            changed = [node for node in recording.inputs if node in tangents and np.any(tangents[node])]
            one = len(changed) == 1 and changed[0].size == 1 and tangents[changed[0]] == 1
            name = f"∂{self.function}/∂{self.given_name(changed[0])}" if one else f"d{self.function}"
            if not one or adjoints is None:  # else it is among the adjoints too
                found += [
                    (name, self.formulas.literal(tangents[node])) for node in recording.outputs if node in tangents
                ]
        if adjoints is not None:
            plain = single and all(np.all(seed.after == 1) for seed in self.seeds)
            for node in recording.inputs:
                if node.dtype.kind in "fc":
                    name = self.given_name(node)
                    left = f"∂{self.function}/∂{name}" if plain else f"grad_{name}"
                    found.append(
                        (
                            left,
                            self.formulas.literal(adjoints.values[node])
                            if node in adjoints.values
                            else "0, by no path",
                        )
                    )
        return found


def added(left: str, right: str) -> str:
    """A sum, in which a term's own sign takes the place of the plus."""
    return f"{left} - {right[1:].lstrip()}" if right.startswith("-") else f"{left} + {right}"
