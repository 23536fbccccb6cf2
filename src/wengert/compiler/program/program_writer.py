"""A graph as one native program: scheduled, planned in memory, and written as LLVM text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import filterfalse
from typing import NamedTuple

import numpy as np

from wengert.compiler.forms.classify import Form, is_immediate
from wengert.compiler.forms.lowering import Routine, lowering_of
from wengert.compiler.forms.strides import contiguous_strides
from wengert.compiler.kernels.kernel import KernelText
from wengert.compiler.machine.target import machine_target
from wengert.compiler.machine.translation import Effort
from wengert.compiler.program.control_text import LoopWriter, SwitchWriter
from wengert.compiler.program.kernel_lists import find_equal_kernels, write_list
from wengert.compiler.program.module_text import Body, BodyText, Shared, upcall_table, write_modules
from wengert.compiler.program.prepare import prepare_body
from wengert.compiler.program.program import FIRST_FAILURE, NO_MEMORY, RAISED, Fallback, OperandSource, Program
from wengert.compiler.program.program_plan import Plan, home_of, is_read_transposed, make_plan, read_layout, stored_base
from wengert.compiler.routines.call import Operand, RoutineCall
from wengert.compiler.schedule.memory_plan import ALIGNMENT, Slot, address, aligned_size
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import share_work
from wengert.control.loop import LOOP
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation

I32 = Type("i32")


def write_program(graph: Graph, updates: Sequence[tuple[int, int]] = (), effort: Effort | None = None) -> Program:
    """The native program of a graph that has been expanded.

    `updates` pairs inputs with the outputs that replace them afterwards.
    """
    return ProgramWriter(make_plan(graph, tuple(updates), ""), Shared(effort), "").write()


class OwnPointer(NamedTuple):
    """A variable for a pointer to memory of one run, and whether that is kept for the next one."""

    name: str
    variable: Lanes
    is_kept: bool


def permute_constant(constant: Constant, order: Sequence[int] | None) -> Constant:
    """A constant as it is stored."""
    return constant if order is None else Constant(np.ascontiguousarray(constant.value.transpose(order)))


class ProgramWriter:
    """Writes the function that runs all steps."""

    def __init__(self, plan: Plan, shared: Shared, prefix: str):
        schedule, memory, kernels = plan.schedule, plan.memory, plan.kernels
        self.target = machine_target()
        self.schedule, self.memory, self.kernels, self.shared, self.prefix = schedule, memory, kernels, shared, prefix
        self.in_place, self.failing, self.first_safe = plan.shared, plan.failing, plan.first_safe
        self.first_constant = len(shared.constants)
        shared.constants += [permute_constant(c, schedule.axis_orders.get(c)) for c in memory.constants]
        equal = find_equal_kernels(kernels)
        shared.equal_kernels += equal
        self.records = {name: record for group in equal for name, record in group.records.items()}
        self.waiting: list[str] = []  # records of kernels that a list will run
        shared.kernels += [kernel for kernel in kernels if kernel is not None and kernel.name not in self.records]
        self.code = Code()
        self.calls_python = any(self.may_call_python(step) for step in schedule.steps)
        self.lends_memory = self.calls_python and not prefix
        self.pointers: list[OwnPointer] = []
        self.returned, self.leave = self.code.variable(I32, 0), self.code.label("leave")
        self.summary: list[str] = []
        self.scratch_on_stack = 0
        self.taken = memory.size if prefix else 0  # bytes of the memory that the caller gives

    def may_call_python(self, step: Kernel | Operation) -> bool:
        """Whether a step calls NumPy, which may raise an error."""
        if isinstance(step, Kernel) or self.schedule.forms[step] is Form.LOOP or self.target.is_freestanding:
            return False
        return self.schedule.forms[step] is Form.FALLBACK or self.schedule.may_fail(step)

    def write(self) -> Program:
        """The program."""
        graph, memory, shared = self.schedule.graph, self.memory, self.shared
        self.write_steps()
        modules, vector_functions = write_modules(self.code, shared)
        return Program(
            modules,
            vector_functions,
            tuple(node.value for node in shared.constants),
            tuple(shared.fallbacks),
            tuple(node.spec for node in graph.inputs),
            tuple(node.spec for node in graph.outputs),
            shared.is_large,
            shared.is_parallel,
            tuple(sorted(shared.blas_functions(self.code))),
            tuple(self.summary),
            memory.size,
            self.in_place,
            tuple([slot.entry - memory.first_output for node, slot in memory.outputs.items() if self.is_late(node)]),
            self.taken,
            tuple(shared.refused),
            tuple(shared.blas_users.items()) if self.target.is_freestanding else (),
        )

    def is_late(self, node: Node) -> bool:
        """Whether an output is stored when nothing can fail any more."""
        return home_of(self.schedule, node) >= self.first_safe

    def write_steps(self, replaced: Collection[int] = ()) -> None:
        """Write all steps. Those outputs of a body that are `replaced` may share the memory of inputs."""
        memory = self.memory
        table = self.write_table()
        is_early = lambda copy: (
            self.schedule.is_in_registers
            and copy[0] in memory.given
            and copy[1].entry - memory.first_output not in replaced
        )
        for base, target in filter(is_early, memory.copies):
            self.copy(memory.slot(base), target, base.nbytes)
        has_kernel_failed = False  # perhaps
        for k, (step, kernel) in enumerate(zip(self.schedule.steps, self.kernels, strict=True)):
            is_next_to_fail = kernel is None and k in self.failing  # which would raise an error of its own
            is_checked = has_kernel_failed and (is_next_to_fail or (k == self.first_safe and not self.prefix))
            if is_checked or kernel is None or kernel.name not in self.records:
                self.run_list(table)
            if is_checked:
                self.pass_on(self.failure())
                has_kernel_failed = False
            has_kernel_failed = has_kernel_failed or (kernel is not None and k in self.failing)
            if kernel is not None:
                self.run_kernel(step, kernel, table)
            elif self.schedule.forms[step] is Form.LOOP:
                kind = LoopWriter if step.primitive is LOOP else SwitchWriter
                writer = kind(self, step)
                self.summary += [writer.write(), *[f"  {line}" for body in writer.bodies for line in body.summary]]
            elif self.schedule.forms[step] is Form.ROUTINE:
                self.run_routine(step, table)
            else:
                self.run_fallback(step, table)
        self.run_list(table)
        for base, target in filterfalse(is_early, memory.copies):
            self.copy(memory.slot(base), target, base.nbytes)
        self.finish()

    # Memory

    def write_table(self) -> Lanes:
        """The table of pointers, filled from the arguments."""
        code, memory, graph = self.code, self.memory, self.schedule.graph
        inputs, outputs = len(graph.inputs), len(graph.outputs)
        groups = [
            (memory.first_input, inputs, "%inputs", 0),
            (memory.first_output, outputs, "%outputs", 0),
            (memory.first_constant, len(memory.constants), "@wengert.constants", self.first_constant),
        ]
        if self.lends_memory:
            first_object = memory.arena + memory.first_input
            groups += [(first_object, inputs, "%inputs", inputs), (first_object + inputs, outputs, "%outputs", outputs)]
        entries = memory.arena + 1 + (inputs + outputs if self.lends_memory else 0)
        table = self.allocate("table", 8 * entries, entries <= machine.current.max_stack_pointers_of_table)
        self.status = code.variable(I64, 0)
        code.store(self.status, table)
        for first, count, source, start in groups:
            for i in range(count):
                pointer = code.load(code.offset(Lanes(code, source, PTR), start + i, Type("ptr")), PTR)
                code.store(pointer, code.offset(table, first + i, Type("ptr")))
        if memory.size:
            most = min(machine.current.max_stack_bytes_of_arena, self.target.stack_bytes)
            is_on_stack = memory.size <= most and not self.calls_python
            arena = Lanes(code, "%arena", PTR) if self.prefix else self.allocate("arena", memory.size, is_on_stack)
            code.store(arena, code.offset(table, memory.arena, Type("ptr")))
        return table

    def allocate(self, name: str, size: int, is_on_stack: bool) -> Lanes:
        """Memory for one run of the program."""
        code, memory = self.code, Lanes(self.code, f"%{name}", PTR)
        if is_on_stack:
            code.hoisted.append(f"  {memory.text} = alloca [{size} x i8], align {ALIGNMENT}")
            return memory
        if self.target.is_freestanding:
            given = "%arena" if self.prefix else "%memory"
            code.do(f"{memory.text} = getelementptr i8, ptr {given}, i64 {self.taken}")
            self.taken += aligned_size(size)
            return memory
        is_kept = size > machine.current.max_bytes_of_kept_array and not self.calls_python
        if is_kept:
            self.shared.keeps_memory = True
            code.do(f"{memory.text} = call ptr @wengert.take_memory(i64 {aligned_size(size)})")
        else:
            code.declarations["@aligned_alloc"] = "declare ptr @aligned_alloc(i64, i64)"
            code.do(f"{memory.text} = call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 {aligned_size(size)})")
        code.store(memory, self.own_pointer(name, is_kept))
        self.require(memory.ne(Lanes(code, "null", PTR)), NO_MEMORY)
        return memory

    def own_pointer(self, name: str = "", is_kept: bool = False) -> Lanes:
        """A variable for a pointer to memory that is freed at the end, null at first."""
        code = self.code
        variable = code.name()
        code.hoisted += [f"  {variable} = alloca ptr, align 8", f"  store ptr null, ptr {variable}"]
        self.pointers.append(OwnPointer(name, Lanes(code, variable, PTR), is_kept))
        return self.pointers[-1].variable

    def release(self) -> None:
        """Free all memory. The table has the present arena: Python may have kept the first one."""
        code = self.code
        for name, variable, is_kept in reversed(self.pointers):
            memory = code.load(variable, PTR)
            if name != "arena" and not is_kept:
                code.call("@free", None, memory)
                continue
            exists, freed = code.label("memory.exists"), code.label("memory.freed")
            code.branch(memory.ne(Lanes(code, "null", PTR)), exists, freed)
            code.begin(exists)
            if is_kept:
                code.do(f"call void @wengert.return_memory({memory.typed})")
            else:
                entry = code.offset(Lanes(code, "%table", PTR), self.memory.arena, Type("ptr"))
                code.call("@free", None, code.load(entry, PTR))
            code.jump(freed)
            code.begin(freed)

    def require(self, condition: Lanes, status: int) -> None:
        """Return a status unless a condition holds."""
        code = self.code
        stop, go_on = code.label("stop"), code.label("next")
        code.branch(condition, go_on, stop)
        code.begin(stop)
        code.store(code.constant(status, I32), self.returned)
        code.jump(self.leave)
        code.begin(go_on)

    def pass_on(self, status: Lanes) -> None:
        """Return the status of a body unless it is zero."""
        code = self.code
        stop, go_on = code.label("stop"), code.label("next")
        code.branch(status.eq(0), go_on, stop)
        code.begin(stop)
        code.store(status, self.returned)
        code.jump(self.leave)
        code.begin(go_on)

    def failure(self) -> Lanes:
        """What to return for the failures of kernels so far: the number of the first one, or zero."""
        code, none = self.code, self.code.constant(False, Type("i1"))
        failures = code.load(self.status, I64)
        first = code.intrinsic("cttz", I64, failures, none).to("i32") + FIRST_FAILURE
        return select(failures.eq(0), first.like(0), first)

    def finish(self) -> None:
        """Return the status of the kernels, or the one with which a step stopped, after all memory is freed."""
        code = self.code
        code.store(self.failure(), self.returned)
        code.jump(self.leave)
        code.begin(self.leave)
        self.release()
        code.do(f"ret {code.load(self.returned, I32).typed}")

    def address(self, slot: Slot) -> Lanes:
        """The address of a slot; Python may exchange the arena."""
        return address(self.code, slot, is_fixed=not (self.lends_memory or self.schedule.is_inline))

    def copy(self, source: Slot, target: Slot, size: int) -> None:
        """Copy bytes from one slot to another."""
        to, at = self.address(target), self.address(source)
        self.code.copy(to, at, size)

    # Steps

    def run_kernel(self, step: Kernel, kernel: KernelText, table: Lanes) -> None:
        """Call a kernel, on all cores if it is large, or by a list if there are many like it."""
        code = self.code
        extent = code.constant(kernel.extent, I64)
        if kernel.name in self.records:
            self.waiting.append(self.records[kernel.name])
        elif kernel.is_shared:
            share_work(code, kernel.name, table, kernel.extent, kernel.grain, kernel.work)
        else:
            code.do(f"call void @{kernel.name}({table.typed}, i64 0, {extent.typed})")
        if kernel.combine is not None:
            code.do(f"call void @{kernel.name}.combine({table.typed}, i64 0, i64 0)")
        stored = ", ".join([f"{n.spec!r}" for n in step.maps] + [f"{n.primitive.name} {n.spec!r}" for n in step.folds])
        self.summary.append(
            f"{kernel.name}: loop over {list(step.domain)} -> {stored}" + (", on all cores" if kernel.is_shared else "")
        )

    def run_list(self, table: Lanes) -> None:
        """Call the kernels that wait."""
        if self.waiting:
            name = f"wengert.list.{len(self.shared.lists)}"
            self.shared.lists.append(write_list(name, self.waiting))
            self.code.do(f"call void @wengert.run_list({table.typed}, ptr @{name}, i64 {len(self.waiting)})")
            self.waiting.clear()

    def run_routine(self, step: Operation, table: Lanes) -> None:
        """Call a routine, and NumPy if it failed: NumPy raises the error."""
        code, schedule, memory = self.code, self.schedule, self.memory
        operands = [self.operand(step, a) for a in step.args]
        results: list[Lanes | None]
        if step.spec.__class__ is Spec:
            results = [self.target_address(step)]
        else:
            used = {user.params["index"]: user for user in schedule.outputs_of(step)}
            results = [self.target_address(used[i]) if i in used else None for i in range(len(step.spec))]
        workspace = self.address(memory.partials[step]) if step in memory.partials else None
        is_in_place = step in memory.taken
        call = RoutineCall(code, step, operands, results, workspace, self.shared, bool(self.prefix), is_in_place)
        failed = lowering_of(step, Routine).write(call)
        if failed is not None and self.target.is_freestanding:
            self.require(~failed, RAISED)
        elif failed is not None:
            fallback, done = code.label("failed"), code.label("done")
            code.branch(failed, fallback, done)
            code.begin(fallback)
            self.call_numpy(step, table, follows_failure=True)
            code.jump(done)
            code.begin(done)
        self.summary.append(f"{call.name}: {', '.join(repr(a.spec) for a in step.args)}")

    def operand(self, step: Operation, node: Node) -> Operand:
        """The address and the layout of an operand of a routine."""
        pointer = self.address(self.memory.slot(stored_base(self.schedule, node, step)))
        layout = read_layout(self.schedule, node, step)
        if layout is None:
            is_transposed = is_read_transposed(self.schedule, node)
            return Operand(pointer, is_transposed, contiguous_strides(node.shape))
        first = self.code.offset(pointer, layout.offset, Type.from_dtype(node.dtype))
        return Operand(first, False, layout.strides)

    # Loops and choices

    def write_body(self, graph: Graph, updates: Sequence[tuple[int, int]] = ()) -> Body:
        """Write the function of a body."""
        number, body = len(self.shared.bodies), prepare_body(graph)
        name = f"{self.prefix}body.{number}"
        self.shared.bodies.append(BodyText(name, Code()))
        writer = ProgramWriter(make_plan(body, tuple(updates), f"{name}."), self.shared, f"{name}.")
        writer.write_steps([o for _, o in updates])
        schedule = writer.schedule
        self.shared.bodies[number] = BodyText(name, writer.code, schedule.is_inline)
        shares = frozenset([o for _, o in writer.in_place])
        return Body(
            name,
            body,
            writer.taken,
            shares,
            tuple(writer.summary),
            schedule.is_inline,
            schedule.is_in_registers,
            bool(schedule.inlined),
        )

    def operand_address(self, node: Node) -> Lanes:
        """The address of an operand of a loop or choice."""
        return self.address(self.memory.slot(stored_base(self.schedule, node)))

    def target_address(self, node: Node) -> Lanes:
        """The address of an output of a loop or choice."""
        return self.address(self.memory.target(node))

    def allocate_scratch(self, name: str, size: int) -> Lanes:
        """Memory that one step needs, on the stack as long as all of it is small."""
        now = machine.current
        allowed = now.max_stack_bytes_of_body_loops if self.prefix else now.max_stack_bytes_of_program_loops
        most = min(allowed, self.target.stack_bytes)
        is_on_stack = self.scratch_on_stack + size <= most
        self.scratch_on_stack += size if is_on_stack else 0
        return self.allocate(name, max(size, 1), is_on_stack)

    def run_fallback(self, step: Operation, table: Lanes) -> None:
        """Call NumPy, if there is one."""
        if self.target.is_freestanding:
            self.shared.refused.append(step)
            return
        self.call_numpy(step, table)
        self.summary.append(f"NumPy: {step.primitive.name} {', '.join(repr(a.spec) for a in step.args)}")

    def call_numpy(self, step: Operation, table: Lanes, follows_failure: bool = False) -> None:
        """Call the upcall of an operation, and return if it raised an exception."""
        code, shared, number = self.code, self.shared, len(self.shared.fallbacks)
        operands = tuple([self.operand_source(a) for a in step.args])
        results: tuple[OperandSource | None, ...]
        if step.spec.__class__ is Spec:
            results = (OperandSource(self.memory.target(step), step.spec),)
        else:
            used = {u.params["index"]: u for u in self.schedule.outputs_of(step)}
            results = tuple(
                [
                    OperandSource(self.memory.target(used[i]), used[i].spec) if i in used else None
                    for i in range(len(step.spec))
                ]
            )
        shared.fallbacks.append(
            Fallback(step.primitive, step.params, operands, results, self.memory.arena, follows_failure)
        )
        shared.upcall_tables.append(upcall_table(number, operands, [r for r in results if r is not None]))
        count = len(operands) + sum(r is not None for r in results)
        upcall = code.load(code.offset(Lanes(code, "@wengert.upcalls", PTR), number, Type("ptr")), PTR)
        status = code.add(
            f"call i32 @wengert.entry.upcall({upcall.typed}, {table.typed}, ptr @operands.{number}, i64 {count})",
            Type("i32"),
        )
        self.require(status.eq(0), RAISED)

    def operand_source(self, node: Node) -> OperandSource:
        """Where a fallback finds an operand."""
        if is_immediate(node):
            assert isinstance(node, Constant)
            return OperandSource(None, None, node.value)
        if is_read_transposed(self.schedule, node):
            assert isinstance(node, Operation)
            return self.operand_source(node.args[0])._replace(is_transposed=True)
        slot = self.memory.slot(self.schedule.aliases.get(node, node))
        if self.memory.first_constant <= slot.entry < self.memory.arena:
            number = self.first_constant + slot.entry - self.memory.first_constant
            return OperandSource(None, node.spec, number, node.weak)
        return OperandSource(slot, node.spec, weak=node.weak, is_borrowed=bool(self.prefix))
