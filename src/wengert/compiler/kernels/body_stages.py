"""Stages of a long body: loops over a few vectors, each with a part of the work, instead of one loop with all of it.

A vector function is a chain of instructions of which each waits for the one before it. A processor hides this by
instructions of the next vectors, as far as it looks ahead, which is a few hundred instructions. A body with several
functions is longer than that. So the functions whose arguments are known are computed for a block of vectors, then those
of their results, and then the rest. What a stage computes for later ones is on the stack, in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from wengert.compiler.forms.classify import Form, operation_cost
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.element_sources import Element, ElementSources
from wengert.compiler.kernels.loop_plan import LoopPlan
from wengert.compiler.schedule.affine import Position, lane_stride
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type
from wengert.compiler.simd.vector_functions import COST, INLINED_CALLS
from wengert.graph.ir import Operation

BLOCK = 4
"""The vectors of a block: rows that a later stage reads again are then still in the nearest cache."""
KEPT_COST = 4
"""The cost of an element, in additions, from which it is kept rather than computed by a second stage."""
MANY_TERMS = 16
"""The factors or terms of a sum of a row that is computed by a stage of its own."""
MOST_CHAINS = 4
"""The most functions of a stage; if there are more, a processor has enough to do while it waits."""
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
    order = sort_elements(roots, sources)
    computed = [e for e in order if not sources.is_stored(e[0])]
    if not all(plan.schedule.forms[node] in FORMS and has_lanes(position) for node, position in computed):
        return []
    long = {e: None for e in computed if element_cost(e, sources) >= COST}
    number: dict[Element, int] = {}  # the first stage that can compute an element
    for e in order:
        number[e] = max([number[s] + (s in long) for s in sources.sources(*e)], default=0)
    count = max([number[e] + 1 for e in long], default=0)
    arguments = {tuple(sources.sources(*e)) for e in long}
    if len(arguments) < 2 or len(long) > min(MOST_CHAINS * count, INLINED_CALLS):
        return []
    targets = [[e for e in long if number[e] == k] for k in range(count)]
    return list(share_elements([*targets, roots], long, sources))


def share_elements(
    targets: list[list[Element]], long: Iterable[Element], sources: ElementSources
) -> Iterable[Stage]:
    """Stages that compute targets; what is expensive, and needed by several, is kept by the first of them."""
    made = {e: k for k, found in enumerate(targets[:-1]) for e in found}
    stages = [Stage([*found] if k < len(targets) - 1 else [], []) for k, found in enumerate(targets)]
    for k, stage in enumerate(stages):
        stack = [*targets[k]]
        seen = set(stack)
        while stack:
            e = stack.pop()
            if made.get(e, k) < k:
                if e not in stages[made[e]].kept:
                    stages[made[e]].kept.append(e)
                stage.read.append(e)
                continue
            if element_cost(e, sources) >= KEPT_COST:
                made.setdefault(e, k)
            found = [s for s in sources.sources(*e) if s not in seen]
            seen.update(found)
            stack += dict.fromkeys(found)
    return stages


def has_vector_body(plan: LoopPlan) -> bool:
    """Whether the innermost loop runs over vectors, without borders, and has several blocks of them."""
    axes = plan.reduced_axes or plan.kept_axes
    is_innermost = plan.vector_axis is not None and axes[-1] == plan.vector_axis
    if not is_innermost or plan.interior is not None or plan.kernel.scatters or plan.outer:
        return False
    return plan.domain[axes[-1]] >= 2 * BLOCK * plan.lanes


def has_lanes(position: Position) -> bool:
    """Whether the elements at a position are different in each lane."""
    return any(lane_stride(index)[1] > 1 for index in position)


def element_cost(element: Element, sources: ElementSources) -> int:
    """The cost of a float, in additions; nothing of one in memory, and as much as a function's of a long sum."""
    node = element[0]
    if sources.is_stored(node) or not isinstance(node, Operation) or node.dtype.kind != "f":
        return 0
    if sources.schedule.forms[node] is Form.UNROLLED:
        return COST if len(sources.sources(*element)) >= MANY_TERMS else 1
    return operation_cost(node)


def sort_elements(elements: Iterable[Element], sources: ElementSources) -> list[Element]:
    """The elements and all that they are computed from, each after its sources."""
    done: dict[Element, None] = {}
    stack = list(elements)
    while stack:
        e = stack[-1]
        missing = [s for s in sources.sources(*e) if s not in done] if e not in done else []
        if missing:
            stack += missing
        else:
            done[stack.pop()] = None
    return list(done)


class BodyStages:
    """Writes the stages of a body; elements of a vector are `slot` lanes after the beginning of the block."""

    def __init__(self, stages: list[Stage], plan: LoopPlan, elements: Elements):
        self.stages, self.elements, self.code = stages, elements, elements.code
        kept = [e for stage in stages for e in stage.kept]
        self.width = max(node.dtype.itemsize for node, _ in kept)
        self.length = BLOCK * plan.lanes * self.width
        self.offsets = {e: k * self.length for k, e in enumerate(kept)}
        self.types: dict[Element, Type] = {}
        self.memory = self.code.array(Type("i8"), len(kept) * self.length)

    @property
    def before_body(self) -> list[Stage]:
        """All stages but the last one."""
        return self.stages[:-1]

    def write(self, stage: Stage, slot: Lanes) -> None:
        """Compute what a stage keeps."""
        self.read(stage, slot)
        for e in stage.kept:
            value = self.elements.at(*e)
            self.types[e] = value.type
            self.code.store(value, self.address(e, slot), value.type.align)

    def read(self, stage: Stage, slot: Lanes) -> None:
        """Read what a stage needs of earlier ones."""
        for e in stage.read:
            type = self.types[e]
            self.elements.known[e] = self.code.load(self.address(e, slot), type, type.align)

    def address(self, element: Element, slot: Lanes) -> Lanes:
        """Where an element of the present vector is kept."""
        vector = self.code.offset(self.memory, slot * self.width, Type("i8"))
        return self.code.offset(vector, self.offsets[element], Type("i8"))
