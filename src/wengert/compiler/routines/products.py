"""Products of matrices: functions for vectors and for small products in the bodies of loops, else calls of BLAS.

Matrices are stored by rows and BLAS expects columns, so it is asked for the product of the transposes, in reverse
order.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import are_float_stacks, blas_letter, is_stack
from wengert.compiler.routines.call import Operand, RoutineCall
from wengert.compiler.routines.small_products import small_product
from wengert.compiler.routines.vector_products import VectorProduct
from wengert.compiler.simd.lanes import Lanes, Type
from wengert.graph.ir import Operation


def write_matmul(call: RoutineCall) -> None:
    """Write the product of each matrix of a stack, in a loop if there are several."""
    code, out, result = call.code, call.node, call.result
    x, y = call.operands
    k = out.args[0].shape[-1]
    m, n = out.shape[-2:] if out.args[1].ndim > 1 else (out.shape[0], 1)
    element = Type.from_dtype(out.dtype)
    count = out.size // max(m * n, 1)
    write = choose_product(call, (m, n, k))
    if count == 1:
        write(x, y, result)
        return
    x_step, y_step = [size * is_stack(a) for size, a in zip((m * k, k * n), out.args, strict=True)]
    with code.loop(0, count) as i:
        at = lambda p, step: code.offset(p, i * step, element) if step else p
        x, y = x._replace(pointer=at(x.pointer, x_step)), y._replace(pointer=at(y.pointer, y_step))
        write(x, y, at(result, m * n))


Write = Callable[[Operand, Operand, Lanes], None]
"""Adds the instructions of one product, with its operands and the address of its result."""


def choose_product(call: RoutineCall, sizes: tuple[int, int, int]) -> Write:
    """How a product is computed: by its own function if it is one of a vector, or small in a loop, else by gemm."""
    (x, y), element, (m, n, k) = call.operands, Type.from_dtype(call.node.dtype), sizes
    if min(m, n) == 1 and k:
        call.name = "gemv"
        matrix_is_x, size = n == 1, max(m, n)
        is_transposed = x.is_transposed if matrix_is_x else not y.is_transposed
        product = VectorProduct(element.kind, size, k, is_transposed, size if is_transposed else k)

        def write_vector(x: Operand, y: Operand, result: Lanes) -> None:
            call.define(product.name, ("ptr %table", "i64 %begin", "i64 %end"), product.write)
            matrix, vector = (x, y) if matrix_is_x else (y, x)
            pointers = matrix.pointer, vector.pointer, result
            call.run_on_all_cores(product.name, pointers, size, product.grain, 2 * size * k)

        return write_vector
    small = small_product(call.node, x.is_transposed, y.is_transposed) if call.is_in_loop else None
    if small is not None:
        call.name = "product"

        def write_small(x: Operand, y: Operand, result: Lanes) -> None:
            call.define(small.name, ("ptr noalias %x", "ptr noalias %y", "ptr noalias %result"), small.write)
            call.run(small.name, x.pointer, y.pointer, result)

        return write_small
    call.name = "gemm"
    return lambda x, y, result: write_gemm(call, element, sizes, x, y, result)


def write_gemm(
    call: RoutineCall, element: Type, sizes: tuple[int, int, int], x: Operand, y: Operand, result: Lanes
) -> None:
    """Call gemm for one product."""
    m, n, k = sizes
    if not m * n:
        return
    call.blas(
        f"{blas_letter(call.node.dtype)}gemm",
        *("NT"[y.is_transposed], "NT"[x.is_transposed]),
        *(n, m, k),
        1.0,
        *(y.pointer, max(k if y.is_transposed else n, 1)),
        *(x.pointer, max(m if x.is_transposed else k, 1)),
        0.0,
        *(result, n),
        element=element,
    )


def is_native(node: Operation) -> bool:
    """Whether the operands are matrices of one floating-point dtype, stacks of them, or a matrix and a vector."""
    x, y = node.args
    if y.ndim == 1:
        return x.ndim == 2 and x.dtype == y.dtype == node.dtype and node.dtype.kind == "f"
    return are_float_stacks(node)


MATMUL = Routine(write_matmul, is_native, reads_transposed=True)
