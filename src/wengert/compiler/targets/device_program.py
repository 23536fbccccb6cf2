"""A graph as a program for a GPU: scheduled and planned in memory as for a processor, with kernels of threads.

A program is a list of steps: launches of kernels, operations that a library runs between them (CuPy's products,
factorisations, Fourier transforms, and whatever has no native code), copies, and loops and choices over programs of
their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.classify import Form, is_immediate
from wengert.compiler.nests.grid_policy import row_limits
from wengert.compiler.nests.row_fusion import fuse_rows
from wengert.compiler.program.prepare import prepare_device_body
from wengert.compiler.program.program_plan import (
    Plan,
    is_read_transposed,
    read_layout,
    stored_base,
)
from wengert.compiler.schedule.memory_plan import Slot
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.targets.grid_kernel import GridKernelWriter
from wengert.compiler.targets.grid_rows import GridRowWriter
from wengert.compiler.targets.grid_scatter import ScatterKernelWriter
from wengert.compiler.targets.thread_block import DeviceKernel, ThreadBlock
from wengert.compiler.targets.trajectories import (
    Trajectories,
    TrajectoryWriter,
    find_trajectories,
    may_share_memory,
)
from wengert.control.loop import LOOP, Shape
from wengert.control.residuals import has_unknown_length
from wengert.core import machine
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation


class ArraySource(NamedTuple):
    """An array of a program in memory, or a `value` that is the same in each call."""

    slot: Slot | None
    spec: Spec | None
    value: Any = None
    offset: int = 0  # in elements
    strides: tuple[int, ...] | None = None  # in elements, unless the array is contiguous
    is_transposed: bool = False
    weak: type | None = None  # of a Python number, whose dtype follows the other operands


class Launches(NamedTuple):
    """Kernels, one after the other, by their numbers in the program."""

    kernels: tuple[int, ...]


class LibraryStep(NamedTuple):
    """An operation that a library runs."""

    primitive: Primitive
    params: dict[str, Any]
    operands: tuple[ArraySource, ...]
    results: tuple[ArraySource | None, ...]  # None: unused


class Copy(NamedTuple):
    """A result that is a copy of another array."""

    source: ArraySource
    target: ArraySource


class LoopStep(NamedTuple):
    """A loop whose steps are runs of a program."""

    shape: Shape
    condition: DeviceProgram | None
    body: DeviceProgram
    operands: tuple[ArraySource, ...]
    results: tuple[ArraySource | None, ...]


class Lengths(NamedTuple):
    """The number of steps of a loop, the largest of all threads, and memory for the sequences that it writes next."""

    counts: ArraySource
    steps: ArraySource | None
    sequences: tuple[ArraySource, ...]


class SwitchStep(NamedTuple):
    """A choice between programs, by an integer."""

    branches: tuple[DeviceProgram, ...]
    operands: tuple[ArraySource, ...]
    results: tuple[ArraySource | None, ...]


Step = Launches | LibraryStep | Copy | Lengths | LoopStep | SwitchStep


class DeviceProgram(NamedTuple):
    """A program without its machine code. Its table of pointers is that of `memory_plan.py`."""

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    constants: tuple
    steps: tuple[Step, ...]
    kernels: tuple[LaunchedKernel, ...]
    arena: int
    entries: int  # of the table of pointers
    may_fail: bool
    summary: tuple[str, ...]

    @property
    def programs(self) -> list[DeviceProgram]:
        """This program, and those of its loops and choices."""
        found = [self]
        for step in self.steps:
            if isinstance(step, LoopStep):
                inner = [step.body, *([step.condition] if step.condition is not None else [])]
            else:
                inner = list(step.branches) if isinstance(step, SwitchStep) else []
            for part in inner:
                found += part.programs
        return found


class LaunchedKernel(NamedTuple):
    """A kernel by its name, with its number of blocks, and the bytes that it moves at the least."""

    name: str
    blocks: int
    nbytes: int


class DeviceSchedule(Schedule):
    """A schedule for a GPU, on which memory is more expensive than arithmetic, and a library has plain products."""

    cheap, cheap_if_large = storing, storing_if_large = 64, 200

    def join_products(self, graph: Graph, _forms: dict[Node, Form]) -> Graph:
        return graph


class DevicePlan(Plan):
    """The plan of a program for a GPU."""

    make_schedule = DeviceSchedule

    def __init__(self, graph: Graph, prefix: str, block: type[ThreadBlock], reads_early: bool = False):
        self.block, self.prefix = block, prefix
        self.loops: dict[Operation, Trajectories | None] = {}
        super().__init__(graph, (), prefix, reads_early)

    def fuse_rows(self, schedule: Schedule) -> list[Any]:
        return fuse_rows(schedule, row_limits(machine.current))

    def choose_layouts(self, _: Schedule) -> dict[Node, tuple[int, ...]]:
        return {}

    def make_writer(self, kernel: Kernel, name: str) -> Any:
        kind: Any = ScatterKernelWriter if kernel.scatters else GridKernelWriter
        if isinstance(kernel, RowKernel):
            kind = GridRowWriter
        return kind(kernel, self.schedule, self.memory, name, self.block)

    def partials(self, step: Kernel | Operation) -> dict[Node, int]:
        """The bytes that only one step uses; of a loop, the number of steps of each thread."""
        if isinstance(step, Kernel):
            return super().partials(step)
        loop = self.trajectories(step)
        return {step: 8 * loop.threads} if loop is not None and loop.condition is not None else {}

    def trajectories(self, step: Operation) -> Trajectories | None:
        """How threads run a loop, each by itself."""
        if step.primitive is not LOOP:
            return None
        if step not in self.loops:
            self.loops[step] = find_trajectories(step)
        return self.loops[step]


class DeviceWriter:
    """Writes a program, and collects the kernels of all programs that are part of it."""

    def __init__(self, block: type[ThreadBlock]):
        self.block = block
        self.kernels: list[tuple[DeviceKernel, int]] = []  # with the entries of the table
        self.bodies = 0

    def write(self, graph: Graph, prefix: str = "") -> DeviceProgram:
        """The program of a graph that has been expanded."""
        plan = DevicePlan(graph, prefix, self.block)
        if not plan.in_place.is_complete:
            plan = DevicePlan(graph, prefix, self.block, True)
        return ProgramOfPlan(self, plan).write()

    def write_body(self, graph: Graph) -> DeviceProgram:
        """The program of a body of a loop or choice."""
        self.bodies += 1
        return self.write(prepare_device_body(graph), f"body.{self.bodies}.")


class ProgramOfPlan:
    """Writes the steps of one plan."""

    def __init__(self, writer: DeviceWriter, plan: DevicePlan):
        self.writer, self.plan, self.schedule, self.memory = writer, plan, plan.schedule, plan.memory
        self.prefix = plan.prefix
        self.steps: list[Step] = []
        self.kernels: list[LaunchedKernel] = []
        self.summary: list[str] = []

    def write(self) -> DeviceProgram:
        """The program."""
        graph, memory = self.schedule.graph, self.memory
        for step, kernels in zip(self.schedule.steps, self.plan.kernels, strict=True):
            if kernels is not None:
                self.add_kernels(kernels)  # type: ignore[arg-type]  # what the writers of this plan give
            elif self.schedule.forms[step] is Form.LOOP:
                self.add_control(step)
            else:
                self.add_library_step(step)
        for base, target in memory.copies:
            self.steps.append(Copy(self.source(base), ArraySource(target, base.spec)))
        return DeviceProgram(
            tuple([node.spec for node in graph.inputs]),
            tuple([node.spec for node in graph.outputs]),
            tuple([node.value for node in memory.constants]),
            tuple(self.steps),
            tuple(self.kernels),
            memory.size,
            memory.arena + 1,
            bool(self.plan.failing),
            tuple(self.summary),
        )

    def add_kernels(self, kernels: Sequence[DeviceKernel]) -> None:
        """Launch kernels after the ones before them, if these come directly before."""
        for kernel in kernels:
            if kernel.blocks:
                number = (len(self.kernels),)
                self.kernels.append(LaunchedKernel(kernel.name, kernel.blocks, kernel.nbytes))
                self.writer.kernels.append((kernel, self.memory.arena + 1))
                self.summary.append(f"{kernel.name}: {kernel.blocks} blocks, {kernel.what}")
                if self.steps and isinstance(self.steps[-1], Launches):
                    self.steps[-1] = Launches((*self.steps[-1].kernels, *number))
                else:
                    self.steps.append(Launches(number))

    def add_library_step(self, step: Operation) -> None:
        """Run an operation by a library."""
        operands = tuple([self.source(a, step) for a in step.args])
        self.steps.append(LibraryStep(step.primitive, step.params, operands, self.results(step)))
        self.summary.append(f"library: {step.primitive.name} {', '.join(repr(a.spec) for a in step.args)}")

    def add_control(self, step: Operation) -> None:
        """Run a loop or a choice, with programs for its bodies."""
        loop = self.plan.trajectories(step)
        if loop is not None and not may_share_memory(step, loop, self.schedule, self.memory):
            self.add_trajectories(step, loop)
            return
        operands, results, write = tuple(map(self.source, step.args)), self.results(step), self.writer.write_body
        if step.primitive is not LOOP:
            branches = tuple(map(write, step.params["branches"]))
            self.steps.append(SwitchStep(branches, operands, results))
            self.summary.append(f"switch: one of {len(branches)} branches")
            return
        condition, shape = step.params["condition"], step.params["shape"]
        body = write(step.params["body"])
        self.steps.append(LoopStep(shape, None if condition is None else write(condition), body, operands, results))
        length = shape.length if shape.length is not None else "steps until a condition" if condition else "steps back"
        self.summary += [f"loop of {length}:", *[f"  {line}" for line in body.summary]]

    def add_trajectories(self, step: Operation, loop: Trajectories) -> None:
        """Run a loop as one kernel; where it writes sequences of unknown length, another one counts the steps."""
        name, counts = f"{self.prefix}loop.{len(self.kernels)}", self.memory.partials.get(step)
        write = lambda name, only: TrajectoryWriter(
            step, loop, self.schedule, self.memory, name, self.writer.block, counts, only
        ).write()
        results = self.results(step)
        sequences = tuple([r for r in results if r is not None and r.spec is not None and has_unknown_length(r.spec)])
        number = None if loop.condition is None else results[-1]
        if counts is None:  # an operand says how many steps there are
            known = Lengths(self.source(step.args[0]), None, sequences)
        else:
            known = Lengths(ArraySource(counts, Spec((loop.threads,), np.dtype(np.int64))), number, sequences)
        if sequences and counts is not None:
            self.add_kernels([write(f"{name}.count", True)])
        if sequences:
            self.steps.append(known)
        self.add_kernels([write(name, False)])
        if number is not None and not sequences:
            self.steps.append(known)

    def results(self, step: Operation) -> tuple[ArraySource | None, ...]:
        """Where the results of a step belong."""
        if step.spec.__class__ is Spec:
            return (ArraySource(self.memory.target(step), step.spec),)
        used = {u.params["index"]: u for u in self.schedule.outputs_of(step)}
        return tuple(
            [
                ArraySource(self.memory.target(used[i]), used[i].spec) if i in used else None
                for i in range(len(step.spec))
            ]
        )

    def source(self, node: Node, consumer: Operation | None = None) -> ArraySource:
        """Where a step finds an operand."""
        if is_immediate(node) and node not in self.memory.given:
            assert isinstance(node, Constant)
            return ArraySource(None, None, node.value)
        base = stored_base(self.schedule, node, consumer)
        if is_immediate(base) and base not in self.memory.given:
            assert isinstance(base, Constant)
            return ArraySource(None, node.spec, base.value)
        slot, layout = self.memory.slot(base), read_layout(self.schedule, node, consumer)
        if layout is not None:
            return ArraySource(slot, node.spec, None, layout.offset, layout.strides)
        is_transposed = is_read_transposed(self.schedule, node)
        spec = node.args[0].spec if is_transposed else node.spec  # type: ignore[attr-defined]  # a transpose
        return ArraySource(slot, spec, is_transposed=is_transposed, weak=node.weak)
