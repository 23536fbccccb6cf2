"""How operations propagate sets of indices: on which elements of its operands an element of its result depends.

Most rules follow from the kind of the operation; others are entries of the aspect `propagation`, in
`structure/aspects/`. A derivative that is known to be zero cuts a dependence; an unknown one never does. An operation
without a rule depends on all of its operands, which is never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.structure.incidence import (
    Sets,
    Shape,
    group_sets,
    line_numbers,
    move_sets,
    no_sets,
    number_elements,
    spread_to_all,
    stack_sets,
    unite_sets,
)


class OperationStep(NamedTuple):
    """One operation: its operands, their sets (None where they do not matter), its results, its parameters."""

    primitive: Primitive
    values: Sequence[Any]
    sets: Sequence[Sets | None]
    outs: Sequence[Any]
    params: dict[str, Any]

    @property
    def live(self) -> list[tuple[int, Sets]]:
        """The operands that matter, by number, with their sets."""
        return [(i, sets) for i, sets in enumerate(self.sets) if sets is not None]

    @property
    def shapes(self) -> list[Shape]:
        """Of the operands."""
        return [Spec.of(v).shape for v in self.values]

    @property
    def shape(self) -> Shape:
        """Of the result, where there is one."""
        return self.outs[0].shape

    def numbers_of(self, i: int) -> np.ndarray | None:
        """An operand, where its numbers are known."""
        value = self.values[i]
        return None if isinstance(value, Array) else np.asarray(value)

    def partial(self, i: int) -> np.ndarray | None:
        """The derivative with respect to one operand, element by element, where its numbers are known."""
        keep = self.primitive.keep(*[k == i for k in range(len(self.values))])
        assert keep is not None
        out = self.outs[0]
        saved = keep(out, *self.values)
        if any(isinstance(x, Array) for x in saved):
            return None
        t = np.ones(self.shapes[i], self.values[i].dtype)
        with np.errstate(all="ignore"):
            return np.asarray(self.primitive.pushes[i](t, saved, self.params))


Rule = Callable[[OperationStep], Any]


def rule_of_kind(primitive: Primitive) -> Rule:
    """The rule of an operation without an entry."""
    return KINDS.get(primitive.kind, propagate_all)


propagation: Aspect[Rule] = Aspect(
    "propagation",
    "which elements of its operands an element of its result depends on",
    rule_of_kind,
    filled_by=("wengert.structure.aspects",),
)


def propagate(step: OperationStep) -> list[Sets]:
    """The sets of the results of an operation."""
    rule: Any = propagation.of(step.primitive)
    found = rule(step)
    return found if isinstance(found, list) else [found]


def propagate_elementwise(step: OperationStep) -> Sets:
    """Each element depends on one element of each operand, unless the derivative is zero."""
    families = []
    for i, sets in step.live:
        sources = np.broadcast_to(number_elements(step.shapes[i]), step.shape)
        partial = step.partial(i) if step.primitive.kind == "elementwise" else None
        if partial is not None and partial.dtype != object:
            sources = np.where(np.broadcast_to(partial, step.shape) == 0, -1, sources)
        families.append(move_sets(sets, sources))
    return unite_sets(families)


def propagate_reduction(step: OperationStep) -> Sets:
    """Each element depends on those that are reduced to it, unless the derivative is zero."""
    ((_, sets),) = step.live
    shape = step.shapes[0]
    groups = line_numbers(shape, step.params["axis"])
    partial = step.partial(0) if step.primitive.kind == "reduction" else None
    if partial is not None:
        groups = np.where(np.broadcast_to(partial, shape) == 0, -1, groups)
    return group_sets(sets, groups, math.prod(step.shape))


def propagate_all(step: OperationStep) -> list[Sets]:
    """Each result depends on all operands."""
    return [unite_sets([spread_to_all(sets, out.size) for _, sets in step.live]) for out in step.outs]


def propagate_by_labels(step: OperationStep) -> Any:
    """A linear operation that only moves elements, or whose transpose does: random labels show where each goes.

    Labels have 62 bits, so that a sum of several, or a scaled one, is almost certainly none of them.
    """
    primitive, (shape, *more) = step.primitive, step.shapes
    if more or len(step.outs) > 1 or not primitive.definition.structural or primitive.definition.vjp is not None:
        return propagate_all(step)
    rng = np.random.default_rng(0)
    sets = step.live[0][1]
    try:
        labels = rng.integers(1, 2**62, shape)
        sources = find_labels(primitive.impl(labels, **step.params), labels)
        if sources is not None:
            return move_sets(sets, sources)
        labels = rng.integers(1, 2**62, step.shape)
        keep = primitive.keep(True)
        saved = keep(step.outs[0], step.values[0]) if keep is not None else ()
        if not any(isinstance(x, Array) for x in saved):
            sources = find_labels(primitive.pulls[0](labels, saved, step.params), labels)
    except (TypeError, ValueError):
        sources = None  # it does not take integers
    return propagate_all(step) if sources is None else group_sets(sets, sources, math.prod(step.shape))


def find_labels(result: Any, labels: np.ndarray) -> np.ndarray | None:
    """For each element the index of its label, -1 for zero; None where some element is neither."""
    result = np.asarray(result)
    order = np.argsort(labels, axis=None)
    at = np.searchsorted(labels.reshape(-1)[order], result)
    sources = order[np.minimum(at, max(labels.size - 1, 0))] if labels.size else np.full(result.shape, -1)
    sources = np.where(result == 0, -1, sources)
    wrong = (sources >= 0) & (labels.reshape(-1)[sources] != result) if labels.size else result != 0
    return None if result.dtype.kind != "i" or wrong.any() else sources


KINDS: dict[str, Rule] = {
    "elementwise": propagate_elementwise,
    "reduction": propagate_reduction,
    "linear": propagate_by_labels,
}


# For several families


def propagate_moves(step: OperationStep) -> list[Sets]:
    """Each element comes from one element of one operand, or is a constant."""
    starts = np.cumsum([1, *[math.prod(shape) for shape in step.shapes]])
    numbers = [number_elements(shape, start) for shape, start in zip(step.shapes, starts, strict=False)]
    results = step.primitive.impl(*numbers, **step.params)
    whole = stack_operands(step)
    return [
        move_sets(whole, np.asarray(result) - 1) for result in (results if isinstance(results, tuple) else (results,))
    ]


def stack_operands(step: OperationStep) -> Sets:
    """The sets of all operands as those of one array."""
    n = step.live[0][1].shape[1]
    if len(step.sets) == 1:
        return step.live[0][1]
    families = [
        no_sets(math.prod(shape), n) if sets is None else sets
        for sets, shape in zip(step.sets, step.shapes, strict=True)
    ]
    return stack_sets(families)
