"""The elements that are computed for one element of a value: the text of a loop's body.

A reduction of few terms is unrolled, term by term. If each term is a reduction itself, the text has the product of both
numbers of terms, and so on: it grows exponentially with the program. So the schedule counts elements to decide what is
stored.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from wengert.compiler.forms.classify import COMPUTED, Form
from wengert.core import machine
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


def is_too_long(schedule: Schedule, node: Operation) -> bool:
    """Whether too many elements are computed for one of a reduction that is written out, unless its terms are stored.

    The cost of a term counts every element as often as it is used, so it is more than their number.
    """
    most = machine.current.max_elements_of_unrolled_reduction
    base, _ = schedule.source(node.args[0])
    return written_terms(node) * schedule.costs[base] > most and count_written(schedule, node, most) > most


def written_terms(node: Operation) -> int:
    """The terms of an element of a reduction."""
    return node.args[0].size // max(node.size, 1)


def count_written(schedule: Schedule, node: Operation, most: int) -> int:
    """The elements that are computed for one element of a value, or any number above `most` if there are more.

    Elements of one value that several others use are taken to be the same ones, as far as possible.
    """
    positions = {node: 1}  # how many elements of each value
    waiting = [-schedule.numbers[node]]  # later values first: all users of a value are known before it
    nodes = {waiting[0]: node}
    total = 0
    while waiting and total <= most:
        user = nodes[heappop(waiting)]
        count = positions[user]
        if schedule.forms[user] is not Form.VIEW:
            total += count
        if schedule.forms[user] is Form.UNROLLED:
            count *= written_terms(user)
        for a in user.args:
            if not isinstance(a, Operation) or a in schedule.stored or schedule.forms[a] not in (*COMPUTED, Form.VIEW):
                continue
            number = -schedule.numbers[a]
            if number not in nodes:
                nodes[number] = a
                heappush(waiting, number)
            positions[a] = max(positions.get(a, 0), min(count, a.size))
    return total
