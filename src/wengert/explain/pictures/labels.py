"""What is written in the boxes of a picture, and how much room it takes."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.explain import aspects  # noqa: F401  # fills `sign`
from wengert.explain.explanation import Explanation
from wengert.explain.pictures.grouping import Group
from wengert.explain.pictures.signs import sign
from wengert.explain.steps import Step
from wengert.explain.tables.names import Names
from wengert.explain.tables.numbers import value
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.notation import TRANSPARENT, Fence, write_key, notation
from wengert.graph.typesetting import SUBSCRIPTS
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem

Role = Literal["name", "value", "adjoint", "tangent", "symbol", "heading", "code", "note"]

SIZES: dict[Role, float] = {
    "name": 14, "value": 12.5, "adjoint": 12.5, "tangent": 12.5, "symbol": 15, "heading": 12, "code": 12.5, "note": 11.5,
}  # fmt: skip
"""The height of letters, in pixels."""
BOLD: dict[Role, float] = {"name": 1.06, "symbol": 1.1, "heading": 1.12}
"""How much wider a line is for what is bold in it."""
LINE = 1.34
"""The distance of lines, in heights of letters."""
LONG = 26
"""How many letters a line of a box has at most."""
LABEL = re.compile(r"(v[\u0304\u0307]?)(-?\d+)('*)")


class Line(NamedTuple):
    """One line of text in a box, and what it tells."""

    text: str
    role: Role

    @property
    def height(self) -> float:
        return SIZES[self.role] * LINE

    @property
    def width(self) -> float:
        return width(self.text, monospaced=self.role == "code") * SIZES[self.role] * BOLD.get(self.role, 1.0)


def width(text: str, monospaced: bool = False) -> float:
    """How wide a text is in an ordinary sans-serif typeface, on the wide side, in heights of its letters."""
    if monospaced:
        return 0.61 * len(text)
    total = 0.0
    for letter in text:
        if "\u0300" <= letter <= "\u036f":
            continue
        if letter in "ijl.,:;|!'()[]{} ftrI₁₋":
            total += 0.4
        elif letter in "mwMW@%—→":
            total += 0.95
        elif letter in "₀₂₃₄₅₆₇₈₉":
            total += 0.42
        elif letter.isupper() or letter in "+−=<>×÷·_":
            total += 0.72
        else:
            total += 0.63 if letter.isascii() else 0.8
    return total


def shortened(text: str, most: int = LONG) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' ,')}…"


def brief(x: Any, most: int = LONG) -> str:
    """A value that fits into a box: in full, or else its shape alone."""
    text = value(x)
    if len(text) <= most:
        return text
    return repr(Spec.of(x)) if getattr(x, "shape", ()) else shortened(text, most)


def symbol(node: Operation) -> str:
    """The operation as it is written between or before its operands."""
    own = sign.of(node.primitive)
    if own is not None:
        return own
    name = node.primitive.name
    found = notation.of(node.primitive)
    if isinstance(found, Fence):
        return f"{found.before}·{found.after}"
    if found is not None and found is not TRANSPARENT and found.plain:
        return found.plain
    key = next((p for p in node.params.values() if isinstance(p, Index)), None)
    if key is not None and node.primitive is primitive_of(_getitem):
        return shortened(f"[{write_key(key, ['·'] * len(node.args)).rstrip(',')}]", 14)
    return shortened(name, 16)


def lowered(name: str) -> str:
    """A label of the textbooks with its number below the line: v₋₁, v̄₁. The user's names stay as they are."""
    found = LABEL.fullmatch(name)
    return f"{found[1]}{found[2].translate(SUBSCRIPTS)}{found[3]}" if found else name


def equation(name: str, x: Any, role: Role) -> list[Line]:
    """`name = value`, on two lines if it is long."""
    text = brief(x)
    if len(name) + 3 + len(text) <= LONG:
        return [Line(f"{name} = {text}", role)]
    return [Line(shortened(name), role), Line(f"= {text}", "value" if role == "name" else role)]


def box(explanation: Explanation, step: Step, names: Names) -> list[Line]:
    """Name and value, below them what is known of the derivative.

    An input that goes by a label shows its own name too.
    """
    node = step.node
    name = lowered(names.value(node))
    if step.is_input and step.name is not None and names.by_label:
        name = f"{name} = {step.name}"
    lines = equation(name, step.value, "name")
    if explanation.tangents is not None and node in explanation.tangents:
        lines += equation(lowered(names.tangent(node)), explanation.tangents[node], "tangent")
    if explanation.adjoints is not None and node in explanation.adjoints.values:
        lines += equation(lowered(names.adjoint(node)), explanation.adjoints.values[node], "adjoint")
    return lines


def data(node: Node, x: Any) -> list[Line]:
    """A number or array that the program brings along."""
    name = node.name if isinstance(node, Constant) else None
    return equation(name, x, "name") if name else [Line(brief(x), "value")]


def collapsed(explanation: Explanation, group: Group, names: Names) -> list[Line]:
    """Where a group is in the program, its code, how much it stands for, and the value that it computes last."""
    lines = [Line(shortened(group.heading, 36), "heading")]
    if group.code:
        lines.append(Line(shortened(group.code, 36), "code"))
    if group.kind == "inputs":
        given = [explanation.steps[i].title for i in group.steps]
        return [*lines, Line(shortened(f"{given[0]}, {given[1]}, … {given[-1]}", 36), "name")]
    lines.append(Line(group.counts, "note"))
    last = explanation.steps[group.steps[-1]]
    return (
        lines
        if isinstance(last.node, Operation) and last.node.primitive is OUTPUT
        else [*lines, *box(explanation, last, names)]
    )
