"""Products of a matrix and its own transpose: BLAS computes one half, and the other half is a mirror image.

Products with such a matrix need one half of it (`schedule/symmetric_products.py`).
"""

from __future__ import annotations

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import blas_letter
from wengert.compiler.forms.strides import is_by_rows, is_factor, matrix_stride
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, Type
from wengert.core import machine


def write_gram(call: RoutineCall, n: int, k: int, x: Lanes, is_transposed: bool, stride: int) -> None:
    """x times its transpose, and the mirror image of the half that BLAS computes; x is n x k."""
    write_half(call, n, k, x, is_transposed, stride)
    element = Type.from_dtype(call.node.dtype)
    name = f"wengert.mirror.{element.kind}.{n}"
    call.define(name, ("ptr %matrix",), lambda code: write_mirror(code, n, element))
    call.run(name, call.result)


def write_half(call: RoutineCall, n: int, k: int, x: Lanes, is_transposed: bool, stride: int) -> None:
    """Call syrk for what is below the diagonal of x times its transpose; x is n x k."""
    call.name = "syrk"
    call.blas(
        f"{blas_letter(call.node.dtype)}syrk",
        "U",
        "NT"[not is_transposed],
        *(n, k),
        1.0,
        *(x, stride),
        0.0,
        *(call.result, n),
        element=Type.from_dtype(call.node.dtype),
    )


def write_triangle(call: RoutineCall) -> None:
    """The half of a product of a matrix and its transpose."""
    x, (n, k) = call.operands[0], call.node.args[0].shape
    found = matrix_stride((n, k), x.strides)
    assert found is not None
    write_half(call, n, k, x.pointer, *found)


def write_symmetric_product(call: RoutineCall) -> None:
    """Call symm, which reads one half; the transposes of all matrices are stored by columns, as BLAS expects."""
    (symmetric, other), node = call.operands, call.node
    (m, n), is_left = node.shape, node.params["is_left"]
    call.name = "symm"
    call.blas(
        f"{blas_letter(node.dtype)}symm",
        "LR"[is_left],
        "U",
        *(n, m),
        1.0,
        *(symmetric.pointer, node.args[0].shape[0]),
        *(other.pointer, other.strides[0]),
        0.0,
        *(call.result, n),
        element=Type.from_dtype(node.dtype),
    )


def write_mirror(code: Code, n: int, element: Type) -> None:
    """Copy what is below the diagonal of a matrix to above it, in tiles."""
    matrix = Lanes(code, "%matrix", Type("ptr"))
    smaller = lambda x, y: code.intrinsic("smin", I64, x, x.like(y))
    at = lambda i, j: code.offset(matrix, i * n + j, element)
    tile = machine.current.rows_of_mirrored_tile
    with (
        code.loop(0, n, tile) as top,
        code.loop(0, top + tile, tile) as left,
        code.loop(top, smaller(top + tile, n)) as i,
        code.loop(left, smaller(left + tile, i)) as j,
    ):
        code.store(code.load(at(i, j), element), at(j, i))


TRIANGLE_BY_BLAS = Routine(
    write_triangle, lambda node: True, reads_strided=lambda i, shape, strides: is_factor(shape, strides)
)
SYMMETRIC_BY_BLAS = Routine(
    write_symmetric_product,
    lambda node: True,
    reads_strided=lambda i, shape, strides: is_by_rows(shape, strides),
)
"""A pass makes them, of products that BLAS computes."""
