"""Products of a matrix and its own transpose: BLAS computes one half, and the other half is a mirror image."""

from __future__ import annotations

from wengert.compiler.forms.matrices import blas_letter
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, Type

TILE = 16
"""Rows and columns that are mirrored together, so that both are in the cache."""


def write_gram(call: RoutineCall, n: int, k: int, x: Lanes, is_transposed: bool, stride: int) -> None:
    """Call syrk for x times its transpose; x is n x k."""
    element = Type.from_dtype(call.node.dtype)
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
        element=element,
    )
    name = f"wengert.mirror.{element.kind}.{n}"
    call.define(name, ("ptr %matrix",), lambda code: write_mirror(code, n, element))
    call.run(name, call.result)


def write_mirror(code: Code, n: int, element: Type) -> None:
    """Copy what is below the diagonal of a matrix to above it, in tiles."""
    matrix = Lanes(code, "%matrix", Type("ptr"))
    smaller = lambda x, y: code.intrinsic("smin", I64, x, x.like(y))
    at = lambda i, j: code.offset(matrix, i * n + j, element)
    with (
        code.loop(0, n, TILE) as top,
        code.loop(0, top + TILE, TILE) as left,
        code.loop(top, smaller(top + TILE, n)) as i,
        code.loop(left, smaller(left + TILE, i)) as j,
    ):
        code.store(code.load(at(i, j), element), at(j, i))
