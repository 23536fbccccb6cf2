"""The LLVM modules of a program: its functions, what they declare, and the tables that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wengert.compiler.functions.vector_functions import declaration, definitions, is_inlined, vector_symbol
from wengert.compiler.kernels.kernel import KernelText
from wengert.compiler.machine.python_calls import (
    ADDRESS,
    INTERRUPTED,
    NEEDED_BY_INTERRUPTED,
    NEEDED_BY_UPCALL,
    NOTHING,
    UPCALL,
    UPCALL_OPERAND,
)
from wengert.compiler.machine.tables import Table
from wengert.compiler.machine.target import aligned_stack, machine_target
from wengert.compiler.machine.translation import FEW_PASSES, Effort, Level, Module
from wengert.compiler.program.kept_memory import NEEDED_BY_TAKE, TAKE_AND_RETURN
from wengert.compiler.program.kernel_lists import RUN_LIST, EqualKernels
from wengert.compiler.program.program import Fallback, OperandSource
from wengert.compiler.routines.call import FunctionText
from wengert.compiler.schedule.memory_plan import POINTER
from wengert.compiler.simd.lanes import Code
from wengert.compiler.simd.types import Type
from wengert.compiler.threads.pool import DECLARE_PARALLEL
from wengert.core import machine, parallel
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Operation

LEVELS: dict[Effort | None, Level] = {None: Level.USUAL, "fast": Level.QUICK, "best": Level.WHOLE}
"""How everything else is translated."""

VectorFunction = tuple[str, Type]


class BodyText(NamedTuple):
    """The function of a body of a loop, which becomes part of the loop if it `is_inline`."""

    name: str
    code: Code
    is_inline: bool = False


class Body(NamedTuple):
    """The function of a body.

    It needs `arena` bytes for intermediate results, and becomes part of its loop if it `is_inline`, with all states in
    registers if it `is_in_registers`. Loops and choices in it (`has_control`) may stop it; the report shows its
    `summary`.
    """

    name: str
    graph: Graph
    arena: int
    in_place: frozenset[int]  # the outputs that share the memory of the inputs that they replace
    summary: tuple[str, ...]
    is_inline: bool
    is_in_registers: bool
    has_control: bool


class Shared:
    """What a program and the bodies of its loops have together: one list of constants, kernels and functions.

    `effort` is that of their translation.
    """

    def __init__(self, effort: Effort | None = None) -> None:
        self.effort = effort
        self.constants: list[Constant | Table] = []
        self.kernels: list[KernelText] = []
        self.equal_kernels: list[EqualKernels] = []
        self.lists: list[str] = []
        self.bodies: list[BodyText] = []
        self.fallbacks: list[Fallback] = []
        self.upcall_tables: list[str] = []
        self.functions: dict[str, FunctionText] = {}
        self.refused: list[Operation] = []
        self.blas_users: dict[str, Operation] = {}
        self.uses_threads = self.keeps_memory = False

    def blas_functions(self, run: Code) -> set[str]:
        """The functions of BLAS and LAPACK that the program calls; `run` is the function that runs all steps."""
        codes = [part.code for part in self.kernels] + [body.code for body in self.bodies]
        codes += [equal.first.code for equal in self.equal_kernels]
        codes += [function.code for function in self.functions.values()]
        return run.blas_functions.union(*[code.blas_functions for code in codes])

    @property
    def is_parallel(self) -> bool:
        """Whether a kernel or a routine runs on all cores."""
        return self.uses_threads or any(kernel.is_shared for kernel in self.kernels)

    @property
    def is_large(self) -> bool:
        """Whether the program takes so long that other threads of Python should run meanwhile."""
        return self.uses_threads or any(kernel.is_large for kernel in self.kernels)


def write_modules(run: Code, shared: Shared) -> tuple[tuple[Module, ...], tuple[VectorFunction, ...]]:
    """The modules, and the vector functions that they lack.

    The first has the function that runs all steps. Kernels of a long program are in several modules, one for each core
    that translates them. Here, and only here, it is decided what is translated quickly. A program that stands alone is
    one module, and lacks nothing.
    """
    kernels, functions = shared.kernels, [function.code for function in shared.functions.values()]
    functions += [equal.first.code for equal in shared.equal_kernels]
    calls = count_calls([*[kernel.code for kernel in kernels], *functions])
    inlined = machine_target().is_freestanding or (shared.effort != "fast" and is_inlined(calls))
    level = LEVELS[shared.effort]
    is_long = sum(kernel.length for kernel in kernels) > machine.current.min_lines_of_long_program
    is_quick = lambda k: (
        level is Level.USUAL
        and not (k.is_inline or inlined and k.code.calls)
        and (
            is_long
            and k.work < machine.current.min_shared_operations
            or k.length > machine.current.min_lines_of_long_kernel
            and k.is_mostly_calls
        )
    )
    quick = [kernel for kernel in kernels if is_quick(kernel)]
    inline = [kernel for kernel in kernels if kernel.is_inline]
    others = [kernel for kernel in kernels if not (kernel.is_inline or is_quick(kernel))]
    first, *parts = divide_kernels(others)
    modules = [Module(write_first_module(run, shared, [*inline, *first], inlined), level)]
    modules += [Module(write_module([], part, inlined, {}, []), level) for part in parts]
    modules += [Module(write_module([], part, False, {}, []), Level.QUICK) for part in divide_kernels(quick) if part]
    called = count_calls([run, *[body.code for body in shared.bodies]])  # by what is no kernel, such as routines
    return tuple(modules), () if inlined else tuple(calls | called)


def divide_kernels(kernels: Sequence[KernelText]) -> list[list[KernelText]]:
    """Kernels for several modules of about one length, if they are long; those that share a function are together."""
    groups: dict[Any, list[KernelText]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.core, []).append(kernel)
    length = lambda group: group[0].length + machine.current.lines_of_shared_kernel * len(group)
    total = sum(map(length, groups.values()))
    most = 1 if machine_target().is_freestanding else parallel.num_threads()
    parts: list[list[KernelText]] = [[] for _ in range(min(most, 1 + total // machine.current.min_lines_of_module))]
    lengths = [0] * len(parts)
    for group in sorted(groups.values(), key=length, reverse=True):
        i = lengths.index(min(lengths))
        parts[i] += group
        lengths[i] += length(group)
    return parts


def count_calls(codes: Sequence[Code]) -> dict[VectorFunction, int]:
    """The calls of vector functions."""
    calls: dict[VectorFunction, int] = {}
    for code in codes:
        for key, count in code.calls.items():
            calls[key] = calls.get(key, 0) + count
    return calls


def write_first_module(run: Code, shared: Shared, kernels: Sequence[KernelText], inlined: bool) -> str:
    """The module with the function that runs all steps, the bodies of loops, routines, and some kernels."""
    others = [*[body.code for body in shared.bodies], *[function.code for function in shared.functions.values()], run]
    others += [equal.first.code for equal in shared.equal_kernels]
    here = {kernel.name for kernel in kernels}
    elsewhere = [kernel for kernel in shared.kernels if kernel.name not in here]
    declarations = {name: f"declare void @{name}(ptr, i64, i64)" for k in elsewhere for name in k.functions}
    looks_at_signals = any("@wengert.interrupted" in line for code in others for line in code.lines)
    functions: list[str] = []
    for is_needed, texts, needed in (
        (shared.is_parallel, [], {"@wengert.parallel": DECLARE_PARALLEL}),
        (bool(shared.lists), [*shared.lists, RUN_LIST, *[equal.text for equal in shared.equal_kernels]], {}),
        (shared.keeps_memory, [TAKE_AND_RETURN], NEEDED_BY_TAKE),
        (looks_at_signals, [INTERRUPTED], NEEDED_BY_INTERRUPTED),
        (bool(shared.upcall_tables), [*shared.upcall_tables, UPCALL], NEEDED_BY_UPCALL),
    ):
        if is_needed:
            functions += texts
            declarations |= needed
    counts = {"constants": len(shared.constants), "upcalls": len(shared.upcall_tables)}
    is_freestanding = machine_target().is_freestanding
    for name, count in counts.items():
        linkage, value = ("external ", "") if is_freestanding else ("", " zeroinitializer")
        functions.append(f"@wengert.{name} = {linkage}global [{max(count, 1)} x ptr]{value}")
    for name, code, is_inline in shared.bodies:
        inlining = "alwaysinline" if is_inline else f"noinline {aligned_stack()}"
        body = f"define internal i32 @{name}(ptr %inputs, ptr %outputs, ptr %arena) {inlining} nounwind {{\nentry:\n"
        functions.append(body + "\n".join([*code.hoisted, *code.lines, "}"]))
    for name, (parameters, code, attributes) in shared.functions.items():
        marks = f"noinline nounwind {aligned_stack()} {attributes}"
        start = f"define internal void @{name}({parameters}) {marks} {{"
        functions.append("\n".join([start, "entry:", *code.hoisted, *code.lines, "}"]))
    memory = ", ptr %memory" if is_freestanding else ""
    head = f"define i32 @wengert.run(ptr %inputs, ptr %outputs{memory}) {aligned_stack()} {{\nentry:\n"
    functions.append(head + "\n".join([*run.hoisted, *run.lines, "}"]))
    return write_module(others, kernels, inlined, declarations, functions)


def write_module(
    codes: Sequence[Code],
    kernels: Sequence[KernelText],
    inlined: bool,
    declarations: Mapping[str, str],
    functions: Sequence[str],
) -> str:
    """A module of kernels, and of functions with these codes; vector functions are part of it if they are `inlined`."""
    codes = [*codes, *[kernel.code for kernel in kernels]]
    calls = count_calls(codes)
    texts: list[str] = []
    needed = {vector_symbol(*key): declaration(*key) for key in calls}
    if inlined:
        texts, needed = definitions(calls, inlining="alwaysinline" if is_inlined(calls) else "")
    known = {**code_declarations(codes), **declarations, **needed}
    return "\n\n".join(["!0 = !{}", *known.values(), *texts, *functions, *kernel_texts(kernels)])


def kernel_texts(kernels: Sequence[KernelText]) -> list[str]:
    """The functions of kernels. Those that differ only in where their operands are share one function."""
    groups: dict[tuple[str, int], list[KernelText]] = {}
    for kernel in kernels:
        groups.setdefault((kernel.core, len(kernel.pointers)), []).append(kernel)
    texts = [kernel.combine for kernel in kernels if kernel.combine]
    for (core, lines), members in groups.items():
        if len(members) == 1 or members[0].is_inline:
            texts += [kernel.text for kernel in members]
            continue
        name = f"{members[0].name}.core"
        pointers = "".join([f"ptr {POINTER}{i}, " for i in range(lines // 3)])
        arguments = f"(ptr %table, {pointers}i64 %begin, i64 %end)"
        marks = f"noinline nounwind {aligned_stack()} {FEW_PASSES if members[0].has_few_passes else ''}"
        texts.append(f"define internal void @{name}{arguments} {marks} {{\nentry:\n{core}")
        for kernel in members:
            head = f"define void @{kernel.name}(ptr %table, i64 %begin, i64 %end) noinline nounwind {{\nentry:"
            texts.append("\n".join([head, *kernel.pointers, f"  call void @{name}{arguments}", "  ret void", "}"]))
    return texts


def code_declarations(codes: Sequence[Code]) -> dict[str, str]:
    """The declarations of functions."""
    return {name: text for code in codes for name, text in code.declarations.items()}


def upcall_table(number: int, operands: Sequence[OperandSource], results: Sequence[OperandSource]) -> str:
    """The table that the upcall of a fallback reads: where its operands and results are, and how they are passed."""
    passed = [(o.slot, o.nbytes if o.is_copied else ADDRESS) for o in operands]
    passed += [(result.slot, ADDRESS) for result in results]
    rows = [(slot.entry, slot.offset, size) if slot else (0, 0, NOTHING) for slot, size in passed]
    records = [f"{UPCALL_OPERAND} {{ i64 {entry}, i64 {offset}, i64 {size} }}" for entry, offset, size in rows]
    return f"@operands.{number} = private constant [{len(rows)} x {UPCALL_OPERAND}] [{', '.join(records)}]"
