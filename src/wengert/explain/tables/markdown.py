"""The traces in Markdown: tables of equations, each as code, so that no character of it is markup."""

from __future__ import annotations

from wengert.explain.explanation import Explanation, writes
from wengert.explain.tables.equations import Equation, Equations
from wengert.explain.tables.rows import Table, lay_out_tables


@writes("markdown")
def write_markdown(explanation: Explanation, limit: int | None = None) -> str:
    """All lines, or with a `limit`, those at the beginning and at the end."""
    lines = Equations(explanation)
    pieces = [markdown_code(lines.heading()), *[write_markdown_table(table) for table in lay_out_tables(lines, limit)]]
    results = [f"- {markdown_code(f'{left} = {right}')}" for left, right in lines.results()]
    return "\n\n".join([*pieces, "\n".join(results)]) + "\n"


def write_markdown_table(table: Table) -> str:
    """One table."""
    heads = ["line", *table.titles]
    rows = [f"| {' | '.join(heads)} |", f"|{'--:|'}{':--|' * len(table.titles)}"]
    for row in table.rows:
        equations = [row.first, row.second][: len(table.titles)]
        cells = [row.line, *map(markdown_cell, equations)] if not row.left_out else ["⋮", row.note, ""]
        rows.append(f"| {' | '.join(cells[: len(heads)])} |")
    return "\n".join(rows)


def markdown_cell(equation: Equation | None) -> str:
    """An equation as code."""
    return markdown_code(str(equation)) if equation is not None else ""


def markdown_code(text: str) -> str:
    """Code in a table, where a bar would end the cell."""
    return f"`{text.replace('|', chr(92) + '|')}`"
