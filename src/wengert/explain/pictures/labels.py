"""The text in the boxes of a picture, and its size."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.explain import aspects  # noqa: F401  # fills `sign`
from wengert.explain.explanation import Explanation
from wengert.explain.folding import LoopState
from wengert.explain.pictures.grouping import Group
from wengert.explain.pictures.signs import sign
from wengert.explain.steps import TraceStep
from wengert.explain.tables.names import Names
from wengert.explain.tables.numbers import format_value
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.notation import TRANSPARENT, Fence, notation, write_key
from wengert.graph.typesetting import SUBSCRIPTS
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem

Role = Literal["name", "value", "adjoint", "tangent", "symbol", "heading", "code", "note"]

SIZES: dict[Role, float] = {
    "name": 14, "value": 12.5, "adjoint": 12.5, "tangent": 12.5,
    "symbol": 15, "heading": 12, "code": 12.5, "note": 11.5,
}  # fmt: skip
"""Font sizes, in pixels."""
BOLD: dict[Role, float] = {"name": 1.06, "symbol": 1.1, "heading": 1.12}
"""By how much bold text is wider."""
LINE = 1.34
"""The height of a line, in font sizes."""
LONG = 26
"""The most characters on a line of a box."""
SHOWN = 4
"""The most states of a loop in its box."""
SHORT = 14
"""The most characters of the value of a state."""
LABEL = re.compile(r"(v[\u0304\u0307]?)(-?\d+)('*)")


class Line(NamedTuple):
    """One line of text in a box, and its role."""

    text: str
    role: Role

    @property
    def height(self) -> float:
        return SIZES[self.role] * LINE

    @property
    def width(self) -> float:
        return text_extent(self.text, monospaced=self.role == "code") * SIZES[self.role] * BOLD.get(self.role, 1.0)


def text_extent(text: str, monospaced: bool = False) -> float:
    """About how wide a string is in a sans-serif font, in font sizes; rather too much than too little."""
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


def shorten(text: str, most: int = LONG) -> str:
    """A string of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' ,')}…"


def brief_value(x: Any, most: int = LONG) -> str:
    """A value that fits into a box: in full, or else only its shape."""
    text = format_value(x)
    if len(text) <= most:
        return text
    return repr(Spec.of(x)) if getattr(x, "shape", ()) else shorten(text, most)


def operator_sign(node: Operation) -> str:
    """The sign of an operation, or its name."""
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
    if key is not None and is_a(node, _getitem):
        return shorten(f"[{write_key(key, ['·'] * len(node.args)).rstrip(',')}]", 14)
    return shorten(name, 16)


def subscript_label(name: str) -> str:
    """A label with its number as a subscript: v₋₁, v̄₁. Other names stay as they are."""
    found = LABEL.fullmatch(name)
    return f"{found[1]}{found[2].translate(SUBSCRIPTS)}{found[3]}" if found else name


def equation(name: str, x: Any, role: Role) -> list[Line]:
    """`name = value`, on two lines if it is long."""
    text = brief_value(x)
    if len(name) + 3 + len(text) <= LONG:
        return [Line(f"{name} = {text}", role)]
    return [Line(shorten(name), role), Line(f"= {text}", "value" if role == "name" else role)]


def value_lines(explanation: Explanation, step: TraceStep, names: Names) -> list[Line]:
    """Name and value of a step, and its tangent and adjoint. An input with a label shows its own name too."""
    node = step.node
    name = subscript_label(names.value(node))
    if step.is_input and step.name is not None and names.by_label:
        name = f"{name} = {step.name}"
    lines = equation(name, step.value, "name")
    if explanation.tangents is not None and node in explanation.tangents:
        lines += equation(subscript_label(names.tangent(node)), explanation.tangents[node], "tangent")
    if explanation.adjoints is not None and node in explanation.adjoints.values:
        lines += equation(subscript_label(names.adjoint(node)), explanation.adjoints.values[node], "adjoint")
    return lines


def data_lines(node: Node, x: Any) -> list[Line]:
    """A constant of the program."""
    name = node.name if isinstance(node, Constant) else None
    return equation(name, x, "name") if name else [Line(brief_value(x), "value")]


def state_lines(explanation: Explanation, state: LoopState) -> list[Line]:
    """The values of a state before and after a loop, and its adjoints, from after to before."""
    lines = [Line(state_text(explanation, state), "name")]
    adjoints = explanation.adjoints.values if explanation.adjoints is not None else {}
    if state.before in adjoints and state.after in adjoints:
        before, after = brief_value(adjoints[state.before], SHORT), brief_value(adjoints[state.after], SHORT)
        lines.append(Line(shorten(f"grad_{state.name}: {before} ← {after}", 36), "adjoint"))
    return lines


def state_text(explanation: Explanation, state: LoopState) -> str:
    """`h: 0.5 → 0.843`."""
    values = explanation.recording.values
    before, after = brief_value(values[state.before], SHORT), brief_value(values[state.after], SHORT)
    return shorten(f"{subscript_label(state.name)}: {before} → {after}", 36)


def group_lines(explanation: Explanation, group: Group, names: Names) -> list[Line]:
    """The source line of a group, its code, its number of operations, and the value that it computes last."""
    lines = [Line(shorten(group.heading, 36), "heading")]
    if group.code:
        lines.append(Line(shorten(group.code, 36), "code"))
    if group.kind == "inputs":
        given = [explanation.steps[i].title for i in group.steps]
        return [*lines, Line(shorten(f"{given[0]}, {given[1]}, … {given[-1]}", 36), "name")]
    lines.append(Line(group.counts, "note"))
    if group.states:
        return [*lines, *[line for state in group.states[:SHOWN] for line in state_lines(explanation, state)]]
    last = explanation.steps[group.steps[-1]]
    if isinstance(last.node, Operation) and last.node.primitive is OUTPUT:
        return lines
    return [*lines, *value_lines(explanation, last, names)]
