"""Linear algebra: triangular systems by BLAS, and the predicates of factorisations."""

from __future__ import annotations

from wengert.compiler.forms.lowering import BlasCall, expansion, lowering
from wengert.compiler.routines.blas_calls import fills_result, is_for_blas
from wengert.ops.linear_algebra import gauge
from wengert.ops.linear_algebra.triangular import _solve_triangular

lowering.enter(BlasCall(lambda node: is_for_blas(node) and fills_result(node)), _solve_triangular)

expansion.enter(gauge.is_negligible, gauge.negligible)
expansion.enter(gauge.are_coincident, gauge._coincident)
