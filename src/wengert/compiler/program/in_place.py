"""Updates in place: results that take over the memory of a value that nobody needs any more.

An assignment `x[i] = v` writes to a copy of x. It needs no copy if it is the last step that reads x: then it costs what
it writes. So a step that updates x is moved behind all others that read x, unless one of these needs its result. The
same holds for the states of a loop inside of another one, and for what the branches of a choice update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from wengert.compiler.forms.gather import Written
from wengert.compiler.schedule.memory_plan import Memory, Slot
from wengert.compiler.schedule.schedule import Schedule
from wengert.graph.ir import Node, Operation


class Update(NamedTuple):
    """A result of a step that may take over the memory of a value."""

    new: Node
    old: Node


class Step:
    """A step of a program: the values in memory that it reads and writes, and what it may do in place."""

    def __init__(self, step: Any, reads: Sequence[Node], writes: Sequence[Node], updates: Sequence[Update]):
        self.step, self.reads, self.writes, self.updates = step, reads, writes, updates


class InPlace:
    """Decides which results take over the memory of other values, and the order of the steps.

    `pairs` are inputs with the outputs that replace them in the next run: they may share memory. `is_complete` says
    whether no update needs a copy because of a step that reads the old value and needs the new one.
    """

    def __init__(self, schedule: Schedule, memory: Memory, steps: Sequence[Step], pairs: Sequence[tuple[int, int]]):
        self.graph, self.memory, self.steps, self.pairs = schedule.graph, memory, list(steps), pairs
        self.position = {id(step): i for i, step in enumerate(steps)}
        self.readers: dict[Node, list[Step]] = {}
        for step in steps:
            for node in step.reads:
                self.readers.setdefault(node, []).append(step)
        copied = {base for base, _ in memory.copies}
        inputs = [self.graph.inputs[i] for i, _ in pairs]
        self.free = {n for n in [*schedule.stored, *inputs] if n not in memory.outputs and n not in copied}
        self.takers: dict[Node, tuple[Step, Node]] = {}
        self.is_complete = True

    def decide(self) -> tuple[tuple[int, int], ...]:
        """Decide; returns the pairs that share memory."""
        for step in list(self.steps):
            for update in step.updates:
                self.take(step, *update)
        shared = tuple([pair for pair in self.pairs if self.is_kept(*pair) or self.is_updated(*pair)])
        roots = {self.graph.inputs[i] for i, _ in shared}
        for given in self.graph.inputs:
            if given in self.takers and given not in roots:
                del self.memory.taken[self.takers.pop(given)[1]]  # this one needs a copy
        for node in list(self.takers):
            if node not in self.memory.taken and node not in self.memory.given:
                end = self.end_of(node)
                if end in self.memory.outputs:
                    self.memory.outputs[node] = self.memory.outputs[end]
        return shared

    def take(self, step: Step, new: Node, old: Node) -> None:
        """Let a result take over the memory of a value, if it is the last step that reads it, or can be."""
        if old not in self.free or old in self.takers:
            return
        if self.move_behind(step, [reader for reader in self.readers.get(old, ()) if reader is not step]):
            self.takers[old] = step, new
            self.memory.taken[new] = old
        else:
            self.is_complete = False

    def move_behind(self, step: Step, readers: Sequence[Step]) -> bool:
        """Run a step after others, if none of them and none in between needs its result or overwrites its operands."""
        here = self.position[id(step)]
        last = max([self.position[id(reader)] for reader in readers], default=here)
        between = self.steps[here + 1 : last + 1]
        reads, writes = set(step.reads), set(step.writes)
        if any(not writes.isdisjoint(other.reads) for other in between):
            return False
        if any(taker in between for taker, _ in [self.takers[node] for node in reads if node in self.takers]):
            return False
        if between:
            self.steps[here : last + 1] = [*between, step]
            self.position |= {id(moved): here + i for i, moved in enumerate(self.steps[here : last + 1])}
        return True

    def is_kept(self, i: int, o: int) -> bool:
        """Whether an output is the input that it replaces: then there is nothing to do."""
        node = self.graph.inputs[i]
        if self.graph.outputs[o] is not node or node in self.takers:
            return False
        self.memory.copies.remove((node, Slot(self.memory.first_output + o)))
        return True

    def is_updated(self, i: int, o: int) -> bool:
        """Whether updates in place make an output of the input that it replaces."""
        node, new = self.graph.inputs[i], self.graph.outputs[o]
        has_own_memory = self.memory.outputs.get(new) == Slot(self.memory.first_output + o)
        return node in self.takers and self.end_of(node) is new and has_own_memory and node.spec == new.spec

    def end_of(self, node: Node) -> Node:
        """The last value in the memory of this one."""
        while node in self.takers:
            node = self.takers[node][1]
        return node


def scatter_update(node: Operation, base: Node, reads: Sequence[Node]) -> Iterator[Update]:
    """What a scatter may do in place: it writes one element, or reads nothing of what it overwrites."""
    if Written.by(node).size == 1 or base not in reads:
        yield Update(node, base)
