"""The picture of an explanation as geometry: boxes, operators, edges and groups, with their positions.

An operation is drawn as two things side by side: the operator, which its operands enter, and the value that leaves it.
Data, inputs and values are boxes with text.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from wengert.core.errors import user_error
from wengert.explain.explanation import Explanation
from wengert.explain.pictures.diagram import Diagram, Kind, Unit, compose_diagram
from wengert.explain.pictures.grouping import Group, Grouping, find_groups, full_size
from wengert.explain.pictures.labels import Line, text_extent
from wengert.explain.pictures.layers import Placement, count_layers, place_boxes

Direction = Literal["right", "down"]
Point = tuple[float, float]

MARGIN = 16.0
LINK = 20.0
"""The length of the arrow from an operator to its value."""
APART = 20.0
"""The space between boxes of one layer."""
BETWEEN = {"right": (46.0, 96.0), "down": (40.0, 64.0)}
"""The space between layers, without and with labels on the edges."""
MOST = 2000
"""The most boxes and operators that are drawn without groups."""
DEEP = 7
"""With this many layers or more, a picture runs from top to bottom instead of left to right."""
PORT = 10.0
"""The distance between edges that enter the same operator."""
STRAIGHT = 2.0
"""How far off the centre of its target an edge may be to be drawn straight."""
LABEL = 12.0
"""The font size of labels on edges."""


@dataclass(frozen=True)
class DrawnNode:
    """A box or operator: its upper left corner, its size, its text, and the step or group that it stands for.

    `is_result` marks what the function returns.
    """

    id: str
    kind: Kind
    x: float
    y: float
    width: float
    height: float
    lines: tuple[Line, ...]
    step: int | None = None
    group: str | None = None
    is_result: bool = False

    @property
    def title(self) -> list[str]:
        return [line.text for line in self.lines]


@dataclass(frozen=True)
class DrawnEdge:
    """An arrow to `operand` of the operation of `step`; both are None from an operator to its value, or to a group.

    `points` begin at one box and end at the other. Between two points the edge is straight if they are level, and else
    S-shaped; `path` is the same as an SVG path. `count` is the number of uses; `backward` edges close a loop.
    """

    source: str
    target: str
    operand: int | None
    step: int | None
    points: tuple[Point, ...]
    direction: Direction
    count: int = 1
    backward: bool = False
    label: str | None = None
    label_at: Point | None = None

    @property
    def path(self) -> str:
        x, y = self.points[0]
        parts = [f"M{x:g} {y:g}"]
        for p, q in self.points[1:]:
            if self.direction == "right":
                parts.append(f"H{p:g}" if q == y else f"C{(x + p) / 2:g} {y:g} {(x + p) / 2:g} {q:g} {p:g} {q:g}")
            else:
                parts.append(f"V{q:g}" if p == x else f"C{x:g} {(y + q) / 2:g} {p:g} {(y + q) / 2:g} {p:g} {q:g}")
            x, y = p, q
        return "".join(parts)


@dataclass(frozen=True)
class Drawing:
    """All nodes, edges and groups, and the size of the picture."""

    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    groups: list[Group]
    width: float
    height: float
    direction: Direction


def lay_out_drawing(
    explanation: Explanation,
    groups: Grouping = None,
    *,
    edges: bool = False,
    direction: Direction | None = None,
    expanded: Collection[str] = (),
    only: Collection[int] | None = None,
) -> Drawing:
    """Lay out a picture. `groups` is None (groups if the graph is large), False, True, "loop", "line" or "function".

    `edges` labels the edges with local derivatives. `direction` depends on the depth of the graph unless it is given.
    `expanded` names groups to be shown in full. `only` draws some steps with their operands: the inside of a group.
    """
    if groups is False and only is None and full_size(explanation) > MOST:
        raise user_error(
            ValueError,
            f"The graph has {full_size(explanation)} boxes and operators, too many to draw one by one (at most {MOST})",
            "Leave groups=None, or ask for groups by 'line' or 'function'.",
        )
    joined = [group for group in find_groups(explanation, groups) if group.id not in expanded] if only is None else []
    return lay_out_diagram(compose_diagram(explanation, joined, edges, only), joined, edges, direction)


def lay_out_diagram(
    shown: Diagram, groups: list[Group], edges: bool = False, direction: Direction | None = None
) -> Drawing:
    """Lay out units and arrows."""
    pairs = [(arrow.source, arrow.target) for arrow in shown.arrows]
    if direction is None:
        direction = "right" if count_layers(len(shown.units), pairs) < DEEP else "down"
    across = 1 if direction == "right" else 0
    thickness = [max(unit.box[across], unit.operator[across]) for unit in shown.units]
    placed = place_boxes(
        thickness, pairs, [unit.floats for unit in shown.units], APART, [unit.pull for unit in shown.units]
    )
    return PictureLayout(shown, placed, direction, BETWEEN[direction][edges], groups).drawing()


class PictureLayout:
    """Turns layers and positions into points.

    `begin` and `end` are the bounds of each layer, `middle` is where its boxes begin.
    """

    def __init__(self, shown: Diagram, placed: Placement, direction: Direction, between: float, groups: list[Group]):
        self.shown, self.placed, self.direction, self.groups = shown, placed, direction, groups
        self.along = 0 if direction == "right" else 1
        levels = max(placed.layer, default=-1) + 1
        signs, boxes, links = [0.0] * levels, [0.0] * levels, [0.0] * levels
        for unit, level in zip(shown.units, placed.layer, strict=True):
            signs[level] = max(signs[level], unit.operator[self.along])
            boxes[level] = max(boxes[level], unit.box[self.along])
            links[level] = max(links[level], LINK if unit.sign and unit.lines else 0.0)
        self.signs, self.boxes = signs, boxes
        plain = [0.0] * levels
        for unit, level in zip(shown.units, placed.layer, strict=True):
            plain[level] = max(plain[level], unit.box[0] if unit.kind in ("leaf", "value") else 0.0)
        self.plain = plain
        self.begin, self.middle, self.end = [], [], []
        here = MARGIN
        for level in range(levels):
            self.begin.append(here)
            self.middle.append(here + signs[level] + links[level])
            self.end.append(self.middle[-1] + boxes[level])
            here = self.end[-1] + between
        sides = [
            placed.position[i] - max(u.box[1 - self.along], u.operator[1 - self.along]) / 2
            for i, u in enumerate(shown.units)
        ]
        bends = [p - 6.0 for route in placed.bends for _, p in route]
        self.shift = MARGIN - min([*sides, *bends], default=0.0)

    def drawing(self) -> Drawing:
        nodes = [node for i, unit in enumerate(self.shown.units) for node in self.nodes(i, unit)]
        by_id = {node.id: node for node in nodes}
        edges = [
            self.link(by_id[f"o{i}"], by_id[f"n{i}"]) for i, u in enumerate(self.shown.units) if u.sign and u.lines
        ]
        edges += self.arrows(by_id)
        reach = [p for edge in edges for p in edge.points]
        wide = max([*[n.x + n.width for n in nodes], *[x + 6.0 for x, _ in reach]], default=0.0) + MARGIN
        high = max([*[n.y + n.height for n in nodes], *[y + 6.0 for _, y in reach]], default=0.0) + MARGIN
        return Drawing(nodes, place_labels(nodes, edges), self.groups, round(wide, 1), round(high, 1), self.direction)

    def point(self, along: float, across: float) -> Point:
        """x and y of a point along and across the layers."""
        along, across = round(along, 1), round(across + self.shift, 1)
        return (along, across) if self.direction == "right" else (across, along)

    def nodes(self, i: int, unit: Unit) -> list[DrawnNode]:
        """The operator and the box of a unit. Inputs and values of one column have the same width."""
        level, centre = self.placed.layer[i], self.placed.position[i]
        found = []
        group = unit.group.id if unit.group else None
        if unit.sign:
            size = unit.operator
            slack = (self.signs[level] - size[self.along]) / 2
            corner = self.point(self.begin[level] + slack, centre - size[1 - self.along] / 2)
            found.append(DrawnNode(f"o{i}", "operator", *corner, *round_size(size), unit.sign, unit.step))
        if unit.lines:
            size = unit.box
            if self.direction == "right" and unit.kind in ("leaf", "value"):
                size = (self.plain[level], size[1])
            slack = self.boxes[level] - size[self.along] if not unit.sign else 0.0
            corner = self.point(self.middle[level] + slack, centre - size[1 - self.along] / 2)
            found.append(
                DrawnNode(f"n{i}", unit.kind, *corner, *round_size(size), unit.lines, unit.step, group, unit.is_result)
            )
        return found

    def link(self, operator: DrawnNode, value: DrawnNode) -> DrawnEdge:
        """The arrow from an operator to its value."""
        if self.direction == "right":
            y = operator.y + operator.height / 2
            points = (operator.x + operator.width, y), (value.x, y)
        else:
            x = operator.x + operator.width / 2
            points = (x, operator.y + operator.height), (x, value.y)
        return DrawnEdge(operator.id, value.id, None, None, points, self.direction)

    def arrows(self, nodes: dict[str, DrawnNode]) -> list[DrawnEdge]:
        """The edges between units: out of boxes, through bends, into operators, where they end side by side."""
        entry = lambda i: nodes[f"o{i}"] if f"o{i}" in nodes else nodes[f"n{i}"]
        leaving = lambda i: nodes[f"n{i}"] if f"n{i}" in nodes else nodes[f"o{i}"]
        offsets = self.ports()
        found = []
        for k, arrow in enumerate(self.shown.arrows):
            a, b, back = arrow.source, arrow.target, self.placed.backward[k]
            first, last = (entry(a), leaving(b)) if back else (leaving(a), entry(b))
            start, stop = self.placed.position[a] + (offsets[k] if back else 0.0), self.placed.position[b] + offsets[k]
            near, far = (self.begin, self.end) if back else (self.end, self.begin)
            edge = (first.x, first.y)[self.along] + (0.0 if back else (first.width, first.height)[self.along])
            points = [self.point(edge, start), self.point(near[self.placed.layer[a]], start)]
            for level, p in self.placed.bends[k]:
                points += [self.point(far[level], p), self.point(near[level], p)]
            edge = (last.x, last.y)[self.along] + (
                (last.width, last.height)[self.along] if back else self.inset(last, offsets[k])
            )
            points += [self.point(far[self.placed.layer[b]], stop), self.point(edge, stop)]
            points = self.remove_level_points(points)
            ends = first.id, last.id
            found.append(
                DrawnEdge(
                    *ends, arrow.operand, arrow.step, tuple(points), self.direction, arrow.count, back, arrow.label
                )
            )
        return found

    def remove_level_points(self, points: list[Point]) -> list[Point]:
        """The points, without those on a straight line along the layers."""
        across = 1 - self.along
        found = points[:1]
        for here, after in zip(points[1:], [*points[2:], None], strict=True):
            level = here[across] == found[-1][across]
            if here != found[-1] and not (level and after is not None and after[across] == here[across]):
                found.append(here)
        return found

    def ports(self) -> list[float]:
        """How far from the centre of its target each arrow ends. Loops end on another side."""
        entering: dict[int, list[int]] = {}
        for k, arrow in enumerate(self.shown.arrows):
            if not self.placed.backward[k]:
                entering.setdefault(arrow.target, []).append(k)
        offsets = [PORT] * len(self.shown.arrows)
        for target, arrows in entering.items():
            unit = self.shown.units[target]
            room = (unit.operator if unit.sign else unit.box)[1 - self.along] - 14.0
            gap = min(PORT, room / max(1, len(arrows) - 1))
            came = lambda k: (
                self.placed.bends[k][-1][1]
                if self.placed.bends[k]
                else self.placed.position[self.shown.arrows[k].source]
            )
            arrows.sort(key=came)
            middle = (len(arrows) - 1) / 2
            straight = [i for i, k in enumerate(arrows) if abs(came(k) - self.placed.position[target]) < STRAIGHT]
            if len(straight) == 1 and max(straight[0], len(arrows) - 1 - straight[0]) * gap <= room / 2:
                middle = straight[0]
            for i, k in enumerate(arrows):
                offsets[k] = (i - middle) * gap
        return offsets

    def inset(self, node: DrawnNode, offset: float) -> float:
        """How far the round border of an operator lies inside its bounding box, at this offset from the centre."""
        if node.kind != "operator":
            return 0.0
        radius = node.height / 2
        flat = 0.0 if self.direction == "right" else node.width / 2 - radius
        beside = max(0.0, abs(offset) - flat)
        return radius - math.sqrt(max(0.0, radius * radius - beside * beside))


def round_size(size: tuple[float, float]) -> tuple[float, float]:
    """A size with one decimal."""
    return round(size[0], 1), round(size[1], 1)


def place_labels(nodes: list[DrawnNode], edges: list[DrawnEdge]) -> list[DrawnEdge]:
    """Put each label on its edge, near the operator, where it covers no box and no other label if possible."""
    if any(e.label for e in edges):
        taken = [(node.x, node.y, node.x + node.width, node.y + node.height) for node in nodes]
    else:
        taken = []
    found = []
    for edge in edges:
        if edge.label is None:
            found.append(edge)
            continue
        half, tall = text_extent(edge.label) * LABEL / 2 + 2, LABEL / 2 + 2
        best, least = None, float("inf")
        for x, y in label_candidates(edge):
            area = (x - half, y - tall, x + half, y + tall)
            covered = sum([overlap_area(area, other) for other in taken])
            if covered < least:
                best, least = (x, y), covered
            if not covered:
                break
        if best is not None:
            taken.append((best[0] - half, best[1] - tall, best[0] + half, best[1] + tall))
        found.append(replace(edge, label_at=best))
    return found


def label_candidates(edge: DrawnEdge) -> list[Point]:
    """Points of an edge, those after its last bend first."""
    found = []
    for (x, y), (p, q) in reversed(list(zip(edge.points, edge.points[1:], strict=False))):
        if abs(p - x) + abs(q - y) < 24:
            continue
        for t in (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8):
            even, bent = t, t * t * (3 - 2 * t)
            run = 1.5 * t * (1 - t) * (1 - t) + 1.5 * t * t * (1 - t) + t**3
            if edge.direction == "right":
                found.append((round(x + (p - x) * (run if y != q else even), 1), round(y + (q - y) * bent, 1)))
            else:
                found.append((round(x + (p - x) * bent, 1), round(y + (q - y) * (run if x != p else even), 1)))
    return found


def overlap_area(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """The area that two rectangles have in common."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
