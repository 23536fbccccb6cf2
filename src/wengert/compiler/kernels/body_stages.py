"""Stages of a long body: loops over a few vectors, each with a part of the work, instead of one loop with all of it.

A vector function is a chain of instructions of which each waits for the one before it. A processor hides this by
instructions of the next vectors, as far as it looks ahead, which is a few hundred instructions. A body with several
functions is longer than that. So the functions whose arguments are known are computed for a block of vectors, then
those of their results, and then the rest. What a stage computes for later ones is on the stack, in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from wengert.compiler.forms.affine import Position, lane_stride
from wengert.compiler.forms.classify import Form, operation_cost
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.element_sources import Element, ElementSources
from wengert.compiler.kernels.loop_plan import LoopPlan
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.graph.ir import Node, Operation

BYTE = Type("i8")
FORMS = frozenset((Form.ELEMENT, Form.VIEW, Form.UNROLLED))
"""The forms of operations in bodies with stages."""


class Stage(NamedTuple):
    """The elements that a stage keeps for later ones, and those that it reads of earlier ones."""

    kept: list[Element]
    read: list[Element]


def find_stages(plan: LoopPlan, sources: ElementSources) -> list[Stage]:
    """The stages of the body of a kernel, of which the last one is what remains of it; none if there is one stage.

    Their functions have few passes of LLVM, which would not take instructions out of the loop: everything that is
    computed has lanes.
    """
    roots = plan.root_elements() if has_vector_body(plan) else []
    found = find_sources(roots, sources)
    computed = [e for e in found if not sources.is_stored(e[0])]
    if not all(plan.schedule.forms[node] in FORMS and has_lanes(position) for node, position in computed):
        return []
    costs = {e: element_cost(e[0], len(found[e]), sources) for e in computed}
    now = machine.current
    long = {e: None for e in computed if costs[e] >= now.operations_of_function}
    number: dict[Element, int] = {}  # the first stage that can compute an element
    for e, operands in found.items():
        number[e] = max([number[s] + (s in long) for s in operands], default=0)
    count = max([number[e] + 1 for e in long], default=0)
    most = min(now.max_functions_of_stage * count, now.max_inlined_calls_of_module)
    if len({tuple(found[e]) for e in long}) < 2 or len(long) > most:
        return []
    targets = [[e for e in long if number[e] == k] for k in range(count)]
    expensive = {e for e in computed if costs[e] >= now.min_operations_of_kept_element}
    return share_elements([*targets, roots], found, expensive)


def share_elements(
    targets: Sequence[list[Element]], sources: Mapping[Element, list[Element]], expensive: Set[Element]
) -> list[Stage]:
    """Stages that compute targets; what is expensive, and needed by several, is kept by the first of them."""
    made = {e: k for k, kept in enumerate(targets[:-1]) for e in kept}
    stages = [Stage(list(kept), []) for kept in [*targets[:-1], []]]
    for k, stage in enumerate(stages):
        stack = list(targets[k])
        seen = set(stack)
        while stack:
            e = stack.pop()
            if made.get(e, k) < k:
                first = stages[made[e]]
                if e not in first.kept:
                    first.kept.append(e)
                stage.read.append(e)
                continue
            if e in expensive:
                made.setdefault(e, k)
            missing = [s for s in dict.fromkeys(sources[e]) if s not in seen]
            seen.update(missing)
            stack += missing
    return stages


def has_vector_body(plan: LoopPlan) -> bool:
    """Whether the innermost loop runs over vectors, without borders, and has enough blocks of them."""
    axes = plan.reduced_axes or plan.kept_axes
    is_innermost = plan.vector_axis is not None and axes[-1] == plan.vector_axis
    if not is_innermost or plan.interior is not None or plan.kernel.scatters or plan.outer:
        return False
    now = machine.current
    return plan.domain[axes[-1]] >= now.min_blocks_of_stages * now.vectors_of_stage_block * plan.lanes


def has_lanes(position: Position) -> bool:
    """Whether the elements at a position are different in each lane."""
    return any(lane_stride(index)[1] > 1 for index in position)


def element_cost(node: Node, terms: int, sources: ElementSources) -> int:
    """The cost of an element of floats, in additions; that of a function if it is a sum of many terms."""
    if not isinstance(node, Operation) or node.dtype.kind != "f":
        return 0
    now = machine.current
    if sources.schedule.forms[node] is Form.UNROLLED:
        return now.operations_of_function if terms >= now.min_terms_of_staged_sum else 1
    return operation_cost(node)


def find_sources(elements: Iterable[Element], sources: ElementSources) -> dict[Element, list[Element]]:
    """The sources of elements and of all that they are computed from, each after its own sources."""
    found: dict[Element, list[Element]] = {}
    done: dict[Element, list[Element]] = {}
    stack = list(elements)
    while stack:
        e = stack[-1]
        if e not in found:
            found[e] = sources.sources(*e)
        missing = [s for s in found[e] if s not in done] if e not in done else []
        if missing:
            stack += missing
        else:
            done[e] = found[stack.pop()]
    return done


class BodyStages:
    """Writes the stages of a body; elements of a vector are `slot` lanes after the beginning of the block."""

    def __init__(self, stages: list[Stage], plan: LoopPlan, elements: Elements):
        self.stages, self.elements, self.code = stages, elements, elements.code
        kept = [e for stage in stages for e in stage.kept]
        self.width = max(node.dtype.itemsize for node, _ in kept)
        length = machine.current.vectors_of_stage_block * plan.lanes * self.width
        self.offsets = {e: k * length for k, e in enumerate(kept)}
        self.types: dict[Element, Type] = {}
        self.memory = self.code.array(BYTE, len(kept) * length)

    @property
    def before_body(self) -> list[Stage]:
        """All stages but the last one."""
        return self.stages[:-1]

    def write(self, stage: Stage, slot: Lanes) -> None:
        """Compute what a stage keeps."""
        vector = self.read(stage, slot)
        for e in stage.kept:
            value = self.elements.at(*e)
            self.types[e] = value.type
            self.code.store(value, self.code.offset(vector, self.offsets[e], BYTE), value.type.align)

    def read(self, stage: Stage, slot: Lanes) -> Lanes:
        """Read what a stage needs of earlier ones; returns the address of the first element that is kept."""
        vector = self.code.offset(self.memory, slot * self.width, BYTE)
        for e in stage.read:
            type = self.types[e]
            self.elements.known[e] = self.code.load(self.code.offset(vector, self.offsets[e], BYTE), type, type.align)
        return vector
