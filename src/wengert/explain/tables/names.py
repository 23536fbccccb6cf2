"""The names of values, tangents and adjoints: `v-1`, `v̇-1`, `v̄-1`, or the user's variables.

If the program names nothing between its arguments and its result, all names are labels, as in textbooks, with a dot or
a bar. Otherwise values have the user's names where there are some, all tangents have the prefix `d_`, and all adjoints
the prefix `grad_`: one notation in one table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from wengert.explain.steps import TraceStep
from wengert.graph.ir import Node
from wengert.graph.typesetting import GREEK, Latex, parts_of

LABEL = re.compile(r"v(-?\d+)('*)")
BAR, DOT = "\u0304", "\u0307"
LATEX = Latex()


class Names:
    """Unique names by node. `by_label`: they are labels."""

    def __init__(self, steps: Sequence[TraceStep]):
        self.by_label = not any(step.name for step in steps if not step.is_input)
        self.called: dict[Node, str] = (
            {step.node: step.label for step in steps} if self.by_label else self._titles(steps)
        )

    def _titles(self, steps: Sequence[TraceStep]) -> dict[Node, str]:
        """The titles. Values of a variable that several lines assign are counted; a label in use gets a prime."""
        shared = {title for title, count in Counter([step.title for step in steps if step.name]).items() if count > 1}
        again = {step.name for step in steps if step.name and step.title in shared}
        taken = {step.title for step in steps if step.name}
        counts: Counter[str] = Counter()
        called = {}
        for step in steps:
            if step.name is None:
                text = step.label
                while text in taken:
                    text += "'"
            elif step.name in again and not step.is_input:
                text = f"{step.name}[{counts[step.name]}]"
                counts[step.name] += 1
            else:
                text = step.title
            called[step.node] = text
        return called

    def value(self, node: Node) -> str:
        return self.called[node]

    def tangent(self, node: Node) -> str:
        name = self.called[node]
        return f"v{DOT}{name[1:]}" if self.by_label else f"d_{name}"

    def adjoint(self, node: Node) -> str:
        name = self.called[node]
        return f"v{BAR}{name[1:]}" if self.by_label else f"grad_{name}"


class LatexNames(Names):
    """The same names in LaTeX's math mode: a letter or word with a subscript, and a dot or a bar above."""

    def value(self, node: Node) -> str:
        return self._mark(node, "{}", "{}")

    def tangent(self, node: Node) -> str:
        return self._mark(node, r"\dot{{{}}}", r"\dot{{{}}}")

    def adjoint(self, node: Node) -> str:
        return self._mark(node, r"\bar{{{}}}", r"\overline{{{}}}")

    def _mark(self, node: Node, letter: str, word: str) -> str:
        base, below = latex_parts(self.called[node])
        single = len(base) == 1 or base in GREEK
        symbol = f"\\{base}" if base in GREEK else base if single else LATEX.word(base)
        marked = (letter if single else word).format(symbol)
        return f"{marked}_{{{','.join(below)}}}" if below else marked


def latex_parts(name: str) -> tuple[str, list[str]]:
    """A name as a letter or word and its subscripts: `v-1` is v and -1, `y[2]` is y and [2]."""
    label = LABEL.fullmatch(name)
    if label:
        return "v", [label[1] + r"\prime" * len(label[2])]
    counted = re.fullmatch(r"(.*)\[(\d+)\]", name)
    base, below = parts_of(counted[1] if counted else name)
    texts = [part if part.isdigit() or len(part) == 1 else LATEX.word(part) for part in below]
    return base, [*texts, *([f"[{counted[2]}]"] if counted else [])]
