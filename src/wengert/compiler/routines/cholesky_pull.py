"""The derivative of Cholesky's factorisation in reverse, in blocks.

The formula of the whole matrix, L^-T (P + P^T) L^-1, takes 4 n^3 operations. The reverse of the factorisation in
blocks (Murray 2016, "Differentiation of the Cholesky decomposition") takes 2/3 n^3, and needs the formula for blocks
on the diagonal alone.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.forms.matrices import is_matrix_transpose
from wengert.compiler.routines.blocked_cholesky_pull import bytes_of_copies, is_pulled_in_blocks, pull_in_blocks
from wengert.compiler.routines.lapack import MatrixProblem, MatrixRoutine, are_factorable
from wengert.compiler.simd.lanes import Lanes
from wengert.core import machine
from wengert.graph.ir import Operation


class Block(NamedTuple):
    """A part of a matrix by rows: its address, and its numbers of rows and columns."""

    address: Lanes
    rows: int
    columns: int


class Reverse:
    """Writes the steps for one matrix; `step` is the number of elements from row to row."""

    def __init__(self, p: MatrixProblem):
        self.p, self.n = p, p.node.shape[-1]
        self.factor, self.bar, self.work = p.operand(1), p.result(), p.blocks["work"]

    def part(self, matrix: Lanes, i: int, j: int, rows: int, columns: int) -> Block:
        """A block of a matrix."""
        return Block(self.p.at(matrix, i * self.n + j), rows, columns)

    def subtract_product(self, target: Block, x: Block, y: Block, is_x_transposed: bool, x_step: int = 0) -> None:
        """target -= x y, or x^T y; the rows of x are `x_step` apart, if not those of the matrix."""
        k = x.rows if is_x_transposed else x.columns
        if not target.rows * target.columns * k:
            return
        n = self.n
        letters = ("N", "NT"[is_x_transposed])
        sizes = (target.columns, target.rows, k)
        self.p.lapack("gemm", *letters, *sizes, -1.0, y.address, n, x.address, x_step or n, 1.0, target.address, n)

    def write(self) -> None:
        """All blocks, from the last to the first."""
        n, size = self.n, block_size(self.n)
        for j in reversed(range(0, n, size)):
            self.write_block(j, min(size, n - j))

    def write_block(self, j: int, size: int) -> None:
        """One block on the diagonal, with the rows to its left and the columns below it."""
        below, end = self.n - j - size, j + size
        r, d = self.part(self.factor, j, 0, size, j), self.part(self.factor, j, j, size, size)
        b, c = self.part(self.factor, end, 0, below, j), self.part(self.factor, end, j, below, size)
        r_bar, d_bar = self.part(self.bar, j, 0, size, j), self.part(self.bar, j, j, size, size)
        b_bar, c_bar = self.part(self.bar, end, 0, below, j), self.part(self.bar, end, j, below, size)
        if below:
            self.divide(c_bar, d)
            self.subtract_product(b_bar, c_bar, r, False)
            self.subtract_product(d_bar, c_bar, c, True)
        self.write_diagonal(d_bar, d)
        if j:
            self.subtract_product(r_bar, c_bar, b, True)
            self.subtract_product(r_bar, Block(self.work, size, size), r, False, size)

    def divide(self, x: Block, d: Block, step: int = 0) -> None:
        """x d^-1 in place of x."""
        n = self.n
        self.p.lapack("trsm", "L", "U", "N", "N", x.columns, x.rows, 1.0, d.address, n, x.address, step or n)

    def write_diagonal(self, bar: Block, d: Block) -> None:
        """The formula for one block; the workspace has the whole symmetric result, the block its lower triangle."""
        p, code, n, size, work = self.p, self.p.code, self.n, d.rows, self.work
        real = p.element.real
        p.clear(work, size * size)
        with code.loop(0, size) as i:
            code.copy(p.at(work, i * size), p.at(bar.address, i * n), (i + 1) * p.element.size)
        p.lapack("trmm", "R", "U", "T", "N", size, size, 1.0, d.address, n, work, size)
        with code.loop(1, size) as i, code.loop(0, i) as j:
            code.store(code.load(p.at(work, i * size + j), real), p.at(work, j * size + i))
        p.lapack("trsm", "R", "U", "T", "N", size, size, 1.0, d.address, n, work, size)
        self.divide(Block(work, size, size), d, size)
        with code.loop(0, size) as i:
            code.copy(p.at(bar.address, i * n), p.at(work, i * size), i * p.element.size)
            place = p.at(bar.address, i * (n + 1))
            code.store(code.load(p.at(work, i * (size + 1)), real) * 0.5, place)
            p.clear(code.offset(place, 1, real), size - 1 - i)


def block_size(n: int) -> int:
    """The rows of a block, for a matrix of so many rows."""
    now = machine.current
    is_large = n > now.cholesky_pull_large_from_rows
    size = now.large_cholesky_pull_block_rows if is_large else now.cholesky_pull_block_rows
    return max(size, -(-n // now.max_cholesky_pull_blocks))


def solve_pull(p: MatrixProblem) -> None:
    """The cotangent of a matrix, from that of its factor."""
    n, bar, factor = p.node.shape[-1], p.result(), p.operand(1)
    p.fail_if_singular(factor, n)
    p.read_rows(bar, 0)
    with p.code.loop(0, n - 1) as i:
        p.clear(p.at(bar, i * (n + 1) + 1), n - 1 - i)
    if is_pulled_in_blocks(p.node.dtype, n):
        pull_in_blocks(p, bar, factor, n)
    else:
        Reverse(p).write()


def can_pull(node: Operation) -> bool:
    """Whether the matrices are real, and the factors are stored by rows."""
    return are_factorable(node) and node.dtype.kind == "f" and not is_matrix_transpose(node.args[1])


def pull_blocks(node: Operation) -> dict[str, int]:
    """What the steps need."""
    n = node.shape[-1]
    if is_pulled_in_blocks(node.dtype, n):
        return bytes_of_copies(node.dtype, n)
    return {"work": block_size(n) ** 2 * node.dtype.itemsize}


CHOLESKY_PULL = MatrixRoutine(
    solve_pull,
    is_for=can_pull,
    blocks=pull_blocks,
    work=lambda node: node.shape[-1] ** 3,
    name="cholesky_pull",
)
