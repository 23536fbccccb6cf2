"""What a picture of an explanation shows, without positions: data, leaves, values, operators, groups, and arrows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from wengert.core.primitive import OUTPUT
from wengert.explain.explanation import Explanation
from wengert.explain.pictures.grouping import Group
from wengert.explain.pictures.labels import Line, brief_value, data_lines, group_lines, operator_sign, value_lines
from wengert.explain.sweeps import local_derivative
from wengert.explain.tables.names import Names
from wengert.graph.ir import Constant, Node, Operation

Kind = Literal["data", "leaf", "value", "operator", "group"]

PADDING = 10.0
ROUND = 34.0
"""The size of an operator."""
PILE = 6.0
"""The part of a group's size that is the pile below it, at its right and its bottom."""


@dataclass
class Unit:
    """What is laid out as one: an operator with its value, one of them alone, or a group.

    `lines` are the text of the value, `sign` that of the operator.
    """

    kind: Kind
    lines: tuple[Line, ...] = ()
    sign: tuple[Line, ...] = ()
    step: int | None = None
    group: Group | None = None
    is_result: bool = False

    @property
    def box(self) -> tuple[float, float]:
        """Width and height of the text with its padding."""
        if not self.lines:
            return 0.0, 0.0
        inset = PADDING if self.kind != "data" else PADDING - 3
        pile = PILE if self.kind == "group" else 0.0
        return max([line.width for line in self.lines]) + 2 * inset + pile, sum(
            [line.height for line in self.lines]
        ) + 1.4 * inset + pile

    @property
    def operator(self) -> tuple[float, float]:
        return (max(ROUND, self.sign[0].width + 18), ROUND) if self.sign else (0.0, 0.0)

    @property
    def pull(self) -> float:
        """How strongly it attracts its neighbours: values lie on straighter lines than leaves and data."""
        return 1.0 if self.sign or self.kind == "group" else 0.02 if self.kind == "leaf" else 0.01

    @property
    def floats(self) -> bool:
        """Whether it is drawn right before what uses it."""
        return self.kind in ("leaf", "data") and not self.sign


@dataclass
class Arrow:
    """A use of one unit by another, as `operand` of the operation of `step`; or `count` uses of or by a group."""

    source: int
    target: int
    operand: int | None = None
    step: int | None = None
    count: int = 1
    label: str | None = None


@dataclass
class Diagram:
    """Units in order of execution, and the arrows between them."""

    units: list[Unit] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def add(self, unit: Unit) -> int:
        self.units.append(unit)
        return len(self.units) - 1


def compose_diagram(
    explanation: Explanation, groups: list[Group], edges: bool, only: Collection[int] | None = None
) -> Diagram:
    """The units and arrows.

    `edges` labels arrows with local derivatives. `only` selects some steps, which are drawn with their operands.
    """
    composer = Composer(explanation, groups, edges, only)
    for i, step in enumerate(explanation.steps):
        if composer.shows(i) and not is_program_data(step.node):
            composer.add(i, step.node)
    if only is None:
        for node in explanation.outputs:
            composer.unit(node)
    return composer.found


class Composer:
    """A diagram under construction: units of values by node, `piles` of groups, `joined` arrows from or to groups."""

    def __init__(self, explanation: Explanation, groups: list[Group], edges: bool, only: Collection[int] | None):
        self.explanation, self.edges, self.only = explanation, edges, only
        self.found = Diagram()
        self.group_of = {i: group for group in groups for i in group.steps}
        self.units: dict[Node, int] = {}
        self.piles: dict[str, int] = {}
        self.joined: dict[tuple[int, int], Arrow] = {}
        self.smooth = differentiable_nodes(explanation)
        self.results = set(explanation.outputs)
        self.index = {step.node: i for i, step in enumerate(explanation.steps)}
        self.names = Names([step for step in explanation.steps if not is_program_data(step.node)])

    def shows(self, step: int | None) -> bool:
        """Whether a step is drawn with its operator."""
        return self.only is None or step in self.only

    def unit(self, node: Node) -> int:
        """The index of the unit of a value, which is made when it is first needed."""
        if node not in self.units:
            i = self.index.get(node)
            group = self.group_of.get(i) if i is not None else None
            self.units[node] = self.found.add(self.make_unit(node, i)) if group is None else self.pile(group)
            self.found.units[self.units[node]].is_result |= node in self.results
        return self.units[node]

    def pile(self, group: Group) -> int:
        """The index of the unit of a group."""
        if group.id not in self.piles:
            lines = tuple(group_lines(self.explanation, group, self.names))
            self.piles[group.id] = self.found.add(
                Unit("leaf" if group.kind == "inputs" else "group", lines, group=group)
            )
        return self.piles[group.id]

    def make_unit(self, node: Node, i: int | None) -> Unit:
        """A value with its operator. An operation with several outputs is an operator without a value."""
        if i is None or is_program_data(node):
            return Unit("data", tuple(data_lines(node, self.explanation.recording.values[node])), step=i)
        lines = tuple(value_lines(self.explanation, self.explanation.steps[i], self.names))
        if not isinstance(node, Operation):
            return Unit("leaf" if node in self.smooth else "data", lines, step=i)
        kind: Kind = "value" if node in self.smooth else "data"
        if node.primitive is OUTPUT or not self.shows(i):
            return Unit(kind, lines, step=i)
        return Unit(kind, lines if node.primitive.outputs == 1 else (), (Line(operator_sign(node), "symbol"),), i)

    def add(self, i: int, node: Node) -> None:
        """Add a step and its arrows: one for each operand, but only one between a group and a neighbour.

        Constants of a group are not shown.
        """
        operands = list(enumerate(node.args)) if isinstance(node, Operation) else []
        inside = i in self.group_of
        if inside:
            operands = [(j, a) for j, a in operands if not is_program_data(a)]
        sources = [self.unit(a) for _, a in operands]
        target = self.unit(node)
        for (j, a), source in zip(operands, sources, strict=True):
            single = not inside and self.found.units[source].group is None
            if source == target:
                continue
            if (source, target) in self.joined:
                self.joined[source, target].count += 1
                continue
            arrow = Arrow(source, target) if inside else Arrow(source, target, j, i)
            self.found.arrows.append(arrow)
            if not single:
                self.joined[source, target] = arrow
            elif self.edges and a in self.smooth and node in self.smooth:
                arrow.label = edge_label(node, j, self.explanation)


def is_program_data(node: Node) -> bool:
    """Whether a value is a constant of the program, or a broadcast one."""
    return isinstance(node, Constant) or isinstance(node, Operation) and all(isinstance(a, Constant) for a in node.args)


def edge_label(node: Node, operand: int, explanation: Explanation) -> str | None:
    """The local derivative, short enough for an edge; None if it is a matrix."""
    if not isinstance(node, Operation) or node.primitive is OUTPUT or node.primitive.outputs != 1:
        return None
    found = local_derivative(node, operand, explanation.recording.values)
    if found is None:
        return None
    numbers = np.asarray(found)
    return brief_value(numbers.flat[0] if numbers.size and (numbers == numbers.flat[0]).all() else found, 18)


def differentiable_nodes(explanation: Explanation) -> set[Node]:
    """The nodes that derivatives flow through."""
    found: set[Node] = set()
    for step in explanation.steps:
        node = step.node
        if isinstance(node, Operation):
            flows = [a in found and i not in node.primitive.constants for i, a in enumerate(node.args)]
            if any(flows) and (node.primitive is OUTPUT or node.primitive.keep(*flows) is not None):
                found.add(node)
        elif node.dtype.kind in "fc":
            found.add(node)
    return found
