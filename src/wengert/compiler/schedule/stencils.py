"""Stencils: values whose elements are read at several positions for one element of a result.

A loop that computes a value where it is needed computes each element once for each position at which it is read. If the
value is a stencil itself, its operands are computed again for each of their positions, and so on: the work grows
exponentially with the number of steps. So the schedule counts positions to decide what is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import Counter, Guard, Position, Read, broadcast_position, loop_position
from wengert.compiler.forms.classify import COMPUTED, Form, operation_cost
from wengert.compiler.forms.lowering import Choice, View, lowering_of
from wengert.core import machine
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


MOVED = (Form.ELEMENT, Form.VIEW, Form.CHOICE)

Reading = tuple[Node, Position]
"""A result, and the position at which its element needs one of a value."""


def count_reads(schedule: Schedule) -> dict[Node, float]:
    """How often a result needs each element of a value, where that is more than once.

    This is the number of positions, or less for windows that do not overlap. A value that is only a part of another one
    does not count: the other one is stored, rather than this.
    """
    forms = schedule.forms
    if schedule.is_tiny or schedule.rows or not has_stencils(schedule):
        return {}
    seen: dict[Node, list[Reading]] = {}  # the results that need a value, and where
    counts: dict[Node, float] = {}
    for node in reversed(schedule.graph.operations):
        if forms[node] not in COMPUTED and forms[node] is not Form.VIEW:
            continue
        users = [user for user in schedule.consumers.get(node, ()) if forms[user] in MOVED]
        found = {r: None for user in users for reading in seen[user] for r in trace_reading(node, user, reading, forms)}
        is_part = (
            len(users) == schedule.uses[node] == 1 and forms[users[0]] is not Form.VIEW and is_image(users[0], forms)
        )
        results = [result for result, _ in found] if not is_part else []
        counts[node] = max([results.count(r) * min(r.size / max(node.size, 1), 1.0) for r in set(results)], default=0.0)
        has_many = len(found) > machine.current.max_positions_of_stencil
        is_result = not found or has_many or (len(found) > 1 and not is_image(node, forms))
        seen[node] = [(node, loop_position(node.shape))] if is_result else list(found)
    return {node: count for node, count in counts.items() if count > 1}


def has_stencils(schedule: Schedule) -> bool:
    """Whether a value may be read at several positions: there are choices, or several views of a value."""
    forms = schedule.forms
    return any(
        forms[user] is Form.CHOICE or (forms[user] is Form.VIEW and schedule.uses[user.args[0]] > 1)
        for user in schedule.graph.operations
    )


def is_image(node: Operation, forms: Mapping[Node, Form]) -> bool:
    """Whether a value shows elements of others, or is a cheap function of one value."""
    if forms[node] in (Form.VIEW, Form.CHOICE):
        return True
    is_of_one = len([a for a in node.args if a.size > 1]) == 1
    return forms[node] is Form.ELEMENT and is_of_one and operation_cost(node) <= machine.current.max_operations_of_image


def trace_reading(node: Node, user: Operation, reading: Reading, forms: Mapping[Node, Form]) -> Iterator[Reading]:
    """From a position in a value to those in one of its operands."""
    result, position = reading
    if forms[user] is Form.ELEMENT:
        yield result, broadcast_position(position, node.shape)
    elif forms[user] is Form.VIEW:
        inner = lowering_of(user, View).position(position, node.spec, **user.params)
        if inner is not None:
            yield result, inner
    else:
        reads = lowering_of(user, Choice).reads(position, *[a.spec for a in user.args], **user.params) or []
        for read, share in zip(reads, shares(reads), strict=True):
            is_counted = share * machine.current.max_elements_per_counted_read >= 1
            if read.operand is not None and user.args[read.operand] is node and is_counted:
                yield result, read.position


def shares(reads: Sequence[Read]) -> Iterator[float]:
    """The share of the elements that each read of a choice is for, about: those that no earlier one is for."""
    total = 0.0
    for read in reads:
        share = max(share_within(read.guards) - total, 0.0)
        total += share
        yield share


def share_within(guards: Sequence[Guard]) -> float:
    """The share of elements for which guards hold; a half for a guard on several counters."""
    ranges: dict[Counter, range] = {}
    share = 1.0
    for guard in guards:
        found = guard.where_true
        if found is not None:
            counter, within = found
            old = ranges.get(counter, within)
            ranges[counter] = range(max(old.start, within.start), min(old.stop, within.stop))
        elif guard.outcome is not True:
            share /= 2
    return share * math.prod([len(r) / counter.extent for counter, r in ranges.items() if counter.extent])
