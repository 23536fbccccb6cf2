"""The traces as text in columns, for a terminal: evaluation on the left, tangents or adjoints on the right.

Tangents are read from the top down, adjoints from the bottom up, each beside the operation that sends it back, as in
tables 2 and 3 of Baydin, Pearlmutter, Radul and Siskind, "Automatic differentiation in machine learning: a survey"
(2018). Where both do not fit side by side, the second trace follows the first, adjoints in the order of the walk back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import combining, east_asian_width

from wengert.explain.tables.lines import Lines
from wengert.explain.tables.rows import LIMIT, Table, sides, tables

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation

WIDTH = 100
NARROWEST = 10
"""No column is made narrower than this."""


class Column(NamedTuple):
    """What stands below each other, and its style, in the words of rich; `fixed` says that it is not to be broken."""

    head: str
    cells: list[str]
    style: str
    fixed: bool

    @property
    def width(self) -> int:
        return max(map(width_of, (self.head, *self.cells)))


def text(explanation: Explanation, color: bool = False, width: int = WIDTH, limit: int | None = LIMIT) -> str:
    """The traces; `limit` is the number of lines beyond which the middle of a trace is left out, None for no limit."""
    lines = Lines(explanation)
    written = [*wrapped(lines.heading(), width), ""]
    for table in tables(lines, limit, lambda table: natural_width(columns(table)) <= width):
        if len(table.titles) == 1:
            written.append(painted(table.titles[0], "bold", color))
        written += [*rendered(columns(table), color, width), ""]
        if table.left_out:
            written += [f"{table.left_out:,} lines are left out here (⋮): .markdown() has them all.", ""]
    return "\n".join([*written, *joined([f"{left} = {right}" for left, right in lines.results()], width)]).rstrip()


def columns(table: Table) -> list[Column]:
    """The user's lines and, for each title, the four sides of an equation, with a column for each sign of equality."""
    alone = len(table.titles) == 1
    made: list[Column] = [Column("" if alone else "line", [row.place for row in table.rows], "dim", True)]
    for i, title in enumerate(table.titles):
        written = [sides((row.first, row.second)[i]) if not row.left_out else ("⋮", "", "", "") for row in table.rows]
        made.append(Column("", [f"{' ' * (i + 1)}{side[0]}" if side[0] else "" for side in written], "bold", True))
        head = "" if alone else title
        for j, style in ((1, ""), (2, "dim"), (3, "green" if title.startswith("evaluation") else "magenta")):
            if any(side[j] for side in written):
                made.append(Column("", ["=" if side[j] else "" for side in written], "dim", True))
                made.append(Column(head, [side[j] for side in written], style, False))
                head = ""
    return [column for column in made if any(column.cells)]


def natural_width(made: Sequence[Column]) -> int:
    """How wide a table is if no cell is broken."""
    return sum([column.width + 1 for column in made]) - 1


def rendered(made: Sequence[Column], color: bool, width: int) -> list[str]:
    """The lines of a table. Where it is too wide, the widest columns give way."""
    widths = [column.width for column in made]
    flexible = [i for i, column in enumerate(made) if not column.fixed]
    while sum(widths) + len(widths) - 1 > width and flexible:
        widest = max(flexible, key=widths.__getitem__)
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    lines = (
        [row_of([column.head for column in made], widths, ["bold"] * len(made), color)]
        if any(c.head for c in made)
        else []
    )
    for cells in zip(*[column.cells for column in made], strict=True):
        broken = [
            wrapped(cell, w) if not column.fixed else [cell]
            for cell, w, column in zip(cells, widths, made, strict=True)
        ]
        for part in zip_longest(*broken, fillvalue=""):
            lines.append(row_of(part, widths, [column.style for column in made], color))
    return lines


def row_of(cells: Sequence[str], widths: Sequence[int], styles: Sequence[str], color: bool) -> str:
    """One line, without blanks at its end."""
    last = max([i for i, cell in enumerate(cells) if cell], default=-1)
    parts = [
        painted(cell, style, color) + " " * (width - width_of(cell) if i < last else 0)
        for i, (cell, width, style) in enumerate(zip(cells[: last + 1], widths, styles, strict=False))
    ]
    return " ".join(parts)


def painted(words: str, style: str, color: bool) -> str:
    """With the escape sequences of a style, if there are to be colours."""
    if not color or not style or not words:
        return words
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(words, color_system=ColorSystem.STANDARD)


def wrapped(words: str, width: int) -> list[str]:
    """A text broken at blanks, or where a word is wider than a line, within it."""
    if width_of(words) <= width:
        return [words]
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and width_of(lines[-1]) + 1 + width_of(word) <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for sign in word:
            if width_of(lines[-1]) + width_of(sign) > width:
                lines.append("")
            lines[-1] += sign
    return lines


def width_of(words: str) -> int:
    """How many columns of a terminal a text takes: bars and dots above letters take none."""
    if words.isascii():
        return len(words)
    return sum([0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in words])


def joined(texts: Sequence[str], width: int) -> list[str]:
    """Texts one after another, as many in a line as fit."""
    lines: list[str] = []
    for piece in texts:
        if lines and width_of(lines[-1]) + width_of(piece) + 4 <= width:
            lines[-1] += f"    {piece}"
        else:
            lines += wrapped(piece, width)
    return lines
