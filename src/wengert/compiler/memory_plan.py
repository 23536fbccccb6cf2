"""Where each stored value lies: inputs, outputs and constants where they are, everything else at an offset in one
arena.

A kernel finds all of it through a table of pointers: the status first, then inputs, outputs, constants, and the arena;
after these, for operations that Python runs, the objects that the inputs and outputs belong to. Offsets are reused as
soon as the last step that reads a value is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wengert.compiler.lanes import PTR, Code, Lanes, Type
from wengert.compiler.schedule import Schedule
from wengert.core.spec import Spec
from wengert.graph.ir import Constant, Node

ALIGNMENT = 64


class Slot(NamedTuple):
    """A place: an entry of the table, and an offset in bytes behind it."""

    entry: int
    offset: int = 0


class Memory:
    """The plan for one schedule.

    `reads` has the stored values that each step reads, `partials` the buffers that only it needs.
    """

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        graph = schedule.graph
        self.constants = [node for node in graph.constants if not is_immediate(node) or node in graph.outputs]
        self.first_input, self.first_output = 1, 1 + len(graph.inputs)
        self.first_constant = self.first_output + len(graph.outputs)
        self.arena = self.first_constant + len(self.constants)
        self.size = 0
        self.given: dict[Node, Slot] = {node: Slot(self.first_input + i) for i, node in enumerate(graph.inputs)}
        self.given |= {node: Slot(self.first_constant + i) for i, node in enumerate(self.constants)}
        self.outputs: dict[Node, Slot] = {}
        self.copies: list[
            tuple[Node, Slot]
        ] = []  # outputs that lie elsewhere: what is given, and what is an output already
        for i, node in enumerate(graph.outputs):
            base = schedule.aliases.get(node, node)
            if base in self.outputs or base is not node or base in self.given:
                self.copies.append((base, Slot(self.first_output + i)))
            else:
                self.outputs[node] = Slot(self.first_output + i)
        self.temporary: dict[Node, Slot] = {}
        self.partials: dict[Node, Slot] = {}

    def plan(
        self, reads: Iterable[Iterable[Node]], writes: Iterable[Iterable[Node]], partials: Iterable[dict[Node, int]]
    ) -> None:
        """Give every value that is neither given nor an output an offset in the arena."""
        reads, writes = [list(r) for r in reads], [list(w) for w in writes]
        last: dict[Node, int] = {}
        for step, nodes in enumerate(reads):
            for node in nodes:
                last[node] = step
        free: list[tuple[int, int]] = []  # offset and size, in order
        for step, (made, extra) in enumerate(zip(writes, partials, strict=True)):
            here: list[tuple[int, int]] = []
            for node, count in extra.items():
                size = aligned(count * max(node.dtype.itemsize, 1))
                self.partials[node] = Slot(self.arena, self.take(free, size))
                here.append((self.partials[node].offset, size))
            for node in made:
                if node not in self.outputs and node.spec.__class__ is Spec:
                    size = aligned(node.nbytes)
                    self.temporary[node] = Slot(self.arena, self.take(free, size))
                    if node not in last:
                        here.append((self.temporary[node].offset, size))
            gone = [node for node in dict.fromkeys(reads[step]) if last[node] == step and node in self.temporary]
            for offset, size in here + [(self.temporary[node].offset, aligned(node.nbytes)) for node in gone]:
                give(free, offset, size)

    def take(self, free: list[tuple[int, int]], size: int) -> int:
        """The smallest hole that is large enough, or new space."""
        fitting = [(length, i) for i, (_, length) in enumerate(free) if length >= size]
        if fitting:
            length, i = min(fitting)
            offset = free[i][0]
            if length > size:
                free[i] = (offset + size, length - size)
            else:
                del free[i]
            return offset
        grows = free and sum(free[-1]) == self.size  # the last hole reaches the end
        offset = free.pop()[0] if grows else self.size
        self.size = offset + size
        return offset

    def slot(self, node: Node) -> Slot:
        """Where a value is read."""
        if node in self.given:
            return self.given[node]
        return self.outputs[node] if node in self.outputs else self.temporary[node]

    def target(self, node: Node) -> Slot:
        """Where a value is written, by the step that makes it."""
        return self.outputs[node] if node in self.outputs else self.temporary[node]


def is_immediate(node: Node) -> bool:
    """Whether a constant is written into the code."""
    return (
        isinstance(node, Constant)
        and (node.weak is not None or node.size == 1)
        and node.dtype.kind in "fib"
        and not node.is_captured
    )


def aligned(size: int) -> int:
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT


def give(free: list[tuple[int, int]], offset: int, size: int) -> None:
    """Put a hole back, joined with its neighbours."""
    free.append((offset, size))
    free.sort()
    joined: list[tuple[int, int]] = []
    for start, length in free:
        if joined and joined[-1][0] + joined[-1][1] == start:
            joined[-1] = (joined[-1][0], joined[-1][1] + length)
        else:
            joined.append((start, length))
    free[:] = joined


def address(code: Code, slot: Slot, is_fixed: bool = True) -> Lanes:
    """The address of a slot, from the table of pointers, which does not change while a kernel runs."""
    table = Lanes(code, "%table", PTR)
    entry = code.offset(table, slot.entry, Type("ptr"))
    base = code.add(f"load ptr, {entry.typed}" + (", !invariant.load !0" if is_fixed else ""), PTR)
    return code.offset(base, slot.offset, Type("i8"))


class Pointers:
    """The addresses that one kernel uses, each loaded once at its start."""

    def __init__(self, code: Code, memory: Memory, aliases: Mapping[Node, Node]):
        self.code, self.memory, self.aliases = code, memory, aliases
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
            lines, self.code.lines = self.code.lines, []
            self.known[slot] = address(self.code, slot)
            self.code.hoisted += self.code.lines
            self.code.lines = lines
        return self.known[slot]
