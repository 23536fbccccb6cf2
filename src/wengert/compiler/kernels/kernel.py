"""A kernel as LLVM text: loops over its domain, elements in the body, reductions in accumulators.

The loop over one axis advances by a vector of lanes. If its extent is not a multiple of the lanes, the last vector is
moved back to end with the array: maps store some elements twice, with equal values, and reductions ignore those that
were added before. So there is one body and no remainder loop. A long reduction is cut into pieces whose number depends
only on the shape, and the pieces are added in order: the result does not depend on the number of threads.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from wengert.compiler.kernels.accumulators import write_combination
from wengert.compiler.kernels.body_stages import BodyStages
from wengert.compiler.kernels.column_sums import write_column_sums
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.kernels.scatters import ScatterWriter, combine_sums
from wengert.compiler.machine.target import aligned_stack
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.nests.body_stages import find_stages
from wengert.compiler.nests.cost import operations_in
from wengert.compiler.nests.decisions import find
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.schedule.memory_plan import POINTER, Memory, Pointers
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64
from wengert.core import machine


class KernelText(NamedTuple):
    """The LLVM text of a kernel.

    Its outermost loop runs to `extent` in steps of `grain`, and threads may share it if it `is_shared`; `work` is the
    number of its scalar operations, or of those that take as long as its cost if it is shared. `combine` folds the
    results of its pieces. One that `has_few_passes` has functions of small matrices, written out, or stages, or is
    long.
    """

    name: str
    text: str
    extent: int
    grain: int
    work: int
    is_shared: bool
    combine: str | None
    code: Code
    is_inline: bool = False
    has_few_passes: bool = False

    @property
    def is_large(self) -> bool:
        """Whether it takes long, on all cores."""
        return self.is_shared and self.work >= machine.current.min_operations_of_long_kernel

    @property
    def length(self) -> int:
        """The number of lines."""
        return len(self.code.lines)

    @property
    def is_mostly_calls(self) -> bool:
        """Whether vector functions do most of its work."""
        return machine.current.lines_of_called_function * sum(self.code.calls.values()) > self.length

    @property
    def pointers(self) -> list[str]:
        """The lines that load the addresses of operands and results, three for each."""
        return [line for line in self.code.hoisted if line.startswith(f"  {POINTER}")]

    @property
    def core(self) -> str:
        """All other lines."""
        hoisted = [line for line in self.code.hoisted if not line.startswith(f"  {POINTER}")]
        return "\n".join([*hoisted, *self.code.lines, "  ret void", "}"])

    @property
    def functions(self) -> list[str]:
        """The names of its functions."""
        return [self.name, f"{self.name}.combine"] if self.combine else [self.name]


class KernelWriter(KernelLoops):
    """Writes one kernel."""

    def __init__(self, kernel: Kernel, schedule: Schedule, memory: Memory, name: str):
        self.schedule, self.memory, self.name = schedule, memory, name
        plan, code = LoopPlan(kernel, schedule), Code()
        pointers = Pointers(code, memory, schedule.aliases, not schedule.is_inline)
        super().__init__(plan, Elements(code, schedule, kernel, pointers, plan.is_flat))
        if schedule.is_inline:  # what it reads in one step of the loop is overwritten in another
            self.elements.overwritten.update(schedule.graph.inputs, schedule.stored)

    def write(self) -> KernelText:
        """The text of the kernel."""
        plan = self.plan
        staged, block = find(plan.decisions, "stages"), find(plan.decisions, "block")
        if staged is not None and not self.elements.overwritten:
            self.stages = BodyStages(find_stages(plan, staged.axis), staged.amount, plan, self.elements)
        begin, end = Lanes(self.code, "%begin", I64), Lanes(self.code, "%end", I64)
        if self.kernel.scatters:
            ScatterWriter(self, begin, end).write()
            self.return_status(plan.is_shared)
            return self.function(self.combination() if plan.is_cut_in_pieces else None)
        is_cut, outer = bool(plan.cuts), plan.outermost
        with ExitStack() as loops:
            piece = loops.enter_context(self.loop(begin, end, 1)) if is_cut else None
            bounds = {outer: (begin, end)} if outer is not None and not is_cut else {}
            if block is not None:
                write_column_sums(self, block.amount, bounds)
            else:
                self.write_kernel(bounds, piece)
        self.return_status(plan.is_shared)
        return self.function(self.combination() if is_cut else None)

    def combination(self) -> str:
        """The function that folds the results of all pieces."""
        code = Code()
        if self.kernel.scatter is not None:
            base = self.kernel.scatter_base
            source = None if base is None else self.memory.slot(self.schedule.aliases.get(base, base))
            combine_sums(code, self.kernel.scatter, self.memory, source)
        else:
            write_combination(code, self.kernel.reductions, self.memory, machine.current.sum_pieces)
        return kernel_function(f"{self.name}.combine", code)

    def function(self, combine: str | None = None) -> KernelText:
        """The function of the kernel."""
        is_inline, plan = self.schedule.is_inline, self.plan
        has_few_passes = bool(plan.matrices) or self.stages is not None or is_long(self.code)
        text = kernel_function(self.name, self.code, is_inline, has_few_passes)
        work = operations_in(plan.cost.seconds, machine.current) if plan.is_shared else plan.work
        return KernelText(
            self.name, text, *plan.parts, work, plan.is_shared, combine, self.code, is_inline, has_few_passes
        )


def is_long(code: Code) -> bool:
    """Whether a function is so long that all passes would take too much time."""
    return len(code.lines) > machine.current.max_lines_of_optimized_kernel


def kernel_function(name: str, code: Code, is_inline: bool = False, has_few_passes: bool = False) -> str:
    """The text of a function, which becomes part of its caller if it `is_inline`; long ones have few passes."""
    linkage, inlining = ("internal ", "alwaysinline") if is_inline else ("", f"noinline {aligned_stack()}")
    parameters, attributes = "ptr %table, i64 %begin, i64 %end", FEW_PASSES if has_few_passes or is_long(code) else ""
    head = f"define {linkage}void @{name}({parameters}) {inlining} nounwind {attributes} {{\nentry:\n"
    return head + "\n".join([*code.hoisted, *code.lines, "  ret void", "}"])
