"""The transform of one signal: as a matrix, whose columns and then rows are transformed, several at once in lanes.

Number j of the signal is in row j // columns. The transforms of the columns are multiplied by roots of unity; those of
the rows, which are read transposed, are the result: frequency k is number k // rows of the transform of row k % rows.
A short signal is transformed without vectors.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from wengert.compiler.machine.tables import Table
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier import tables
from wengert.compiler.routines.fourier.numbers import (
    lane_order,
    last_start,
    load_block,
    load_neighbours,
    load_same,
    product,
    scaled,
    store_block,
    store_neighbours,
    swapped,
)
from wengert.compiler.routines.fourier.passes import transform_lanes
from wengert.compiler.routines.fourier.plan import Split, split
from wengert.compiler.routines.fourier.task import STEP_PARAMETERS, Pass, step_arguments
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Code, Lanes, split_index
from wengert.compiler.simd.transposes import exchange_blocks
from wengert.compiler.simd.types import PTR, Type


class Line(NamedTuple):
    """A transform of n neighbouring complex numbers, times a factor; the inverse one if `is_inverse`."""

    n: int
    kind: str
    is_inverse: bool
    factor: float

    @property
    def name(self) -> str:
        """The name of its function."""
        return transform_name(*self)

    @property
    def split(self) -> Split | None:
        """The matrix of the signal."""
        return split(self.n, self.kind)

    @property
    def element(self) -> Type:
        """The type of a part of a number."""
        return Type(self.kind)

    @property
    def between(self) -> int:
        """The numbers between the two steps: the columns, rounded up to vectors."""
        found = self.split
        return 0 if found is None else -(-found.columns // found.lanes) * found.lanes * found.rows

    @property
    def scratch(self) -> int:
        """The numbers in the two blocks that a thread needs."""
        found = self.split
        return 2 * self.n if found is None else 2 * max(found.rows, found.columns) * found.width(self.kind)

    @property
    def memory(self) -> int:
        """The numbers that one run needs: those between the steps, and the blocks."""
        return self.between + self.scratch

    def blocks(self, scratch: Lanes) -> list[Lanes]:
        """The two blocks."""
        return [scratch, scratch.code.offset(scratch, self.scratch, self.element)]

    # Functions

    def define(self, call: RoutineCall) -> str:
        """The function of addresses of the signal, the result, and memory: the numbers between, and two blocks."""

        def write(code: Code) -> None:
            source, target, memory = [Lanes(code, x, PTR) for x in ("%source", "%target", "%memory")]
            found = self.split
            if found is None:
                self.write_direct(call, code, source, target, memory)
                return
            scratch = code.offset(memory, 2 * self.between, self.element)
            for step, arguments in zip(
                self.define_steps(call), ((source, memory, scratch), (memory, target, scratch)), strict=True
            ):
                bounds = f"i64 0, i64 {step.extent}"
                code.do(f"call void @{step.name}({', '.join(a.typed for a in arguments)}, {bounds})")

        call.define(self.name, ("ptr noalias %source", "ptr noalias %target", "ptr noalias %memory"), write, FEW_PASSES)
        return self.name

    @property
    def steps(self) -> list[Pass]:
        """The two steps, over vectors of columns and of rows."""
        found = self.split
        assert found is not None
        cost, width = found.cost(self.kind) / 2, found.width(self.kind)
        vectors = -(-found.columns // found.lanes) * (found.lanes // width)
        return [
            Pass(f"{self.name}.columns", vectors, self.scratch, cost),
            Pass(f"{self.name}.rows", -(-found.rows // width), self.scratch, cost),
        ]

    def define_steps(self, call: RoutineCall) -> list[Pass]:
        """Define the functions of the two steps."""
        found, steps = self.split, self.steps
        assert found is not None
        for step, write in zip(steps, (self.write_columns, self.write_rows), strict=True):
            call.define(step.name, STEP_PARAMETERS, partial(write, call, found), FEW_PASSES)
        return steps

    def write_direct(self, call: RoutineCall, code: Code, source: Lanes, target: Lanes, memory: Lanes) -> None:
        """One number at a time."""
        element, at = self.element, lambda base, i: code.offset(base, i * 2, self.element)
        transform_lanes(
            call,
            code,
            self.n,
            element,
            lambda i: load_in_direction(at(source, i), element, self.is_inverse),
            lambda value, i: store_in_direction(scaled(value, self.factor), at(target, i), self.is_inverse),
            self.blocks(memory),
        )

    def write_columns(self, call: RoutineCall, found: Split, code: Code) -> None:
        """Transforms of columns, each vector of them into a block of the target.

        The root of a column is the product of that of the first one of the lanes of the plan, and one of a table.
        """
        rows, columns, lanes = found
        width = found.width(self.kind)
        element, type = self.element, Type(self.kind, width)
        source, target, scratch, begin, end = step_arguments(code)
        order = tuple(lane_order(type))
        starts = call.table(code, Table(tables.start_roots, (rows, columns, lanes, self.kind)))
        table = call.table(code, Table(tables.lane_roots, (rows, columns, order, lanes // width, self.kind)))
        with code.loop(begin, end) as number:
            group, part = split_index(number, lanes // width)
            start = last_start(group, columns, lanes) + part * width
            first = code.offset(source, start * 2, element)
            block = code.offset(target, number * (2 * rows * width), element)
            factors = code.offset(starts, group * (2 * rows), element)
            steps = code.offset(table, part * (2 * rows * width), element)

            def store(value: Complex, i: Lanes) -> None:
                root = product(load_same(code.offset(factors, i * 2, element), type), load_block(steps, i, type))
                store_block(product(value, root), block, i)

            transform_lanes(
                call,
                code,
                rows,
                type,
                lambda i: load_in_direction(code.offset(first, i * (2 * columns), element), type, self.is_inverse),
                store,
                self.blocks(scratch),
            )

    def write_rows(self, call: RoutineCall, found: Split, code: Code) -> None:
        """Transforms of rows, as many at once as there are lanes."""
        rows, columns, lanes = found
        width = found.width(self.kind)
        element, type = self.element, Type(self.kind, width)
        source, target, scratch, begin, end = step_arguments(code)
        blocks, order = self.blocks(scratch), lane_order(type)
        with code.loop(begin, end) as group:
            row = last_start(group, rows, width)
            with code.loop(0, -(-columns // lanes) * (lanes // width)) as i:
                block, part = split_index(i, lanes // width)
                column = last_start(block, columns, lanes) + part * width
                here = i * rows + row
                vectors = [load_block(source, here + k, type) for k in order]
                parts = [exchange_blocks([v.real for v in vectors]), exchange_blocks([v.imag for v in vectors])]
                for k, value in zip(order, zip(*parts, strict=True), strict=True):
                    store_block(Complex(*value), blocks[1], column + k)
            first = code.offset(target, row * 2, element)
            transform_lanes(
                call,
                code,
                columns,
                type,
                None,
                lambda value, i: store_in_direction(
                    scaled(value, self.factor), code.offset(first, i * (2 * rows), element), self.is_inverse
                ),
                blocks,
            )


def transform_name(n: int, kind: str, is_inverse: bool, factor: float) -> str:
    """The name of the function of a transform."""
    direction, number = "inverse" if is_inverse else "forward", factor.hex().replace("+", "")
    return f"wengert.fourier.{direction}.{kind}.{n}.{number}"


def load_in_direction(address: Lanes, type: Type, is_inverse: bool) -> Complex:
    """Neighbouring numbers of a signal; with exchanged parts for the inverse transform."""
    value = load_neighbours(address, type)
    return swapped(value) if is_inverse else value


def store_in_direction(value: Complex, address: Lanes, is_inverse: bool) -> None:
    """Neighbouring numbers of a result; with exchanged parts for the inverse transform."""
    store_neighbours(swapped(value) if is_inverse else value, address)
