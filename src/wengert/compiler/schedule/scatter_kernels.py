"""The scatters of a schedule: which of them share a kernel, and which of their operands are in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.forms.classify import Form, is_update
from wengert.compiler.forms.gather import Written
from wengert.core import machine
from wengert.graph.ir import Node, Operation, is_a
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


def join(schedule: Schedule, node: Operation) -> None:
    """Let the kernel of a scatter do those before it as well: they are not stored by themselves."""
    for earlier in joined_scatters(schedule, node)[:-1]:
        schedule.stages[earlier] = schedule.stages[node]
        schedule.stored.pop(earlier, None)


def store_parts(schedule: Schedule, value: Node, domain: tuple[int, ...]) -> int:
    """Store what the elements of a scattered value are computed from, and return the stage at which that is done.

    Its elementwise operations and gathers run in the loop of the scatter, which is not unrolled as rows are.
    """
    stage, stack, seen = 0, [value], {value}
    in_loop: list[Operation] = []
    while stack:
        node = stack.pop()
        form = schedule.forms[node]
        is_in_loop = form in (Form.ELEMENT, Form.GATHER) and node.shape == domain and node not in schedule.stored
        is_plain_view = form is Form.VIEW and node not in schedule.stored and is_a(node, _expand_dims, _broadcast_to)
        if is_plain_view or (is_in_loop and (schedule.uses[node] == 1 or schedule.is_cheap(node))):
            assert isinstance(node, Operation)
            args = node.args[1:] if form is Form.GATHER else node.args
            stack += [a for a in args if a not in seen]
            seen.update(args)
            stage = max(stage, schedule.ready(node.args[0]) if form is Form.GATHER else 0)
            in_loop.append(node)
        else:
            schedule.store(node)
            stage = max(stage, schedule.ready(node))
    for node in reversed(in_loop):
        schedule.costs[node] = schedule.cost(node)
        if schedule.uses[node] == 1:
            schedule.stages[node] = max(stage, schedule.stages[node])
    return stage


def can_join(schedule: Schedule, node: Operation, base: Node) -> bool:
    """Whether a scatter adds to what another one has added before, in the same loop, so that one kernel does both."""
    if schedule.forms[base] is not Form.SCATTER or schedule.uses[base] > 1 or schedule.rows:
        return False
    assert isinstance(base, Operation)
    here, before = Written.by(node), Written.by(base)
    is_same_loop = here.key == before.key and here.shape == before.shape
    return (
        here.base is base
        and here.adds
        and before.adds
        and is_same_loop
        and len(joined_scatters(schedule, base)) < machine.current.max_scatters_of_kernel
    )


def joined_scatters(schedule: Schedule, node: Operation) -> tuple[Operation, ...]:
    """The scatters that one kernel does, up to this one."""
    found = [node]
    while found[-1] in schedule.joined:
        found.append(schedule.joined[found[-1]])
    return tuple(reversed(found))


def is_scattered_from_memory(schedule: Schedule, node: Operation, i: int) -> bool:
    """Whether an operand of a scatter must be in memory: what it updates, and what it writes if it could read that.

    A scatter of one element reads everything before it writes.
    """
    base = Written.by(joined_scatters(schedule, node)[0]).base
    if schedule.rows or base is None:
        return bool(schedule.rows)
    return i == 0 or (Written.by(node).size > 1 and (schedule.is_body or reads_updated(schedule, node.args[i], base)))


def reads_updated(schedule: Schedule, node: Node, updated: Node) -> bool:
    """Whether a value that is not stored is computed from one that is updated, or from what that was made of."""
    seen, stack = {node}, [node]
    while stack:
        value = stack.pop()
        if value not in schedule.stored and isinstance(value, Operation):
            stack += [a for a in value.args if a not in seen]
            seen.update(value.args)
    first = min([schedule.numbers[value] for value in seen])
    while updated not in seen:
        if not isinstance(updated, Operation) or schedule.numbers[updated] < first:
            return False
        if not is_update(updated) and schedule.forms[updated] is not Form.VIEW:
            return False
        updated = updated.args[0]
    return True
