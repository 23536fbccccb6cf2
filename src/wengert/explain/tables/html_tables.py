"""The traces as tables in HTML for a notebook or a page of documentation, in light or dark colours as that has."""

from __future__ import annotations

import html
import re

from wengert.explain.explanation import Explanation
from wengert.explain.tables.equations import Equation, Equations
from wengert.explain.tables.names import BAR, DOT
from wengert.explain.tables.plain_text import columns, natural_width
from wengert.explain.tables.rows import LIMIT, Table, TableRow, lay_out_tables, sides

WIDEST = 120
LIGHT = "--ink: #202124; --faint: #5f6368; --rule: #dadce0; --value: #137333; --derivative: #8430ce;"
DARK = "--ink: #e6e6e6; --faint: #9aa0a6; --rule: #3c4043; --value: #81c995; --derivative: #d7aefb;"
STYLE = f"""<style>
.wengert-trace {{ {LIGHT}
  color: var(--ink); font: 14px/1.5 "STIX Two Text", Cambria, Georgia, serif; overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{ .wengert-trace {{ {DARK} }} }}
[data-jp-theme-light="true"] .wengert-trace, .vscode-light .wengert-trace {{ color-scheme: light;
  {LIGHT} }}
[data-jp-theme-light="false"] .wengert-trace, .vscode-dark .wengert-trace,
html[theme="dark"] .wengert-trace {{ {DARK} }}
.wengert-trace table {{ border-collapse: collapse; margin: .6em 0; background: none; color: inherit; font: inherit; }}
.wengert-trace sub {{ line-height: 0; }}
.wengert-trace td, .wengert-trace th {{ text-align: left; vertical-align: baseline; padding: 1px .35em; border: 0;
  background: none; white-space: nowrap; }}
.wengert-trace th {{ border-bottom: 1px solid var(--rule); font-weight: 600; }}
.wengert-trace td.line {{ color: var(--faint); text-align: right; font: 12px monospace; padding-right: 1em; }}
.wengert-trace td.second {{ padding-left: 2em; }}
.wengert-trace td.numbers {{ color: var(--faint); }}
.wengert-trace td.value {{ color: var(--value); }}
.wengert-trace td.derivative {{ color: var(--derivative); }}
.wengert-trace p {{ margin: .3em 0; }}
</style>"""


def write_fragment(explanation: Explanation, limit: int | None = LIMIT) -> str:
    """The tables with their style sheet."""
    lines = Equations(explanation)
    results = " &emsp; ".join([f"{mark_up(left)} = {mark_up(right)}" for left, right in lines.results()])
    body = [
        f"<p><b>{mark_up(lines.heading())}</b></p>",
        *[write_html_table(table) for table in lay_out_tables(lines, limit, fits_notebook)],
        f"<p>{results}</p>",
    ]
    return "\n".join([STYLE, '<div class="wengert-trace">', *body, "</div>"])


def fits_notebook(table: Table) -> bool:
    """Whether a notebook of common width shows a table without scrolling."""
    return natural_width(columns(table)) <= WIDEST


def write_html_table(table: Table) -> str:
    """One table."""
    heads = [
        f'<th colspan="4"{" style=padding-left:2em" if i else ""}>{title}</th>' for i, title in enumerate(table.titles)
    ]
    rows = [f"<tr><th>line</th>{''.join(heads)}</tr>", *[html_row(row, table) for row in table.rows]]
    return "\n".join(["<table>", *rows, "</table>"])


def html_row(row: TableRow, table: Table) -> str:
    """One row of a table."""
    if row.left_out:
        note = f'<td colspan="{4 * len(table.titles)}">{row.note}</td>'
        return f'<tr><td class="line">⋮</td>{note}</tr>'
    cells = [
        html_cells((row.first, row.second)[i], i, title.startswith("evaluation"))
        for i, title in enumerate(table.titles)
    ]
    return f'<tr><td class="line">{html.escape(row.line)}</td>{"".join(cells)}</tr>'


def html_cells(equation: Equation | None, column: int, is_value: bool) -> str:
    """The four sides of an equation."""
    texts = [mark_up(text) for text in sides(equation)]
    kinds = ["second" if column else "name", "formula", "numbers", "value" if is_value else "derivative"]
    signed = [text if i == 0 or not text else f"= {text}" for i, text in enumerate(texts)]
    return "".join([f'<td class="{kind}">{text}</td>' for kind, text in zip(kinds, signed, strict=True)])


def mark_up(text: str) -> str:
    """A string with the numbers of labels as subscripts: `v-1` as v with -1."""
    return re.sub(rf"\b(v[{BAR}{DOT}]?)(-?\d+)(?![\w\[])", r"\1<sub>\2</sub>", html.escape(text))
