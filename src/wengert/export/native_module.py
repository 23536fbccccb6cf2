"""A graph as one LLVM module that stands alone: the program, and what a process of Python would give it.

The compiler's own writer makes the program, for another target (`compiler/machine/target.py`). Constants, which a
process fills in when it loads a program, are data here; a kernel for all cores runs on one; functions of BLAS and
LAPACK are written out (`linear_algebra.py`). One function is visible, whose arguments are pointers.
"""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm
import numpy as np

from wengert.compiler import aspects as _aspects  # noqa: F401  # the native code of operations
from wengert.compiler.functions import missing_instructions as _missing  # noqa: F401  # what targets lack
from wengert.compiler.machine.target import Target, compiling_for
from wengert.compiler.machine.translation import CODE_LEVELS, Level, emit_object, optimize_wholly
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program import Program
from wengert.compiler.program.program_writer import write_program
from wengert.compiler.schedule.memory_plan import ALIGNMENT
from wengert.export.linear_algebra import define_functions
from wengert.export.refusals import refuse_operations
from wengert.graph.graph import Graph

ALONE = """\
define void @wengert.parallel(ptr %kernel, ptr %table, i64 %extent, i64 %grain, i64 %work) alwaysinline {
  call void %kernel(ptr %table, i64 0, i64 %extent)
  ret void
}"""
"""What runs a kernel where there is one core."""


class NativeModule:
    """The module of a program for a target, optimised; `arena` is the number of bytes that its function asks for."""

    def __init__(self, graph: Graph, name: str, target: Target):
        self.name, self.target = name, target
        with compiling_for(target):
            program = write_program(prepare(graph), effort="best")
            refuse_operations(program)
            texts = [*[module.text for module in program.modules], write_surroundings(program, name, target)]
        self.arena = program.memory + ALIGNMENT if program.memory else 0
        self.translator = make_translator(target)
        self.module = link_modules(texts, name, self.translator, target)
        optimize_wholly(self.module, self.translator)

    @property
    def allocates(self) -> bool:
        """Whether it allocates memory, for loops of unknown length."""
        return any(function.name == "realloc" for function in self.module.functions)

    @property
    def llvm(self) -> str:
        """The text of the module."""
        return str(self.module)

    @property
    def assembly(self) -> str:
        """The machine code, to read."""
        return self.translator.emit_assembly(self.module)

    @property
    def object_code(self) -> bytes:
        """The machine code, as an object file of the target's format."""
        return emit_object(self.module, self.translator)


def make_translator(target: Target) -> llvm.TargetMachine:
    """LLVM's compiler for a target; code may be linked at any address."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    is_bare = "-none-" in target.triple or target.triple.startswith("wasm")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=CODE_LEVELS[Level.WHOLE],
        reloc="static" if is_bare else "pic",
        codemodel="default",
    )


def link_modules(texts: Sequence[str], name: str, translator: llvm.TargetMachine, target: Target) -> llvm.ModuleRef:
    """One module of several texts, in which only the function of this name is visible."""
    head = f'target datalayout = "{translator.target_data}"\ntarget triple = "{target.triple}"\n'
    context = llvm.create_context()
    whole, *others = [llvm.parse_assembly(head + text, context) for text in texts]
    for other in others:
        whole.link_in(other)
    whole.verify()
    for part in (*whole.functions, *whole.global_variables):
        if not part.is_declaration and part.name != name:
            part.linkage = "internal"
    return whole


def write_surroundings(program: Program, name: str, target: Target) -> str:
    """The text of what the program lacks, and of the function that C calls."""
    constants = [np.ascontiguousarray(value) for value in program.constants]
    data = [write_bytes(f"wengert.constant.{i}", array) for i, array in enumerate(constants)]
    table = ", ".join([f"ptr @wengert.constant.{i}" for i in range(len(constants))] or ["ptr null"])
    return "\n\n".join(
        [
            *data,
            f"@wengert.constants = constant [{max(len(constants), 1)} x ptr] [{table}]",
            ALONE,
            *define_functions(program.blas_functions),
            write_entry(program, name, target),
        ]
    )


def write_bytes(name: str, array: np.ndarray) -> str:
    """A constant array as data, in the byte order of all targets, which is that of this machine."""
    text = "".join([f"\\{byte:02X}" for byte in array.tobytes()])
    return f'@{name} = private unnamed_addr constant [{array.nbytes} x i8] c"{text}", align {ALIGNMENT}'


def write_entry(program: Program, name: str, target: Target) -> str:
    """The function that C calls: pointers to the inputs, the outputs, and the arena, which it aligns."""
    inputs = [f"%x{i}" for i in range(len(program.inputs))]
    outputs = [f"%y{i}" for i in range(len(program.outputs))]
    parameters = ", ".join([f"ptr {p}" for p in (*inputs, *outputs, "%arena")])
    word = f"i{8 * target.pointer_bytes}"
    lines = [f"define i32 @{name}({parameters}) nounwind {{", "entry:"]
    for table, pointers in (("%inputs", inputs), ("%outputs", outputs)):
        lines.append(f"  {table} = alloca [{max(len(pointers), 1)} x ptr]")
        for i, pointer in enumerate(pointers):
            lines.append(f"  {pointer}.at = getelementptr ptr, ptr {table}, i64 {i}")
            lines.append(f"  store ptr {pointer}, ptr {pointer}.at")
    lines += [
        f"  %address = ptrtoint ptr %arena to {word}",
        f"  %missing = sub {word} 0, %address",
        f"  %skipped = and {word} %missing, {ALIGNMENT - 1}",
        f"  %memory = getelementptr i8, ptr %arena, {word} %skipped",
        "  %status = call i32 @wengert.run(ptr %inputs, ptr %outputs, ptr %memory)",
        "  ret i32 %status",
        "}",
        "declare i32 @wengert.run(ptr, ptr, ptr)",
    ]
    return "\n".join(lines)
