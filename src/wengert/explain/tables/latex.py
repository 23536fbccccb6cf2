"""The traces in LaTeX: a `tabular` of equations, or a `longtable` if it is longer than a page. Needs `amsmath`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wengert.explain.explanation import Explanation, writes
from wengert.explain.tables.equations import Equations
from wengert.explain.tables.rows import Table, lay_out_tables, sides
from wengert.graph.typesetting import Latex

PAGE = 45
WIDEST = 85
ARROWS = {"↓": r"$\downarrow$", "↑": r"$\uparrow$"}


@writes("latex")
def write_latex(explanation: Explanation, limit: int | None = None) -> str:
    """All lines, or with a `limit`, those at the beginning and at the end."""
    found = lay_out_tables(Equations(explanation, Latex()), limit, fits_page)
    packages = ["amsmath", *["longtable"] * any(len(table.rows) > PAGE for table in found)]
    return "\n\n".join([f"% \\usepackage{{{','.join(packages)}}}", *map(write_latex_table, found)]) + "\n"


def fits_page(table: Table) -> bool:
    """Whether a table is about as narrow as a page, by the characters that will be visible."""
    rows = [" ".join([text for equation in (row.first, row.second) for text in sides(equation)]) for row in table.rows]
    return (
        max([len(re.sub(r"\\(begin|end){\w+}|\\[a-zA-Z]+|[{}_^&\\\s]", "", row)) for row in rows], default=0) <= WIDEST
    )


def write_latex_table(table: Table) -> str:
    """One table as an environment."""
    environment = "longtable" if len(table.rows) > PAGE else "tabular"
    groups = r"@{\qquad}".join(["l@{ }l@{ }l@{ }l"] * len(table.titles))
    titles = [rf"\multicolumn{{4}}{{l}}{{{title}}}" for title in map(translate_arrows, table.titles)]
    rows = [rf"line & {' & '.join(titles)} \\", r"\hline"]
    for row in table.rows:
        equations = [row.first, row.second][: len(table.titles)]
        cells = [latex_code(row.line), *[cell for equation in equations for cell in latex_cells(sides(equation))]]
        if row.left_out:
            cells = [
                "",
                r"$\vdots$",
                rf"\multicolumn{{3}}{{l}}{{{row.note}}}",
                *[""] * 4 * (len(table.titles) - 1),
            ]
        rows.append(rf"{' & '.join(cells)} \\")
    return "\n".join([rf"\begin{{{environment}}}{{r@{{\quad}}{groups}}}", *rows, rf"\end{{{environment}}}"])


def latex_cells(texts: Sequence[str]) -> list[str]:
    """The sides of an equation, each in mathematics mode."""
    return [f"${text}$" if i == 0 and text else f"${{}}= {text}$" if text else "" for i, text in enumerate(texts)]


def translate_arrows(title: str) -> str:
    """A title with LaTeX's commands for arrows."""
    for arrow, command in ARROWS.items():
        title = title.replace(arrow, command)
    return title


def latex_code(text: str) -> str:
    """Source code in a typewriter font."""
    return rf"\texttt{{{Latex().code(text)}}}" if text else ""
