"""What an operation does to shapes, for the page to draw: products, sums over axes, broadcasting, windows."""

from __future__ import annotations

from typing import Any

from wengert.core.aspects import Aspect
from wengert.core.primitive import OUTPUT, Primitive
from wengert.explain.page.timeline import Timeline
from wengert.graph.ir import Operation
from wengert.ops.contraction import products
from wengert.ops.reductions import sums
from wengert.ops.reductions.axes import axes_of
from wengert.ops.signal import convolution

MOST = 2000
"""The most operations of a page that are sketched."""
MOST_OPERANDS = 3


def sketch_of_kind(primitive: Primitive) -> str:
    """Reductions have axes that vanish; of the others, the shapes are drawn."""
    return "reduction" if primitive.kind == "reduction" else "shapes"


sketch: Aspect[str] = Aspect(
    "sketch", "what the page draws of shapes: shapes, reduction, product or window", sketch_of_kind
)
sketch.enter("reduction", sums._sum, sums._mean)
sketch.enter("product", products.matmul)
sketch.enter(
    "window",
    convolution._convolution,
    convolution._convolution_signals,
    convolution._convolution_filters,
)


def sketches(timeline: Timeline) -> dict[int, dict[str, Any]]:
    """By step: what is drawn, the names and shapes of operands, the shape of the result, the axes that vanish."""
    found: dict[int, dict[str, Any]] = {}
    for i, step in enumerate(timeline.formulas.steps):
        node = step.node
        if len(found) == MOST:
            break
        if not isinstance(node, Operation) or node.primitive is OUTPUT or node.dtype is None:
            continue
        operands = [a for a in node.args if a.dtype is not None]
        if not any(a.shape for a in (node, *operands)) or not operands or len(operands) > MOST_OPERANDS:
            continue
        kind = sketch.of(node.primitive)
        found[i] = {
            "kind": kind,
            "operands": [[timeline.formulas.by_name(a).text[:12], list(a.shape)] for a in operands],
            "shape": list(node.shape),
            "axes": list(axes_of(operands[0], node.params.get("axis"))) if kind == "reduction" else [],
        }
    return found
