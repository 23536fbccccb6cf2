"""Products of matrices: calls of BLAS, or the functions of small products in the bodies of loops.

Matrices are stored by rows and BLAS expects columns, so it is asked for the product of the transposes, in reverse
order.
"""

from __future__ import annotations

import math

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import are_float_stacks, blas_letter, is_stack
from wengert.compiler.routines.call import Operand, RoutineCall
from wengert.compiler.routines.small_products import small_product
from wengert.compiler.simd.lanes import Lanes, Type


def write_matmul(call: RoutineCall) -> None:
    """Call gemm, or the function of a small product, for each matrix of a stack, in a loop if there are several."""
    code, out, result = call.code, call.node, call.result
    x, y = call.operands
    m, n, k = out.shape[-2], out.shape[-1], out.args[0].shape[-1]
    element = Type.from_dtype(out.dtype)
    count = math.prod(out.shape[:-2])
    product = small_product(out, x.is_transposed, y.is_transposed) if call.is_in_loop else None
    call.name = "product" if product is not None else "gemm"

    def multiply(x: Operand, y: Operand, result: Lanes) -> None:
        if product is not None:
            call.define(product.name, ("ptr noalias %x", "ptr noalias %y", "ptr noalias %result"), product.write)
            call.run(product.name, x.pointer, y.pointer, result)
        else:
            write_gemm(call, element, (m, n, k), x, y, result)

    if count == 1:
        multiply(x, y, result)
        return
    x_step, y_step = [size * is_stack(a) for size, a in zip((m * k, k * n), out.args, strict=True)]
    with code.loop(0, count) as i:
        at = lambda p, step: code.offset(p, i * step, element) if step else p
        x, y = x._replace(pointer=at(x.pointer, x_step)), y._replace(pointer=at(y.pointer, y_step))
        multiply(x, y, at(result, m * n))


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


MATMUL = Routine(write_matmul, are_float_stacks, reads_transposed=True)
