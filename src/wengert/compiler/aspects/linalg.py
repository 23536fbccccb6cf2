"""Linear algebra: triangular systems by BLAS, and the predicates of factorisations."""

from __future__ import annotations

from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.routines.triangular import TRIANGULAR
from wengert.ops.linear_algebra import gauge
from wengert.ops.linear_algebra.triangular import _solve_triangular

lowering.enter(TRIANGULAR, _solve_triangular)

expansion.enter(gauge.is_negligible, gauge.negligible)
expansion.enter(gauge.are_coincident, gauge._coincident)
