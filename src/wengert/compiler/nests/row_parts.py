"""The parts of a row kernel whose kernels are known: which of them share a loop, and what is kept for one row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from wengert.compiler.forms.affine import flat_index
from wengert.compiler.forms.classify import COMPUTED, operation_cost
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.nests.nest import Nest
from wengert.compiler.schedule.row_kernels import RowKernel, RowPart
from wengert.compiler.schedule.schedule import Schedule
from wengert.core import machine
from wengert.graph.ir import Node


class RowParts:
    """The parts of one row kernel, which make values; `is_result` says of one whether something else uses it."""

    def __init__(self, kernel: RowKernel, schedule: Schedule, is_result: Callable[[Node], bool]):
        self.kernel, self.schedule, self.is_result = kernel, schedule, is_result

    def base(self, node: Node) -> Node:
        """The value in whose memory a value is."""
        return self.schedule.aliases.get(node, node)

    # Loops

    def share_loops(self) -> None:
        """Let parts share a loop where they can: it then has in registers what another part has just computed.

        A part moves up to an earlier loop if nothing in between makes what it reads; or the earlier one moves down to
        it, if nothing in between reads what that makes.
        """
        found: list[RowPart] = []
        for part in self.kernel.parts:
            for k, other in enumerate(found):
                later = found[k + 1 :]
                can_move_up = not any(map(part.reads_from, later))
                can_move_down = not any(step.reads_from(other) for step in later)
                if (can_move_up or can_move_down) and self.can_share(other, part):
                    other.include(part)
                    if not can_move_up:
                        found.append(found.pop(k))
                    break
            else:
                found.append(part)
        self.kernel.parts = found
        self.drop_values()

    def can_share(self, earlier: RowPart, part: RowPart) -> bool:
        """Whether both can be one loop: if the later one reads what the earlier one makes, then element by element."""
        if not earlier.can_include(part):
            return False
        read = part.operands.intersection(earlier.roots)
        return not read or (read.issubset(earlier.maps) and self.reads_elements(part, read))

    def reads_elements(self, part: RowPart, values: Collection[Node]) -> bool:
        """Whether a part needs of each value the element at its own position alone, and not through a view."""
        if any(node.shape != part.domain for node in values):
            return False
        plan = Nest(part, self.schedule)
        found = [(node, at) for node, at in plan.requested_elements() if self.base(node) in values]
        return all(node in values and at == plan.counted_position for node, at in found)

    def drop_values(self) -> None:
        """Store no values that parts have in registers, or that are as cheap to compute again as to read.

        Parts that compute a value again find in memory what it was computed from.
        """
        parts, made = self.kernel.parts, {node for part in self.kernel.parts for node in part.roots}
        readers = {node: [part for part in parts if node in part.operands] for node in made}
        before: set[Node] = set()
        for part in parts:
            part.operands = (part.operands - made) | before
            before.update(part.roots)
        for part in parts:
            costs = self.costs_in_part(Nest(part, self.schedule))
            for node in [node for node in part.maps if not self.is_result(node)]:
                others = [other for other in readers[node] if other is not part]
                is_cheap = not others or costs.get(node, 1) <= machine.current.max_operations_computed_again_in_row
                if is_cheap and all(self.reads_elements(other, {node}) for other in others):
                    part.maps = [kept for kept in part.maps if kept is not node]
                    for other in others:
                        other.operands |= part.operands
                    for other in parts:
                        other.operands.discard(node)

    # Buffers

    def keep_values(self, buffer_bytes: int) -> None:
        """Choose the values that have a buffer: what parts read of each other, and nothing else uses."""
        kernel = self.kernel
        made = dict.fromkeys([node for part in kernel.parts for node in part.roots])
        read = {node for part in kernel.parts for node in part.operands}
        room = buffer_bytes
        for node in made:
            is_local = not self.is_result(node)
            is_number = node.size == kernel.count and node in read
            if node not in kernel.sums and (is_local or is_number) and self.row_bytes(node) <= room:
                room -= self.row_bytes(node)
                kernel.buffers[node] = None
                if is_local:
                    kernel.local.add(node)
        for node in list(self.values_used_again(room)):
            kernel.buffers[node] = None
            kernel.local.add(node)
            self.compute_once(node)
        self.find_hosts()

    def row_bytes(self, node: Node) -> int:
        """The bytes of one row of a value."""
        return node.nbytes // self.kernel.count

    def find_hosts(self) -> None:
        """Let values be in the rows of results that are computed from them, instead of in buffers.

        The memory of a result is then in the cache when it is computed, and there are fewer rows to keep there.
        """
        kernel = self.kernel
        for node in list(kernel.buffers):
            if node in kernel.local and node.size > kernel.count:
                host = self.find_host(node)
                if host is not None:
                    kernel.hosts[node] = host
                    del kernel.buffers[node]

    def find_host(self, node: Node) -> Node | None:
        """A result that is computed by the last part that reads a value, element by element from it, and once."""
        kernel = self.kernel
        last = max([k for k, part in enumerate(kernel.parts) if node in part.operands], default=0)
        part = kernel.parts[last]
        fitting = [v for v in part.maps if v.dtype == node.dtype and v.size == node.size and v not in kernel.local]
        free = [v for v in fitting if v not in kernel.hosts.values()]
        if not free or node in part.maps:
            return None
        plan = LoopPlan(part, self.schedule)
        index = flat_index(plan.counted_position, free[0].shape)
        read = [(n, at) for n, at in plan.requested_elements() if self.base(n) is node]
        is_read_there = all(flat_index(at, n.shape) == index for n, at in read)
        return free[0] if is_read_there and not plan.has_overlaps else None

    def values_used_again(self, room: int) -> Iterator[Node]:
        """Values that several parts compute, at the same positions of the same rows, and that are not cheap to repeat.

        They are found from the results back, until there is no room: what only such a value is computed from is
        computed once, too. What is stored piece by piece would need a loop of its own.
        """
        parts, cheap = self.kernel.parts, machine.current.max_operations_computed_again_in_row
        plans = [Nest(part, self.schedule) for part in parts]
        costs = [self.costs_in_part(plan) for plan in plans]
        elsewhere = [self.nodes_at_other_rows(plan, part) for plan, part in zip(plans, parts, strict=True)]
        computed: dict[Node, set[int]] = {}  # in which parts
        for k, part in enumerate(parts):
            for node in [*part.maps, *[r.args[0] for r in (*part.reductions, *part.sums)]]:
                computed.setdefault(node, set()).add(k)
        for node in reversed(self.schedule.graph.operations):
            found = {k for k in computed.get(node, ()) if not plans[k].sources.is_stored(node)}
            first, *again = sorted(found) or [0]
            if again and self.schedule.forms[node] in COMPUTED:
                is_local = not any(node in elsewhere[k] for k in found)
                has_loop = node.shape == parts[first].domain and node not in self.schedule.pieces
                is_expensive = max([costs[k].get(node, 1) for k in again]) > cheap
                if is_local and has_loop and is_expensive and self.row_bytes(node) <= room:
                    room -= self.row_bytes(node)
                    found = {first}
                    yield node
            for a in node.args:
                computed.setdefault(a, set()).update(found)

    def costs_in_part(self, plan: Nest) -> dict[Node, int]:
        """What an element of each value that a part computes costs there.

        What it reads costs as much as an addition, and so does a number for the row, which is computed before the loop.
        """
        costs: dict[Node, int] = {}
        inside, count = set(plan.computed_nodes), self.kernel.count
        for node in self.schedule.graph.operations:
            if node in inside:
                bases = [self.schedule.source(a)[0] for a in node.args]
                known = [costs.get(base, 1) if base.size > count or node.size <= count else 1 for base in bases]
                costs[node] = operation_cost(node) + sum(known)
        return costs

    def nodes_at_other_rows(self, plan: Nest, part: RowPart) -> set[Node]:
        """The values that a part computes at elements outside of the present row."""
        is_local = lambda node, at: self.kernel.is_local_index(flat_index(at, node.shape), node, part, plan.counters)
        return {node for node, at in plan.requested_elements() if not is_local(node, at)}

    def compute_once(self, node: Node) -> None:
        """Let the first part that computes a value store it, and the others read it."""
        is_computed = False
        for part in self.kernel.parts:
            if is_computed:
                part.operands.add(node)
            elif node in Nest(part, self.schedule).computed_nodes:
                part.maps = [*part.maps, node]
                is_computed = True
