"""Loops and choices in native code: a function for each body, called with pointers to what it reads and writes.

States alternate between two buffers, and the first step reads them where the operands are; a state that the body
updates in place is copied once, to where its final value belongs. A body of few scalars becomes part of the loop; its
states are updated in place on the stack, where LLVM keeps them in registers. So does a body of few kernels of one
element, such as updates of an array; its small states are copied to where they are read. A slice of a sequence is read
where it is, and an output is written where it belongs. A loop with a condition writes its outputs to memory that grows
as it runs. That sequence is passed on as a pointer, and its length as the number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.forms.classify import is_update
from wengert.compiler.machine.target import machine_target
from wengert.compiler.program.program import NO_MEMORY
from wengert.compiler.program.program_plan import branch_pairs
from wengert.compiler.schedule.memory_plan import aligned_size
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.control.loop import LOOP
from wengert.control.residuals import has_unknown_length
from wengert.core import machine
from wengert.graph.costs import count_work
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.ops.indexing.subscripts import gather

if TYPE_CHECKING:
    from wengert.compiler.program.module_text import Body
    from wengert.compiler.program.program_writer import ProgramWriter

I8, I32, POINTER = Type("i8"), Type("i32"), Type("ptr")


def step_work(graph: Graph) -> int:
    """The operations of one step of a loop, at least; many if it has a loop that may take long."""
    if any(node.primitive is LOOP and node.params["shape"].length is None for node in graph.operations):
        return max(machine.current.operations_between_clock_looks >> 3, 1)
    work = count_work(graph)
    moved = work.read + work.written - sum(map(untouched_bytes, graph.operations))
    return max(work.flops + moved // 16, 1)


def untouched_bytes(node: Operation) -> int:
    """The bytes of large operands and results that updates in place, or reads at an index, leave alone, roughly."""
    if is_update(node):
        return node.args[0].nbytes + node.nbytes
    return node.args[0].nbytes if is_a(node, gather) else 0


def keeps_states_apart(body: Graph, first: int, states: int) -> bool:
    """Whether no state becomes the old value of another, so that each can be replaced where it is."""
    old = body.inputs[first : first + states]
    return not any(new in old and new is not old[k] for k, new in enumerate(body.outputs[:states]))


class ControlWriter:
    """Writes one loop or choice of a program."""

    def __init__(self, writer: ProgramWriter, step: Operation):
        self.writer, self.step, self.code = writer, step, writer.code
        self.operands = [self.pointer_to(a) for a in step.args]
        self.bodies: list[Body] = []
        used = writer.schedule.outputs_of(step)
        self.used = {u.params["index"]: writer.target_address(u) for u in used}
        self.taken = {u.params["index"] for u in used if u in writer.memory.taken}

    def pointer_to(self, node: Node) -> Lanes:
        """The address of an operand; a sequence of unknown length is stored as a pointer."""
        address = self.writer.operand_address(node)
        return self.code.load(address, PTR) if has_unknown_length(node.spec) else address

    def at(self, pointers: Lanes, i: int) -> Lanes:
        """The address of a pointer in a table of pointers."""
        return self.code.offset(pointers, i, POINTER)

    def table(self, name: str, entries: int) -> Lanes:
        """A table of pointers on the stack."""
        return self.writer.allocate(name, 8 * max(entries, 1), True)

    def call(self, body: str, inputs: Lanes, outputs: Lanes, arena: Lanes) -> Lanes:
        """Call the function of a body; returns its status."""
        return self.code.add(f"call i32 @{body}({inputs.typed}, {outputs.typed}, {arena.typed})", I32)

    def scratch(self, name: str, sizes: list[int]) -> list[Lanes]:
        """Buffers of these sizes, in one allocation."""
        whole = self.writer.allocate_scratch(name, sum(map(aligned_size, sizes)))
        buffers, offset = [], 0
        for size in sizes:
            buffers.append(self.code.offset(whole, offset, I8))
            offset += aligned_size(size)
        return buffers


class SwitchWriter(ControlWriter):
    """Writes a choice: it calls the function of one branch."""

    def write(self) -> str:
        """Write it; returns a line for the report."""
        code, step = self.code, self.step
        pairs = branch_pairs(tuple(step.params["branches"]))
        bodies = self.bodies = [self.writer.write_body(branch, pairs) for branch in step.params["branches"]]
        name = f"{bodies[0].name}.switch"
        index, *operands = self.operands
        arena = self.writer.allocate_scratch(f"{name}.arena", max(body.arena for body in bodies))
        outputs = bodies[0].graph.outputs
        unused = [k for k in range(len(outputs)) if k not in self.used]
        targets = self.used | dict(
            zip(unused, self.scratch(f"{name}.unused", [outputs[k].nbytes for k in unused]), strict=True)
        )
        reads, writes = self.table(f"{name}.inputs", len(operands)), self.table(f"{name}.outputs", len(targets))
        for k, operand in enumerate(operands):
            code.store(operand, self.at(reads, k))
        for k, target in targets.items():
            code.store(target, self.at(writes, k))
        for i, o in pairs:
            if o not in self.taken:
                self.code.copy(targets[o], operands[i], outputs[o].nbytes)
            code.store(targets[o], self.at(reads, i))
        chosen = code.load(index, Type.from_dtype(step.args[0].dtype)).to("i64")
        done = code.label("switch.done")
        for k, body in enumerate(bodies):
            here, following = code.label(f"branch.{k}"), code.label("switch.next")
            is_last = k == len(bodies) - 1
            if is_last:
                code.jump(here)
            else:
                code.branch(chosen < k + 1, here, following)
            code.begin(here)
            self.writer.pass_on(self.call(body.name, reads, writes, arena))
            code.jump(done)
            if not is_last:
                code.begin(following)
        code.begin(done)
        return f"switch: one of {len(bodies)} branches"


class LoopWriter(ControlWriter):
    """Writes a loop."""

    def __init__(self, writer: ProgramWriter, step: Operation):
        super().__init__(writer, step)
        code, self.shape = self.code, step.params["shape"]
        self.condition = None if step.params["condition"] is None else writer.write_body(step.params["condition"])
        first, states = self.shape.constants, self.shape.states
        self.body = writer.write_body(step.params["body"], [(first + k, k) for k in range(states)])
        self.bodies = [*([self.condition] if self.condition else []), self.body]
        self.name = self.body.name
        self.steps: Lanes | None = None
        if self.shape.length is not None:
            self.steps = code.constant(self.shape.length, I64)
        elif self.condition is None:
            count, *self.operands = self.operands
            self.steps = code.load(count, I64)
        self.is_in_registers = self.body.is_in_registers and keeps_states_apart(self.body.graph, first, states)
        outputs = self.body.graph.outputs
        in_place = frozenset(range(states)) if self.is_in_registers else self.body.in_place
        grows = self.shape.length is None
        self.growing = {k: writer.own_pointer() for k in self.used if grows and states <= k < len(outputs)}
        if self.growing and not machine_target().may_allocate:
            writer.shared.refused.append(step)
        plain = [k for k in range(states, len(outputs)) if k not in self.used]
        changing = [k for k in range(states) if k not in in_place]
        owned = [k for k in in_place if k not in self.used or self.is_in_registers]
        buffers = iter(
            self.scratch(f"{self.name}.states", [outputs[k].nbytes for k in (*changing, *changing, *plain, *owned)])
        )
        self.first, self.second, self.unused, own = [
            dict(zip(keys, buffers, strict=False)) for keys in (changing, changing, plain, owned)
        ]
        is_copied = lambda k: self.body.is_inline and outputs[k].nbytes <= machine.current.max_bytes_of_copied_state
        self.copied = frozenset(filter(is_copied, self.first))
        self.in_place = {k: own[k] if k in own else self.used[k] for k in in_place}
        self.arena = writer.allocate_scratch(
            f"{self.name}.arena", max(self.body.arena, self.condition.arena if self.condition else 0)
        )
        self.reads = self.table(f"{self.name}.inputs", len(self.body.graph.inputs))
        self.writes = self.table(f"{self.name}.outputs", len(outputs))
        is_never_stopped = self.body.is_inline and not self.body.has_control and self.condition is None
        self.status = code.variable(I32, 0) if is_never_stopped else None

    def write(self) -> str:
        """Write it; returns a line for the report."""
        code, shape = self.code, self.shape
        first = shape.constants
        for n, operand in enumerate(self.operands[: first + shape.states]):
            code.store(operand, self.at(self.reads, n))
        for k, buffer in self.first.items():
            if k in self.copied:
                self.code.copy(buffer, self.operands[first + k], self.body.graph.outputs[k].nbytes)
                code.store(buffer, self.at(self.reads, first + k))
            code.store(self.second[k] if k in self.copied else buffer, self.at(self.writes, k))
        for k, buffer in self.in_place.items():
            self.begin_in_place(k, buffer)
        if self.steps is not None:
            for pointer in self.growing:
                self.reserve(pointer, self.steps)
        number = code.variable(I64, 0)
        capacity, last_look = code.variable(I64, 0), code.variable(I64, 0)
        most = machine.current.max_operations_of_uninterrupted_loop
        is_long = shape.length is None or shape.length * step_work(self.body.graph) > most
        is_interrupted = is_long and not machine_target().is_freestanding
        head, body, done = code.label("loop"), code.label("step"), code.label("loop.done")
        code.jump(head)
        code.begin(head)
        i = code.load(number, I64)
        if self.condition is None:
            assert self.steps is not None
            code.branch(i < self.steps, body, done)
        else:
            code.branch(self.holds(), body, done)
        code.begin(body)
        if is_interrupted:
            self.look_at_signals(i, last_look)
        if self.condition is not None and self.growing:
            self.grow(i, capacity)
        self.run_step(i)
        code.store(i + 1, number)
        code.jump(head)
        code.begin(done)
        self.finish(code.load(number, I64))
        length = "steps until a condition" if self.condition else shape.length or "steps back"
        changed = sum(not self.is_kept(k) for k in self.in_place)
        in_place = f", {changed} of {shape.states} states in place" if changed else ""
        return f"{self.name}: loop of {length} over {len(self.body.graph.operations)} operations{in_place}"

    def begin_in_place(self, k: int, buffer: Lanes) -> None:
        """Copy a state to the memory in which it is updated; one that does not change is read where it is."""
        code, i = self.code, self.shape.constants + k
        if not self.is_kept(k):
            if k not in self.taken or self.is_in_registers:
                self.code.copy(buffer, self.operands[i], self.body.graph.outputs[k].nbytes)
            code.store(buffer, self.at(self.reads, i))
            code.store(buffer, self.at(self.writes, k))

    def look_at_signals(self, i: Lanes, last_look: Lanes) -> None:
        """Let Ctrl-C end the loop: from time to time, by the work of a step."""
        code = self.code
        steps = machine.current.operations_between_clock_looks // step_work(self.body.graph)
        often = 1 << max(steps.bit_length() - 1, 0)
        look, go_on = code.label("look"), code.label("seen")
        code.branch((i & (often - 1)).eq(often - 1), look, go_on)
        code.begin(look)
        patience = machine.current.nanoseconds_between_signal_looks
        self.writer.pass_on(code.add(f"call i32 @wengert.interrupted({last_look.typed}, i64 {patience})", I32))
        code.jump(go_on)
        code.begin(go_on)

    def is_kept(self, k: int) -> bool:
        """Whether a state never changes."""
        graph = self.body.graph
        return graph.outputs[k] is graph.inputs[self.shape.constants + k]

    def holds(self) -> Lanes:
        """Whether the condition holds for the present states."""
        assert self.condition is not None
        code = self.code
        (answer,) = self.scratch(f"{self.condition.name}.answer", [1])
        target = self.table(f"{self.condition.name}.outputs", 1)
        code.store(answer, self.at(target, 0))
        self.writer.pass_on(self.call(self.condition.name, self.reads, target, self.arena))
        return code.load(answer, I8).ne(0)

    def run_step(self, i: Lanes) -> None:
        """Call the body for step i, and exchange the buffers of the states."""
        code, shape, graph = self.code, self.shape, self.body.graph
        last = shape.constants + shape.states
        if shape.reverse:
            assert self.steps is not None
            i = self.steps - 1 - i
        for k in range(last, len(self.operands)):
            code.store(code.offset(self.operands[k], i * graph.inputs[k].nbytes, I8), self.at(self.reads, k))
        for k in range(shape.states, len(graph.outputs)):
            start = code.load(self.growing[k], PTR) if k in self.growing else self.used.get(k)
            target = self.unused[k] if start is None else code.offset(start, i * graph.outputs[k].nbytes, I8)
            code.store(target, self.at(self.writes, k))
        self.take_status(self.call(self.name, self.reads, self.writes, self.arena))
        for k, buffer in self.first.items():
            if k in self.copied:
                self.code.copy(buffer, self.second[k], graph.outputs[k].nbytes)
                continue
            new = code.load(self.at(self.writes, k), PTR)
            code.store(new, self.at(self.reads, shape.constants + k))
            is_first = new.eq(self.first[k])
            other = code.add(f"select {is_first.typed}, {self.second[k].typed}, {self.first[k].typed}", PTR)
            code.store(other, self.at(self.writes, k))

    def take_status(self, status: Lanes) -> None:
        """Return the status of a step that fails; if steps are inline, the first such status is returned at the end.

        Steps after one that fails do no harm, and a branch would cut each step in two.
        """
        if self.status is None:
            self.writer.pass_on(status)
        else:
            known = self.code.load(self.status, I32)
            self.code.store(select(known.eq(0), status, known), self.status)

    def grow(self, i: Lanes, capacity: Lanes) -> None:
        """Double the memory of the growing sequences when it is full."""
        code = self.code
        full, fits = code.label("full"), code.label("fits")
        code.branch(i < code.load(capacity, I64), fits, full)
        code.begin(full)
        known = code.load(capacity, I64)
        is_new = known.eq(0)
        first = machine.current.first_slices_of_growing_sequence
        larger = code.add(f"select {is_new.typed}, i64 {first}, {(known + known).typed}", I64)
        code.store(larger, capacity)
        for k in self.growing:
            self.reserve(k, larger)
        code.jump(fits)
        code.begin(fits)

    def reserve(self, k: int, slices: Lanes) -> None:
        """Memory for a number of slices of an output."""
        code, pointer = self.code, self.growing[k]
        size = slices * max(self.body.graph.outputs[k].nbytes, 1)
        old, width = code.load(pointer, PTR), Type(f"i{8 * machine_target().pointer_bytes}")
        new = code.call("@realloc", PTR, old, (size + 64).to(width.kind))
        self.writer.require(new.ne(Lanes(code, "null", PTR)), NO_MEMORY)
        code.store(new, pointer)

    def finish(self, steps: Lanes) -> None:
        """Put the final states, pointers to sequences, and the number of steps where they belong, if no step failed."""
        code, shape, outputs = self.code, self.shape, self.body.graph.outputs
        if self.status is not None:
            self.writer.pass_on(code.load(self.status, I32))
        for k, target in self.used.items():
            if k < shape.states:
                is_updated = k in self.in_place and not self.is_in_registers and not self.is_kept(k)
                if is_updated or (k in self.taken and self.is_kept(k)):
                    continue  # it is there
                source = code.load(self.at(self.reads, shape.constants + k), PTR)
                self.code.copy(target, source, outputs[k].nbytes)
            elif k in self.growing:
                code.store(code.load(self.growing[k], PTR), target)
            elif k == len(outputs):
                code.store(steps, target)
