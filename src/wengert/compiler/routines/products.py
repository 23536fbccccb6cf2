"""Products of matrices: functions for vectors and for small products, else calls of BLAS.

Matrices are stored by rows and BLAS expects columns, so it is asked for the product of the transposes, in reverse
order. A product may be added to other numbers (`PRODUCT_SUM`), which its sums begin with: functions of their own read
them where they are, and BLAS adds to them in the memory of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import are_float_stacks, blas_letter, is_gram
from wengert.compiler.forms.product_sums import PRODUCT_SUM
from wengert.compiler.forms.strides import contiguous_strides, is_factor, is_summand, matrix_stride
from wengert.compiler.routines.call import Operand, RoutineCall, read_part
from wengert.compiler.routines.gram_products import write_gram
from wengert.compiler.routines.long_products import piece_length, pieces, pieces_bytes, write_piece, write_sum
from wengert.compiler.routines.packed_products import PackedProduct, Tiling
from wengert.compiler.routines.small_products import SmallProduct
from wengert.compiler.routines.vector_products import VectorProduct
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine
from wengert.graph.ir import Operation


class Matrices(NamedTuple):
    """An operand: the address of its first matrix, whose rows, or columns if transposed, are `stride` elements apart.

    `steps` are the distances between matrices along the axes of a stack. What a product is added to has rows, which may
    all be one: then their stride is 0.
    """

    pointer: Lanes
    is_transposed: bool
    stride: int
    steps: tuple[int, ...]


def matrices(operand: Operand, shape: tuple[int, ...], is_column: bool) -> Matrices:
    """An operand of a product; a vector is a column or a row."""
    shape, strides = as_matrices(shape, operand.strides, is_column)
    is_transposed, stride = orientation(shape, strides)
    return Matrices(operand.pointer, is_transposed, stride, stack_steps(shape, strides))


def summands(operand: Operand, shape: tuple[int, ...]) -> Matrices:
    """What a product is added to; a vector is a column."""
    shape, strides = as_matrices(shape, operand.strides, True)
    return Matrices(operand.pointer, False, strides[-2], stack_steps(shape, strides))


def as_matrices(
    shape: tuple[int, ...], strides: tuple[int, ...], is_column: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and the strides of a vector as a matrix, or those of matrices."""
    if len(shape) > 1:
        return shape, strides
    return ((*shape, 1), (*strides, 1)) if is_column else ((1, *shape), (1, *strides))


def orientation(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[bool, int]:
    """Whether matrices are stored by columns, and the distance between two columns, or rows."""
    found = matrix_stride(shape, strides)
    return found if found is not None else (False, max(shape[-1], 1))  # an empty matrix


def stack_steps(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The distances between matrices along the axes of a stack."""
    return tuple([0 if n == 1 else step for n, step in zip(shape[:-2], strides[:-2], strict=True)])


def is_column(vectors: Matrices) -> bool:
    """Whether matrices with one column have its elements next to each other."""
    return vectors.is_transposed or vectors.stride == 1


def is_row(vectors: Matrices) -> bool:
    """Whether matrices with one row have its elements next to each other."""
    return not vectors.is_transposed or vectors.stride == 1


def write_matmul(call: RoutineCall) -> None:
    """Write the product of each matrix of a stack, with what it is added to."""
    out, operands = call.node, call.operands
    is_sum = out.primitive is PRODUCT_SUM
    initial = [summands(operands[0], out.shape)] if is_sum else []
    (a, b), (left, right) = operands[-2:], out.args[-2:]
    x, y = matrices(a, left.shape, False), matrices(b, right.shape, True)
    k = left.shape[-1]
    m, n = out.shape[-2:] if right.ndim > 1 else (out.shape[0], 1)
    element, stack = Type.from_dtype(out.dtype), out.shape[: out.ndim - 2]
    if not out.size:
        return
    if k and not element.is_complex and (n == 1 and is_column(y) or m == 1 and is_row(x)):
        write_vector_products(call, (x, y, *initial), (m, n, k), stack)
    else:
        write_matrix_products(call, (x, y, *initial), (m, n, k), stack)
    if is_sum:
        call.name += ", added to"


def write_matrix_products(
    call: RoutineCall, operands: Sequence[Matrices], sizes: tuple[int, int, int], stack: tuple[int, ...]
) -> None:
    """Products of matrices, by their shape."""
    out, (x, y, *initial), (m, n, k) = call.node, operands, sizes
    element = Type.from_dtype(out.dtype)
    small = SmallProduct(element.kind, m, n, k, x.is_transposed, y.is_transposed, x.stride, y.stride)
    packed, is_small = PackedProduct(*small), small.is_native(call.is_in_loop)
    initial_stride = initial[0].stride if initial else None
    length = None if initial else piece_length(out)
    if length is not None and small._replace(k=length).is_native(True):
        write_long_product(call, small, length, x, y)
    elif not initial and not is_small and is_gram(out):
        write_gram(call, m, k, x.pointer, x.is_transposed, x.stride)
    elif packed.is_native and (packed.is_tall or not is_small):
        write_packed_products(call, packed._replace(initial_stride=initial_stride), operands, stack)
    elif is_small:
        write_small_products(call, small._replace(initial_stride=initial_stride), operands, stack)
    else:
        call.name = "gemm"
        write = lambda operands, result: write_gemm(call, element, sizes, operands, result)
        for_each(call.code, element, stack, operands, call.result, m * n, write)


def adds_in_place(node: Operation, strides: Sequence[tuple[int, ...]], is_in_loop: bool) -> bool:
    """Whether a product with these strides of its operands is added in the memory of its first one: by BLAS.

    Other functions compute some elements twice, and must not read what they have written.
    """
    initial, *factors = node.args
    if strides[0] != contiguous_strides(initial.shape):
        return False
    (left, _), (right, _) = shapes = [
        as_matrices(a.shape, b, i == 1) for i, (a, b) in enumerate(zip(factors, strides[1:], strict=True))
    ]
    m, k, n = left[-2], left[-1], right[-1]
    if min(m, n) == 1:
        return False
    (is_x_transposed, x_stride), (is_y_transposed, y_stride) = [orientation(*shape) for shape in shapes]
    kind = Type.from_dtype(node.dtype).kind
    small = SmallProduct(kind, m, n, k, is_x_transposed, is_y_transposed, x_stride, y_stride)
    return not small.is_native(is_in_loop) and not PackedProduct(*small).is_native


def for_each(
    code: Code,
    element: Type,
    stack: tuple[int, ...],
    operands: Sequence[Matrices],
    result: Lanes,
    size: int,
    write: Callable[[Sequence[Matrices], Lanes], None],
    bounds: tuple[Lanes, Lanes] | None = None,
) -> None:
    """Write something for each matrix of a stack, or for those within bounds; a result has `size` elements."""
    count = math.prod(stack)
    if count == 1 and bounds is None:
        write(operands, result)
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

        write(list(map(at, operands)), code.offset(result, i * size, element))


def write_vector_products(
    call: RoutineCall, operands: Sequence[Matrices], sizes: tuple[int, int, int], stack: tuple[int, ...]
) -> None:
    """Products of matrices and vectors; a row times a matrix is its transpose times a column."""
    (m, n, k), (x, y, *initial) = sizes, operands
    call.name = "gemv"
    element, size = Type.from_dtype(call.node.dtype), max(m, n)
    matrix_is_x = n == 1 and is_column(y)
    is_transposed, stride = (x.is_transposed, x.stride) if matrix_is_x else (not y.is_transposed, y.stride)
    product = VectorProduct(element.kind, size, k, is_transposed, stride, bool(initial))
    call.define_part(product.name, product.write)

    def write(operands: Sequence[Matrices], result: Lanes) -> None:
        x, y, *initial = [operand.pointer for operand in operands]
        matrix, vector = (x, y) if matrix_is_x else (y, x)
        call.run_on_all_cores(product.name, (matrix, vector, result, *initial), size, product.grain, 2 * size * k)

    for_each(call.code, element, stack, operands, call.result, size, write)


def write_small_products(
    call: RoutineCall, product: SmallProduct, operands: Sequence[Matrices], stack: tuple[int, ...]
) -> None:
    """Products by a function of their own: a stack of them, or the rows of one, on all cores if there is much to do."""
    call.name = "product"
    call.define(product.name, product.parameters, product.write)
    element, size = Type.from_dtype(call.node.dtype), product.m * product.n
    count = call.node.size // size

    def write_part(code: Code) -> None:
        """The function of a table and a part: of the stack, or of the rows of one product."""
        (*pointers, result), begin, end = read_part(code, len(operands) + 1)
        own = [operand._replace(pointer=pointer) for operand, pointer in zip(operands, pointers, strict=True)]
        if count == 1:
            run(code, own, result, begin, end)
            return
        first, last = code.constant(0, I64), code.constant(product.m, I64)
        for_each(code, element, stack, own, result, size, lambda a, c: run(code, a, c, first, last), (begin, end))

    def run(code: Code, operands: Sequence[Matrices], result: Lanes, begin: Lanes, end: Lanes) -> None:
        arguments = *[operand.pointer for operand in operands], result, begin, end
        code.do(f"call void @{product.name}({', '.join(a.typed for a in arguments)})")

    steps = ".".join("x".join(map(str, operand.steps)) for operand in operands)
    name = f"{product.name}.of{'x'.join(map(str, stack))}.{steps}"
    call.define_part(name, write_part)
    extent, grain = (product.m, machine.current.rows_of_product_part) if count == 1 else (count, 1)
    pointers = *[operand.pointer for operand in operands], call.result
    call.run_on_all_cores(name, pointers, extent, grain, operations_of(count * size * product.k))


def operations_of(multiplications: int) -> int:
    """The scalar operations that take as long as so many multiplications of a product."""
    return multiplications // machine.current.multiplications_per_operation


def write_packed_products(
    call: RoutineCall, product: PackedProduct, operands: Sequence[Matrices], stack: tuple[int, ...]
) -> None:
    """Products whose right operands are copied first, one after the other, each on all cores."""
    call.name = "packed product"
    copy_name, name = product.define(call)
    element, (m, n, k), copy = Type(product.kind), product[1:4], call.workspace
    sizes = call.code.numbers(I64, product.sizes)
    tiling = Tiling(product.kind)
    assert copy is not None

    def write(operands: Sequence[Matrices], result: Lanes) -> None:
        x, y, *initial = [operand.pointer for operand in operands]
        copying = machine.current.operations_of_packed_element * n * k
        call.run_on_all_cores(copy_name, (sizes, y, copy), n, tiling.width, copying)
        call.run_on_all_cores(name, (sizes, x, copy, *initial, result), m, tiling.low_rows, operations_of(m * n * k))

    for_each(call.code, element, stack, operands, call.result, m * n, write)


def write_long_product(call: RoutineCall, product: SmallProduct, length: int, x: Matrices, y: Matrices) -> None:
    """A product whose sums are cut into pieces, on all cores."""
    call.name = "product of pieces"
    piece, last, count = pieces(product, length)
    for function in (piece, last):
        if function is not None:
            call.define(function.name, function.parameters, function.write)

    def write_part(code: Code) -> None:
        (a, b, results), begin, end = read_part(code, 3)

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
    call.define_part(name, write_part)
    assert call.workspace is not None
    work = operations_of(product.m * product.n * product.k)
    call.run_on_all_cores(name, (x.pointer, y.pointer, call.workspace), count, 1, work)
    sum_name = f"{name}.sum"
    call.define(
        sum_name,
        ("ptr noalias %results", "ptr noalias %result"),
        lambda code: write_sum(code, product, count, Lanes(code, "%results", PTR), Lanes(code, "%result", PTR)),
    )
    call.run(sum_name, call.workspace, call.result)


def write_gemm(
    call: RoutineCall, element: Type, sizes: tuple[int, int, int], operands: Sequence[Matrices], result: Lanes
) -> None:
    """Call gemm for one product, after what it is added to has been copied to the result."""
    (m, n, k), (x, y, *initial) = sizes, operands
    if initial and not call.is_in_place:
        copy_rows(call.code, element, m, n, initial[0], result)
    call.blas(
        f"{blas_letter(call.node.dtype)}gemm",
        *("NT"[y.is_transposed], "NT"[x.is_transposed]),
        *(n, m, k),
        1.0,
        *(y.pointer, max(y.stride, 1)),
        *(x.pointer, max(x.stride, 1)),
        1.0 if initial else 0.0,
        *(result, n),
        element=element,
    )


def copy_rows(code: Code, element: Type, m: int, n: int, rows: Matrices, result: Lanes) -> None:
    """Copy the rows of one matrix to the result; they may all be one."""
    size = n * element.bits // 8
    if rows.stride == n or m == 1:
        code.copy(result, rows.pointer, m * size)
        return
    with code.loop(0, m) as i:
        code.copy(code.offset(result, i * n, element), code.offset(rows.pointer, i * rows.stride, element), size)


def can_multiply(node: Operation) -> bool:
    """Whether the operands are matrices of one real or complex dtype, stacks of them, or a matrix and a vector."""
    x, y = node.args
    if y.ndim == 1:
        return x.ndim == 2 and x.dtype == y.dtype == node.dtype and node.dtype.kind in "fc"
    return are_float_stacks(node)


def workspace(node: Operation) -> int:
    """The bytes that a product may need besides its result."""
    left, right = node.args[-2:]
    if right.ndim < 2:
        return 0
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    product = PackedProduct(Type.from_dtype(node.dtype).kind, m, n, k, False, False, k, n)
    packed = product.workspace if product.is_native else 0
    return max(packed, 0 if node.primitive is PRODUCT_SUM else pieces_bytes(node))


MATMUL = Routine(
    write_matmul, can_multiply, workspace=workspace, reads_strided=lambda i, shape, strides: is_factor(shape, strides)
)
MATMUL_SUM = Routine(
    write_matmul,
    lambda node: True,  # a pass makes it, of products that are native
    workspace=workspace,
    reads_strided=lambda i, shape, strides: (is_factor if i else is_summand)(shape, strides),
    updates=adds_in_place,
)
