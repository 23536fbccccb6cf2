"""Values that later stages use: they are computed there, or stored.

When the stage of a value is decided, its consumers are not known. Here all of them are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wengert.compiler.forms.classify import COMPUTED, Form
from wengert.compiler.schedule.cheapest_cut import ALWAYS, SINK, SOURCE, Network
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


def delay_to_uses(schedule: Schedule) -> None:
    """Compute values that only later kernels use there, and what a kernel stores in a later one of the same domain.

    The body of a loop reads early what it updates. What is stored because it is read at several positions stays so.
    """
    if schedule.is_tiny:
        return
    delay_elements(schedule)
    if not schedule.is_body and delay_kernels(schedule):
        follow_operands(schedule)
        delay_elements(schedule)


def delay_elements(schedule: Schedule) -> None:
    """Compute values where they are used: those in memory or in the cache only if each element is used where it is."""
    keeps_all = schedule.rows or schedule.is_body
    for node in reversed(schedule.graph.operations):
        users = schedule.consumers.get(node, ())
        if not users or schedule.forms[node] not in (*COMPUTED, Form.VIEW):
            continue
        if node in schedule.stored or not schedule.is_beyond_cache(node):
            is_stencil = node in schedule.reads and node in schedule.stored
            can_move = schedule.forms[node] is Form.ELEMENT and not is_stencil and not keeps_all
            if not can_move or not all(is_used_in_loop(schedule, user, node) for user in users):
                continue
        schedule.stages[node] = max(schedule.stages[node], min([schedule.stages[user] for user in users]))


def delay_kernels(schedule: Schedule) -> bool:
    """Let a later loop over the same domain store what an earlier one does, if nothing in between needs it.

    A loss may then be added up where its gradient is computed, even if that waits for a function of a parameter. In the
    cache, two short bodies are as fast as a long one.
    """
    kernels: dict[tuple[tuple[int, ...], int], list[Operation]] = {}
    for node in schedule.stored:
        if schedule.forms[node] in (*COMPUTED, Form.REDUCE) and node not in schedule.reads:
            assert isinstance(node, Operation)
            kernels.setdefault((schedule.loop_domain(node), schedule.stages[node]), []).append(node)
    axes = lambda nodes: {schedule.reduced_axes(x) for x in nodes if schedule.forms[x] is Form.REDUCE}
    first = first_uses(schedule, max(schedule.stages.values(), default=0) + 1)
    is_delayed = False
    for domain, stage in sorted(kernels, key=lambda key: -key[1]):
        nodes = kernels[domain, stage]
        if not any(map(schedule.is_beyond_cache, [a for node in nodes for a in (node, *node.args)])):
            continue
        last = min([first[node] for node in nodes]) - 1
        for later in range(stage + 1, last + 1):
            others = kernels.get((domain, later))
            if others and len(axes([*nodes, *others])) <= 1:
                others += nodes
                schedule.stages |= dict.fromkeys(nodes, later)
                is_delayed = True
                break
    return is_delayed


def first_uses(schedule: Schedule, end: int) -> dict[Node, int]:
    """The first stage at which something in memory is computed from each value; the end for results of the program."""
    first: dict[Node, int] = {}
    for node in reversed(schedule.graph.operations):
        users = schedule.consumers.get(node, ())
        is_apart = lambda user: user in schedule.stored or schedule.forms[user] not in (*COMPUTED, Form.VIEW)
        first[node] = min([schedule.stages[user] if is_apart(user) else first[user] for user in users], default=end)
    return first


def follow_operands(schedule: Schedule) -> None:
    """Let what is not in memory be computed after its operands, of which some are computed later now."""
    for node in schedule.graph.operations:
        if node not in schedule.stored and schedule.forms[node] in (*COMPUTED, Form.VIEW):
            before = [
                schedule.ready(a) if schedule.source(a)[0] in schedule.stored else schedule.stages[a] for a in node.args
            ]
            schedule.stages[node] = max([schedule.stages[node], *before])


def is_used_in_loop(schedule: Schedule, user: Operation, node: Operation) -> bool:
    """Whether a consumer computes each element from the one of a value at the same position of the loop."""
    return schedule.forms[user] is Form.ELEMENT and schedule.is_same_loop(user, node, node, True, schedule.domain(user))


def store_late_uses(schedule: Schedule) -> None:
    """Store what later kernels of the same domain need, or what they compute it from again, whichever costs less."""
    if schedule.is_tiny:
        return
    for node in find_values_to_store(schedule, [x for x in schedule.graph.operations if is_needed_later(schedule, x)]):
        schedule.stored[node] = None


def is_needed_later(schedule: Schedule, node: Operation) -> bool:
    """Whether a later kernel uses a value that is not in memory."""
    if schedule.forms[node] not in COMPUTED or node in schedule.stored:
        return False
    return latest_use(schedule, node) > schedule.stages[node]


def find_values_to_store(schedule: Schedule, needed: Sequence[Operation]) -> list[Operation]:
    """The values to store so that all that is needed later costs the least.

    A value that is needed is stored, or it is computed again from its operands, which are needed then, too. What is in
    memory is read, which costs nothing if a later kernel reads it anyway. So the values to store are the cheapest cut
    between what is needed and memory, in scalar operations for all elements.
    """
    network, found = Network(), dict.fromkeys(needed)
    first = min([schedule.stages[node] for node in needed], default=0)
    for node in needed:
        network.connect(SOURCE, node, ALWAYS)
    for node in (waiting := list(found)):
        again = (node, "again")
        network.connect(node, again, schedule.cost_of_storing(node) * node.size)
        network.connect(again, SINK, schedule.own_cost(node) * node.size)
        for base in {schedule.source(a)[0]: None for a in node.args}:
            if schedule.forms[base] in COMPUTED and base not in schedule.stored:
                network.connect(again, base, ALWAYS)
                if base not in found:
                    assert isinstance(base, Operation)
                    found[base] = None
                    waiting.append(base)
            elif base.size > 1 and latest_use(schedule, base) <= first:
                network.connect(again, base, ALWAYS)
                if base not in found:
                    network.rest[base].setdefault(SINK, schedule.cost_of_reading(base) * base.size)
                    network.rest[SINK].setdefault(base, 0)
    near = network.cut()
    return [node for node in found if node in near and (node, "again") not in near]


def stages_of_use(schedule: Schedule, node: Node) -> Iterator[int]:
    """The stages at which consumers of a value, or of views of it, read it."""
    seen, stack = {node}, [node]
    while stack:
        for user in schedule.consumers.get(stack.pop(), ()):
            if schedule.forms[user] is not Form.VIEW or user in schedule.stored:
                yield schedule.stages[user]
            elif user not in seen:
                seen.add(user)
                stack.append(user)


def latest_use(schedule: Schedule, node: Node) -> int:
    """The last stage at which a value is used."""
    return max(stages_of_use(schedule, node), default=0)
