"""The picture of an explanation as geometry: boxes, operators, edges and groups, with their places, for whatever draws
them.

An operation is two things side by side: the operator, which its operands enter, and the value that leaves it. Data,
inputs and values are boxes with text. The page in the browser draws the same geometry as the files do.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from wengert.core.errors import user_error
from wengert.explain.explanation import Explanation
from wengert.explain.pictures.diagram import Diagram, Kind, Unit, diagram
from wengert.explain.pictures.grouping import Group, Grouping, grouped, size
from wengert.explain.pictures.labels import Line, width
from wengert.explain.pictures.layers import Placement, depth, place

__all__ = ["Drawing", "DrawnEdge", "DrawnNode", "Group", "grouped", "layout"]

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
"""How many boxes and operators are drawn one by one at most."""
DEEP = 7
"""How many layers run from left to right; with more, a picture runs from top to bottom."""
PORT = 10.0
"""The distance of two edges that enter the same operator."""
STRAIGHT = 2.0
"""How far an edge may be off the middle of its target to be drawn as straight on."""
LABEL = 12.0
"""The height of the letters beside an edge."""


@dataclass(frozen=True)
class DrawnNode:
    """A box or operator: its upper left corner and size, what is written in it, and the step that it stands for, if it
    is one.

    `group` names the group that it stands for, `is_result` marks what the function returns.
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
    """An arrow.

    `operand` and `step` say which operand it is of which step's operation; None from an operator to its value, or to a
    group.

    `points` begin at one box and end at the other. Between two points the edge runs straight if they are level, and
    else bends like an S; `path` says the same in SVG's language. `count` is how many uses it stands for, `backward`
    that it closes a loop.
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
    """Everything, and the size of the whole."""

    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    groups: list[Group]
    width: float
    height: float
    direction: Direction


def layout(
    explanation: Explanation,
    groups: Grouping = None,
    *,
    edges: bool = False,
    direction: Direction | None = None,
    expanded: Collection[str] = (),
    only: Collection[int] | None = None,
) -> Drawing:
    """Where everything goes. `groups` is None (if the graph is large), False, True, or by "line" or "function".

    `edges` labels the edges with local derivatives. `direction` is chosen by the depth of the graph unless it is given.
    `expanded` names groups to be shown in full; `only` draws these steps alone, with the values that they are made of:
    the inside of a group.
    """
    if groups is False and only is None and size(explanation) > MOST:
        raise user_error(
            ValueError,
            f"The graph has {size(explanation)} boxes and operators, too many to draw one by one (at most {MOST})",
            "Leave groups=None, or ask for groups by 'line' or 'function'.",
        )
    joined = [group for group in grouped(explanation, groups) if group.id not in expanded] if only is None else []
    shown = diagram(explanation, joined, edges, only)
    pairs = [(arrow.source, arrow.target) for arrow in shown.arrows]
    if direction is None:
        direction = "right" if depth(len(shown.units), pairs) < DEEP else "down"
    across = 1 if direction == "right" else 0
    thickness = [max(unit.box[across], unit.operator[across]) for unit in shown.units]
    placed = place(thickness, pairs, [unit.floats for unit in shown.units], APART, [unit.pull for unit in shown.units])
    return Draughtsman(shown, placed, direction, BETWEEN[direction][edges], joined).drawing()


class Draughtsman:
    """Turns layers and positions into points.

    `begin` and `end` are where each layer starts and ends, `middle` where its boxes do.
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
        return Drawing(nodes, labelled(nodes, edges), self.groups, round(wide, 1), round(high, 1), self.direction)

    def point(self, along: float, across: float) -> Point:
        """Along and across the layers, as x and y."""
        along, across = round(along, 1), round(across + self.shift, 1)
        return (along, across) if self.direction == "right" else (across, along)

    def nodes(self, i: int, unit: Unit) -> list[DrawnNode]:
        """The operator and the box of a unit.

        Inputs and values of one column are equally wide; inputs and data stand next to their use.
        """
        level, centre = self.placed.layer[i], self.placed.position[i]
        found = []
        group = unit.group.id if unit.group else None
        if unit.sign:
            size = unit.operator
            slack = (self.signs[level] - size[self.along]) / 2
            corner = self.point(self.begin[level] + slack, centre - size[1 - self.along] / 2)
            found.append(DrawnNode(f"o{i}", "operator", *corner, *rounded(size), unit.sign, unit.step))
        if unit.lines:
            size = unit.box
            if self.direction == "right" and unit.kind in ("leaf", "value"):
                size = (self.plain[level], size[1])
            slack = self.boxes[level] - size[self.along] if not unit.sign else 0.0
            corner = self.point(self.middle[level] + slack, centre - size[1 - self.along] / 2)
            found.append(
                DrawnNode(f"n{i}", unit.kind, *corner, *rounded(size), unit.lines, unit.step, group, unit.is_result)
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
        """The edges between units: out of boxes, through their bends, into operators, side by side where several enter
        the same one.
        """
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
            points = self.straightened(points)
            ends = first.id, last.id
            found.append(
                DrawnEdge(
                    *ends, arrow.operand, arrow.step, tuple(points), self.direction, arrow.count, back, arrow.label
                )
            )
        return found

    def straightened(self, points: list[Point]) -> list[Point]:
        """Without the points that lie on a straight line along the layers."""
        across = 1 - self.along
        found = points[:1]
        for here, after in zip(points[1:], [*points[2:], None], strict=True):
            level = here[across] == found[-1][across]
            if here != found[-1] and not (level and after is not None and after[across] == here[across]):
                found.append(here)
        return found

    def ports(self) -> list[float]:
        """How far from the middle of its target each arrow ends, in the order in which they come in.

        Loops end on a side of their own.
        """
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
        """How far the round border of an operator lies behind its box, that far from its middle."""
        if node.kind != "operator":
            return 0.0
        radius = node.height / 2
        flat = 0.0 if self.direction == "right" else node.width / 2 - radius
        beside = max(0.0, abs(offset) - flat)
        return radius - math.sqrt(max(0.0, radius * radius - beside * beside))


def rounded(size: tuple[float, float]) -> tuple[float, float]:
    return round(size[0], 1), round(size[1], 1)


def labelled(nodes: list[DrawnNode], edges: list[DrawnEdge]) -> list[DrawnEdge]:
    """Each label at a point of its edge where it covers no box and no other label, if there is one.

    Nearest to the operator.
    """
    taken = (
        [(node.x, node.y, node.x + node.width, node.y + node.height) for node in nodes]
        if any(e.label for e in edges)
        else []
    )
    found = []
    for edge in edges:
        if edge.label is None:
            found.append(edge)
            continue
        half, tall = width(edge.label) * LABEL / 2 + 2, LABEL / 2 + 2
        best, least = None, float("inf")
        for x, y in candidates(edge):
            area = (x - half, y - tall, x + half, y + tall)
            covered = sum([shared(area, other) for other in taken])
            if covered < least:
                best, least = (x, y), covered
            if not covered:
                break
        if best is not None:
            taken.append((best[0] - half, best[1] - tall, best[0] + half, best[1] + tall))
        found.append(replace(edge, label_at=best))
    return found


def candidates(edge: DrawnEdge) -> list[Point]:
    """Points of an edge, those of its last bend first."""
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


def shared(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """The area that two rectangles have in common."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
