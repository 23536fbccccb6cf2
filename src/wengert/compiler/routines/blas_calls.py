"""Calls of BLAS, the library that NumPy uses: products of matrices, and triangular systems.

Matrices here are stored by rows and BLAS expects columns, so it is asked for the product of the transposes, in reverse
order.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeGuard

from wengert.compiler.routines.small_products import SmallProduct
from wengert.compiler.simd.lanes import I64, Code, Lanes, Type, select
from wengert.core.aspects import primitive_of
from wengert.core.blas import blas
from wengert.graph.ir import Node, Operation, is_a
from wengert.ops.contraction.products import matmul
from wengert.ops.shape.reshaping import _transpose

MATMUL, TRANSPOSE = map(primitive_of, (matmul, _transpose))


class Operand(NamedTuple):
    """The address of a matrix, or of a stack of them: `is_transposed` if they are stored by columns."""

    pointer: Lanes
    is_transposed: bool


def write_matmul(
    code: Code, out: Operation, x: Operand, y: Operand, result: Lanes, product: SmallProduct | None = None
) -> None:
    """Call gemm, or the function of a small product, for each matrix of a stack, in a loop if there are several."""
    m, n, k = out.shape[-2], out.shape[-1], out.args[0].shape[-1]
    element = Type.from_dtype(out.dtype)
    count = math.prod(out.shape[:-2])

    def multiply(x: Operand, y: Operand, result: Lanes) -> None:
        if product is not None:
            code.do(f"call void @{product.name}({x.pointer.typed}, {y.pointer.typed}, {result.typed})")
        else:
            write_gemm(code, element, (m, n, k), x, y, result)

    if count == 1:
        multiply(x, y, result)
        return
    x_step, y_step = [size * is_stack(a) for size, a in zip((m * k, k * n), out.args, strict=True)]
    with code.loop(0, count) as i:
        at = lambda p, step: code.offset(p, i * step, element) if step else p
        x, y = x._replace(pointer=at(x.pointer, x_step)), y._replace(pointer=at(y.pointer, y_step))
        multiply(x, y, at(result, m * n))


def write_triangular(code: Code, out: Operation, x: Lanes, result: Lanes) -> None:
    """Call trsm for each matrix of a stack. The result has the right-hand sides, which are replaced."""
    n, columns = out.shape[-2:]
    element, integer = Type.from_dtype(out.dtype), Type(f"i{blas().bits}")
    number, letter = code.number, lambda text: code.number(Type("i8"), ord(text))
    size = n * n * is_stack(out.args[0])
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
    """The number of zeros on the diagonals of these matrices."""
    n, element = matrices.shape[-1], Type.from_dtype(matrices.dtype)
    count = code.variable(I64, 0)
    with code.loop(0, math.prod(matrices.shape[:-2])) as i, code.loop(0, n) as j:
        x = code.load(code.offset(pointer, i * (n * n) + j * (n + 1), element), element)
        code.store(select(x.eq(0.0), code.load(count, I64) + 1, code.load(count, I64)), count)
    return code.load(count, I64)


def is_for_blas(node: Operation) -> bool:
    """Whether the operands are matrices of one floating-point dtype, or stacks of them without broadcasting."""
    return (
        node.dtype.kind == "f"
        and all(a.ndim >= 2 and a.dtype == node.dtype for a in node.args)
        and is_uniform_stack(node)
    )


def fills_result(node: Operation) -> bool:
    """Whether the right-hand sides have the shape of the result, where they are solved, and nothing is a scalar."""
    return node.size > 1 and node.args[1].shape == node.shape and node.args[0].size > 1


def is_matrix_transpose(node: Node) -> TypeGuard[Operation]:
    """Whether a view exchanges the last two axes, and only these."""
    lead = range(node.ndim - 2)
    return is_a(node, _transpose) and tuple(node.params["axes"]) == (*lead, node.ndim - 1, node.ndim - 2)


def is_stack(matrices: Node) -> bool:
    """Whether there are several matrices."""
    return math.prod(matrices.shape[:-2]) > 1


def is_uniform_stack(out: Operation) -> bool:
    """Whether each operand has as many matrices as the result, or one matrix."""
    stack = out.shape[:-2]
    return all(math.prod(a.shape[:-2]) == 1 or a.shape[:-2] == stack for a in out.args)


def write_gemm(code: Code, element: Type, sizes: tuple[int, int, int], x: Operand, y: Operand, result: Lanes) -> None:
    """Call gemm for one product."""
    m, n, k = sizes
    if not m * n:
        return
    integer = Type(f"i{blas().bits}")
    number = code.number
    letter = lambda is_transposed: number(Type("i8"), ord("T" if is_transposed else "N"))
    code.call(
        f"@wengert.{'dgemm' if element.kind == 'f64' else 'sgemm'}",
        None,
        letter(y.is_transposed),
        letter(x.is_transposed),
        number(integer, n),
        number(integer, m),
        number(integer, k),
        number(element, 1.0),
        y.pointer,
        number(integer, max(k if y.is_transposed else n, 1)),
        x.pointer,
        number(integer, max(m if x.is_transposed else k, 1)),
        number(element, 0.0),
        result,
        number(integer, n),
    )
