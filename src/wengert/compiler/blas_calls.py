"""BLAS: products of matrices and triangular systems, by the library that NumPy itself uses.

Matrices here are stored by rows and BLAS counts by columns, so the product of the transposes is asked for, in reverse
order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wengert.compiler.lanes import I64, Code, Lanes, Type, select
from wengert.core.aspects import primitive_of
from wengert.core.blas import blas
from wengert.graph.ir import Node, Operation
from wengert.ops.contraction.products import matmul
from wengert.ops.shape.reshaping import _transpose

MATMUL, TRANSPOSE = map(primitive_of, (matmul, _transpose))


class Operand(NamedTuple):
    """A matrix, or a stack of them, as it lies in memory: `is_transposed` if by columns."""

    node: Node
    is_transposed: bool


def write_matmul(code: Code, out: Operation, x: Operand, y: Operand, pointers: tuple[Lanes, Lanes, Lanes]) -> None:
    """A call of gemm for each matrix of a stack, in a loop if there are several."""
    m, n, k = out.shape[-2], out.shape[-1], out.args[0].shape[-1]
    count = math.prod(out.shape[:-2])
    element = Type.from_dtype(out.dtype)
    sizes = [m * k * (math.prod(out.args[0].shape[:-2]) > 1), k * n * (math.prod(out.args[1].shape[:-2]) > 1), m * n]
    call = lambda at: gemm(code, element, (m, n, k), (at[0], x.is_transposed), (at[1], y.is_transposed), at[2])
    if count == 1:
        call(pointers)
        return
    with code.loop(0, count) as i:
        call([code.offset(p, i * size, element) if size else p for p, size in zip(pointers, sizes, strict=True)])


def write_triangular(code: Code, out: Operation, x: Lanes, result: Lanes) -> None:
    """A call of trsm for each matrix of a stack. The right-hand sides lie in the place of the result already."""
    n, columns = out.shape[-2:]
    element, integer = Type.from_dtype(out.dtype), Type(f"i{blas().bits}")
    number, letter = code.number, lambda text: code.number(Type("i8"), ord(text))
    size = n * n * (math.prod(out.args[0].shape[:-2]) > 1)
    with code.loop(0, math.prod(out.shape[:-2])) as i:
        code.call(
            f"@wengert.{'dtrsm' if element.kind == 'f64' else 'strsm'}",
            None,
            letter("R"),
            letter("U" if out.params["lower"] else "L"),
            letter("T" if out.params["trans"] else "N"),
            letter("U" if out.params["unit_diagonal"] else "N"),
            number(integer, columns),
            number(integer, n),
            number(element, 1.0),
            code.offset(x, i * size, element) if size else x,
            number(integer, n),
            code.offset(result, i * (n * columns), element),
            number(integer, columns),
        )


def zeros_on_diagonals(code: Code, matrices: Node, pointer: Lanes) -> Lanes:
    """How many elements on the diagonals of these matrices are zero."""
    n, element = matrices.shape[-1], Type.from_dtype(matrices.dtype)
    count = code.variable(I64, 0)
    with code.loop(0, math.prod(matrices.shape[:-2])) as i, code.loop(0, n) as j:
        x = code.load(code.offset(pointer, i * (n * n) + j * (n + 1), element), element)
        code.store(select(x.eq(0.0), code.load(count, I64) + 1, code.load(count, I64)), count)
    return code.load(count, I64)


def is_for_blas(node: Operation) -> bool:
    """Whether the operands are matrices of one floating-point dtype, or stacks of them that need no broadcasting."""
    return (
        node.dtype.kind == "f"
        and all(a.ndim >= 2 and a.dtype == node.dtype for a in node.args)
        and is_uniform_stack(node)
    )


def fills_result(node: Operation) -> bool:
    """Whether the right-hand sides of systems fill the place of the result, in which they are solved, and nothing is a
    mere number.
    """
    return node.size > 1 and node.args[1].shape == node.shape and node.args[0].size > 1


def is_matrix_transpose(node: Node) -> bool:
    """Whether a view exchanges the last two axes, and nothing else."""
    if not (isinstance(node, Operation) and node.primitive is TRANSPOSE and node.ndim >= 2):
        return False
    axes = node.params["axes"]
    return tuple(axes) == (*range(node.ndim - 2), node.ndim - 1, node.ndim - 2)


def is_uniform_stack(out: Operation) -> bool:
    """Whether each operand has as many matrices as the result, or one."""
    stack = out.shape[:-2]
    return all(math.prod(a.shape[:-2]) == 1 or a.shape[:-2] == stack for a in out.args)


def gemm(
    code: Code, element: Type, sizes: tuple[int, int, int], x: tuple[Lanes, bool], y: tuple[Lanes, bool], out: Lanes
) -> None:
    m, n, k = sizes
    if not m * n:
        return
    integer = Type(f"i{blas().bits}")
    number = code.number
    letter = lambda is_transposed: number(Type("i8"), ord("T" if is_transposed else "N"))
    (x_pointer, x_transposed), (y_pointer, y_transposed) = x, y
    code.call(
        f"@wengert.{'dgemm' if element.kind == 'f64' else 'sgemm'}",
        None,
        letter(y_transposed),
        letter(x_transposed),
        number(integer, n),
        number(integer, m),
        number(integer, k),
        number(element, 1.0),
        y_pointer,
        number(integer, max(k if y_transposed else n, 1)),
        x_pointer,
        number(integer, max(m if x_transposed else k, 1)),
        number(element, 0.0),
        out,
        number(integer, n),
    )
