"""The LLVM module of all kernels of a program, and its translation to PTX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import llvmlite.binding as llvm

from wengert.compiler.machine.translation import pass_builder, run_passes
from wengert.compiler.program.module_text import code_declarations, count_calls
from wengert.compiler.simd.lane_operations import pick_lanes
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.vector_functions import FUNCTIONS, definitions
from wengert.compiler.targets.thread_block import PARAMETER_BYTES, DeviceKernel, ThreadBlock, kernel_symbol

TRIPLE = "nvptx64-nvidia-cuda"
INLINED_CALLS = 64
"""The most calls of mathematical functions in one module that are inlined; with more, LLVM is slow."""
SHORT_RARE = ("exp.wide",)
"""Parts of functions that are rarely needed, and so short that they are inlined."""
TABLE_KERNEL = "wengert.table"
"""The kernel that writes the table of pointers to the device."""


def module_text(kernels: Sequence[tuple[DeviceKernel, int]], block: type[ThreadBlock], is_single: bool) -> str:
    """The text of a module; the table of a single kernel is passed by value."""
    calls = count_calls([kernel.code for kernel, _ in kernels])
    texts, needed = definitions(calls, bodies={**FUNCTIONS, "fmod.far": remainder_by_halves})
    known = {**code_declarations([kernel.code for kernel, _ in kernels]), **needed}
    for kernel, entries in kernels:
        table = entries if is_passed_by_value(is_single, entries) else 0
        texts.append(block.function(kernel.name, kernel.code, table, kernel.resident))
    text = "\n\n".join(["!0 = !{}", *known.values(), *texts])
    if sum(calls.values()) > INLINED_CALLS:
        return text.replace(" alwaysinline ", " noinline ")
    for name in SHORT_RARE:  # a call, even if it is rare, takes registers from everything around it
        text = re.sub(rf"(call [^\n]*@wengert\.{re.escape(name)}\.[^\n]*) noinline cold", r"\1", text)
    return text


def remainder_by_halves(x: Lanes, y: Lanes) -> Lanes:
    """The remainder of a division, for quotients of any size, in each lane."""
    code, type = x.code, x.type
    if type.lanes == 1:
        return remainder_of_one(x, y)
    found = Lanes(code, "poison", type)
    for lane in range(type.lanes):
        rest = remainder_of_one(pick_lanes(x, [lane]), pick_lanes(y, [lane]))
        found = code.add(f"insertelement {found.typed}, {rest.typed}, i64 {lane}", type)
    return found


def remainder_of_one(x: Lanes, y: Lanes) -> Lanes:
    """The remainder of one division: multiples of the divisor by powers of two are subtracted.

    Every difference is exact. LLVM's own remainder for GPUs is not.
    """
    code, type, divisor = x.code, x.type, y.abs()
    rest, multiple = code.variable(type, x.abs()), code.variable(type, divisor)
    is_proper = (divisor > 0.0) & (divisor < float("inf")) & (x.abs() < float("inf"))
    double, halve, done, left = [code.label(name) for name in ("double", "halve", "halves.done", "proper")]
    code.branch(is_proper, double, done)
    code.begin(double)
    twice = code.load(multiple, type) + code.load(multiple, type)
    fits, too_large = code.label("fits"), code.label("large")
    code.branch(twice <= code.load(rest, type), fits, too_large)
    code.begin(fits)
    code.store(twice, multiple)
    code.jump(double)
    code.begin(too_large)
    code.jump(halve)
    code.begin(halve)
    size, part = code.load(rest, type), code.load(multiple, type)
    code.store(select(size >= part, size - part, size), rest)
    code.store(part * 0.5, multiple)
    code.branch(part > divisor, halve, left)
    code.begin(left)
    code.jump(done)
    code.begin(done)
    found = code.load(rest, type).copysign(x)
    is_invalid = ~(divisor > 0.0) | ~(x.abs() < float("inf"))
    return select(is_invalid, float("nan"), select(divisor.eq(float("inf")), x, found))


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
    return machine.emit_assembly(module)
