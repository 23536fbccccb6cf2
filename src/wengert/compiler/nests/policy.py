"""The policy: which of the legal decisions a nest has. It knows no operation by name, and no workload.

Kinds are decided one after the other, in the order of `CHOICES`. For each, a bounded number of decisions is proposed,
beside none; of those that are legal, the one with the least cost is taken, and the earlier one of two that cost about
the same. So the same nest on the same machine always has the same decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from wengert.compiler.machine.target import vector_lanes, vector_registers
from wengert.compiler.nests.borders import Borders
from wengert.compiler.nests.cost import Candidates, Cost, seconds_of_hand_over
from wengert.compiler.nests.decisions import Decision, Policy, find
from wengert.compiler.nests.legality import (
    given,
    kept_axes,
    outermost_axis,
    refuse,
    row_count,
)
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.order import find_neighbours, lanes_along
from wengert.core.errors import user_error
from wengert.core.machine.record import Machine


class PricedDecisions(NamedTuple):
    """Decisions that were compared, and their cost."""

    decisions: tuple[Decision, ...]
    cost: Cost


class Comparison(NamedTuple):
    """What was taken for one kind of decision, and the next best."""

    taken: PricedDecisions
    other: PricedDecisions | None

    @property
    def gain(self) -> float:
        """The seconds that the next best would take longer."""
        return 0.0 if self.other is None else self.other.cost.seconds - self.taken.cost.seconds


def decide(nest: Nest, machine: Machine) -> list[Decision]:
    """The decisions that pay, after those that are given."""
    return list(choose_all(nest, machine)[-1].taken.decisions)


def choose_all(nest: Nest, machine: Machine) -> list[Comparison]:
    """The choices of all kinds, one after the other; the last one has all decisions."""
    candidates, first = Candidates(nest, machine), tuple(given(nest))
    best = PricedDecisions(first, candidates.cost(first))
    choices = [Comparison(best, None)]
    if 0 in nest.domain:
        return choices
    has_bodies = bool(nest.breaks) and nest.body_work.elements <= machine.max_elements_of_segmented_body
    for propose in CHOICES:
        if propose is propose_threads and best.cost.seconds <= seconds_of_hand_over(machine):
            continue
        has_guards = not has_bodies or propose in (propose_bodies, propose_stages)  # before, the interior counts
        found = best.decisions
        tried = [(*found, *more) for more in propose(nest, machine, found) if is_legal(nest, found, more)]
        if tried:
            trials = [PricedDecisions(x, candidates.cost(x, has_guards=has_guards)) for x in (found, *tried)]
            choices.append(choose_cheapest(trials, machine))
            best = choices[-1].taken
    return choices


def choose_cheapest(trials: Sequence[PricedDecisions], machine: Machine) -> Comparison:
    """The cheapest of several trials; one that costs only a little less than an earlier one does not count."""
    prices = [price(trial.cost, machine) for trial in trials]
    taken = 0
    for k, found in enumerate(prices):
        if 100 * found < (100 - machine.percent_gained_by_decision) * prices[taken]:
            taken = k
    others = [k for k in range(len(trials)) if k != taken]
    return Comparison(trials[taken], trials[min(others, key=lambda k: prices[k])])


def price(found: Cost, machine: Machine) -> float:
    """The seconds by which candidates are compared: those of a run, with its share of the time to compile the text."""
    return found.seconds + 1e-12 * machine.picoseconds_of_text * found.text


def is_legal(nest: Nest, others: Sequence[Decision], decisions: Sequence[Decision]) -> bool:
    """Whether decisions may be added to others, one after the other."""
    beside = list(others)
    for decision in decisions:
        if refuse(nest, decision, beside) is not None:
            return False
        beside.append(decision)
    return True


Proposals = Iterator[tuple[Decision, ...]]


def propose_lanes(nest: Nest, _machine: Machine, _others: Sequence[Decision]) -> Proposals:
    """A vector along each axis, first that in which most of what the loop reads are neighbours; rows of a scatter.

    Where each lane is a sum of its own, several vectors are added up at once, which do not wait for each other.
    """
    order, scatter = nest.order, nest.kernel.scatter
    if order.is_fixed:
        return
    if nest.slice_axes:
        axis, rows = nest.slice_axes[-1], Decision("rows", nest.slice_axes[-1])
        assert scatter is not None
        lanes = lanes_along(nest, axis, min(fewest_lanes(nest, scatter.dtype.itemsize), order.grain))
        yield (rows, Decision("lanes", axis, lanes)) if lanes > 1 else (rows,)
    most = fewest_lanes(nest, nest.widest)
    axes = [i for i in nest.innermost_axes() if i not in nest.axes]
    axes = [i for i in axes if i != order.scatter_axis or len(nest.domain) == 1]
    first = find_neighbours(nest, most, axes)
    for axis in sorted(axes, key=lambda i: i != first):
        lanes = lanes_along(nest, axis, min(most, order.grain) if scatter is not None else most)
        vectors = (1, 2, 4, 8) if nest.kernel.reductions else (1,)
        yield from [(Decision("lanes", axis, n * lanes),) for n in vectors if n * lanes > 1]


def fewest_lanes(nest: Nest, nbytes: int) -> int:
    """The lanes of a vector of elements of `nbytes` bytes, or as many as functions of small matrices ask for."""
    return max(vector_lanes(nbytes), nest.fewest_vectors * vector_lanes(8))


def propose_sums(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Proposals:
    """Fold several elements side by side, in half of the registers, or keep the sums of columns on the stack."""
    if not nest.kernel.reductions:
        return
    lanes = find(others, "lanes")
    axes = [i for i in kept_axes(nest, others) if lanes is None or i != lanes.axis]
    if axes and nest.order.accumulators == 1:
        width = 1 if lanes is None else max(lanes.amount // vector_lanes(nest.widest), 1)
        most = vector_registers() // (2 * width * sum(work.operations for work in nest.body_work.folds))
        yield from [(Decision("tile", axes[-1], n),) for n in (2, 4, 8) if n <= min(most, nest.domain[axes[-1]])]
    if lanes is not None and lanes.axis not in nest.axes:
        columns = math.prod([nest.domain[i] for i in kept_axes(nest, others)])
        nbytes = sum(node.nbytes // columns for node in nest.kernel.reductions) * lanes.amount
        vectors = min(-(-nest.domain[lanes.axis] // lanes.amount), machine.max_block_bytes_of_column_sums // nbytes)
        if vectors > 1:
            yield (Decision("block", lanes.axis, vectors),)


def propose_threads(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Proposals:
    """Let threads share the loop, its pieces, or the result of a scatter; parts of results are whole cache lines."""
    order, axis, scatter = nest.order, outermost_axis(nest, others), nest.kernel.scatter
    if nest.outer or not nest.domain:
        return
    pieces = next(iter(order.cuts), order.scatter_axis)
    if pieces is not None:
        yield (Decision("threads", pieces, 1),)
        return
    steps = [d.amount for d in others if d.kind in ("lanes", "tile") and d.axis == axis]
    step = next(iter(steps), 1)
    if scatter is not None:
        for kind, count, grain in (("threads", nest.domain[0], step), ("ranges", row_count(nest, others), 1)):
            part = max(machine.cache_line_bytes * count // max(scatter.nbytes, 1), 1)
            part = -(-part // grain) * grain
            if count >= 2 * part:
                yield (Decision(kind, 0, part),)  # type: ignore[arg-type]  # both are kinds
        return
    block = find(others, "block")
    grain = step * block.amount if block is not None and block.axis == axis else step
    if axis is not None and nest.domain[axis] >= 2 * grain:
        yield (Decision("threads", axis, grain),)


def propose_bodies(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Proposals:
    """Bodies without guards between borders, where the text of all bodies is not too long."""
    lanes = find(others, "lanes")
    if lanes is None or not nest.breaks or nest.body_work.elements > machine.max_elements_of_segmented_body:
        return
    borders = Borders(nest, lanes.axis, lanes.amount)
    if len(borders.segments) - len(borders.gaps) <= machine.max_segments_with_bodies:
        yield (Decision("overlap", lanes.axis),)
    long = len(borders.whole_vectors(1))
    yield from [
        (Decision("segments", lanes.axis, n),) for n in range(1, min(long, machine.max_segments_with_bodies) + 1)
    ]


def propose_stages(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Proposals:
    """Compute the long functions of a body first, for some vectors."""
    lanes, vectors = find(others, "lanes"), machine.vectors_of_stage_block
    if lanes is not None and nest.domain[lanes.axis] >= machine.min_blocks_of_stages * vectors * lanes.amount:
        yield (Decision("stages", lanes.axis, vectors),)


CHOICES: tuple[Callable[[Nest, Machine, Sequence[Decision]], Proposals], ...] = (
    propose_lanes,
    propose_sums,
    propose_threads,
    propose_bodies,
    propose_stages,
)
"""What is decided, in this order."""


# Which policy decides


DECIDES: ContextVar[Policy] = ContextVar("decides", default=decide)
"""The policy in force: that of this file, unless a program is compiled with another one."""


@contextmanager
def deciding(policy: Policy | None) -> Iterator[None]:
    """Decide by another policy in the `with` block; None changes nothing."""
    before = DECIDES.set(policy or DECIDES.get())
    try:
        yield
    finally:
        DECIDES.reset(before)


def decisions_of(nest: Nest, machine: Machine) -> list[Decision]:
    """The decisions of a nest by the policy in force, which are checked if it is not that of this file."""
    policy, found = DECIDES.get(), given(nest)
    if policy is decide:
        return decide(nest, machine)
    for decision in policy(nest, machine):
        if decision in given(nest):
            continue
        refusal = refuse(nest, decision, found)
        if refusal is not None:
            raise user_error(
                ValueError,
                f"The policy decided {decision} for a nest, which is not possible: {refusal}",
                "Ask `refuse(nest, decision, others)` before.",
            )
        found.append(decision)
    return found
