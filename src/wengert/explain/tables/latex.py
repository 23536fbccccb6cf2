r"""The traces for LaTeX: a `tabular` of equations, or a `longtable` where it is longer than a page. Needs `amsmath`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.explain.tables.lines import Lines
from wengert.explain.tables.rows import Table, sides, tables
from wengert.graph.typesetting import Latex

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation

PAGE = 45
WIDEST = 85
ARROWS = {"↓": r"$\downarrow$", "↑": r"$\uparrow$"}


def latex(explanation: Explanation, limit: int | None = None) -> str:
    """All lines, or if there is a `limit`, those at the beginning and at the end."""
    found = tables(Lines(explanation, Latex()), limit, narrow)
    packages = ["amsmath", *["longtable"] * any(len(table.rows) > PAGE for table in found)]
    return "\n\n".join([f"% \\usepackage{{{','.join(packages)}}}", *map(written, found)]) + "\n"


def narrow(table: Table) -> bool:
    """Whether a table has a chance to be as narrow as a page: by the characters that will be seen."""
    rows = [" ".join([text for equation in (row.first, row.second) for text in sides(equation)]) for row in table.rows]
    return (
        max([len(re.sub(r"\\(begin|end){\w+}|\\[a-zA-Z]+|[{}_^&\\\s]", "", row)) for row in rows], default=0) <= WIDEST
    )


def written(table: Table) -> str:
    environment = "longtable" if len(table.rows) > PAGE else "tabular"
    groups = r"@{\qquad}".join(["l@{ }l@{ }l@{ }l"] * len(table.titles))
    titles = [rf"\multicolumn{{4}}{{l}}{{{title}}}" for title in map(arrows, table.titles)]
    rows = [rf"line & {' & '.join(titles)} \\", r"\hline"]
    for row in table.rows:
        equations = [row.first, row.second][: len(table.titles)]
        cells = [code(row.place), *[cell for equation in equations for cell in cells_of(sides(equation))]]
        if row.left_out:
            cells = [
                "",
                r"$\vdots$",
                rf"\multicolumn{{3}}{{l}}{{{row.left_out} lines are left out}}",
                *[""] * 4 * (len(table.titles) - 1),
            ]
        rows.append(rf"{' & '.join(cells)} \\")
    return "\n".join([rf"\begin{{{environment}}}{{r@{{\quad}}{groups}}}", *rows, rf"\end{{{environment}}}"])


def cells_of(texts: Sequence[str]) -> list[str]:
    """The sides of an equation, each in mathematics mode."""
    return [f"${text}$" if i == 0 and text else f"${{}}= {text}$" if text else "" for i, text in enumerate(texts)]


def arrows(title: str) -> str:
    for arrow, command in ARROWS.items():
        title = title.replace(arrow, command)
    return title


def code(text: str) -> str:
    return rf"\texttt{{{Latex().code(text)}}}" if text else ""
