"""The graph of an explanation as a self-contained SVG, in light colours, or dark ones if the reader prefers them.

Colours are plain CSS rules without variables, so that drawing programs and printers understand them. Kinds also differ
in shape and border, so that they can be told apart without colours.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import NamedTuple

from wengert.explain.explanation import Explanation, writes
from wengert.explain.pictures.diagram import PILE
from wengert.explain.pictures.grouping import Grouping
from wengert.explain.pictures.labels import SIZES, Line, text_extent
from wengert.explain.pictures.layout import LABEL, MARGIN, Drawing, DrawnEdge, DrawnNode, lay_out_drawing
from wengert.explain.tables.numbers import format_value

SANS = "Inter, 'Segoe UI', 'Noto Sans', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
MONO = f"ui-monospace, 'SF Mono', Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace, {SANS}"


class Theme(NamedTuple):
    """Colours; pairs are the fill and the border of a box. Text has a contrast of at least 4.5 to 1."""

    ground: str
    ink: str
    muted: str
    line: str
    data: tuple[str, str]
    leaf: tuple[str, str]
    value: tuple[str, str]
    operator: tuple[str, str]
    group: tuple[str, str]
    adjoint: str
    tangent: str
    local: str


LIGHT = Theme(
    ground="#ffffff", ink="#1b2430", muted="#56606e", line="#77828f",
    data=("#eceef0", "#7b8491"), leaf=("#dcebfa", "#1f6fb5"), value=("#fdf0cf", "#a9760a"),
    operator=("#d6f1e6", "#0b7a5b"), group=("#f1ebfa", "#7a5bb0"),
    adjoint="#a3214b", tangent="#0a6150", local="#6a4a00",
)  # fmt: skip
DARK = Theme(
    ground="#12161c", ink="#e8ecf1", muted="#a5afbb", line="#8b96a4",
    data=("#2a3038", "#8f99a6"), leaf=("#15324d", "#6db3f2"), value=("#3d3110", "#e0b040"),
    operator=("#0f3b2f", "#4fcfa3"), group=("#2e2540", "#b79bea"),
    adjoint="#ff9db8", tangent="#7fe3c9", local="#f0cf85",
)  # fmt: skip
KINDS = {
    "leaf": "leaf (input)",
    "data": "data without gradient",
    "value": "intermediate value",
    "operator": "operator",
    "group": "group of operations",
}


@writes("svg")
def write_svg(explanation: Explanation, edges: bool = False, groups: Grouping = None) -> str:
    """The graph with a legend. `edges` labels edges with local derivatives."""
    drawing = lay_out_drawing(explanation, groups, edges=edges)
    name = getattr(explanation.recording.function, "__name__", "f").replace("<lambda>", "f")
    return draw_picture(
        drawing,
        f"Computational graph of {name}",
        legend_entries(explanation, drawing),
        lambda node: tooltip(node, explanation),
    )


def draw_picture(
    drawing: Drawing, title: str, entries: list[tuple[str, str, float]], describe: Callable[[DrawnNode], str]
) -> str:
    """A drawing with a legend; `describe` is the tooltip of a box."""
    least = max([MARGIN * 2 + room for *_, room in entries])
    wide = max(drawing.width, least, min(560.0, sum([room for *_, room in entries]) + 2 * MARGIN))
    rows = wrap_legend(entries, wide - 2 * MARGIN)
    high = drawing.height + 26.0 * len(rows) + MARGIN / 2
    left = (wide - drawing.width) / 2
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="wengert-graph" role="img" '
            f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{graph_style()}</style>",
            '<defs><marker id="wengert-arrow" viewBox="0 0 10 10" refX="9.2" refY="5" markerWidth="7.5" '
            'markerHeight="7.5" markerUnits="userSpaceOnUse" orient="auto">'
            '<path class="tip" d="M0.5 0.8 9.5 5 0.5 9.2 2.6 5z"/></marker></defs>',
            f'<rect class="ground" width="{wide:.0f}" height="{high:.0f}"/>',
            f'<g transform="translate({left:g} 0)">',
            *[draw_edge(edge) for edge in drawing.edges],
            *[draw_node(node, describe(node)) for node in drawing.nodes],
            *[draw_label(edge) for edge in drawing.edges if edge.label and edge.label_at],
            "</g>",
            *draw_legend(rows, wide, drawing.height),
            "</svg>\n",
        ]
    )


def graph_style() -> str:
    """The style sheet: shapes and text, light colours, and dark ones for those who prefer them."""
    fixed = [
        f"text{{font-family:{SANS};text-anchor:middle}}",
        *[f".{role}{{font-size:{size:g}px}}" for role, size in SIZES.items()],
        f".code{{font-family:{MONO}}}",
        ".name tspan,.symbol,.heading{font-weight:600}",
        ".edge{fill:none;stroke-width:1.4}.loop{stroke-dasharray:5 4}",
        ".node rect,.node path,.key{stroke-width:1.4}.leaf rect,rect.leaf{stroke-width:2.2}.data "
        "rect,rect.data{stroke-dasharray:4 3}",
        ".result rect{stroke-width:2.6}.local{font-size:12px;font-weight:600}",
        ".legend text{font-size:12px;text-anchor:start}",
    ]
    scoped = [f".wengert-graph {rule}" for line in fixed for rule in split_rules(line)]
    dark = "".join([f".wengert-graph {rule}" for rule in theme_rules(DARK)])
    light = [f".wengert-graph {rule}" for rule in theme_rules(LIGHT)]
    return "\n".join([*scoped, *light, f"@media (prefers-color-scheme: dark){{{dark}}}"])


def split_rules(line: str) -> list[str]:
    """The rules of one line, each with one selector, which can then be scoped."""
    rules = [rule.partition("{") for rule in line.split("}") if rule]
    return [f"{selector}{{{body}}}" for selectors, _, body in rules for selector in selectors.split(",")]


def theme_rules(theme: Theme) -> list[str]:
    """The rules that depend on the theme."""
    boxes = [(kind, getattr(theme, kind)) for kind in KINDS]
    return [
        f".ground{{fill:{theme.ground}}}",
        f"text{{fill:{theme.ink}}}",
        f".edge{{stroke:{theme.line}}}",
        f".tip{{fill:{theme.line}}}",
        f".local{{fill:{theme.local}}}",
        f".adjoint{{fill:{theme.adjoint}}}",
        f".tangent{{fill:{theme.tangent}}}",
        f".note{{fill:{theme.muted}}}",
        *[f".{kind} rect{{fill:{inside};stroke:{border}}}" for kind, (inside, border) in boxes],
        *[f".{kind} path{{fill:none;stroke:{border}}}" for kind, (_, border) in boxes],
        *[f"rect.{kind}{{fill:{inside};stroke:{border}}}" for kind, (inside, border) in boxes],
    ]


def draw_edge(edge: DrawnEdge) -> str:
    """An arrow."""
    data = f' data-step="{edge.step}" data-operand="{edge.operand}"' if edge.step is not None else ""
    loop = " loop" if edge.backward else ""
    tip = f"<title>{edge.count} uses</title>" if edge.count > 1 else ""
    return f'<path class="edge{loop}"{data} d="{edge.path}" marker-end="url(#wengert-arrow)">{tip}</path>'


def draw_node(node: DrawnNode, tip: str) -> str:
    """A box or an operator with its text and its tooltip."""
    classes = f"node {node.kind}{' result' if node.is_result else ''}"
    data = "".join(
        [f' data-{key}="{known}"' for key, known in (("step", node.step), ("group", node.group)) if known is not None]
    )
    pile = PILE if node.kind == "group" else 0.0
    centre = node.x + (node.width - pile) / 2
    y = node.y + (node.height - pile - sum([line.height for line in node.lines])) / 2
    texts = []
    for line in node.lines:
        y += line.height
        texts.append(
            f'<text class="{line.role}" x="{centre:g}" y="{y - line.height * 0.29:.1f}">{typeset(line)}</text>'
        )
    return f'<g class="{classes}"{data}>{tip}{draw_shape(node)}{"".join(texts)}</g>'


def typeset(line: Line) -> str:
    """The text of a line, with its name as an element."""
    if line.role != "name":
        return html.escape(line.text)
    name, equals, number = line.text.partition(" = ")
    return f"<tspan>{html.escape(name)}</tspan>{html.escape(equals + number)}"


def draw_shape(node: DrawnNode) -> str:
    """Operators are round, data has corners, and a group lies on a pile."""
    radius = {"operator": node.height / 2, "data": 0.0}.get(node.kind, 7.0)
    pile = PILE if node.kind == "group" else 0.0
    size = f'width="{node.width - pile:g}" height="{node.height - pile:g}"'
    box = f'<rect x="{node.x:g}" y="{node.y:g}" {size} rx="{radius:g}"/>'
    right, low = node.x + node.width, node.y + node.height
    sheets = [
        f'<path d="M{node.x + 11 - d:g} {low - d:g}H{right - 7 - d:g}a7 7 0 0 0 7 -7V{node.y + 11 - d:g}"/>'
        for d in (0, PILE / 2)
    ]
    return "".join([*sheets, box]) if pile else box


def tooltip(node: DrawnNode, explanation: Explanation) -> str:
    """Name, value and source line of a step."""
    if node.step is None:
        return ""
    step = explanation.steps[node.step]
    source = f"\nline {step.line}: {step.code}" if step.line else ""
    return f"<title>{html.escape(f'{step.title} = {format_value(step.value)}{source}')}</title>"


def draw_label(edge: DrawnEdge) -> str:
    """The local derivative, on a background that hides the lines below it."""
    (x, y), text = edge.label_at or (0.0, 0.0), edge.label or ""
    wide = text_extent(text) * LABEL
    ground = (
        f'<rect class="ground" x="{x - wide / 2 - 2:.1f}" y="{y - 7:.1f}" width="{wide + 4:.1f}" height="14" rx="4"/>'
    )
    return f'{ground}<text class="local" x="{x:g}" y="{y + 4:g}">{html.escape(text)}</text>'


def legend_entries(explanation: Explanation, drawing: Drawing) -> list[tuple[str, str, float]]:
    """The legend: kind, text, and width of each entry."""
    kinds = {node.kind for node in drawing.nodes}
    entries = [(kind, words) for kind, words in KINDS.items() if kind in kinds or kind != "group"]
    entries.append(("result", "result"))
    if explanation.tangents is not None:
        entries.append(("tangent", "tangent"))
    if explanation.adjoints is not None:
        entries.append(("adjoint", "adjoint"))
    if any(edge.label for edge in drawing.edges):
        entries.append(("local", "local derivative"))
    if any(edge.backward for edge in drawing.edges):
        entries.append(("loop", "next round of a loop"))
    return measure_legend(entries)


def measure_legend(entries: list[tuple[str, str]]) -> list[tuple[str, str, float]]:
    """The entries of a legend with the width that each needs."""
    return [(kind, words, 30.0 + text_extent(words) * 12 + 20.0) for kind, words in entries]


def wrap_legend(entries: list[tuple[str, str, float]], wide: float) -> list[list[tuple[str, str, float]]]:
    """The entries in as many rows as they need, of about the same length."""
    total = sum([room for *_, room in entries])
    even = max(total / math.ceil(total / wide) * 1.15, *[room for *_, room in entries])
    rows: list[list[tuple[str, str, float]]] = [[]]
    for entry in entries:
        if rows[-1] and sum([room for *_, room in rows[-1]]) + entry[2] > min(wide, even):
            rows.append([])
        rows[-1].append(entry)
    return rows


def draw_legend(rows: list[list[tuple[str, str, float]]], wide: float, top: float) -> list[str]:
    """The legend below the picture."""
    found = ['<g class="legend">']
    for n, row in enumerate(rows):
        x, y = (wide - sum([room for *_, room in row]) + 20.0) / 2, top + 26.0 * n + 13.0
        for kind, words, room in row:
            found.append(f'{legend_key(kind, x, y)}<text x="{x + 30:.1f}" y="{y + 4:.1f}">{words}</text>')
            x += room
    return [*found, "</g>"]


def legend_key(kind: str, x: float, y: float) -> str:
    """The symbol before an entry of the legend."""
    if kind == "loop":
        return f'<path class="edge loop" d="M{x:.1f} {y:.1f}h22" marker-end="url(#wengert-arrow)"/>'
    if kind in ("tangent", "adjoint", "local"):
        sample = {"tangent": "v\u0307", "adjoint": "v\u0304", "local": "0.5"}[kind]
        return f'<text class="{kind}" x="{x + (0 if kind == "local" else 8):.1f}" y="{y + 4:.1f}">{sample}</text>'
    if kind == "result":
        box = f'<rect class="value" x="{x:.1f}" y="{y - 7:.1f}" width="22" height="14" rx="4"/>'
        return f'<g class="value result">{box}</g>'
    radius = {"operator": 7, "data": 0}.get(kind, 4)
    return f'<rect class="key {kind}" x="{x:.1f}" y="{y - 7:.1f}" width="22" height="14" rx="{radius}"/>'
