"""The memory plan: a slot for each stored value.

Inputs, outputs and constants have memory of their own; all other values have an offset in one arena. Kernels find it
through a table of pointers: the status first, then inputs, outputs, constants, and the arena; after these, for
fallbacks, the Python objects of the inputs and outputs. Memory in the arena is reused after the last step that reads a
value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from wengert.compiler.forms.classify import Form, is_immediate
from wengert.compiler.forms.gather import Written
from wengert.compiler.machine.tables import ALIGNMENT
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import PTR, Type
from wengert.control.residuals import has_unknown_length
from wengert.core.spec import Spec
from wengert.graph.ir import Node


class Slot(NamedTuple):
    """Memory: an entry of the table of pointers, and an offset in bytes from there."""

    entry: int
    offset: int = 0


class Memory:
    """The memory plan of one schedule.

    `copies` are outputs that are copied from another slot: inputs, constants, and outputs that occur twice.
    """

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        graph = schedule.graph
        needed = {*graph.outputs, *addressed_values(schedule)}
        self.constants = [c for c in graph.constants if not is_immediate(c) or c in needed]
        self.first_input, self.first_output = 1, 1 + len(graph.inputs)
        self.first_constant = self.first_output + len(graph.outputs)
        self.arena = self.first_constant + len(self.constants)
        self.size = 0
        self.given: dict[Node, Slot] = {node: Slot(self.first_input + i) for i, node in enumerate(graph.inputs)}
        self.given |= {node: Slot(self.first_constant + i) for i, node in enumerate(self.constants)}
        self.outputs: dict[Node, Slot] = {}
        self.copies: list[tuple[Node, Slot]] = []
        for i, node in enumerate(graph.outputs):
            base = schedule.aliases.get(node, node)
            is_other_output = base is not node and base in graph.outputs
            if base in self.outputs or is_other_output or base in self.given:
                self.copies.append((base, Slot(self.first_output + i)))
            else:
                self.outputs[base] = Slot(self.first_output + i)
        self.temporary: dict[Node, Slot] = {}
        self.partials: dict[Node, Slot] = {}
        self.owners: dict[Node, Node] = {}  # those that are known
        self.taken: dict[Node, Node] = {}  # results of updates in place, and the values whose memory they take

    def plan(
        self, reads: Iterable[Iterable[Node]], writes: Iterable[Iterable[Node]], partials: Iterable[dict[Node, int]]
    ) -> None:
        """Give every other value an offset in the arena.

        `reads` and `writes` have the stored values of each step, `partials` the bytes that only one step uses.
        """
        self.owners.clear()
        reads, writes = [list(r) for r in reads], [list(w) for w in writes]
        last: dict[Node, int] = {}
        for step, nodes in enumerate(reads):
            for node in nodes:
                last[self.owner(node)] = step
        free: list[tuple[int, int]] = []  # offset and size, in order
        for step, (made, extra) in enumerate(zip(writes, partials, strict=True)):
            here: list[tuple[int, int]] = []
            for node, count in extra.items():
                size = aligned_size(count)
                self.partials[node] = Slot(self.arena, self.allocate(free, size))
                here.append((self.partials[node].offset, size))
            for node in made:
                if node in self.taken:
                    continue
                if node not in self.outputs and node.spec.__class__ is Spec:
                    size = aligned_size(stored_bytes(node))
                    self.temporary[node] = Slot(self.arena, self.allocate(free, size))
                    if node not in last:
                        here.append((self.temporary[node].offset, size))
            read = dict.fromkeys(map(self.owner, reads[step]))
            gone = [node for node in read if last[node] == step and node in self.temporary]
            for offset, size in here + [
                (self.temporary[node].offset, aligned_size(stored_bytes(node))) for node in gone
            ]:
                free_block(free, offset, size)

    def allocate(self, free: list[tuple[int, int]], size: int) -> int:
        """The offset of a block, which the arena has room for."""
        offset = take_block(free, self.size, size)
        self.size = max(self.size, offset + size)
        return offset

    def owner(self, node: Node) -> Node:
        """The value that was first in the memory of this one."""
        first = node
        while first in self.taken:
            first = self.owners.get(first, self.taken[first])
        if first is not node:
            self.owners[node] = first  # a chain of updates may be long
        return first

    def slot(self, node: Node) -> Slot:
        """The slot that a value is read from."""
        node = self.owner(node)
        if node in self.given:
            return self.given[node]
        return self.outputs[node] if node in self.outputs else self.temporary[node]

    def target(self, node: Node) -> Slot:
        """The slot that a value is written to, by the step that makes it."""
        return self.slot(node)


def addressed_values(schedule: Schedule) -> Iterator[Node]:
    """The values that steps read at an address: operands of functions, and what scatters write to, behind all views.

    Kernels read elements instead, and those of an immediate constant are part of their code. NumPy gets an immediate
    operand as a number.
    """
    for node in schedule.graph.operations:
        form, operands = schedule.forms[node], node.args
        if form is Form.SCATTER:
            operands = tuple([base for base in (Written.by(node).base,) if base is not None])
        elif form is Form.FALLBACK:
            operands = tuple([a for a in operands if schedule.forms[a] is Form.VIEW])
        elif form not in (Form.ROUTINE, Form.LOOP):
            continue
        for a in operands:
            while schedule.forms[a] is Form.VIEW:
                (a,) = a.args  # type: ignore[attr-defined]  # a view is an operation
            yield a


def stored_bytes(node: Node) -> int:
    """The size of a value in memory; of a sequence of unknown length, that of a pointer."""
    return 8 if has_unknown_length(node.spec) else node.nbytes


def aligned_size(size: int) -> int:
    """A size in bytes, rounded up."""
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


def take_block(free: list[tuple[int, int]], end: int, size: int) -> int:
    """The offset of the smallest free block that is large enough, or of a new one at the end."""
    fitting = [(length, i) for i, (_, length) in enumerate(free) if length >= size]
    if not fitting:
        grows = free and sum(free[-1]) == end  # the last block reaches the end
        return free.pop()[0] if grows else end
    length, i = min(fitting)
    offset = free[i][0]
    free[i : i + 1] = [(offset + size, length - size)] if length > size else []
    return offset


def free_block(free: list[tuple[int, int]], offset: int, size: int) -> None:
    """Add a block to the free ones, merged with its neighbours."""
    i = bisect_left(free, (offset, size))
    if i < len(free) and offset + size == free[i][0]:
        size += free.pop(i)[1]
    if i and sum(free[i - 1]) == offset:
        i -= 1
        offset, size = free[i][0], free.pop(i)[1] + size
    free.insert(i, (offset, size))


def address(code: Code, slot: Slot, is_fixed: bool = True) -> Lanes:
    """The address of a slot, from the table of pointers, which does not change while a kernel runs."""
    table = Lanes(code, "%table", PTR)
    entry = code.offset(table, slot.entry, Type("ptr"))
    base = code.add(f"load ptr, {entry.typed}" + (", !invariant.load !0" if is_fixed else ""), PTR)
    return code.offset(base, slot.offset, Type("i8"))


POINTER = "%pointer."
"""How the names of addresses begin: other lines of a kernel do not depend on where its operands are."""


class Pointers:
    """The addresses that one kernel uses, each loaded once at its start."""

    def __init__(self, code: Code, memory: Memory, aliases: Mapping[Node, Node], is_fixed: bool = True):
        self.code, self.memory, self.aliases, self.is_fixed = code, memory, aliases, is_fixed
        self.known: dict[Slot, Lanes] = {}

    def source(self, node: Node) -> Lanes:
        """The address that a value is read from."""
        return self.at(self.memory.slot(self.aliases.get(node, node)))

    def target(self, node: Node) -> Lanes:
        """The address that a value is written to."""
        return self.at(self.memory.target(node))

    def partials(self, node: Node) -> Lanes:
        """The address of the partial results of a reduction."""
        return self.at(self.memory.partials[node])

    def at(self, slot: Slot) -> Lanes:
        """The address of a slot."""
        if slot not in self.known:
            name = f"{POINTER}{len(self.known)}"
            self.code.hoisted += [
                f"  {name}.entry = getelementptr ptr, ptr %table, i64 {slot.entry}",
                f"  {name}.base = load ptr, ptr {name}.entry" + (", !invariant.load !0" if self.is_fixed else ""),
                f"  {name} = getelementptr i8, ptr {name}.base, i64 {slot.offset}",
            ]
            self.known[slot] = Lanes(self.code, name, PTR)
        return self.known[slot]
