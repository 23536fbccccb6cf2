"""What each step of a program costs at the least: bytes, vector instructions, and instructions that wait.

A value that a step reads or writes counts once, with the elements that are used of it; so does an element that is
computed at several positions. Instructions are on whole vectors, whatever a kernel does. The operations of routines
count as fused multiply-adds, each of two operations. Elements at computed indices are counted by themselves, and so is
the longest chain of instructions that wait for each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from wengert.compiler.forms.classify import Form, is_immediate
from wengert.compiler.forms.gather import Written
from wengert.compiler.forms.lowering import Indexed, MatrixFunction, Routine, RoutineWork, lowering_of, native_code
from wengert.compiler.kernels.iteration import fewest_steps
from wengert.compiler.kernels.kernel import KernelText
from wengert.compiler.kernels.row_kernel import RowPlan
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.nests.cache_lines import seconds_of_array
from wengert.compiler.nests.cost import cost, seconds_of_hand_over, share_of_thread
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.program.chains import Chain, longest_chain, loop_paths, paths_through
from wengert.compiler.program.instruction_counts import (
    MULTIPLY,
    SHUFFLE,
    Count,
    add_instructions,
    count_text,
    element_instructions,
    exponential_instructions,
    fold_instructions,
    matrix_code,
)
from wengert.compiler.program.loop_lengths import loop_lengths
from wengert.compiler.program.prepare import prepare, prepare_body
from wengert.compiler.program.program_plan import Plan, branch_pairs, make_plan, stored_base
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.types import Type
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.core import machine, parallel
from wengert.core.spec import Spec
from wengert.graph.costs import flops_of
from wengert.graph.graph import Graph
from wengert.graph.held import STATE, graphs_of
from wengert.graph.ir import Node, Operation
from wengert.ops.indexing.key import Index


class StepCost(NamedTuple):
    """The cost of one step of a program, which runs so often; None if that depends on numbers.

    `read` and `written` are bytes, and `instructions` the numbers of instructions on vectors, by class. One that
    `is_shared` runs on all cores. A step of a body has the number of its loop among the steps of the program; what all
    steps of a loop wait for is the `chain` of one of them, which does nothing else. `seconds` are those of one run that
    the policy expects, not the least that are possible.
    """

    name: str
    runs: int | None
    read: int
    written: int
    instructions: Count
    is_shared: bool
    indexed: tuple[Indexed, ...] = ()
    chain: Chain = {}
    loop: int | None = None
    seconds: float = 0.0


def program_costs(
    graph: Graph,
    updates: Sequence[tuple[int, int]] = (),
    rolls: bool = True,
    inputs: Sequence[Any] | None = None,
) -> list[StepCost]:
    """The costs of all steps of the program of a graph.

    With `inputs`, NumPy runs the loops whose steps depend on numbers, as far as they are not within others.
    """
    prepared = prepare(graph, rolls)
    lengths = loop_lengths(prepared, inputs) if inputs is not None else {}
    return list(plan_costs(make_plan(prepared, tuple(updates), ""), 1, lengths))


def plan_costs(plan: Plan, runs: int | None, lengths: Mapping[Operation, float]) -> Iterator[StepCost]:
    """The costs of all steps of a plan, with the lengths of its loops that only numbers say."""
    for number, (step, kernel) in enumerate(zip(plan.schedule.steps, plan.kernels, strict=True)):
        if kernel is not None:
            yield kernel_cost(plan, step, kernel, runs, lengths)
        elif plan.schedule.forms[step] is Form.LOOP:
            length = int(lengths[step]) if step in lengths else None
            for cost in control_costs(step, runs, length):
                yield cost._replace(loop=number, chain={})
            if step.primitive is LOOP and not plan.is_body:
                chain = longest_chain(loop_paths(step, dict.fromkeys(step.args, {}), length)) or {}
                yield StepCost("chain", runs, 0, 0, {}, False, chain=chain, loop=number)
        else:
            yield routine_cost(plan, step, runs)
    copied = sum(base.nbytes for base, _ in plan.memory.copies)
    if copied:
        seconds = seconds_of_array(2 * copied, machine.current)
        yield StepCost("copy", runs, copied, copied, {}, False, seconds=seconds)


def control_costs(step: Operation, runs: int | None, length: int | None) -> Iterator[StepCost]:
    """The costs of a loop, or of that branch of a choice that moves the fewest bytes."""
    bodies = []
    for part in graphs_of(step):
        states = [i for i, (role, _) in enumerate(part.inputs) if role == STATE]
        pairs = tuple([(i, k) for k, i in enumerate(states)]) if part.title == "step" else ()
        if step.primitive is SWITCH:
            pairs = branch_pairs(tuple(step.params["branches"]))
        times = part.runs if isinstance(part.runs, int) else length
        times = None if runs is None or times is None else runs * times
        bodies.append(list(plan_costs(make_plan(prepare_body(part.graph), pairs, "body."), times, {})))
    if step.primitive is SWITCH:
        bodies = [min(bodies, key=lambda costs: sum(cost.read + cost.written for cost in costs))]
    for costs in bodies:
        yield from costs


# Routines


def routine_cost(plan: Plan, step: Operation, runs: int | None) -> StepCost:
    """The cost of a routine, or of an operation of NumPy: operands are read, and results written, once."""
    schedule = plan.schedule
    operands = {stored_base(schedule, a, step): a for a in step.args}
    read = sum(min(base.nbytes, a.nbytes) for base, a in operands.items())
    results = [step] if step.spec.__class__ is Spec else schedule.outputs_of(step)
    flops, lowering = flops_of(step), native_code(step)
    count: Count = {MULTIPLY: flops / 2 / numbers_in_vector(step.args[0])}
    work = lowering.beside_flops(step) if isinstance(lowering, Routine) else RoutineWork()
    if work.exponentials:
        add_instructions(count, exponential_instructions(Type.from_dtype(step.args[0].dtype)), work.exponentials)
    is_shared = flops >= machine.current.min_shared_operations if work.is_shared is None else work.is_shared
    written = sum(r.nbytes for r in results)
    found = StepCost(step.primitive.name, runs, read, written, count, is_shared, work.indexed)
    return found._replace(seconds=seconds_of_routine(found))


def seconds_of_routine(cost: StepCost) -> float:
    """The seconds that a routine is expected to take: instructions on vectors, and elements at computed indices."""
    now = machine.current
    cycles = sum(cost.instructions.values()) / now.products_per_cycle
    cycles += now.cycles_of_lane * sum(found.elements for found in cost.indexed)
    seconds = max(1e-9 * cycles / now.cycles_per_nanosecond, seconds_of_array(cost.read + cost.written, now))
    parts = now.sum_pieces if cost.is_shared else 1
    return seconds * share_of_thread(parts, parallel.num_threads(), now)


def numbers_in_vector(node: Node) -> int:
    """The real numbers of a vector of elements."""
    return vector_lanes(Type.from_dtype(node.dtype).align)


# Kernels


def kernel_cost(
    plan: Plan, kernel: Kernel, text: KernelText, runs: int | None, lengths: Mapping[Operation, float]
) -> StepCost:
    """The cost of a kernel, with the steps of its loops of elements that only numbers say."""
    found = plan.writers[kernel].plan
    loops = found.parts if isinstance(found, RowPlan) else [found]
    own = {node for part in kernel.parts for node in part.roots} if isinstance(kernel, RowKernel) else set()
    read: Counter[Node] = Counter()
    instructions: Count = {}
    indexed: list[Indexed] = []
    computed: set[Node] = set()
    for loop in loops:
        elements = count_elements(loop)
        add_reads(read, loop, elements)
        add_work(instructions, loop, elements, lengths)
        indexed += gathered_elements(loop, elements)
        computed |= {*(node for node in elements if not loop.sources.is_stored(node)), *loop.kernel.reductions}
    indexed += scattered_elements(kernel)
    graph, forms = plan.schedule.graph, plan.schedule.forms
    paths = paths_through(graph, forms, {node: {} for node in graph.nodes if node not in computed})
    is_in_place = any(step.step is kernel for step, _ in plan.in_place.takers.values())
    scattered = scattered_bytes(kernel, is_in_place)
    kept = [node for node in kernel.roots if node is not kernel.scatter]
    return StepCost(
        text.name,
        runs,
        sum(min(node.nbytes, size) for node, size in read.items() if node not in own) + scattered[0],
        sum(node.nbytes for node in kept) + scattered[1],
        instructions,
        text.is_shared,
        tuple(indexed),
        longest_chain([paths[node] for node in computed if node in paths]) or {},
        seconds=seconds_of_kernel(found, text),
    )


def seconds_of_kernel(plan: LoopPlan | RowPlan, text: KernelText) -> float:
    """The seconds that a kernel is expected to take on all cores."""
    now, threads = machine.current, parallel.num_threads()
    if isinstance(plan, LoopPlan):
        return cost(plan, plan.decisions, now, threads).seconds
    seconds = sum([part.seconds for part in plan.costs()])
    if not text.is_shared or threads == 1:
        return seconds
    return seconds * share_of_thread(text.extent, threads, now) + seconds_of_hand_over(now)


def count_elements(loop: LoopPlan) -> dict[Node, int]:
    """How many elements the loops of a kernel request of each value."""
    found: Counter[Node] = Counter()
    for node, position in loop.requested_elements():
        counters = {counter for index in position for counter, _ in index.terms}
        found[node] += math.prod(counter.extent for counter in counters)
    for node in (*loop.kernel.reductions, *loop.kernel.sums):
        if loop.sources.factors(node) is not None:
            del found[node.args[0]]  # products are added as they are computed
    return {node: min(count, node.size) for node, count in found.items()}


def add_reads(read: Counter[Node], loop: LoopPlan, elements: dict[Node, int]) -> None:
    """Add the bytes of values in memory."""
    schedule = loop.schedule
    for node, count in elements.items():
        source = node
        if not loop.sources.is_stored(node):
            if schedule.forms[node] is not Form.GATHER:
                continue
            assert isinstance(node, Operation)
            source = node.args[0]
        if not is_immediate(source):
            read[schedule.aliases.get(source, source)] += count * source.dtype.itemsize


def add_work(
    instructions: Count, loop: LoopPlan, elements: dict[Node, int], lengths: Mapping[Operation, float]
) -> None:
    """Add the instructions of the values that the loops of a kernel compute."""
    forms, iterated = loop.schedule.forms, set()
    computed = [node for node in elements if isinstance(node, Operation) and not loop.sources.is_stored(node)]
    for node in computed:
        form, count = forms[node], elements[node]
        if form is Form.ITERATED:
            key = node.params["body"], node.args
            if key not in iterated:
                iterated.add(key)
                steps = lengths.get(node) or fewest_steps(node.params["shape"].length)
                for operation in node.params["body"].operations:
                    add_instructions(instructions, element_instructions(operation), steps * count)
        elif form is Form.UNROLLED:
            terms = node.args[0].size // max(node.size, 1)
            is_fused = loop.sources.factors(node) is not None
            add_instructions(instructions, fold_instructions(node, is_fused), (terms - 1 + is_fused) * count)
        elif form in (Form.ELEMENT, Form.DRAW):
            add_instructions(instructions, element_instructions(node), count)
    add_matrix_work(instructions, loop, [node for node in computed if forms[node] is Form.MATRIX])
    for node in (*loop.kernel.reductions, *loop.kernel.sums):
        is_fused = loop.sources.factors(node) is not None
        add_instructions(instructions, fold_instructions(node, is_fused), node.args[0].size)


def add_matrix_work(instructions: Count, loop: LoopPlan, nodes: Sequence[Operation]) -> None:
    """Add those of functions of small matrices: lanes are matrices, whose elements are neighbours in memory."""
    if not nodes:
        return
    written = matrix_code(nodes)
    lanes = vector_lanes(max(t.bits for t in written.types) // 8)
    matrices = max([math.prod(node.shape[: lowering_of(node, MatrixFunction).lead(node)]) for node in nodes])
    add_instructions(instructions, count_text(written.text(lanes)), max(matrices / lanes, 1))
    if matrices >= lanes:
        in_memory = {node for node in loop.nodes if loop.sources.is_stored(node)} | set(loop.kernel.maps)
        moved = sum(node.size for node in in_memory if node.size > matrices and node.size % matrices == 0)
        add_instructions(instructions, {SHUFFLE: math.log2(lanes)}, moved / lanes)


def gathered_elements(loop: LoopPlan, elements: dict[Node, int]) -> list[Indexed]:
    """What the loops of a kernel read at computed indices: rows of neighbours count as one element."""
    found = []
    for node in elements:
        if (
            isinstance(node, Operation)
            and loop.schedule.forms[node] is Form.GATHER
            and not loop.sources.is_stored(node)
        ):
            found += indexed_elements("read", node.args[0], node.args[1:], node.params["key"], node.shape)
    return found


def scattered_elements(kernel: Kernel) -> list[Indexed]:
    """What a kernel writes, or adds to, at computed indices."""
    if kernel.scatter is None:
        return []
    written = [Written.by(node) for node in kernel.scatters]
    return [
        found for by in written for found in indexed_elements("added", kernel.scatter, by.indices, by.key, by.shape)
    ]


def indexed_elements(
    kind: Literal["read", "added"], array: Node, indices: Sequence[Node], key: Index, shape: tuple[int, ...]
) -> list[Indexed]:
    """The elements of an array that index arrays select, or the rows, if a slice selects neighbours after them."""
    count = math.prod(np.broadcast_shapes(*[i.shape for i in indices])) if indices else 0
    last = key.parts(array.ndim)[-1]
    neighbours = shape[-1] if isinstance(last, slice) and last.step in (None, 1) else 1
    return [Indexed(kind, array.nbytes, count, neighbours * array.dtype.itemsize)] if count > 1 else []


def scattered_bytes(kernel: Kernel, is_in_place: bool) -> tuple[int, int]:
    """The bytes that a kernel reads and writes of the array that it scatters into."""
    target = kernel.scatter
    if target is None:
        return 0, 0
    touched = sum(written.size for written in map(Written.by, kernel.scatters)) * target.dtype.itemsize
    touched = min(touched, target.nbytes)
    if is_in_place:
        return touched, touched
    return (touched if kernel.scatter_base is None else target.nbytes), target.nbytes
