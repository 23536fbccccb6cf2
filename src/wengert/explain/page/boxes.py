"""The layout of the page's graph: a box for each value, or in a large program for each source line."""

from __future__ import annotations

from typing import Any

from wengert.explain.explanation import Explanation
from wengert.explain.page.timeline import Timeline
from wengert.explain.pictures.grouping import Group, find_groups
from wengert.explain.pictures.labels import state_text
from wengert.explain.pictures.layers import place_boxes

FEW = 150
"""The most values that the page draws without groups."""
BOX = 124, 64
ARRAY_BOX = 186, 98
LINE = 216
"""Width and height of the box of a value, on a page without and with arrays; width of the box of a source line."""
HEAT_MAP = 34
"""How much higher the box of an array is if it shows its tangent as well as its adjoint."""
GAP = 26
BETWEEN = 54, 64
"""The space between neighbours, and between layers, in a layout downwards and sideways."""


def drawing_data(explanation: Explanation, timeline: Timeline) -> dict[str, Any]:
    """The groups, the boxes (a step, or -1 minus a group), the edges between boxes, and two layouts: down and sideways.

    Each layout has the centres of boxes, and for each edge its bends.
    """
    groups = find_groups(explanation) if len(timeline.formulas.steps) > FEW else []
    group_of = {step: -1 - g for g, group in enumerate(groups) for step in timeline.indices(group.steps)}
    boxes: dict[int, int] = {}
    for step in range(len(timeline.index)):
        boxes.setdefault(group_of.get(step, step), len(boxes))
    pairs: dict[tuple[int, int, int], None] = {}
    for edge, (a, b) in enumerate(zip(timeline.edges["from"], timeline.edges["to"], strict=True)):
        ends = boxes[group_of.get(a, a)], boxes[group_of.get(b, b)]
        if ends[0] != ends[1]:
            pairs[*ends, edge if not groups else -1] = None
    edges = [(a, b) for a, b, _ in pairs]
    box = value_box(explanation, timeline)
    return {
        "groups": [group_data(explanation, group, timeline) for group in groups],
        "boxes": list(boxes),
        "edges": [list(pair) for pair in pairs],
        "box": box,
        "line": (LINE, box[1]),
        "down": place_page_boxes(list(boxes), edges, len(explanation.inputs), box, sideways=False),
        "sideways": place_page_boxes(list(boxes), edges, len(explanation.inputs), box, sideways=True),
    }


def value_box(explanation: Explanation, timeline: Timeline) -> tuple[int, int]:
    """Width and height of the boxes of values."""
    if not any(len(step.node.shape) for step in timeline.formulas.steps):
        return BOX
    width, height = ARRAY_BOX
    return width, height + HEAT_MAP * (explanation.mode == "both")


def place_page_boxes(
    boxes: list[int], edges: list[tuple[int, int]], inputs: int, box: tuple[int, int], sideways: bool
) -> dict[str, Any]:
    """Centres and bends in pixels."""
    sizes = [(LINE, box[1]) if number < 0 else box for number in boxes]
    floating = [0 <= number < inputs for number in boxes]
    found = place_boxes([size[1 if sideways else 0] for size in sizes], edges, floating, GAP)
    depth = (max([size[0] for size in sizes], default=0) + BETWEEN[1]) if sideways else box[1] + BETWEEN[0]

    def point(layer: int, position: float) -> tuple[int, int]:
        return (layer * depth, round(position)) if sideways else (round(position), layer * depth)

    return {
        "centres": [point(*at) for at in zip(found.layer, found.position, strict=True)],
        "bends": [[point(*at) for at in bends] for bends in found.bends],
    }


def group_data(explanation: Explanation, group: Group, timeline: Timeline) -> dict[str, Any]:
    """A group as the page has it."""
    return {
        "heading": group.heading,
        "counts": group.counts,
        "code": ", ".join([state_text(explanation, state) for state in group.states]) or group.code,
        "period": len(group.steps) // group.rounds if group.kind == "loop" else 0,
        "steps": delta_encode(timeline.indices(group.steps)),
    }


def delta_encode(steps: list[int]) -> list[int]:
    """Increasing numbers as the first one and the differences."""
    return [steps[0], *[b - a for a, b in zip(steps, steps[1:], strict=False)]]
