"""Functions of LAPACK on matrices and stacks of them.

LAPACK expects columns and arrays are stored by rows, so it sees the transpose of what is stored. Where that does not
help, matrices are copied by `transpose`, which gives LAPACK the matrix that NumPy gives it: pivots, signs and rounding
are NumPy's then.
"""

from __future__ import annotations

import copy
import ctypes
import hashlib
import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import blas_letter
from wengert.compiler.products.transposing import define_transpose
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import BOOL, I64, PTR, Number, Type
from wengert.core import machine
from wengert.core.blas import blas
from wengert.graph.ir import Constant, Operation

ALIGNMENT = 64
"""Bytes that the parts of a workspace begin at multiples of: those of the longest vector."""


class Element(NamedTuple):
    """The elements of a matrix: `letter` is that of LAPACK, `real` the type of a number, of which there are `parts`."""

    letter: str
    real: Type
    parts: int

    @classmethod
    def of(cls, dtype: np.dtype) -> Element:
        """The elements of a dtype."""
        parts = 2 if dtype.kind == "c" else 1
        return cls(blas_letter(dtype), Type(f"f{8 * dtype.itemsize // parts}"), parts)

    @property
    def moved(self) -> Type:
        """The type as which an element is copied."""
        return Type(f"i{self.parts * self.real.bits}")

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.parts * self.real.bits // 8

    def named(self, name: str) -> str:
        """The name of a function; some begin differently for complex matrices: `syevd` is `heevd`."""
        if self.parts == 2:
            name = {"syevd": "heevd", "orgqr": "ungqr"}.get(name, name)
        return self.letter + name


def are_factorable(node: Operation) -> bool:
    """Whether the operands are matrices of one of LAPACK's dtypes, in memory, and nothing is empty."""
    return node.size > 0 and all(
        a.dtype.char in "fdFD"
        and a.dtype == node.args[0].dtype
        and a.ndim >= 2
        and a.size > 0
        and not (isinstance(a, Constant) and a.size == 1)
        for a in node.args
    )


class MatrixProblem:
    """One matrix of a stack: where its operands, its result and its workspace are; writes calls of LAPACK.

    `inner` writes to the function that solves a part of the stack.
    """

    def __init__(self, routine: MatrixRoutine, inner: RoutineCall, table: Lanes, index: Lanes, part: Lanes):
        self.inner, self.code, self.node, self.index = inner, inner.code, inner.node, index
        self.element = Element.of(self.node.args[0].dtype)
        code, self.pointers = self.code, []
        for k in range(len(self.node.args) + 3):
            self.pointers.append(code.load(code.offset(table, k, PTR), PTR))
        *_, self.results, self.flag, workspace = self.pointers
        self.blocks: dict[str, Lanes] = {}
        sizes = routine.blocks(self.node)
        start = part * total_size(sizes) if sizes else part
        for name, size in sizes.items():
            self.blocks[name] = code.offset(workspace, start, Type("i8"))
            start = start + aligned(size)
        self.info = self.integer_variable()

    def integer_variable(self) -> Lanes:
        """A variable of BLAS's integers."""
        return self.code.variable(self.integer, 0)

    @property
    def integer(self) -> Type:
        """The type of BLAS's integers."""
        return Type(f"i{blas().bits}")

    def operand(self, k: int) -> Lanes:
        """The address of this problem's matrix of an operand, whose stack may be broadcast."""
        *stack, rows, columns = self.node.args[k].shape
        size, outer = rows * columns, stack_of(self.node)
        if math.prod(stack) == 1:
            return self.pointers[k]
        if tuple(stack) == outer:
            position = self.index
        else:
            position, step, left = self.code.constant(0, I64), 1, self.index
            for axis in range(1, len(outer) + 1):
                extent = outer[-axis]
                if axis <= len(stack) and stack[-axis] > 1:
                    at = self.code.add(f"srem {left.typed}, {extent}", I64)
                    position = position + at * step
                    step *= extent
                left = self.code.add(f"sdiv {left.typed}, {extent}", I64)
        return self.code.offset(self.pointers[k], position * size, self.element.moved)

    def result(self) -> Lanes:
        """The address of this problem's result."""
        node = self.node
        size = node.size // math.prod(stack_of(self.node))
        moved = Type(f"i{8 * node.dtype.itemsize}")
        return self.code.offset(self.results, self.index * size, moved)

    def at(self, base: Lanes, index: Lanes | int) -> Lanes:
        """The address of an element."""
        return self.code.offset(base, index, self.element.moved)

    def lapack(self, name: str, *arguments: Lanes | str | Number) -> None:
        """Call a function of BLAS or LAPACK by its name without the letter of the dtype."""
        arguments = tuple([self.number(a) if isinstance(a, float) else a for a in arguments])
        self.inner.blas(self.element.named(name), *arguments)

    def number(self, value: float) -> Lanes:
        """The address of a number of the matrices' dtype."""
        code, (_, real, parts) = self.code, self.element
        if parts == 1:
            return code.number(real, value)
        address = code.variable(Type(real.kind, 2), 0.0)
        code.store(code.constant(value, real), address)
        return address

    def fail_if(self, condition: Lanes) -> None:
        """Say that the routine failed, if a condition holds."""
        code = self.code
        failed, go_on = code.label("failed"), code.label("next")
        code.branch(condition, failed, go_on)
        code.begin(failed)
        code.update_shared("or", self.flag, code.constant(1, I64))
        code.jump(go_on)
        code.begin(go_on)

    def require_success(self) -> None:
        """Fail if the function that was called last did."""
        self.fail_if(self.code.load(self.info, self.integer).ne(0))

    def absolute(self, address: Lanes) -> Lanes:
        """The absolute value of an element."""
        code, real = self.code, self.element.real
        first = code.load(address, real)
        if self.element.parts == 1:
            return first.abs()
        second = code.load(code.offset(address, 1, real), real)
        return (first * first + second * second).sqrt()

    def is_zero(self, address: Lanes) -> Lanes:
        """Whether an element is zero."""
        code, real = self.code, self.element.real
        parts = [code.load(code.offset(address, k, real), real).eq(0.0) for k in range(self.element.parts)]
        return parts[0] if len(parts) == 1 else parts[0] & parts[1]

    def fail_if_singular(self, matrix: Lanes, n: int) -> None:
        """Fail if there is a zero on the diagonal of a square matrix."""
        code, found = self.code, self.code.variable(BOOL, False)
        with code.loop(0, n) as i:
            code.store(code.load(found, BOOL) | self.is_zero(self.at(matrix, i * (n + 1))), found)
        self.fail_if(code.load(found, BOOL))

    def sum_of_sizes(self, matrix: Lanes, count: int) -> Lanes:
        """The sum of the absolute values of elements."""
        code, real = self.code, self.element.real
        total = code.variable(real, 0.0)
        with code.loop(0, count) as i:
            code.store(code.load(total, real) + self.absolute(self.at(matrix, i)), total)
        return code.load(total, real)

    # Copies

    def is_transposed(self, k: int) -> bool:
        """Whether an operand is stored by columns."""
        return self.inner.operands[k].is_transposed

    def read_rows(self, target: Lanes, k: int) -> None:
        """Copy a matrix of an operand, by rows."""
        rows, columns = self.node.args[k].shape[-2:]
        if self.is_transposed(k):
            self.transpose(target, self.operand(k), columns, rows)
        else:
            self.copy(target, self.operand(k), rows * columns)

    def read_columns(self, target: Lanes, k: int, step: int = 0) -> None:
        """Copy a matrix of an operand, by columns; `step` is that from column to column, if not the number of rows."""
        rows, columns = self.node.args[k].shape[-2:]
        if not self.is_transposed(k):
            self.transpose(target, self.operand(k), rows, columns, step)
        elif step in (0, rows):
            self.copy(target, self.operand(k), rows * columns)
        else:
            with self.code.loop(0, columns) as j:
                self.copy(self.at(target, j * step), self.at(self.operand(k), j * rows), rows)

    def copy(self, target: Lanes, source: Lanes, count: int) -> None:
        """Copy elements."""
        self.code.copy(target, source, count * self.element.size)

    def transpose(
        self, target: Lanes, source: Lanes, rows: int, columns: int, target_step: int = 0, source_step: int = 0
    ) -> None:
        """Write the transpose of a matrix; the steps are those from row to row, if not the numbers of columns."""
        name = define_transpose(self.inner, self.element.moved)
        sizes = (rows, columns, target_step or rows, source_step or columns)
        self.inner.run(name, target, source, *[self.code.constant(size, I64) for size in sizes])

    def clear(self, target: Lanes, count: Lanes | int) -> None:
        """Write zeros."""
        code = self.code
        size = code.lift(count, I64) * self.element.size
        code.call("@llvm.memset.p0.i64", None, target, code.constant(0, Type("i8")), size, code.constant(False, BOOL))


def stack_of(node: Operation) -> tuple[int, ...]:
    """The shape of the stack of problems: that of all operands, broadcast."""
    return np.broadcast_shapes(*[a.shape[:-2] for a in node.args])


class MatrixRoutine(Routine):
    """A routine on each matrix of a stack.

    `solve` writes it for one problem. `blocks` are the names and bytes of the workspace of one problem, `work` the
    multiplications that it takes.
    """

    def __init__(
        self,
        solve: Callable[[MatrixProblem], None],
        is_for: Callable[[Operation], bool] = are_factorable,
        blocks: Callable[[Operation], dict[str, int]] = lambda node: {},
        work: Callable[[Operation], int] = lambda node: node.args[0].shape[-1] ** 3,
        may_fail: Callable[[Operation], bool] = lambda node: True,
        name: str = "",
    ):
        super().__init__(self.write_calls, is_for, may_fail, self.bytes_of_workspace, reads_transposed=True)
        self.solve, self.blocks, self.work, self.name = solve, blocks, work, name

    def bytes_of_workspace(self, node: Operation) -> int:
        """The workspaces of all parts."""
        return total_size(self.blocks(node)) * self.parts(node)

    def parts(self, node: Operation, is_in_loop: bool = False) -> int:
        """The number of parts of a stack: one unless it is large; in a loop, there are not more than outside."""
        count, now = math.prod(stack_of(node)), machine.current
        least = now.min_multiplications_of_shared_stack
        if is_in_loop:
            least = max(least, now.min_multiplications_of_shared_stack_in_loop)
        is_large = self.work(node) * count >= least
        is_large = is_large and max(node.args[0].shape[-2:]) <= now.max_rows_of_shared_matrices
        return min(count, now.parts_of_matrix_stack) if is_large else 1

    def write_calls(self, call: RoutineCall) -> Lanes | None:
        """Call the function that solves a part of the stack, on all cores if it is large."""
        code, node = call.code, call.node
        call.name = self.name or node.primitive.name
        parts = self.parts(node, call.is_in_loop)
        specs = [(a.shape, a.dtype.char) for a in node.args]
        layout = [operand.is_transposed for operand in call.operands]
        content = repr((specs, node.shape, sorted(node.params.items()), layout, parts))
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        name = f"wengert.{node.primitive.name}.{digest}"
        call.define_part(name, lambda inner: self.write_part(call, inner, parts))
        flag = code.variable(I64, 0)
        workspace = call.workspace if call.workspace is not None else Lanes(code, "null", PTR)
        pointers = [*[operand.pointer for operand in call.operands], call.result, flag, workspace]
        call.run_on_all_cores(name, pointers, parts, 1, self.work(node) * math.prod(stack_of(node)))
        return code.load(flag, I64).ne(0) if self.may_fail(node) else None

    def write_part(self, call: RoutineCall, code: Code, parts: int) -> None:
        """The function that solves the parts from %begin to %end."""
        inner = copy.copy(call)
        inner.code = code
        begin, end, table = Lanes(code, "%begin", I64), Lanes(code, "%end", I64), Lanes(code, "%table", PTR)
        count = math.prod(stack_of(call.node))
        with code.loop(begin, end) as part:
            bound = lambda k: code.add(f"sdiv {(k * count).typed}, {parts}", I64)
            with code.loop(bound(part), bound(part + 1)) as index:
                self.solve(MatrixProblem(self, inner, table, index, part))


def aligned(size: int) -> int:
    """A number of bytes, rounded up."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def total_size(blocks: dict[str, int]) -> int:
    """The bytes of a workspace."""
    return sum(map(aligned, blocks.values()))


# Sizes of workspaces


@cache
def best_sizes(name: str, dtype: np.dtype, *arguments: Any) -> dict[str, int]:
    """The sizes of workspaces that a function asks for: "work" in elements, "rwork" in real numbers, "iwork".

    `arguments` are those of the call. Names of workspaces stand for these, each followed by its size, -1, where it has
    one; None is an array.
    """
    integer: Any = ctypes.c_int64 if blas().bits == 64 else ctypes.c_int32
    real = np.empty(1, dtype).real.dtype
    found = {"work": np.zeros(1, dtype), "rwork": np.zeros(1, real), "iwork": np.zeros(1, np.dtype(integer))}
    place, used, kept = np.zeros(64), {}, []

    def address(argument: Any) -> Any:
        if isinstance(argument, str) and argument in found:
            used[argument] = found[argument]
            return found[argument].ctypes.data
        if argument is None:
            return place.ctypes.data
        kept.append(ctypes.c_char(argument.encode()) if isinstance(argument, str) else integer(argument))
        return ctypes.addressof(kept[-1])

    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(
        blas().address(Element.of(dtype).named(name))
    )
    function(*[address(a) for a in arguments])
    return {key: max(int(value[0].real), 1) for key, value in used.items()}
