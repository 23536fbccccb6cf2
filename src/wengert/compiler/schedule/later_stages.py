"""Values that later stages use: they are computed there, or stored.

When the stage of a value is decided, its consumers are not known. Here all of them are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.forms.classify import COMPUTED, Form
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


def delay_to_uses(schedule: Schedule) -> None:
    """Compute values that only later kernels of the same domain use there, rather than store them before.

    The body of a loop reads early what it updates. What is stored because it is read at several positions stays so.
    """
    if schedule.is_tiny or schedule.rows or schedule.is_body:
        return
    for node in reversed(schedule.graph.operations):
        users = schedule.consumers.get(node, ())
        is_stencil = node in schedule.positions and node in schedule.stored
        is_element = schedule.forms[node] is Form.ELEMENT and not is_stencil
        if is_element and users and all(is_used_in_loop(schedule, user, node) for user in users):
            schedule.stages[node] = max(schedule.stages[node], min([schedule.stages[user] for user in users]))


def is_used_in_loop(schedule: Schedule, user: Operation, node: Operation) -> bool:
    """Whether a consumer computes each element from the one of a value at the same position of the loop."""
    return schedule.forms[user] is Form.ELEMENT and schedule.is_same_loop(user, node, node, True, schedule.domain(user))


def store_late_uses(schedule: Schedule) -> None:
    """Store expensive values that a later kernel of the same domain uses."""
    if schedule.is_tiny:
        return
    for node in reversed(schedule.graph.operations):
        if schedule.forms[node] not in COMPUTED or node in schedule.stored:
            continue
        stage = schedule.stages[node]
        later = any(stage_of_use(schedule, user) > stage for user in schedule.consumers.get(node, ()))
        if later and not schedule.is_cheap(node):
            schedule.stored[node] = None


def stage_of_use(schedule: Schedule, user: Operation) -> int:
    """The last stage at which a consumer of a value, or of views of it, reads it."""
    if schedule.forms[user] is not Form.VIEW or user in schedule.stored:
        return schedule.stages[user]
    seen, stack, latest = {user}, [user], 0
    while stack:
        view = stack.pop()
        for consumer in schedule.consumers.get(view, ()):
            if schedule.forms[consumer] is Form.VIEW and consumer not in schedule.stored:
                if consumer not in seen:
                    seen.add(consumer)
                    stack.append(consumer)
            else:
                latest = max(latest, schedule.stages[consumer])
    return latest
