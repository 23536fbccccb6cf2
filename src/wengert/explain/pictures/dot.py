"""The graph of an explanation in Graphviz's language, for its layouts and output formats."""

from __future__ import annotations

from wengert.explain.explanation import Explanation, writes
from wengert.explain.pictures.diagram import Unit, compose_diagram
from wengert.explain.pictures.grouping import Grouping, find_groups
from wengert.explain.pictures.svg import KINDS, LIGHT

SHAPES = {"data": "box", "leaf": "box", "value": "box", "group": "box3d", "operator": "ellipse"}
STYLES = {
    "data": "filled,dashed",
    "leaf": "filled,rounded,bold",
    "value": "filled,rounded",
    "group": "filled",
    "operator": "filled",
}


@writes("dot")
def write_dot(explanation: Explanation, edges: bool = False, groups: Grouping = None) -> str:
    """The graph for `dot -Tsvg`, with the boxes, colours and labels of the SVG."""
    joined = find_groups(explanation, groups)
    shown = compose_diagram(explanation, joined, edges)
    lines = [
        "digraph wengert {",
        '  graph [rankdir=LR, bgcolor="transparent", nodesep=0.25, ranksep=0.45];',
        f'  node [fontname="Helvetica", fontsize=11, fontcolor="{LIGHT.ink}", margin="0.12,0.06"];',
        f'  edge [color="{LIGHT.line}", fontname="Helvetica", fontsize=10, fontcolor="{LIGHT.local}", arrowsize=0.7];',
    ]
    for i, unit in enumerate(shown.units):
        lines += declare_unit(i, unit)
    for arrow in shown.arrows:
        source, target = shown.units[arrow.source], shown.units[arrow.target]
        start = f"{'n' if source.lines else 'o'}{arrow.source}"
        end = f"{'o' if target.sign else 'n'}{arrow.target}"
        lines.append(f"  {start} -> {end}{attributes(label=arrow.label)};")
    return "\n".join([*lines, *legend_cluster(any(unit.group for unit in shown.units)), "}\n"])


def declare_unit(i: int, unit: Unit) -> list[str]:
    """The box of a unit, its operator, and the arrow between them."""
    found = []
    if unit.sign:
        found.append(f"  o{i}{box_attributes('operator', unit.sign[0].text)};")
    if unit.lines:
        found.append(f"  n{i}{box_attributes(unit.kind, *[line.text for line in unit.lines], thick=unit.is_result)};")
    if unit.sign and unit.lines:
        found.append(f"  o{i} -> n{i}{attributes(weight=4)};")
    return found


def box_attributes(kind: str, *texts: str, thick: bool = False) -> str:
    """The attributes of a box of some kind."""
    inside, border = getattr(LIGHT, kind)
    label = "\n".join(texts)
    width = 2.4 if thick else None
    return attributes(
        label=label, shape=SHAPES[kind], style=STYLES[kind], fillcolor=inside, color=border, penwidth=width
    )


def attributes(**known: object) -> str:
    """`[key="value"]`, without those that are None."""
    pairs = [f"{word}={quote(str(value))}" for word, value in known.items() if value is not None]
    return f" [{', '.join(pairs)}]" if pairs else ""


def quote(text: str) -> str:
    """A string in quotation marks, escaped as Graphviz requires."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def legend_cluster(has_groups: bool) -> list[str]:
    """The legend, in its own frame."""
    kinds = [kind for kind in KINDS if kind != "group" or has_groups]
    entries = [f"    legend_{kind}{box_attributes(kind, KINDS[kind])};" for kind in kinds]
    return [
        "  subgraph cluster_legend {",
        f'    label="legend"; color="{LIGHT.muted}"; fontname="Helvetica"; fontsize=10;',
        *entries,
        "  }",
    ]
