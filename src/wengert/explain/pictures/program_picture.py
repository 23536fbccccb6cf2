"""A graph without numbers as a picture: inputs, operations, and the shape and dtype of each value."""

from __future__ import annotations

import html

from wengert.core.errors import user_error
from wengert.core.primitive import OUTPUT
from wengert.explain.pictures.diagram import Arrow, Diagram, Kind, Unit
from wengert.explain.pictures.labels import Line, brief_value, operator_sign, shorten, subscript_label
from wengert.explain.pictures.layout import MOST, lay_out_diagram
from wengert.explain.pictures.svg import KINDS, draw_picture, measure_legend
from wengert.graph.forms import form
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation


@form("svg")
def write_program_picture(graph: Graph) -> str:
    """The picture, self-contained, with a legend."""
    if len(graph.nodes) > MOST:
        raise user_error(
            ValueError,
            f"The graph has {len(graph.nodes)} nodes, too many to draw (at most {MOST})",
            "Print it, or use wg.explain, which draws loops as one.",
        )
    drawing = lay_out_diagram(compose_program(graph), [])
    kinds = {node.kind for node in drawing.nodes}
    entries = measure_legend([(kind, words) for kind, words in KINDS.items() if kind in kinds] + [("result", "result")])
    return draw_picture(
        drawing, "Graph of a program", entries, lambda node: f"<title>{html.escape(' '.join(node.title))}</title>"
    )


def compose_program(graph: Graph) -> Diagram:
    """The units and arrows of a graph. Constants are drawn once for each use, beside it."""
    found, names = Diagram(), graph.value_names()
    units: dict[Node, int] = {}
    count = 0
    results = set(graph.outputs)
    for node in (*graph.inputs, *graph.nodes):
        if node in units or (isinstance(node, Constant) and node not in results):
            continue
        if isinstance(node, Operation):
            sources = [units[a] if a in units else found.add(constant_unit(a)) for a in node.args]
            count += node not in names
            units[node] = found.add(value_unit(node, names.get(node) or subscript_label(f"v{count}")))
            found.arrows += [Arrow(source, units[node], i) for i, source in enumerate(sources)]
        else:
            units[node] = found.add(input_unit(node, names) if isinstance(node, Input) else constant_unit(node))
        found.units[units[node]].is_result = node in results
    return found


def input_unit(node: Node, names: dict[Node, str]) -> Unit:
    """An input: its name, shape and dtype."""
    kind: Kind = "leaf" if node.dtype.kind in "fc" else "data"
    return Unit(kind, (Line(shorten(names.get(node, "input")), "name"), Line(repr(node.spec), "value")))


def constant_unit(node: Node) -> Unit:
    """A constant: its number, or its shape and dtype."""
    value = node.value if isinstance(node, Constant) else None
    return Unit("data", (Line(brief_value(value), "value"),))


def value_unit(node: Operation, name: str) -> Unit:
    """An operation and its value. One with several outputs, which other operations pick, has no value of its own."""
    sign = () if node.primitive is OUTPUT else (Line(operator_sign(node), "symbol"),)
    if node.primitive.outputs != 1 or node.spec is None:
        return Unit("value", (), sign)
    kind: Kind = "value" if node.dtype.kind in "fc" else "data"
    return Unit(kind, (Line(shorten(name), "name"), Line(repr(node.spec), "value")), sign)
