"""The plan of a program: its steps in order, its kernels, its memory, and what it updates in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from wengert.compiler.forms.classify import Form, is_update
from wengert.compiler.forms.lowering import Routine, lowering_of
from wengert.compiler.forms.matrices import is_matrix_transpose
from wengert.compiler.forms.strides import Strides, contiguous_strides
from wengert.compiler.kernels.kernel import KernelWriter
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.kernels.row_kernel import RowKernelWriter, RowPlan
from wengert.compiler.nests.cost import Cost, cost
from wengert.compiler.nests.layouts import choose_layouts
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.nests.row_fusion import fuse_rows
from wengert.compiler.program.in_place import InPlace, Step, Update, scatter_update
from wengert.compiler.program.prepare import prepare_body
from wengert.compiler.schedule.awaited_states import compute_awaited_first
from wengert.compiler.schedule.memory_plan import Memory, Slot
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of
from wengert.graph.ir import Node, Operation

AnyWriter = KernelWriter | RowKernelWriter
Pairs = tuple[tuple[int, int], ...]
"""Inputs, and the outputs that replace them."""


def make_plan(graph: Graph, updates: Pairs, prefix: str) -> Plan:
    """The plan of a program, or of a body if its names begin with a `prefix`."""
    found = Plan(graph, updates, prefix, False)
    return found if found.in_place.is_complete else Plan(graph, updates, prefix, True)


class Plan:
    """The steps of a program in order, with their kernels, and its memory; `shared` are the updates made in place.

    With `reads_early`, small parts of values that are updated are read before anything else. The steps `failing` may
    fail, and none from `first_safe` on.
    """

    make_schedule: type[Schedule] = Schedule

    def __init__(self, graph: Graph, updates: Sequence[tuple[int, int]], prefix: str, reads_early: bool):
        self.is_body = bool(prefix)
        self.schedule = schedule = self.make_schedule(graph, reads_early, self.is_body)
        if schedule.is_inline:
            compute_awaited_first(schedule, updates)
        elif self.is_body:
            schedule.inlined = inlined_steps(schedule)
        schedule.steps = self.fuse_rows(schedule)
        schedule.axis_orders = self.choose_layouts(schedule)
        self.memory = memory = Memory(schedule)
        self.writers: dict[Any, AnyWriter] = {
            step: self.make_writer(step, f"{prefix}kernel.{i}")
            for i, step in enumerate(schedule.steps)
            if isinstance(step, Kernel)
        }
        steps = [self.describe(step) for step in schedule.steps]
        self.in_place = InPlace(schedule, memory, steps, updates if prefix else ())
        self.shared = self.in_place.decide()
        steps = self.in_place.steps
        schedule.steps = [step.step for step in steps]
        stored = [[node for node in step.reads if node in schedule.stored] for step in steps]
        partials = [self.partials(step.step) for step in steps]
        memory.plan(
            [*stored, [base for base, _ in memory.copies]], [*[step.writes for step in steps], []], [*partials, {}]
        )
        writers = [self.writers.get(step) for step in schedule.steps]
        self.failing = {k for k, step in enumerate(schedule.steps) if may_fail(schedule, step, writers[k])}
        self.first_safe = 1 + max(self.failing, default=-1)
        if not prefix:
            self.shared = tuple(
                [pair for pair in updates if overwrite(schedule, memory, writers, self.first_safe, *pair)]
            )
        for old, (step, _) in self.in_place.takers.items():
            writer = self.writers.get(step.step)
            if isinstance(writer, KernelLoops):
                writer.elements.overwritten.add(old)
        self.kernels = [w.write() if w is not None else None for w in writers]

    def fuse_rows(self, schedule: Schedule) -> list[Any]:
        """The steps, with row kernels."""
        return fuse_rows(schedule)

    def choose_layouts(self, schedule: Schedule) -> dict[Node, tuple[int, ...]]:
        """The values whose axes are in another order in memory."""
        return choose_layouts(schedule)

    def make_writer(self, kernel: Kernel, name: str) -> Any:
        """The writer of a kernel."""
        kind = RowKernelWriter if isinstance(kernel, RowKernel) else KernelWriter
        return kind(kernel, self.schedule, self.memory, name)  # type: ignore[arg-type]  # a row kernel for its writer

    def partials(self, step: Kernel | Operation) -> dict[Node, int]:
        """The bytes that only one step uses: partial results of its reductions, or the workspace of a routine."""
        if isinstance(step, Kernel):
            return self.writers[step].plan.partials()
        if self.schedule.forms[step] is not Form.ROUTINE:
            return {}
        size = lowering_of(step, Routine).workspace(step)
        return {step: size} if size else {}

    def describe(self, step: Kernel | Operation) -> Step:
        """What a step reads and writes."""
        schedule, writer = self.schedule, self.writers.get(step)
        reads = values_read(schedule, step, writer)
        if isinstance(step, Kernel):
            base = step.scatter_base if step.scatters else None
            if step.scatter is None or base is None:
                return Step(step, reads, step.roots, ())
            base = schedule.aliases.get(base, base)
            return Step(step, [*reads, base], step.roots, list(scatter_update(step.scatter, base, reads)))
        if step.spec.__class__ is Spec:
            return Step(step, reads, [step], list(self.routine_update(step, reads)))
        outputs = schedule.outputs_of(step)
        updates = control_updates(step, outputs, reads) if schedule.forms[step] is Form.LOOP else ()
        return Step(step, reads, outputs, list(updates))

    def routine_update(self, step: Operation, reads: Sequence[Node]) -> Iterator[Update]:
        """What a routine may do in place: its result takes over the memory of all of its first operand."""
        schedule = self.schedule
        updates = lowering_of(step, Routine).updates if schedule.forms[step] is Form.ROUTINE else None
        if updates is None or reads[0] in reads[1:] or reads[0].nbytes != step.nbytes:
            return
        layouts = [read_layout(schedule, a, step) for a in step.args]
        strides = [
            contiguous_strides(a.shape) if layout is None else layout.strides
            for a, layout in zip(step.args, layouts, strict=True)
        ]
        if updates(step, strides, self.is_body):
            yield Update(step, reads[0])


def nests_of(plan: Plan) -> Iterator[LoopPlan]:
    """The nests of all kernels with their decisions; a row kernel has one for each part."""
    for step in plan.schedule.steps:
        if isinstance(step, Kernel):
            found = plan.writers[step].plan
            yield from found.parts if isinstance(found, RowPlan) else [found]


def costs_of_nests(plan: Plan, threads: int = 1) -> Iterator[tuple[LoopPlan, Cost]]:
    """The nests of all kernels, and what each takes on so many threads."""
    for step in plan.schedule.steps:
        if isinstance(step, Kernel):
            found = plan.writers[step].plan
            if isinstance(found, RowPlan):
                yield from zip(found.parts, found.costs(), strict=True)
            else:
                yield found, cost(found, found.decisions, machine.current, threads)


def values_read(schedule: Schedule, step: Kernel | Operation, writer: AnyWriter | None) -> list[Node]:
    """The values that a step reads, and in a kernel also those that it computes."""
    if writer is not None:
        return [schedule.aliases.get(node, node) for node in writer.plan.nodes]
    assert isinstance(step, Operation)
    return [stored_base(schedule, a, step) for a in step.args]


def may_fail(schedule: Schedule, step: Kernel | Operation, writer: AnyWriter | None) -> bool:
    """Whether a step may fail."""
    if writer is None:
        assert isinstance(step, Operation)
        return schedule.may_fail(step)
    return writer.kernel.scatter is not None or any(map(schedule.may_fail, writer.plan.computed_nodes))


def overwrite(
    schedule: Schedule, memory: Memory, writers: Sequence[AnyWriter | None], first_safe: int, i: int, o: int
) -> bool:
    """Let the kernel of an output write it to the memory of an input, if it may; whether it may.

    It may if it is the last to read the input, reads each element where it writes one, and nothing can fail any more:
    after an error, the input must be unchanged.
    """
    old, new = schedule.graph.inputs[i], schedule.graph.outputs[o]
    has_own_memory = memory.outputs.get(new) == Slot(memory.first_output + o)
    is_copied = any(base is old for base, _ in memory.copies)
    if not has_own_memory or old.spec != new.spec or is_copied:
        return False
    steps = list(zip(schedule.steps, writers, strict=True))
    home = home_of(schedule, new)
    if home < first_safe or any(old in values_read(schedule, step, writer) for step, writer in steps[home + 1 :]):
        return False
    writer = writers[home]
    if not isinstance(writer, KernelWriter) or new not in writer.kernel.maps or not writer.plan.is_element_by_element:
        return False
    writer.elements.overwritten.add(old)
    return True


def home_of(schedule: Schedule, node: Node) -> int:
    """The number of the step that stores a value."""
    for k, step in enumerate(schedule.steps):
        outputs = () if isinstance(step, Kernel) else schedule.outputs_of(step)
        if node in (step.roots if isinstance(step, Kernel) else (step, *outputs)):
            return k
    return -1


def stored_base(schedule: Schedule, node: Node, consumer: Operation | None = None) -> Node:
    """The value in memory that an operand of a routine or fallback, the `consumer`, is read from."""
    layout = read_layout(schedule, node, consumer)
    if layout is not None:
        return layout.base
    if is_read_transposed(schedule, node):
        assert isinstance(node, Operation)
        node = node.args[0]
    return schedule.aliases.get(node, node)


def read_layout(schedule: Schedule, node: Node, consumer: Operation | None) -> Strides | None:
    """The layout of an operand that a routine reads with strides."""
    if consumer is None or node in schedule.stored or node in schedule.aliases:
        return None
    return schedule.layouts.get((consumer, node))


def is_read_transposed(schedule: Schedule, node: Node) -> bool:
    """Whether an operand is a transpose that a routine reads from what it transposes."""
    return is_matrix_transpose(node) and node not in schedule.stored and node not in schedule.aliases


# Loops and choices


def inlined_steps(schedule: Schedule) -> frozenset[Operation]:
    """The loops and choices of a schedule whose states are few bytes, and whose bodies become part of it."""
    found = []
    for step in schedule.steps:
        if isinstance(step, Kernel) or schedule.forms[step] is not Form.LOOP or not has_small_states(step):
            continue
        if all(is_inline_body(prepare_body(part.graph)) for part in graphs_of(step)):
            found.append(step)
    return frozenset(found)


def has_small_states(step: Operation) -> bool:
    """Whether a loop or choice has states alone, which LLVM can keep in registers."""
    has_sequences = step.primitive is LOOP and len(step.params["body"].outputs) > step.params["shape"].states
    return not has_sequences and all(s.nbytes <= machine.current.max_bytes_of_copied_state for s in step.spec)


@lru_cache(256)
def is_inline_body(graph: Graph) -> bool:
    """Whether a body becomes part of what it is in."""
    schedule = Schedule(graph, is_body=True)
    if not schedule.is_inline:
        schedule.inlined = inlined_steps(schedule)
    return schedule.is_inline


machine.on_change(is_inline_body.cache_clear)


def control_updates(step: Operation, outputs: Sequence[Operation], operands: Sequence[Node]) -> Iterator[Update]:
    """What a loop or choice may do in place, with values that are operands once; `outputs` are those that are used."""
    pairs = {o: i for i, o in control_pairs(step)}
    for out in outputs:
        i = pairs.get(out.params["index"])
        if i is not None and operands.count(operands[i]) == 1:
            yield Update(out, operands[i])


def control_pairs(step: Operation) -> Pairs:
    """The operands of a loop or choice with the outputs that they become."""
    if step.primitive is SWITCH:
        return tuple([(1 + i, o) for i, o in branch_pairs(step.params["branches"])])
    shape = step.params["shape"]
    first = shape.constants + (shape.length is None and step.params["condition"] is None)
    return tuple([(first + k, k) for k in range(shape.states)])


@lru_cache(256)
def branch_pairs(branches: tuple[Graph, ...]) -> Pairs:
    """The inputs that all branches of a choice update in place, or leave alone, with the outputs that they become."""
    bodies = [prepare_body(branch) for branch in branches]
    roots = [{o: updated_input(body, out) for o, out in enumerate(body.outputs)} for body in bodies]
    found = {i: o for o, i in roots[0].items() if i is not None and all(other[o] == i for other in roots)}
    pairs: Pairs = tuple(found.items())
    for body in bodies:
        pairs = make_plan(body, pairs, "branch.").shared if pairs else ()
    return pairs


machine.on_change(branch_pairs.cache_clear)


def updated_input(graph: Graph, node: Node) -> int | None:
    """The number of the input that a value is, or becomes by updates."""
    while isinstance(node, Operation):
        base = updated_operand(node)
        if base is None:
            return None
        node = base
    return graph.inputs.index(node) if node in graph.inputs else None


def updated_operand(node: Operation) -> Node | None:
    """The operand that an operation may update in place."""
    if node.primitive is OUTPUT:
        whole, o = node.args[0], node.params["index"]
        if isinstance(whole, Operation) and whole.primitive in (LOOP, SWITCH):
            return next((whole.args[i] for i, out in control_pairs(whole) if out == o), None)
        return None
    return node.args[0] if is_update(node) else None
