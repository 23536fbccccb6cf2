"""Products with sparse matrices, row by row, in SciPy's order of additions.

Rows are shared by all cores, except where each of them adds to all of the result: there, one core goes through them.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import FLOATS, Routine
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Constant, Operation


def can_multiply(node: Operation) -> bool:
    """Whether the numbers are of one native dtype, and the positions are known, so that all reads are inside."""
    x, y, columns, counts = node.args
    if not (x.dtype == y.dtype == node.dtype and node.dtype in FLOATS and x.size and y.size):
        return False
    return not any(map(is_immediate, node.args)) and are_inside(columns, counts, node.params["shape"])


def are_inside(columns: object, counts: object, shape: tuple[int, int]) -> bool:
    """Whether columns and counts are known, and those of a matrix of this shape."""
    if not isinstance(columns, Constant) or not isinstance(counts, Constant):
        return False
    at, many = np.asarray(columns.value), np.asarray(counts.value)
    return bool(
        {at.dtype.str, many.dtype.str} <= {"<i4", "<i8"}
        and len(many) == shape[0]
        and many.sum() == len(at)
        and np.all(many >= 0)
        and np.all((at >= 0) & (at < shape[1]))
    )


class SparseLoop(NamedTuple):
    """The loops of one operation: over rows, their elements, and the columns of the dense operands."""

    code: Code
    node: Operation
    width: int

    @property
    def element(self) -> Type:
        """The type of the numbers."""
        return Type.from_dtype(self.node.dtype)

    def read(self, base: Lanes, i: Lanes) -> Lanes:
        """A number."""
        return self.code.load(self.code.offset(base, i, self.element), self.element)

    def write(self, value: Lanes, base: Lanes, i: Lanes) -> None:
        """Store a number."""
        self.code.store(value, self.code.offset(base, i, self.element))

    def read_index(self, base: Lanes, i: Lanes, operand: int) -> Lanes:
        """An integer of the columns or counts."""
        type = Type.from_dtype(self.node.args[operand].dtype)
        return self.code.load(self.code.offset(base, i, type), type).to("i64")

    def fill(self, how: str) -> None:
        """Add the lines of the function of a table and a part of the rows."""
        code = self.code
        (x, y, columns, counts, out), begin, end = read_part(code, 5)
        start = code.variable(I64, 0)
        with code.loop(0, begin) as row:
            code.store(code.load(start, I64) + self.read_index(counts, row, 3), start)
        with code.loop(begin, end) as row:
            first = code.load(start, I64)
            last = first + self.read_index(counts, row, 3)
            getattr(self, how)(x, y, columns, out, row, first, last)
            code.store(last, start)

    def product(self, data: Lanes, x: Lanes, columns: Lanes, out: Lanes, row: Lanes, first: Lanes, last: Lanes) -> None:
        """One row of the result: the sum of its elements times rows of x."""
        code = self.code
        with ExitStack() as loops:
            j = loops.enter_context(code.loop(0, self.width)) if self.width > 1 else code.constant(0, I64)
            total = code.variable(self.element, 0.0)
            with code.loop(first, last) as k:
                at = self.read_index(columns, k, 2) * self.width + j
                code.store(code.load(total, self.element) + self.read(data, k) * self.read(x, at), total)
            self.write(code.load(total, self.element), out, row * self.width + j)

    def transpose_product(
        self, data: Lanes, x: Lanes, columns: Lanes, out: Lanes, row: Lanes, first: Lanes, last: Lanes
    ) -> None:
        """Add one row of x, times its elements, to rows of the result."""
        code = self.code
        with ExitStack() as loops:
            k = loops.enter_context(code.loop(first, last))
            at = self.read_index(columns, k, 2) * self.width
            j = loops.enter_context(code.loop(0, self.width)) if self.width > 1 else code.constant(0, I64)
            term = self.read(data, k) * self.read(x, row * self.width + j)
            self.write(self.read(out, at + j) + term, out, at + j)

    def elements(self, x: Lanes, y: Lanes, columns: Lanes, out: Lanes, row: Lanes, first: Lanes, last: Lanes) -> None:
        """The elements of one row: products of rows of x and y."""
        code = self.code
        with code.loop(first, last) as k:
            at = self.read_index(columns, k, 2) * self.width
            total = code.variable(self.element, 0.0)
            with code.loop(0, self.width) as j:
                term = self.read(x, row * self.width + j) * self.read(y, at + j)
                code.store(code.load(total, self.element) + term, total)
            self.write(code.load(total, self.element), out, k)


def write_loop(call: RoutineCall, how: str) -> None:
    """Call the function of an operation, on all cores if its rows are independent and many."""
    node, code = call.node, call.code
    rows = node.params["shape"][0]
    width = math.prod(node.args[1].shape[1:])
    work = machine.current.operations_of_sparse_term * node.args[2].size * width
    integers = "".join(node.args[i].dtype.char for i in (2, 3))
    name = f"wengert.sparse.{how}.{node.dtype.char}.{integers}.{width}"
    call.define_part(name, lambda function: SparseLoop(function, node, width).fill(how))
    if how == "transpose_product":
        code.clear(call.result, node.size * node.dtype.itemsize)
        work = 0  # rows add to the same elements
    pointers = [operand.pointer for operand in call.operands] + [call.result]
    call.run_on_all_cores(name, pointers, rows, 1, work)


PRODUCT, TRANSPOSE_PRODUCT, ELEMENTS = (
    Routine(lambda call, how=how: write_loop(call, how), can_multiply)  # type: ignore[misc]  # bound at once
    for how in ("product", "transpose_product", "elements")
)
