"""The traces in columns for a terminal: evaluation on the left, tangents or adjoints on the right.

Tangents are read from the top down, adjoints from the bottom up, each beside the operation that sends it back, as in
tables 2 and 3 of Baydin, Pearlmutter, Radul and Siskind, "Automatic differentiation in machine learning: a survey"
(2018). If both do not fit side by side, the second trace follows the first, adjoints in the order of the backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from wengert.explain.explanation import Explanation, writes
from wengert.explain.tables.equations import Equations
from wengert.explain.tables.rows import LIMIT, Table, lay_out_tables, sides

WIDTH = 100
NARROWEST = 10
"""The smallest width of a column that is wrapped."""


class Column(NamedTuple):
    """A column, with a style of rich. A `fixed` column is not wrapped."""

    head: str
    cells: list[str]
    style: str
    fixed: bool

    @property
    def width(self) -> int:
        return max(map(text_width, (self.head, *self.cells)))


@writes("text")
def write_text(explanation: Explanation, color: bool = False, width: int = WIDTH, limit: int | None = LIMIT) -> str:
    """The traces. The middle of a trace of more than `limit` lines is left out."""
    lines = Equations(explanation)
    written = [*wrap(lines.heading(), width), ""]
    for table in lay_out_tables(lines, limit, lambda table: natural_width(columns(table)) <= width):
        if len(table.titles) == 1:
            written.append(paint(table.titles[0], "bold", color))
        written += [*render_columns(columns(table), color, width), ""]
        if table.left_out:
            written += [f"{table.left_out:,} lines are left out here (⋮): .markdown() has them all.", ""]
    return "\n".join([*written, *fill_lines([f"{left} = {right}" for left, right in lines.results()], width)]).rstrip()


def columns(table: Table) -> list[Column]:
    """The source lines and, for each title, the four sides of an equation, with a column for each equals sign."""
    alone = len(table.titles) == 1
    made: list[Column] = [Column("" if alone else "line", [row.line for row in table.rows], "dim", True)]
    for i, title in enumerate(table.titles):
        written = [
            sides((row.first, row.second)[i]) if not row.left_out else ("⋮", row.what, "", "") for row in table.rows
        ]
        made.append(Column("", [f"{' ' * (i + 1)}{side[0]}" if side[0] else "" for side in written], "bold", True))
        head = "" if alone else title
        for j, style in ((1, ""), (2, "dim"), (3, "green" if title.startswith("evaluation") else "magenta")):
            if any(side[j] for side in written):
                made.append(Column("", ["=" if side[j] and side[0] != "⋮" else "" for side in written], "dim", True))
                made.append(Column(head, [side[j] for side in written], style, False))
                head = ""
    return [column for column in made if any(column.cells)]


def natural_width(made: Sequence[Column]) -> int:
    """The width of a table without wrapped cells."""
    return sum([column.width + 1 for column in made]) - 1


def render_columns(made: Sequence[Column], color: bool, width: int) -> list[str]:
    """The lines of a table. If it is too wide, the widest columns are wrapped."""
    widths = [column.width for column in made]
    flexible = [i for i, column in enumerate(made) if not column.fixed]
    while sum(widths) + len(widths) - 1 > width and flexible:
        widest = max(flexible, key=widths.__getitem__)
        if widths[widest] <= NARROWEST:
            break
        widths[widest] -= 1
    if any(c.head for c in made):
        lines = [join_cells([column.head for column in made], widths, ["bold"] * len(made), color)]
    else:
        lines = []
    for cells in zip(*[column.cells for column in made], strict=True):
        broken = [
            wrap(cell, w) if not column.fixed else [cell] for cell, w, column in zip(cells, widths, made, strict=True)
        ]
        for part in zip_longest(*broken, fillvalue=""):
            lines.append(join_cells(part, widths, [column.style for column in made], color))
    return lines


def join_cells(cells: Sequence[str], widths: Sequence[int], styles: Sequence[str], color: bool) -> str:
    """One line, without spaces at its end."""
    last = max([i for i, cell in enumerate(cells) if cell], default=-1)
    parts = [
        paint(cell, style, color) + " " * (width - text_width(cell) if i < last else 0)
        for i, (cell, width, style) in enumerate(zip(cells[: last + 1], widths, styles, strict=False))
    ]
    return " ".join(parts)


def paint(words: str, style: str, color: bool) -> str:
    """A string with the escape sequences of a style, if `color` is set."""
    if not color or not style or not words:
        return words
    from rich.color import ColorSystem
    from rich.style import Style

    return Style.parse(style).render(words, color_system=ColorSystem.STANDARD)


def wrap(words: str, width: int) -> list[str]:
    """The lines of a string, broken at spaces, or within a word that is wider than a line."""
    if text_width(words) <= width:
        return [words]
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and text_width(lines[-1]) + 1 + text_width(word) <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for sign in word:
            if text_width(lines[-1]) + text_width(sign) > width:
                lines.append("")
            lines[-1] += sign
    return lines


def text_width(words: str) -> int:
    """The columns that a string takes in a terminal: combining bars and dots take none."""
    if words.isascii():
        return len(words)
    return sum([0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in words])


def fill_lines(texts: Sequence[str], width: int) -> list[str]:
    """Strings one after another, as many in a line as fit."""
    lines: list[str] = []
    for piece in texts:
        if lines and text_width(lines[-1]) + text_width(piece) + 4 <= width:
            lines[-1] += f"    {piece}"
        else:
            lines += wrap(piece, width)
    return lines
