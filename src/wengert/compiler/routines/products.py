"""Products of matrices: functions for vectors and for small products, else calls of BLAS.

Matrices are stored by rows and BLAS expects columns, so it is asked for the product of the transposes, in reverse
order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import are_float_stacks, blas_letter
from wengert.compiler.routines.call import Operand, RoutineCall
from wengert.compiler.routines.gram_products import is_gram, write_gram
from wengert.compiler.routines.long_products import piece_length, pieces, workspace, write_piece, write_sum
from wengert.compiler.routines.small_products import SmallProduct
from wengert.compiler.routines.vector_products import VectorProduct
from wengert.compiler.schedule.strides import matrix_stride
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.graph.ir import Operation

WORK = 4
"""Multiplications that take as long as one operation of a kernel."""


class Matrices(NamedTuple):
    """An operand: the address of its first matrix, whose rows, or columns if transposed, are `stride` elements apart.

    `steps` are the distances between matrices along the axes of a stack.
    """

    pointer: Lanes
    is_transposed: bool
    stride: int
    steps: tuple[int, ...]


def matrices(operand: Operand, shape: tuple[int, ...], is_column: bool) -> Matrices:
    """An operand of a product; a vector is a column or a row."""
    strides = operand.strides
    if len(shape) == 1:
        shape, strides = ((*shape, 1), (*strides, 1)) if is_column else ((1, *shape), (1, *strides))
    found = matrix_stride(shape, strides)
    is_transposed, stride = found if found is not None else (False, max(shape[-1], 1))  # an empty matrix
    steps = tuple([0 if n == 1 else step for n, step in zip(shape[:-2], strides[:-2], strict=True)])
    return Matrices(operand.pointer, is_transposed, stride, steps)


def is_column(vectors: Matrices) -> bool:
    """Whether matrices with one column have its elements next to each other."""
    return vectors.is_transposed or vectors.stride == 1


def is_row(vectors: Matrices) -> bool:
    """Whether matrices with one row have its elements next to each other."""
    return not vectors.is_transposed or vectors.stride == 1


def write_matmul(call: RoutineCall) -> None:
    """Write the product of each matrix of a stack."""
    out = call.node
    x, y = [matrices(a, arg.shape, i == 1) for i, (a, arg) in enumerate(zip(call.operands, out.args, strict=True))]
    k = out.args[0].shape[-1]
    m, n = out.shape[-2:] if out.args[1].ndim > 1 else (out.shape[0], 1)
    element, stack = Type.from_dtype(out.dtype), out.shape[: out.ndim - 2]
    if not out.size:
        return
    if k and not element.is_complex and (n == 1 and is_column(y) or m == 1 and is_row(x)):
        write_vector_products(call, x, y, (m, n, k), stack)
        return
    small = SmallProduct(element.kind, m, n, k, x.is_transposed, y.is_transposed, x.stride, y.stride)
    length = piece_length(out)
    if length is not None and small._replace(k=length).is_native(True):
        write_long_product(call, small, length, x, y)
    elif small.is_native(call.is_in_loop):
        write_small_products(call, small, x, y, stack)
    elif is_gram(out):
        write_gram(call, m, k, x.pointer, x.is_transposed, x.stride)
    else:
        call.name = "gemm"
        write = lambda x, y, result: write_gemm(call, element, (m, n, k), x, y, result)
        for_each(call.code, element, stack, (x, y), call.result, m * n, write)


def for_each(
    code: Code,
    element: Type,
    stack: tuple[int, ...],
    operands: Sequence[Matrices],
    result: Lanes,
    size: int,
    write: Callable[[Matrices, Matrices, Lanes], None],
    bounds: tuple[Lanes, Lanes] | None = None,
) -> None:
    """Write something for each matrix of a stack, or for those within bounds; a result has `size` elements."""
    count, (x, y) = math.prod(stack), operands
    if count == 1 and bounds is None:
        write(x, y, result)
        return
    with code.loop(*(bounds or (0, count))) as i:
        indices, rest = [], i
        for n in reversed(stack):
            indices.append(code.add(f"urem {rest.typed}, {n}", I64) if len(stack) > 1 else rest)
            rest = code.add(f"udiv {rest.typed}, {n}", I64) if len(stack) > 1 else rest

        def at(operand: Matrices) -> Matrices:
            pointer = operand.pointer
            for index, step in zip(indices, reversed(operand.steps), strict=False):
                if step:
                    pointer = code.offset(pointer, index * step, element)
            return operand._replace(pointer=pointer)

        write(at(x), at(y), code.offset(result, i * size, element))


def write_vector_products(
    call: RoutineCall, x: Matrices, y: Matrices, sizes: tuple[int, int, int], stack: tuple[int, ...]
) -> None:
    """Products of matrices and vectors; a row times a matrix is its transpose times a column."""
    m, n, k = sizes
    call.name = "gemv"
    element, size = Type.from_dtype(call.node.dtype), max(m, n)
    matrix_is_x = n == 1 and is_column(y)
    is_transposed, stride = (x.is_transposed, x.stride) if matrix_is_x else (not y.is_transposed, y.stride)
    product = VectorProduct(element.kind, size, k, is_transposed, stride)
    call.define(product.name, ("ptr %table", "i64 %begin", "i64 %end"), product.write)

    def write(x: Matrices, y: Matrices, result: Lanes) -> None:
        matrix, vector = (x, y) if matrix_is_x else (y, x)
        pointers = matrix.pointer, vector.pointer, result
        call.run_on_all_cores(product.name, pointers, size, product.grain, 2 * size * k)

    for_each(call.code, element, stack, (x, y), call.result, size, write)


ROWS = "ptr noalias %x", "ptr noalias %y", "ptr noalias %result", "i64 %begin", "i64 %end"
PART = "ptr %table", "i64 %begin", "i64 %end"


def write_small_products(
    call: RoutineCall, product: SmallProduct, x: Matrices, y: Matrices, stack: tuple[int, ...]
) -> None:
    """Products by a function of their own: a stack of them, or the rows of one, on all cores if there is much to do."""
    call.name = "product"
    call.define(product.name, ROWS, product.write)
    element, size = Type.from_dtype(call.node.dtype), product.m * product.n
    count = call.node.size // size

    def write_part(code: Code) -> None:
        """The function of a table and a part: of the stack, or of the rows of one product."""
        (a, b, result), begin, end = part_of(code)
        operands = x._replace(pointer=a), y._replace(pointer=b)
        if count == 1:
            code.do(f"call void @{product.name}({a.typed}, {b.typed}, {result.typed}, {begin.typed}, {end.typed})")
            return
        for_each(code, element, stack, operands, result, size, lambda a, b, c: whole(code, a, b, c), (begin, end))

    def whole(code: Code, a: Matrices, b: Matrices, result: Lanes) -> None:
        code.do(
            f"call void @{product.name}({a.pointer.typed}, {b.pointer.typed}, {result.typed}, i64 0, i64 {product.m})"
        )

    name = f"{product.name}.of{'x'.join(map(str, stack))}.{'x'.join(map(str, (*x.steps, 0, *y.steps)))}"
    call.define(name, PART, write_part)
    extent, grain = (product.m, 8) if count == 1 else (count, 1)
    call.run_on_all_cores(name, (x.pointer, y.pointer, call.result), extent, grain, count * size * product.k // WORK)


def part_of(code: Code) -> tuple[list[Lanes], Lanes, Lanes]:
    """The addresses of the table of a function of a part: two operands and a result; and the bounds of the part."""
    table, begin, end = Lanes(code, "%table", PTR), Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
    return [code.load(code.offset(table, i, PTR), PTR) for i in range(3)], begin, end


def write_long_product(call: RoutineCall, product: SmallProduct, length: int, x: Matrices, y: Matrices) -> None:
    """A product whose sums are cut into pieces, on all cores."""
    call.name = "product of pieces"
    piece, last, count = pieces(product, length)
    for function in (piece, last):
        if function is not None:
            call.define(function.name, ROWS, function.write)

    def write_part(code: Code) -> None:
        (a, b, results), begin, end = part_of(code)

        def run(function: SmallProduct, i: Lanes) -> None:
            arguments = ", ".join(p.typed for p in write_piece(code, product, length, i, a, b, results))
            code.do(f"call void @{function.name}({arguments}, i64 0, i64 {product.m})")

        whole = count - (last is not None)
        with code.loop(begin, code.intrinsic("smin", I64, end, end.like(whole))) as i:
            run(piece, i)
        if last is not None:
            with code.loop(code.intrinsic("smax", I64, begin, begin.like(whole)), end) as i:
                run(last, i)

    name = f"{product.name}.pieces"
    call.define(name, PART, write_part)
    assert call.workspace is not None
    work = product.m * product.n * product.k // WORK
    call.run_on_all_cores(name, (x.pointer, y.pointer, call.workspace), count, 1, work)
    sum_name = f"{name}.sum"
    call.define(
        sum_name,
        ("ptr noalias %results", "ptr noalias %result"),
        lambda code: write_sum(code, product, count, Lanes(code, "%results", PTR), Lanes(code, "%result", PTR)),
    )
    call.run(sum_name, call.workspace, call.result)


def write_gemm(
    call: RoutineCall, element: Type, sizes: tuple[int, int, int], x: Matrices, y: Matrices, result: Lanes
) -> None:
    """Call gemm for one product."""
    m, n, k = sizes
    call.blas(
        f"{blas_letter(call.node.dtype)}gemm",
        *("NT"[y.is_transposed], "NT"[x.is_transposed]),
        *(n, m, k),
        1.0,
        *(y.pointer, max(y.stride, 1)),
        *(x.pointer, max(x.stride, 1)),
        0.0,
        *(result, n),
        element=element,
    )


def can_multiply(node: Operation) -> bool:
    """Whether the operands are matrices of one real or complex dtype, stacks of them, or a matrix and a vector."""
    x, y = node.args
    if y.ndim == 1:
        return x.ndim == 2 and x.dtype == y.dtype == node.dtype and node.dtype.kind in "fc"
    return are_float_stacks(node)


MATMUL = Routine(write_matmul, can_multiply, workspace=workspace, reads_strided=True)
