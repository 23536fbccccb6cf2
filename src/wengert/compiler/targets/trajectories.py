"""Loops of small states on a GPU: each thread runs all steps of one element of the batch, to its own end.

`vmap` of a loop has a batch as the first axis of all states, and goes on while any element does. Here a thread has the
states of one element in its registers. A loop whose states are few numbers altogether is one thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.affine import Affine, Counter, Position, flat_index
from wengert.compiler.forms.classify import COMPUTED, Form, form_of, is_immediate, scalar_operations
from wengert.compiler.forms.short_rows import in_rows
from wengert.compiler.nests.element_sources import ElementSources
from wengert.compiler.nests.thread_order import THREADS
from wengert.compiler.program.prepare import prepare_device_body
from wengert.compiler.program.program_plan import stored_base
from wengert.compiler.schedule.memory_plan import Memory, Pointers, Slot
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.complex_lanes import Variable, constant
from wengert.compiler.simd.lane_operations import store_element
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.targets.grid_kernel import GridElements
from wengert.compiler.targets.thread_block import DeviceKernel, ThreadBlock, make_pointers
from wengert.control.loop import Shape
from wengert.control.residuals import has_unknown_length
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation
from wengert.ops.reductions.logical import _any

ANY = primitive_of(_any)


class BodyForms:
    """The forms of the operations of a body, of which nothing is stored: what a schedule is to elements."""

    def __init__(self, graph: Graph, rows: tuple[int, ...]):
        self.graph, self.rows = graph, rows
        self.forms = {node: form_of(node, rows, is_tiny=not rows) for node in graph.nodes}
        self.aliases: dict[Node, Node] = {}
        self.axis_orders: dict[Node, tuple[int, ...]] = {}
        self.uses: dict[Node, int] = graph.count_uses()
        self.counters = [Counter(0, n) for n in rows]
        self.row = tuple([Affine(0, ((counter, 1),)) for counter in self.counters])

    @property
    def is_unrolled(self) -> bool:
        """Whether every element can be computed from those of inputs, in registers."""
        allowed = (*COMPUTED, Form.VIEW, Form.GIVEN)
        count = math.prod(self.rows)
        work = sum(scalar_operations(node) // count for node in self.graph.operations)
        return work <= machine.current.max_operations_of_unrolled_row and all(
            self.forms[node] in allowed and (not self.has_rows(node) or in_rows(node, self.rows))
            for node in self.graph.nodes
        )

    def has_rows(self, node: Node) -> bool:
        """Whether the first axis of a value is that of rows."""
        return bool(self.rows) and node.shape[:1] == self.rows

    def positions(self, node: Node) -> list[Position]:
        """The positions of a value that belong to one row, or all of them if the value has no rows."""
        lead = self.row if self.has_rows(node) else ()
        return [(*lead, *map(Affine, index)) for index in np.ndindex(node.shape[len(lead) :])]


class NothingStored(Kernel):
    """A kernel that computes everything from inputs."""

    def finds_in_memory(self, _schedule: Any, _node: Node) -> bool:
        return False


class Trajectories(NamedTuple):
    """A loop whose batch, the axis `rows`, are threads; the condition is that of one of them."""

    shape: Shape
    rows: tuple[int, ...]
    body: BodyForms
    condition: BodyForms | None

    @property
    def threads(self) -> int:
        """The number of elements of the batch."""
        return math.prod(self.rows)


def find_trajectories(step: Operation) -> Trajectories | None:
    """How threads run a loop, each by itself; None if its steps mix elements of the batch, or are large."""
    shape, body = step.params["shape"], prepare_device_body(step.params["body"])
    condition = step.params["condition"]
    prepared = None if condition is None else prepare_device_body(condition)
    states = body.inputs[shape.constants : shape.last]
    lengths = {node.shape[0] for node in states if node.ndim}
    candidates = [(n,) for n in lengths if n > 1 and len(lengths) == 1]
    most = machine.current.max_numbers_of_device_trajectory
    for rows in (*candidates, ()):
        count = math.prod(rows)
        numbers = sum(node.size // count if node.shape[:1] == rows else node.size for node in states)
        if numbers > most or any(rows and node.ndim and node.shape[:1] != rows for node in states):
            continue
        own = own_condition(prepared, rows) if prepared is not None else None
        if prepared is not None and own is None:
            continue
        parts = [BodyForms(graph, rows) for graph in (body, own) if graph is not None]
        if all(part.is_unrolled and reads_own_rows(part, shape) for part in parts):
            return Trajectories(shape, rows, parts[0], parts[1] if own is not None else None)
    return None


def own_condition(condition: Graph, rows: tuple[int, ...]) -> Graph | None:
    """The condition of one element of a batch, whose loop goes on while that of any element holds."""
    (out,) = condition.outputs
    if isinstance(out, Operation) and out.primitive is ANY and rows and out.args[0].shape == rows:
        return condition.with_outputs([out.args[0]])
    return condition if out.shape == () else None


def reads_own_rows(part: BodyForms, shape: Shape) -> bool:
    """Whether all elements of a row of the results depend on the same row of states, at known positions."""
    sources = ElementSources(part, NothingStored(part.rows, 0))  # type: ignore[arg-type]  # what it asks for
    states = {*part.graph.inputs[shape.constants : shape.last]}
    found = [(node, p) for node in part.graph.outputs for p in part.positions(node)]
    seen = set(found)
    for node, position in found:
        if node in states:
            lead = part.row if part.has_rows(node) else ()
            if position[: len(lead)] != lead or any(i.terms for i in position[len(lead) :]):
                return False
        if isinstance(node, Constant) and not is_immediate(node) and any(i.terms for i in position):
            return False
        if part.forms[node] is Form.GATHER:
            assert isinstance(node, Operation)
            source = node.args[0]
            if part.forms[source] is not Form.GIVEN or source in states or isinstance(source, Constant):
                return False
        for element in sources.sources(node, position):
            if element not in seen:
                seen.add(element)
                found.append(element)
    return True


class BodyInputs(NamedTuple):
    """The inputs of a body that are not states: addresses, and numbers that are part of the code."""

    addresses: dict[Node, Lanes]
    numbers: dict[Node, Any]


class BodyPointers:
    """The addresses of the inputs of a body."""

    def __init__(self, addresses: dict[Node, Lanes]):
        self.addresses = addresses

    def source(self, node: Node) -> Lanes:
        """The address that a value is read from."""
        return self.addresses[node]


class TrajectoryElements(GridElements):
    """The elements of a body, whose states are variables."""

    def __init__(
        self,
        code: Code,
        part: BodyForms,
        inputs: BodyInputs,
        states: dict[Node, list[Variable]],
        row: Lanes,
    ):
        pointers: Any = BodyPointers(inputs.addresses)
        super().__init__(code, part, NothingStored(part.rows, 0), pointers)  # type: ignore[arg-type]  # as above
        self.part, self.inputs, self.states = part, inputs, states
        self.counters |= dict.fromkeys(part.counters, row)

    def load(self, node: Node, position: Position) -> Lanes:
        if node in self.states:
            first = int(self.part.has_rows(node))
            return self.states[node][flat_index(position[first:], node.shape[first:]).constant].load()
        value = self.inputs.numbers.get(node)
        if isinstance(node, Constant) and not is_immediate(node):
            value = np.asarray(node.value)[tuple([i.constant for i in position])].item()
        if value is not None:
            return constant(self.code, value, Type.from_dtype(node.dtype))
        return super().load(node, position)


class TrajectoryWriter:
    """Writes the kernel of a loop, which writes the steps of each thread to `counts`; maybe it `only_counts` them."""

    def __init__(
        self,
        step: Operation,
        loop: Trajectories,
        schedule: Schedule,
        memory: Memory,
        name: str,
        make_block: type[ThreadBlock],
        counts: Slot | None = None,
        only_counts: bool = False,
    ):
        self.step, self.loop, self.schedule, self.memory = step, loop, schedule, memory
        self.counts, self.only_counts = counts, only_counts
        self.code = Code()
        self.block = make_block(self.code, name)
        self.pointers: Pointers = make_pointers(self.block, memory, schedule.aliases)
        self.used = {u.params["index"]: u for u in schedule.outputs_of(step)}

    def write(self) -> DeviceKernel:
        """The kernel."""
        code, loop = self.code, self.loop
        count = math.prod(loop.rows)
        with self.block.phase() as thread:
            row = self.block.number * THREADS + thread
            with code.when(row < count):
                self.write_thread(row)
        moved = sum(node.nbytes for node in (*self.step.args, *self.used.values()) if not has_unknown_length(node.spec))
        what = f"{count} trajectories of {len(loop.body.graph.operations)} operations"
        return DeviceKernel(self.block.name, code, -(-count // THREADS), moved, what)

    def address(self, node: Node) -> Lanes:
        """The address of an operand; a sequence of unknown length is stored as a pointer."""
        found = self.pointers.at(self.memory.slot(stored_base(self.schedule, node)))
        return self.code.load(found, PTR) if has_unknown_length(node.spec) else found

    def read_inputs(self, operands: Sequence[Node]) -> BodyInputs:
        """Where the inputs of the body are."""
        found = BodyInputs({}, {})
        for node, operand in zip(self.loop.body.graph.inputs, operands, strict=True):
            if is_immediate(operand) and operand not in self.memory.given:
                assert isinstance(operand, Constant)
                found.numbers[node] = np.asarray(operand.value).item()
            else:
                found.addresses[node] = self.address(operand)
        return found

    def write_thread(self, row: Lanes) -> None:
        """All steps of one thread."""
        code, loop, shape, operands = self.code, self.loop, self.loop.shape, list(self.step.args)
        steps: Lanes | None = None
        if shape.length is not None:
            steps = code.constant(shape.length, I64)
        elif loop.condition is None:
            steps = code.load(self.address(operands.pop(0)), I64)
        graph, part, inputs = loop.body.graph, loop.body, self.read_inputs(operands)
        own = graph.inputs[shape.constants : shape.last]
        first = TrajectoryElements(code, part, inputs, {}, row)
        states: dict[Node, list[Variable]] = {}
        for node in own:
            values = [first.load(node, p) for p in part.positions(node)]
            states[node] = [Variable(code, Type.from_dtype(node.dtype), value) for value in values]
        number = code.variable(I64, 0)
        head, body, done = code.label("loop"), code.label("step"), code.label("loop.done")
        code.jump(head)
        code.begin(head)
        i = code.load(number, I64)
        goes_on = i < steps if steps is not None else self.holds(inputs, states, row)
        code.branch(goes_on, body, done)
        code.begin(body)
        at = steps - 1 - i if shape.reverse and steps is not None else i
        addresses = dict(inputs.addresses)
        for node in graph.inputs[shape.last :]:
            addresses[node] = code.offset(addresses[node], at * node.size, Type.from_dtype(node.dtype).in_memory)
        elements = TrajectoryElements(code, part, BodyInputs(addresses, inputs.numbers), states, row)
        needed = graph.outputs[: shape.states] if self.only_counts else graph.outputs
        outs = [[elements.at(out, p) for p in part.positions(out)] for out in needed]
        for k in range(shape.states, len(outs)):
            self.store_slice(k, outs[k], at, elements)
        for node, new in zip(own, outs, strict=False):
            for variable, value in zip(states[node], new, strict=True):
                variable.store(value.to(variable.type.kind))
        code.store(i + 1, number)
        code.jump(head)
        code.begin(done)
        self.finish(row, code.load(number, I64), list(states.values()), elements)

    def holds(self, inputs: BodyInputs, states: dict[Node, list[Variable]], row: Lanes) -> Lanes:
        """Whether the condition holds for the present states of a thread."""
        part = self.loop.condition
        assert part is not None
        pairs = dict[Node, Node](zip(part.graph.inputs, self.loop.body.graph.inputs, strict=False))
        pick = lambda known: {c: known[node] for c, node in pairs.items() if node in known}
        given, present = BodyInputs(pick(inputs.addresses), pick(inputs.numbers)), pick(states)
        (out,) = part.graph.outputs
        return TrajectoryElements(self.code, part, given, present, row).at(out, part.positions(out)[0])

    def store_slice(self, index: int, values: Sequence[Lanes], at: Lanes, elements: TrajectoryElements) -> None:
        """Write a slice of an output, if somebody reads it."""
        if index not in self.used:
            return
        out, target = self.loop.body.graph.outputs[index], self.used[index]
        base = self.pointers.target(target)
        if has_unknown_length(target.spec):
            base = self.code.load(base, PTR)
        start = self.code.offset(base, at * out.size, Type.from_dtype(out.dtype).in_memory)
        self.write_row(out, values, start, elements)

    def write_row(self, node: Node, values: Sequence[Lanes], start: Lanes, elements: TrajectoryElements) -> None:
        """Write the elements of a value that belong to one row."""
        type = Type.from_dtype(node.dtype).in_memory
        for position, value in zip(self.loop.body.positions(node), values, strict=True):
            index = elements.evaluate(flat_index(position, node.shape), False)
            store_element(value.to(type.kind), self.code.offset(start, index, type), type.align)

    def finish(
        self, row: Lanes, steps: Lanes, states: Sequence[Sequence[Variable]], elements: TrajectoryElements
    ) -> None:
        """Write the final states, and the number of steps."""
        elements.forget()
        if self.counts is not None:
            self.code.store(steps, self.code.offset(self.pointers.at(self.counts), row, I64))
        for k, variables in enumerate(states):
            if k in self.used and not self.only_counts:
                values, target = [variable.load() for variable in variables], self.pointers.target(self.used[k])
                self.write_row(self.loop.body.graph.outputs[k], values, target, elements)


def may_share_memory(step: Operation, loop: Trajectories, schedule: Schedule, memory: Memory) -> bool:
    """Whether a result that all threads have in common would be written where others still read an operand."""
    outputs = loop.body.graph.outputs[: loop.shape.states]
    uniform = {k for k, out in enumerate(outputs) if loop.rows and out.shape[:1] != loop.rows}
    return any(u in memory.taken for u in schedule.outputs_of(step) if u.params["index"] in uniform)
