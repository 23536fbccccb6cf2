"""The traces as Markdown: tables of equations, each a piece of code, so that no sign in it means anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.explain.tables.lines import Equation, Lines
from wengert.explain.tables.rows import Table, tables

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation


def markdown(explanation: Explanation, limit: int | None = None) -> str:
    """All lines, or if there is a `limit`, those at the beginning and at the end."""
    lines = Lines(explanation)
    pieces = [code(lines.heading()), *[written(table) for table in tables(lines, limit)]]
    results = [f"- {code(f'{left} = {right}')}" for left, right in lines.results()]
    return "\n\n".join([*pieces, "\n".join(results)]) + "\n"


def written(table: Table) -> str:
    heads = ["line", *table.titles]
    rows = [f"| {' | '.join(heads)} |", f"|{'--:|'}{':--|' * len(table.titles)}"]
    for row in table.rows:
        equations = [row.first, row.second][: len(table.titles)]
        cells = (
            [row.place, *map(cell, equations)]
            if not row.left_out
            else ["⋮", f"{row.left_out:,} lines are left out", ""]
        )
        rows.append(f"| {' | '.join(cells[: len(heads)])} |")
    return "\n".join(rows)


def cell(equation: Equation | None) -> str:
    return code(str(equation)) if equation is not None else ""


def code(text: str) -> str:
    """A bar is the end of a cell, even in code."""
    return f"`{text.replace('|', chr(92) + '|')}`"
