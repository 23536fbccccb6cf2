"""Many signals at once, one in each lane of vectors.

If the signals are neighbours in memory, their numbers are vectors. If each signal is contiguous, numbers are transposed
to blocks of vectors first, and back at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier.half import Half
from wengert.compiler.routines.fourier.numbers import (
    lane_order,
    last_start,
    load_block,
    load_neighbours,
    load_reals,
    most_lanes,
    planned_lanes,
    scaled,
    store_block,
    store_neighbours,
    store_reals,
    swapped,
)
from wengert.compiler.routines.fourier.passes import block_of_result, transform_lanes
from wengert.compiler.routines.fourier.plan import lanes_cost
from wengert.compiler.routines.fourier.task import STEP_PARAMETERS, Pass, Task, is_shared, run_step, step_arguments
from wengert.compiler.simd.complex_lanes import Complex, parts_of
from wengert.compiler.simd.lanes import Code, Lanes, split_index
from wengert.compiler.simd.transposes import exchange_blocks
from wengert.compiler.simd.types import Type
from wengert.core import machine


class Batch(NamedTuple):
    """Transforms of a smooth length, as many at once as there are lanes."""

    task: Task

    @property
    def is_transposed(self) -> bool:
        """Whether signals are contiguous, so that their numbers are transposed."""
        return self.task.inner == 1

    @property
    def rows(self) -> tuple[int, int]:
        """The numbers of a contiguous signal and of its result, in pairs if they are real and in pairs."""
        task = self.task
        return tuple(  # type: ignore[return-value]  # two
            [
                task.length if task.is_halved and is_real else count
                for count, is_real in ((task.read, task.is_real_source), (task.written, task.is_real_target))
            ]
        )

    @property
    def extents(self) -> tuple[int, ...]:
        """What lanes must not exceed: the signals first, then the numbers of contiguous ones."""
        return (self.task.outer, *self.rows) if self.is_transposed else (self.task.inner,)

    @property
    def lanes(self) -> int:
        """The number of signals at once."""
        return most_lanes(self.task.kind, *self.extents)

    @property
    def groups(self) -> int:
        """The vectors of signals, for each index of the first axis if the last one has the lanes."""
        return -(-self.extents[0] // self.lanes)

    @property
    def block(self) -> int:
        """The numbers of a block for each lane."""
        return max(self.task.length, *self.rows)

    @property
    def step(self) -> Pass:
        """All groups."""
        task = self.task
        count = self.groups if self.is_transposed else self.groups * task.outer
        return Pass(f"{task.name}.lanes.{self.lanes}", count, 2 * self.block * self.lanes, self.cost)

    @property
    def cost(self) -> float:
        """The cost of all signals, with the lanes of the plan."""
        task, lanes = self.task, planned_lanes(self.task.kind, *self.extents)
        count = -(-self.extents[0] // lanes) * (1 if self.is_transposed else task.outer)
        transposed = machine.current.instructions_of_transposed_vector * sum(self.rows) if self.is_transposed else 0
        return count * (lanes_cost(task.length, task.kind, lanes) + transposed + task.is_halved * 8 * task.n)

    @property
    def memory(self) -> int:
        """The numbers that it needs besides source and target."""
        return self.step.all_memory if is_shared(self.cost) else self.step.memory

    def write(self, call: RoutineCall, source: Lanes, target: Lanes, memory: Lanes, is_large: bool) -> None:
        """Run all transforms."""
        call.define(self.step.name, STEP_PARAMETERS, partial(self.write_groups, call), FEW_PASSES)
        run_step(call, self.step, self.task.kind, [source, target, memory], is_large)

    def write_groups(self, call: RoutineCall, code: Code) -> None:
        """The loop over vectors of signals."""
        task, lanes = self.task, self.lanes
        source, target, scratch, begin, end = step_arguments(code)
        second = code.offset(scratch, 2 * self.block * lanes, Type(task.kind))
        with code.loop(begin, end) as unit:
            if self.is_transposed:
                start = last_start(unit, task.outer, lanes)
                places = [start * task.read, start * task.written]
            else:
                outer, group = split_index(unit, self.groups)
                start = last_start(group, task.inner, lanes)
                places = [outer * (size * task.inner) + start for size in (task.read, task.written)]
            read = task.offset(source, places[0], task.is_real_source)
            written = task.offset(target, places[1], task.is_real_target)
            GroupWriter(self, call, code, read, written, (scratch, second)).write()


class GroupWriter:
    """Writes the transform of one vector of signals."""

    def __init__(
        self, batch: Batch, call: RoutineCall, code: Code, source: Lanes, target: Lanes, blocks: tuple[Lanes, Lanes]
    ):
        self.batch, self.task, self.call, self.code = batch, batch.task, call, code
        self.source, self.target, self.blocks = source, target, blocks
        self.type = Type(batch.task.kind, batch.lanes)
        self.half = Half(self.task.length, self.task.kind, self.task.is_inverse, self.task.factor)

    def write(self) -> None:
        """From memory to registers or blocks, passes, and back."""
        task, batch, blocks = self.task, self.batch, self.blocks
        is_prepared = task.is_real_target
        is_finished = task.is_real_source
        read: Callable = self.read_strided
        if batch.is_transposed:
            block = blocks[0 if is_prepared else 1]
            self.transpose_in(block)
            read = lambda i: load_block(block, i, self.type)
        if is_prepared:
            self.prepare(read)
        result = blocks[block_of_result(task.length)]
        other = blocks[1 - block_of_result(task.length)]
        transform_lanes(
            self.call,
            self.code,
            task.length,
            self.type,
            None if batch.is_transposed or is_prepared else lambda i: self.in_direction(read(i)),
            None if batch.is_transposed or is_finished else self.store_strided,
            blocks,
        )
        if is_finished and task.is_halved:
            write = (lambda v, i: store_block(v, other, i)) if batch.is_transposed else self.store_strided
            read = lambda i: load_block(result, i, self.type)
            self.half.write_for_lanes(self.call, self.code, self.type, read, write)
            result = other
        elif is_finished and not batch.is_transposed:
            with self.code.loop(0, task.written) as i:
                self.store_strided(load_block(result, i, self.type), i)
        if batch.is_transposed:
            self.transpose_out(result)

    def in_direction(self, value: Complex) -> Complex:
        """With exchanged parts for the inverse transform; pairs of real numbers need none."""
        return swapped(value) if self.task.is_inverse and not self.task.is_halved else value

    def finished(self, value: Complex) -> Complex:
        """A number of the result; those of pairs have got their factor."""
        return self.in_direction(value if self.task.is_halved else scaled(value, self.task.factor))

    # Numbers that are neighbours of those of other signals

    def read_strided(self, i: Lanes | int) -> Complex:
        """Number i of each signal."""
        task, row = self.task, self.task.inner
        if not task.is_real_source:
            return load_neighbours(task.offset(self.source, i * row, False), self.type)
        if task.is_halved:
            even = task.offset(self.source, i * (2 * row), True)
            return Complex(load_reals(even, self.type), load_reals(task.offset(even, row, True), self.type))
        x = load_reals(task.offset(self.source, i * row, True), self.type)
        return Complex(x, x.like(0.0))

    def store_strided(self, value: Complex, i: Lanes | int) -> None:
        """Number i of each result."""
        task, row = self.task, self.task.inner
        value = self.finished(value)
        if not task.is_real_target:
            store_neighbours(value, task.offset(self.target, i * row, False))
        elif task.is_halved:
            even = task.offset(self.target, i * (2 * row), True)
            store_reals(value.real, even)
            store_reals(value.imag, task.offset(even, row, True))
        else:
            store_reals(value.real, task.offset(self.target, i * row, True))

    # Spectra of which half is given

    def prepare(self, read: Callable[[Lanes | int], Complex]) -> None:
        """Make the spectrum of a complex signal in the second block."""
        task, code = self.task, self.code
        write = lambda value, i: store_block(self.in_direction(value), self.blocks[1], i)
        if task.is_halved:
            self.half.write_for_lanes(self.call, code, self.type, read, write)
            return
        first = read(0)
        write(Complex(first.real, first.real.like(0.0)), 0)
        with code.loop(1, task.read) as k:
            value = read(k)
            write(value, k)
            write(Complex(value.real, -value.imag), task.n - k)

    # Contiguous signals

    def transpose_in(self, block: Lanes) -> None:
        """Vectors of signals, from contiguous signals."""
        task, code, type, lanes = self.task, self.code, self.type, self.type.lanes
        count = self.batch.rows[0]
        is_single = task.is_real_source and not task.is_halved  # real numbers, not in pairs
        is_swapped = not task.is_real_target and task.is_inverse
        step = task.read // (2 if task.is_real_source and task.is_halved else 1)
        order = list(range(lanes)) if is_single else lane_order(type)
        with code.loop(0, -(-count // lanes)) as group:
            column = last_start(group, count, lanes)
            addresses = [task.offset(self.source, column + row * step, is_single) for row in range(lanes)]
            numbers = [
                code.load(at, type, type.bits // 8) if is_single else load_neighbours(at, type) for at in addresses
            ]
            rows = [parts_of(number) for number in numbers]
            parts = [exchange_blocks(list(part)) for part in zip(*rows, strict=True)]
            for k, value in zip(order, zip(*parts, strict=True), strict=True):
                number = Complex(*value) if len(value) == 2 else Complex(value[0], value[0].like(0.0))
                store_block(swapped(number) if is_swapped else number, block, column + k)

    def transpose_out(self, block: Lanes) -> None:
        """Contiguous results, from vectors."""
        task, code, type, lanes = self.task, self.code, self.type, self.type.lanes
        count = self.batch.rows[1]
        is_single = task.is_real_target and not task.is_halved
        order = list(range(lanes)) if is_single else lane_order(type)
        step = task.written // (2 if task.is_real_target and task.is_halved else 1)
        with code.loop(0, -(-count // lanes)) as group:
            column = last_start(group, count, lanes)
            numbers = [self.finished(load_block(block, column + k, type)) for k in order]
            columns = [parts_of(number.real if is_single else number) for number in numbers]
            parts = [exchange_blocks(list(part)) for part in zip(*columns, strict=True)]
            for row in range(lanes):
                address = task.offset(self.target, column + row * step, is_single)
                if is_single:
                    code.store(parts[0][row], address, type.bits // 8)
                else:
                    store_neighbours(Complex(parts[0][row], parts[1][row]), address)
