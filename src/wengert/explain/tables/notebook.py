"""The traces as a piece of HTML, for a notebook or a page of documentation; it is dark where that is dark."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from wengert.explain.tables.lines import Equation, Lines
from wengert.explain.tables.names import BAR, DOT
from wengert.explain.tables.rows import LIMIT, Row, Table, sides, tables
from wengert.explain.tables.table import columns, natural_width

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation

WIDEST = 120
DARK = "--ink: #e6e6e6; --faint: #9aa0a6; --rule: #3c4043; --value: #81c995; --derivative: #d7aefb;"
STYLE = f"""<style>
.wengert-trace {{ --ink: #202124; --faint: #5f6368; --rule: #dadce0; --value: #137333; --derivative: #8430ce;
  color: var(--ink); font: 14px/1.5 "STIX Two Text", Cambria, Georgia, serif; overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{ .wengert-trace {{ {DARK} }} }}
[data-jp-theme-light="true"] .wengert-trace, .vscode-light .wengert-trace {{ color-scheme: light;
  --ink: #202124; --faint: #5f6368; --rule: #dadce0; --value: #137333; --derivative: #8430ce; }}
[data-jp-theme-light="false"] .wengert-trace, .vscode-dark .wengert-trace, html[theme="dark"] .wengert-trace {{ {DARK} }}
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


def fragment(explanation: Explanation, limit: int | None = LIMIT) -> str:
    """The tables, with what they need to look well."""
    lines = Lines(explanation)
    results = " &emsp; ".join([f"{marked(left)} = {marked(right)}" for left, right in lines.results()])
    body = [
        f"<p><b>{marked(lines.heading())}</b></p>",
        *[written(table) for table in tables(lines, limit, narrow)],
        f"<p>{results}</p>",
    ]
    return "\n".join([STYLE, '<div class="wengert-trace">', *body, "</div>"])


def narrow(table: Table) -> bool:
    """Whether a table can be read without being moved, in a notebook of common width."""
    return natural_width(columns(table)) <= WIDEST


def written(table: Table) -> str:
    heads = [
        f'<th colspan="4"{" style=padding-left:2em" if i else ""}>{title}</th>' for i, title in enumerate(table.titles)
    ]
    rows = [f"<tr><th>line</th>{''.join(heads)}</tr>", *[row_of(row, table) for row in table.rows]]
    return "\n".join(["<table>", *rows, "</table>"])


def row_of(row: Row, table: Table) -> str:
    if row.left_out:
        return f'<tr><td class="line">⋮</td><td colspan="{4 * len(table.titles)}">{row.left_out:,} lines are left out</td></tr>'
    place = html.escape(row.place)
    cells = [
        cells_of((row.first, row.second)[i], i, title.startswith("evaluation")) for i, title in enumerate(table.titles)
    ]
    return f'<tr><td class="line">{place}</td>{"".join(cells)}</tr>'


def cells_of(equation: Equation | None, place: int, is_value: bool) -> str:
    texts = [marked(text) for text in sides(equation)]
    kinds = ["second" if place else "name", "formula", "numbers", "value" if is_value else "derivative"]
    signed = [text if i == 0 or not text else f"= {text}" for i, text in enumerate(texts)]
    return "".join([f'<td class="{kind}">{text}</td>' for kind, text in zip(kinds, signed, strict=True)])


def marked(text: str) -> str:
    """Labels with their numbers below the line: `v-1` as v with -1."""
    return re.sub(rf"\b(v[{BAR}{DOT}]?)(-?\d+)(?![\w\[])", r"\1<sub>\2</sub>", html.escape(text))
