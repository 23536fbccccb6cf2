"""A graph as one native program: expanded, scheduled, planned in memory, written as LLVM's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.compiler import blas_calls
from wengert.compiler.blas_calls import MATMUL, is_matrix_transpose
from wengert.compiler.classify import Kind
from wengert.compiler.kernel import KernelText, KernelWriter
from wengert.compiler.lanes import I64, PTR, Code, Lanes, Type
from wengert.compiler.memory_plan import ALIGNMENT, Memory, Slot, address, aligned, is_immediate
from wengert.compiler.python_objects import ADDRESS, NEEDED_BY_UPCALL, NOTHING, PLACE, UPCALL
from wengert.compiler.schedule import Kernel, Schedule
from wengert.compiler.simd.vector_functions import declaration, definitions, is_inlined, symbol
from wengert.compiler.threads import NEEDED, PARALLEL
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation

RAISED, NO_MEMORY, OUT_OF_BOUNDS = 1, 2, 3
"""What `run` returns where something went wrong; where Python raised an exception, it is still set."""

LONG, LONG_KERNEL = 4000, 400
"""In a program of so many lines, kernels that are not large are translated quickly rather than well.

So are kernels of so many lines most of which prepare calls of vector functions: between these nothing stays in
registers anyway.
"""
STACK = 1 << 15
"""An arena of so many bytes is on the stack.

A larger one is allocated for each call, and so is every one in a program that calls Python, which may keep memory, or
call the program again.
"""
STACK_TABLE = 256
"""As many pointers are on the stack."""


SMALL = 1 << 15
"""Operands of so many bytes are copied for Python: that takes less time than to find out whether they are kept."""


class Where(NamedTuple):
    """How a fallback finds an operand: a place in memory, the number of a constant, or, without a spec, the operand
    itself.
    """

    slot: Slot | None
    spec: Spec | None
    value: Any = None
    weak: type | None = None  # that of Python's number, which takes the dtype of what it meets

    @property
    def is_small(self) -> bool:
        return self.spec is not None and self.spec.size * self.spec.dtype.itemsize <= SMALL


class Fallback(NamedTuple):
    """An operation that NumPy runs between native parts."""

    primitive: Primitive
    params: dict[str, Any]
    operands: tuple[Where, ...]
    results: tuple[Where | None, ...]  # None: nobody needs it


class Program(NamedTuple):
    """What there is to know of a compiled graph, beside its machine code."""

    text: str
    quick_text: str  # what is translated quickly
    vector_functions: tuple[tuple[str, Type], ...]
    constants: tuple
    fallbacks: tuple[Fallback, ...]
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    is_large: bool
    uses_blas: bool
    summary: tuple[str, ...]
    arena: int
    in_place: tuple[tuple[int, int], ...]  # inputs and outputs that may be one array


def write(graph: Graph, updates: Sequence[tuple[int, int]] = ()) -> Program:
    """The native program of a graph that has been expanded.

    `updates` pairs inputs with the outputs that take their place afterwards.
    """
    schedule = Schedule(graph)
    memory = Memory(schedule)
    reads, writes = [], []
    writers: list[KernelWriter | None] = []
    for i, step in enumerate(schedule.steps):
        writers.append(KernelWriter(step, schedule, memory, f"kernel.{i}") if isinstance(step, Kernel) else None)
        extent = writers[-1].plan if writers[-1] is not None else None
        if extent is not None:
            bases = [schedule.aliases.get(node, node) for node in extent.nodes]
            reads.append([b for b in bases if b in schedule.stored])
            writes.append(list(step.roots))
        else:
            reads.append([stored_base(schedule, a) for a in step.args])
            writes.append(
                [step]
                if step.spec.__class__ is Spec
                else [u for u in schedule.consumers.get(step, ()) if u.primitive is OUTPUT]
            )
    partials = [w.plan.partials() if w is not None else {} for w in writers]
    memory.plan([*reads, [base for base, _ in memory.copies]], [*writes, []], [*partials, {}])
    in_place = tuple([pair for pair in updates if overwrite(schedule, memory, writers, *pair)])
    written = [w.write() if w is not None else None for w in writers]
    return ProgramWriter(schedule, memory, written, in_place).program()


def overwrite(schedule: Schedule, memory: Memory, writers: Sequence[KernelWriter | None], i: int, o: int) -> bool:
    """Whether an output may be written to the memory of an input; its kernel is told so.

    It may if the kernel that makes it is the last to read the input, and reads each element where it writes one; and if
    nothing can go wrong on the way: after an error, the input must be what it was.
    """
    old, new = schedule.graph.inputs[i], schedule.graph.outputs[o]
    if (
        memory.outputs.get(new) != Slot(memory.first_output + o)
        or old.spec != new.spec
        or any(base is old for base, _ in memory.copies)
    ):
        return False
    may_fail = (Kind.FALLBACK, Kind.GATHER, Kind.SCATTER)
    if any(
        kind in may_fail or kind is Kind.LIBRARY and node.primitive is not MATMUL
        for node, kind in schedule.kinds.items()
    ):  # type: ignore[attr-defined]  # an operation
        return False
    home = next(
        k for k, step in enumerate(schedule.steps) if new in (step.roots if isinstance(step, Kernel) else (step,))
    )
    for step, writer in list(zip(schedule.steps, writers, strict=True))[home + 1 :]:
        nodes = writer.plan.nodes if writer is not None else [stored_base(schedule, a) for a in step.args]
        if any(schedule.aliases.get(node, node) is old for node in nodes):
            return False
    writer = writers[home]
    if writer is None or new not in writer.kernel.maps or not writer.plan.is_element_by_element:
        return False
    writer.elements.overwritten.add(old)
    return True


def stored_base(schedule: Schedule, node: Node) -> Node:
    """The value in memory that an operand of a library call or fallback is read from."""
    if is_matrix_transpose(node) and node not in schedule.stored and node not in schedule.aliases:
        assert isinstance(node, Operation)
        node = node.args[0]
    return schedule.aliases.get(node, node)


class ProgramWriter:
    """Writes the function that runs all steps."""

    def __init__(
        self,
        schedule: Schedule,
        memory: Memory,
        written: Sequence[KernelText | None],
        in_place: tuple[tuple[int, int], ...],
    ):
        self.schedule, self.memory, self.written, self.in_place = schedule, memory, written, in_place
        self.code = Code()
        self.calls_python = any(self.may_call_python(step) for step in schedule.steps)
        self.places: list[str] = []
        self.owned: list[Lanes] = []  # what is given back in the end
        self.fallbacks: list[Fallback] = []
        self.summary: list[str] = []

    def may_call_python(self, step: Kernel | Operation) -> bool:
        if isinstance(step, Kernel):
            return False
        is_triangular = step.primitive is not MATMUL
        return self.schedule.kinds[step] is not Kind.LIBRARY or is_triangular and not step.params["unit_diagonal"]

    def program(self) -> Program:
        graph, memory = self.schedule.graph, self.memory
        table = self.table()
        for step, kernel in zip(self.schedule.steps, self.written, strict=True):
            if kernel is not None:
                self.run_kernel(step, kernel, table)
            elif self.schedule.kinds[step] is Kind.LIBRARY and step.primitive is MATMUL:
                self.run_matmul(step)
            elif self.schedule.kinds[step] is Kind.LIBRARY:
                self.run_triangular(step, table)
            else:
                self.run_fallback(step, table)
        for base, target in memory.copies:
            self.copy(memory.slot(base), target, base.nbytes)
        self.finish()
        text, quick_text, vector_functions = self.modules()
        return Program(
            text,
            quick_text,
            vector_functions,
            tuple(node.value for node in memory.constants),
            tuple(self.fallbacks),
            tuple(node.spec for node in graph.inputs),
            tuple(node.spec for node in graph.outputs),
            any(w is not None and w.is_large for w in self.written),
            any(kind is Kind.LIBRARY for kind in self.schedule.kinds.values()),
            tuple(self.summary),
            memory.size,
            self.in_place,
        )

    def table(self) -> Lanes:
        """The table of pointers, filled from the arguments."""
        code, memory, graph = self.code, self.memory, self.schedule.graph
        inputs, outputs = len(graph.inputs), len(graph.outputs)
        groups = [
            (memory.first_input, inputs, "%inputs", 0),
            (memory.first_output, outputs, "%outputs", 0),
            (memory.first_constant, len(memory.constants), "@wengert.constants", 0),
        ]
        if self.calls_python:
            first_object = memory.arena + memory.first_input
            groups += [(first_object, inputs, "%inputs", inputs), (first_object + inputs, outputs, "%outputs", outputs)]
        entries = memory.arena + 1 + (inputs + outputs if self.calls_python else 0)
        table = self.allocated("table", 8 * entries, entries <= STACK_TABLE)
        self.status = code.variable(I64, 0)
        code.store(self.status, table)
        for first, count, source, start in groups:
            for i in range(count):
                pointer = code.load(code.offset(Lanes(code, source, PTR), start + i, Type("ptr")), PTR)
                code.store(pointer, code.offset(table, first + i, Type("ptr")))
        if memory.size:
            arena = self.allocated("arena", memory.size, memory.size <= STACK and not self.calls_python)
            code.store(arena, code.offset(table, memory.arena, Type("ptr")))
        return table

    def allocated(self, name: str, size: int, is_on_stack: bool) -> Lanes:
        """Memory of the program."""
        code, place = self.code, Lanes(self.code, f"%{name}", PTR)
        if is_on_stack:
            code.hoisted.append(f"  {place.text} = alloca [{size} x i8], align {ALIGNMENT}")
            return place
        code.declarations["@aligned_alloc"] = "declare ptr @aligned_alloc(i64, i64)"
        code.do(f"{place.text} = call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 {aligned(size)})")
        self.require(place.ne(Lanes(code, "null", PTR)), NO_MEMORY)
        self.owned.append(place)
        return place

    def require(self, condition: Lanes, status: int) -> None:
        """Go on only if a condition holds."""
        code = self.code
        stop, go_on = code.label("stop"), code.label("next")
        code.branch(condition, go_on, stop)
        code.begin(stop)
        self.release()
        code.do(f"ret i32 {status}")
        code.begin(go_on)

    def address(self, slot: Slot) -> Lanes:
        return address(self.code, slot, is_fixed=not self.calls_python)

    def run_kernel(self, step: Kernel, kernel: KernelText, table: Lanes) -> None:
        code = self.code
        extent = code.constant(kernel.extent, I64)
        if step.scatter is not None:
            zeros = self.address(self.memory.target(step.scatter)), code.constant(0, Type("i8"))
            code.call(
                "@llvm.memset.p0.i64",
                None,
                *zeros,
                code.constant(step.scatter.nbytes, I64),
                code.constant(False, Type("i1")),
            )
        if kernel.is_large:
            code.do(
                f"call void @wengert.parallel(ptr @{kernel.name}, {table.typed}, {extent.typed}, i64 {kernel.grain})"
            )
        else:
            code.do(f"call void @{kernel.name}({table.typed}, i64 0, {extent.typed})")
        if kernel.combine is not None:
            code.do(f"call void @{kernel.name}.combine({table.typed}, i64 0, i64 0)")
        stored = ", ".join([f"{n.spec!r}" for n in step.maps] + [f"{n.primitive.name} {n.spec!r}" for n in step.folds])
        self.summary.append(
            f"{kernel.name}: loop over {list(step.domain)} -> {stored}" + (", on all cores" if kernel.is_large else "")
        )

    def run_matmul(self, step: Operation) -> None:
        operands = []
        for a in step.args:
            transposed = is_matrix_transpose(a) and a not in self.schedule.stored and a not in self.schedule.aliases
            operands.append(blas_calls.Operand(stored_base(self.schedule, a), transposed))
        pointers = [self.address(self.memory.slot(o.node)) for o in operands]
        out = self.address(self.memory.target(step))
        blas_calls.write_matmul(self.code, step, operands[0], operands[1], (pointers[0], pointers[1], out))
        self.summary.append(f"gemm: {step.args[0].spec!r} @ {step.args[1].spec!r}")

    def run_triangular(self, step: Operation, table: Lanes) -> None:
        """A triangular system by BLAS; one that has no solution goes to NumPy, which says so."""
        code = self.code
        x, y = [stored_base(self.schedule, a) for a in step.args]
        matrices, result = self.address(self.memory.slot(x)), self.address(self.memory.target(step))
        regular, done = code.label("regular"), code.label("solved")
        if not step.params["unit_diagonal"]:
            singular = code.label("singular")
            code.branch(blas_calls.zeros_on_diagonals(code, step.args[0], matrices).ne(0), singular, regular)
            code.begin(singular)
            self.call_numpy(step, table)
            code.jump(done)
        else:
            code.jump(regular)
        code.begin(regular)
        self.copy(self.memory.slot(y), self.memory.target(step), step.nbytes)
        blas_calls.write_triangular(code, step, matrices, result)
        code.jump(done)
        code.begin(done)
        self.summary.append(f"trsm: {step.args[0].spec!r}, {step.args[1].spec!r}")

    def run_fallback(self, step: Operation, table: Lanes) -> None:
        self.call_numpy(step, table)
        self.summary.append(f"NumPy: {step.primitive.name} {', '.join(repr(a.spec) for a in step.args)}")

    def call_numpy(self, step: Operation, table: Lanes) -> None:
        code, number = self.code, len(self.fallbacks)
        results: tuple[Where | None, ...]
        if step.spec.__class__ is Spec:
            results = (Where(self.memory.target(step), step.spec),)
        else:
            used = {u.params["index"]: u for u in self.schedule.consumers.get(step, ()) if u.primitive is OUTPUT}
            results = tuple(
                [Where(self.memory.target(used[i]), used[i].spec) if i in used else None for i in range(len(step.spec))]
            )
        operands = tuple([self.where(a) for a in step.args])
        self.fallbacks.append(Fallback(step.primitive, step.params, operands, results))
        given = [(w.slot, w.spec.size * w.spec.dtype.itemsize if w.is_small and w.spec else ADDRESS) for w in operands]
        given += [(where.slot, ADDRESS) for where in results if where is not None]
        places = [
            f"{PLACE} {{ i64 {s.entry}, i64 {s.offset}, i64 {n} }}"
            if s
            else f"{PLACE} {{ i64 0, i64 0, i64 {NOTHING} }}"
            for s, n in given
        ]
        self.places.append(f"@places.{number} = private constant [{len(places)} x {PLACE}] [{', '.join(places)}]")
        upcall = code.load(code.offset(Lanes(code, "@wengert.upcalls", PTR), number, Type("ptr")), PTR)
        status = code.add(
            f"call i32 @wengert.entry.upcall({upcall.typed}, {table.typed}, ptr @places.{number}, i64 {len(places)})",
            Type("i32"),
        )
        self.require(status.eq(0), RAISED)

    def where(self, node: Node) -> Where:
        if is_immediate(node):
            assert isinstance(node, Constant)
            return Where(None, None, node.value)
        base = self.schedule.aliases.get(node, node)
        slot = self.memory.slot(base)
        if self.memory.first_constant <= slot.entry < self.memory.arena:
            return Where(None, node.spec, slot.entry - self.memory.first_constant, node.weak)
        return Where(slot, node.spec, weak=node.weak)

    def copy(self, source: Slot, target: Slot, size: int) -> None:
        code = self.code
        arguments = (
            self.address(target),
            self.address(source),
            code.constant(size, I64),
            code.constant(False, Type("i1")),
        )
        code.call("@llvm.memcpy.p0.p0.i64", None, *arguments)

    def release(self) -> None:
        """Give back what was taken. The arena is where the table says: Python may have kept the first one."""
        code = self.code
        for place in reversed(self.owned):
            if place.text == "%arena":
                entry = code.offset(Lanes(code, "%table", PTR), self.memory.arena, Type("ptr"))
                place = code.load(entry, PTR)
            code.call("@free", None, place)

    def finish(self) -> None:
        self.release()
        code = self.code
        bad = code.load(self.status, I64).ne(0)
        status = code.add(f"select {bad.typed}, i32 {OUT_OF_BOUNDS}, i32 0", Type("i32"))
        code.do(f"ret {status.typed}")

    def modules(self) -> tuple[str, str, tuple[tuple[str, Type], ...]]:
        """The texts of what is translated well and what quickly, and the vector functions that they call but do not
        contain.
        """
        kernels = [w for w in self.written if w is not None]
        calls: dict[tuple[str, Type], int] = {}
        for w in kernels:
            for key, count in w.code.calls.items():
                calls[key] = calls.get(key, 0) + count
        inlined = is_inlined(calls)
        is_long = sum(w.length for w in kernels) > LONG
        quick = [
            w
            for w in kernels
            if not inlined and (is_long and not w.is_large or w.length > LONG_KERNEL and w.is_mostly_calls)
        ]
        names = {w.name for w in quick}
        well = [self.run_text(), *self.texts([w for w in kernels if w.name not in names])]
        declarations = self.declarations([w for w in kernels if w.name not in names]) | self.code.declarations
        declarations |= {w.name: f"declare void @{w.name}(ptr, i64, i64)" for w in quick}
        declarations |= {
            f"{w.name}.combine": f"declare void @{w.name}.combine(ptr, i64, i64)" for w in quick if w.combine
        }
        functions: list[str] = []
        if inlined:
            functions, needed = definitions(calls)
            declarations |= needed
        else:
            declarations |= {symbol(*key): declaration(*key) for key in calls}
        if any(w.is_large for w in kernels):
            functions.append(PARALLEL)
            declarations |= NEEDED
        if self.fallbacks:
            functions += [*self.places, UPCALL]
            declarations |= NEEDED_BY_UPCALL
        counts = {"constants": len(self.memory.constants), "upcalls": len(self.fallbacks)}
        data = "\n".join(
            [f"@wengert.{name} = global [{max(count, 1)} x ptr] zeroinitializer" for name, count in counts.items()]
        )
        text = "\n\n".join([data, "!0 = !{}", *declarations.values(), *functions, *well])
        if not quick:
            return text, "", () if inlined else tuple(calls)
        declarations = self.declarations(quick) | {symbol(*key): declaration(*key) for key in calls}
        return text, "\n\n".join(["!0 = !{}", *declarations.values(), *self.texts(quick)]), tuple(calls)

    def texts(self, kernels: Sequence[KernelText]) -> list[str]:
        return [text for w in kernels for text in (w.text, w.combine) if text]

    def declarations(self, kernels: Sequence[KernelText]) -> dict[str, str]:
        return {name: text for w in kernels for name, text in w.code.declarations.items()}

    def run_text(self) -> str:
        head = "define i32 @wengert.run(ptr %inputs, ptr %outputs) {\nentry:\n"
        return head + "\n".join([*self.code.hoisted, *self.code.lines, "}"])
