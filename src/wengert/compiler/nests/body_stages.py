"""Stages of a long body: loops over a few vectors, each with a part of the work, instead of one loop with all of it.

A vector function is a chain of instructions that wait for each other. A processor hides this by instructions of the
next vectors, but it looks only a few hundred instructions ahead. A body with several functions is longer than that. So
the functions whose arguments are known are computed for a block of vectors, then those of their results, and then the
rest. What a stage computes for later ones is on the stack, in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.forms.affine import Position
from wengert.compiler.forms.classify import Form, operation_cost
from wengert.compiler.nests.element_sources import Element, ElementSources
from wengert.core import machine
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.nests.nest import Nest

FORMS = frozenset((Form.ELEMENT, Form.VIEW, Form.UNROLLED))
"""The forms of operations in bodies with stages."""


class Stage(NamedTuple):
    """The elements that a stage keeps for later ones, and those that it reads: of earlier ones, or constants."""

    kept: list[Element]
    read: list[Element]


def find_stages(nest: Nest, axis: int) -> list[Stage]:
    """The stages of a body with lanes along an axis: the last one is what remains of it. None if there is only one.

    Their functions have few passes of LLVM, which would not take instructions out of the loop: everything that is
    computed has lanes, except for elements of parameters, and for what is the same in all steps of all loops, which is
    computed before them.
    """
    sources, forms = nest.sources, nest.schedule.forms
    if not all(forms[node] in FORMS for node in nest.computed_nodes if node not in nest.kernel.reductions):
        return []
    roots = nest.root_elements()
    found = find_sources(roots, sources)
    computed = [e for e in found if not sources.is_stored(e[0])]
    if not all(forms[node] in FORMS for node, _ in computed):
        return []
    constant = {e for e in computed if is_constant(e) and forms[e[0]] is not Form.VIEW}
    varying = [e for e in computed if e not in constant]
    if not all(depends_on(position, axis) or forms[node] is Form.VIEW for node, position in varying):
        return []
    if any(node.dtype.kind == "c" for node, _ in constant):
        return []
    costs = {e: element_cost(e[0], len(found[e]), sources) for e in varying}
    now = machine.current
    long = {e: None for e in varying if costs[e] >= now.operations_of_function}
    number: dict[Element, int] = {}  # the first stage that can compute an element
    for e, operands in found.items():
        number[e] = max([number[s] + (s in long) for s in operands], default=0)
    count = max([number[e] + 1 for e in long], default=0)
    if count == 1 and any(not depends_on(position, axis) for _, position in computed):
        return []  # it gains less than to take parameters out of the loop
    most = now.max_functions_of_stage if count == 1 else now.max_functions_of_staged_body
    if len({tuple(found[e]) for e in long}) < 2 or len(long) > most:
        return []
    targets = [[e for e in long if number[e] == k] for k in range(count)]
    total: dict[Element, int] = {}  # the costs of elements, with all that they are computed from
    for e, operands in found.items():
        total[e] = min(costs.get(e, 1) + sum([total[s] for s in operands]), now.min_operations_of_kept_element)
    arguments = {a for e in long for a in found[e] if a in costs and total[a] >= now.min_operations_of_kept_element}
    expensive = arguments | {e for e in varying if costs[e] >= now.min_operations_of_kept_element}
    return share_elements([*targets, roots], found, expensive, constant)


def share_elements(
    targets: Sequence[list[Element]],
    sources: Mapping[Element, list[Element]],
    expensive: Set[Element],
    constant: Set[Element],
) -> list[Stage]:
    """Stages that compute targets; what is expensive, and needed by several, is kept by the first of them."""
    made = {e: k for k, kept in enumerate(targets[:-1]) for e in kept}
    stages = [Stage(list(kept), []) for kept in [*targets[:-1], []]]
    for k, stage in enumerate(stages):
        stack = list(targets[k])
        seen = set(stack)
        while stack:
            e = stack.pop()
            if e in constant:
                stage.read.append(e)
                continue
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


def is_constant(e: Element) -> bool:
    """Whether an element is the same in all steps of all loops."""
    return not any(index.terms for index in e[1])


def depends_on(position: Position, axis: int) -> bool:
    """Whether the elements at a position are different along an axis."""
    return any(counter.axis == axis for index in position for counter, _ in index.terms)


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
