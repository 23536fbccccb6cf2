"""Where the page draws what: each value in a box, or in a large program each line in one, which opens when it is asked
to.
"""

from __future__ import annotations

from typing import Any

from wengert.explain.explanation import Explanation
from wengert.explain.page.story import Story
from wengert.explain.pictures.grouping import Group, grouped
from wengert.explain.pictures.layers import place

FEW = 150
"""How many values the page draws one by one."""
BOX = 124, 64
LINE = 216, 64
"""Width and height of the box of a value, and of a line."""
GAP = 26
BETWEEN = 54, 64
"""The room between neighbours, and between layers that follow one another downwards and sideways."""


def drawing(explanation: Explanation, story: Story) -> dict[str, Any]:
    """The groups, the boxes (a step, or -1 less a group), the edges between boxes, and two ways to place them:
    downwards and sideways.

    Each way lists centres of boxes, and for each edge the points that it passes.
    """
    groups = grouped(explanation) if len(story.formulas.steps) > FEW else []
    group_of = {step: -1 - g for g, group in enumerate(groups) for step in story.places(group.steps)}
    boxes: dict[int, int] = {}
    for step in range(len(story.index)):
        boxes.setdefault(group_of.get(step, step), len(boxes))
    pairs: dict[tuple[int, int, int], None] = {}
    for edge, (a, b) in enumerate(zip(story.edges["from"], story.edges["to"], strict=True)):
        ends = boxes[group_of.get(a, a)], boxes[group_of.get(b, b)]
        if ends[0] != ends[1]:
            pairs[*ends, edge if not groups else -1] = None
    edges = [(a, b) for a, b, _ in pairs]
    return {
        "groups": [told_group(group, story) for group in groups],
        "boxes": list(boxes),
        "edges": [list(pair) for pair in pairs],
        "down": placed(list(boxes), edges, len(explanation.inputs), sideways=False),
        "sideways": placed(list(boxes), edges, len(explanation.inputs), sideways=True),
    }


def placed(boxes: list[int], edges: list[tuple[int, int]], inputs: int, sideways: bool) -> dict[str, Any]:
    """Centres and bends in whole pixels."""
    sizes = [LINE if box < 0 else BOX for box in boxes]
    floating = [0 <= box < inputs for box in boxes]
    found = place([size[1 if sideways else 0] for size in sizes], edges, floating, GAP)
    depth = (max([size[0] for size in sizes], default=0) + BETWEEN[1]) if sideways else BOX[1] + BETWEEN[0]

    def point(layer: int, position: float) -> tuple[int, int]:
        return (layer * depth, round(position)) if sideways else (round(position), layer * depth)

    return {
        "centres": [point(*at) for at in zip(found.layer, found.position, strict=True)],
        "bends": [[point(*at) for at in bends] for bends in found.bends],
    }


def told_group(group: Group, story: Story) -> dict[str, Any]:
    return {
        "heading": group.heading,
        "counts": group.counts,
        "code": group.code,
        "steps": compressed(story.places(group.steps)),
    }


def compressed(steps: list[int]) -> list[int]:
    """Increasing numbers as the first one and the distances to the next."""
    return [steps[0], *[b - a for a, b in zip(steps, steps[1:], strict=False)]]
