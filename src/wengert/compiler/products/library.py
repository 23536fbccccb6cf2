"""Products by BLAS. Matrices are stored by rows and BLAS expects columns: it gets the transposes, in reverse order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.forms.matrices import blas_letter
from wengert.compiler.products.product import Product
from wengert.compiler.products.tile import smaller
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import PTR, Type
from wengert.core import machine

if TYPE_CHECKING:
    from wengert.compiler.routines.call import RoutineCall


def call_gemm(call: RoutineCall, product: Product, x: Lanes, y: Lanes, initial: Lanes | None, result: Lanes) -> None:
    """Call gemm for one product, after what it is added to has been copied to the result."""
    if initial is not None and not call.is_in_place:
        copy_rows(call.code, product, initial, result)
    call.blas(
        f"{blas_letter(call.node.dtype)}gemm",
        *("NT"[product.is_y_transposed], "NT"[product.is_x_transposed]),
        *(product.n, product.m, product.k),
        1.0,
        *(y, max(product.y_stride, 1)),
        *(x, max(product.x_stride, 1)),
        0.0 if initial is None else 1.0,
        *(result, product.n),
        element=product.element,
    )


def copy_rows(code: Code, product: Product, rows: Lanes, result: Lanes) -> None:
    """Copy the rows of what a product is added to; they may all be one."""
    m, n, stride, element = product.m, product.n, product.initial_stride or 0, product.element
    size = n * element.bits // 8
    if stride == n or m == 1:
        code.copy(result, rows, m * size)
        return
    with code.loop(0, m) as i:
        code.copy(code.offset(result, i * n, element), code.offset(rows, i * stride, element), size)


def call_syrk(call: RoutineCall, product: Product, x: Lanes) -> None:
    """Call syrk for what is below the diagonal of a matrix times its transpose, and mirror it."""
    n = product.n
    call.blas(
        f"{blas_letter(call.node.dtype)}syrk",
        "U",
        "NT"[not product.is_x_transposed],
        *(n, product.k),
        1.0,
        *(x, product.x_stride),
        0.0,
        *(call.result, n),
        element=product.element,
    )
    name = f"wengert.mirror.{product.kind}.{n}"
    call.define(name, ("ptr %matrix",), lambda code: write_mirror(code, n, product.element))
    call.run(name, call.result)


def write_mirror(code: Code, n: int, element: Type) -> None:
    """Copy what is below the diagonal of a matrix to above it, in tiles."""
    matrix, tile = Lanes(code, "%matrix", PTR), machine.current.rows_of_mirrored_tile
    at = lambda i, j: code.offset(matrix, i * n + j, element)
    with (
        code.loop(0, n, tile) as top,
        code.loop(0, top + tile, tile) as left,
        code.loop(top, smaller(top + tile, n)) as i,
        code.loop(left, smaller(left + tile, i)) as j,
    ):
        code.store(code.load(at(i, j), element), at(j, i), 0)
