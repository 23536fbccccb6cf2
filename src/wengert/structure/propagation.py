"""What each kind of operation does to sets of indices: which elements of its operands an element of its result depends
on.

Most rules follow from what the table says; others are entries of the aspect `propagation`, in `structure/aspects/`. A
derivative that is known to be zero cuts a dependence; what is not known never does. An operation without a rule depends
on all of its operands, which is never wrong.
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
    along,
    everything,
    grouped,
    moved,
    none,
    numbered,
    one_after_the_other,
    union,
)


class Step(NamedTuple):
    """One operation: its operands, the sets of those that matter (None for the others), its results, its metadata."""

    primitive: Primitive
    values: Sequence[Any]
    sets: Sequence[Sets | None]
    outs: Sequence[Any]
    params: dict[str, Any]

    @property
    def live(self) -> list[tuple[int, Sets]]:
        return [(i, sets) for i, sets in enumerate(self.sets) if sets is not None]

    @property
    def shapes(self) -> list[Shape]:
        return [Spec.of(v).shape for v in self.values]

    @property
    def shape(self) -> Shape:
        """Of the result, where there is one."""
        return self.outs[0].shape

    def known(self, i: int) -> np.ndarray | None:
        """An operand, where its numbers are known."""
        value = self.values[i]
        return None if isinstance(value, Array) else np.asarray(value)

    def partial(self, i: int) -> np.ndarray | None:
        """The derivative in one operand, element by element, where its numbers are known."""
        keep = self.primitive.keep(*[k == i for k in range(len(self.values))])
        assert keep is not None
        out = self.outs[0]
        saved = keep(out, *self.values)
        if any(isinstance(x, Array) for x in saved):
            return None
        t = np.ones(self.shapes[i], self.values[i].dtype)
        with np.errstate(all="ignore"):
            return np.asarray(self.primitive.pushes[i](t, saved, self.params))


Rule = Callable[[Step], Any]


def by_kind(primitive: Primitive) -> Rule:
    """What the table says of an operation without an entry."""
    return KINDS.get(primitive.kind, anything)


propagation: Aspect[Rule] = Aspect(
    "propagation", "which elements of its operands an element of its result depends on", by_kind
)


def propagated(step: Step) -> list[Sets]:
    """The sets of the results of an operation."""
    rule: Any = propagation.of(step.primitive)
    found = rule(step)
    return found if isinstance(found, list) else [found]


def elementwise(step: Step) -> Sets:
    families = []
    for i, sets in step.live:
        places = np.broadcast_to(numbered(step.shapes[i]), step.shape)
        partial = step.partial(i) if step.primitive.kind == "elementwise" else None
        if partial is not None and partial.dtype != object:
            places = np.where(np.broadcast_to(partial, step.shape) == 0, -1, places)
        families.append(moved(sets, places))
    return union(families)


def reduction(step: Step) -> Sets:
    ((_, sets),) = step.live
    shape = step.shapes[0]
    groups = along(shape, step.params["axis"])
    partial = step.partial(0) if step.primitive.kind == "reduction" else None
    if partial is not None:
        groups = np.where(np.broadcast_to(partial, shape) == 0, -1, groups)
    return grouped(sets, groups, math.prod(step.shape))


def anything(step: Step) -> list[Sets]:
    """Each result depends on all operands."""
    return [union([everything(sets, out.size) for _, sets in step.live]) for out in step.outs]


def labelled(step: Step) -> Any:
    """A linear operation of one operand that only moves elements, or whose transpose does: random labels show where
    each goes.

    Labels have 62 bits, so a sum of several is none of them but by a chance of one in many millions of millions, and
    numbers that are scaled are none.
    """
    primitive, (shape, *more) = step.primitive, step.shapes
    if more or len(step.outs) > 1 or not primitive.definition.structural or primitive.definition.vjp is not None:
        return anything(step)
    rng = np.random.default_rng(0)
    sets = step.live[0][1]
    try:
        labels = rng.integers(1, 2**62, shape)
        places = found_labels(primitive.impl(labels, **step.params), labels)
        if places is not None:
            return moved(sets, places)
        labels = rng.integers(1, 2**62, step.shape)
        keep = primitive.keep(True)
        saved = keep(step.outs[0], step.values[0]) if keep is not None else ()
        if not any(isinstance(x, Array) for x in saved):
            places = found_labels(primitive.pulls[0](labels, saved, step.params), labels)
    except (TypeError, ValueError):
        places = None  # it does not take integers
    return anything(step) if places is None else grouped(sets, places, math.prod(step.shape))


def found_labels(result: Any, labels: np.ndarray) -> np.ndarray | None:
    """For each element the place that has its label, -1 for zero; None where some element is neither."""
    result = np.asarray(result)
    order = np.argsort(labels, axis=None)
    at = np.searchsorted(labels.reshape(-1)[order], result)
    places = order[np.minimum(at, max(labels.size - 1, 0))] if labels.size else np.full(result.shape, -1)
    places = np.where(result == 0, -1, places)
    wrong = (places >= 0) & (labels.reshape(-1)[places] != result) if labels.size else result != 0
    return None if result.dtype.kind != "i" or wrong.any() else places


KINDS: dict[str, Rule] = {"elementwise": elementwise, "reduction": reduction, "linear": labelled}


# For several families


def moving(step: Step) -> list[Sets]:
    """Each element comes from one place of one operand, or is a constant."""
    starts = np.cumsum([1, *[math.prod(shape) for shape in step.shapes]])
    numbers = [numbered(shape, start) for shape, start in zip(step.shapes, starts, strict=False)]
    results = step.primitive.impl(*numbers, **step.params)
    whole = stacked(step)
    return [moved(whole, np.asarray(result) - 1) for result in (results if isinstance(results, tuple) else (results,))]


def stacked(step: Step) -> Sets:
    """The sets of all operands, one after the other."""
    n = step.live[0][1].shape[1]
    if len(step.sets) == 1:
        return step.live[0][1]
    families = [
        none(math.prod(shape), n) if sets is None else sets for sets, shape in zip(step.sets, step.shapes, strict=True)
    ]
    return one_after_the_other(families)
