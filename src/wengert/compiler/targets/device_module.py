"""The LLVM module of all kernels of a program, and its translation to PTX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import llvmlite.binding as llvm

from wengert.compiler.functions.vector_functions import definitions
from wengert.compiler.machine.translation import pass_builder, run_passes
from wengert.compiler.program.module_text import code_declarations, count_calls
from wengert.compiler.targets.device_constants import read_constants
from wengert.compiler.targets.device_division import call_divisions
from wengert.compiler.targets.device_functions import DEVICE_FUNCTIONS, SHORT_RARE, join_predicates
from wengert.compiler.targets.thread_block import PARAMETER_BYTES, DeviceKernel, ThreadBlock, kernel_symbol
from wengert.core import machine

TRIPLE = "nvptx64-nvidia-cuda"
TABLE_KERNEL = "wengert.table"
"""The kernel that writes the table of pointers to the device."""


def module_text(kernels: Sequence[tuple[DeviceKernel, int]], block: type[ThreadBlock], is_single: bool) -> str:
    """The text of a module; the table of a single kernel is passed by value."""
    calls = count_calls([kernel.code for kernel, _ in kernels])
    texts, needed = definitions(calls, bodies=DEVICE_FUNCTIONS)
    known = {**code_declarations([kernel.code for kernel, _ in kernels]), **needed}
    for kernel, entries in kernels:
        table = entries if is_passed_by_value(is_single, entries) else 0
        texts.append(block.function(kernel.name, kernel.code, table, kernel.resident))
    text = "\n\n".join(["!0 = !{}", *known.values(), *texts])
    most = machine.current.max_inlined_calls_of_device_module
    if sum(calls.values()) > most:
        return join_predicates(text.replace(" alwaysinline ", " noinline "))
    shared, quotients = call_divisions(text)
    if 0 < sum(quotients.values()) <= 2 * most:  # a reciprocal and a quotient each
        texts, needed = definitions(quotients, bodies=DEVICE_FUNCTIONS)
        text = "\n\n".join([shared, *[line for name, line in needed.items() if name not in known], *texts])
    for name in SHORT_RARE:  # a call, even if it is rare, takes registers from everything around it
        text = re.sub(rf"(call [^\n]*@wengert\.{re.escape(name)}\.[^\n]*) noinline cold", r"\1", text)
    return join_predicates(text)


def is_passed_by_value(is_single: bool, entries: int) -> bool:
    """Whether the table of pointers is an argument of the kernel."""
    return is_single and 8 * entries <= PARAMETER_BYTES


def table_kernel(entries: int) -> str:
    """The kernel that copies a table of pointers from its argument to the device's memory."""
    parameters = f"ptr %target, ptr byval([{entries} x i64]) align 8 %table"
    lines = [f"define ptx_kernel void @{kernel_symbol(TABLE_KERNEL)}_{entries}({parameters}) {{"]
    for i in range(entries):
        lines += [
            f"  %s{i} = getelementptr i64, ptr %table, i64 {i}",
            f"  %v{i} = load i64, ptr %s{i}",
            f"  %t{i} = getelementptr i64, ptr %target, i64 {i}",
            f"  store i64 %v{i}, ptr %t{i}",
        ]
    return "\n".join([*lines, "  ret void", "}"])


@cache
def translator(capability: str) -> llvm.TargetMachine:
    """LLVM's compiler for a compute capability, such as `sm_90`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=capability, opt=3)


def translate(text: str, capability: str) -> str:
    """The PTX of a module."""
    machine = translator(capability)
    layout = f'target datalayout = "{machine.target_data}"\ntarget triple = "{TRIPLE}"\n'
    module = llvm.parse_assembly(layout + text, llvm.create_context())
    module.verify()
    builder = pass_builder(machine, 2)
    run_passes(builder.getModulePassManager(), [module], builder)
    return read_constants(machine.emit_assembly(module))
