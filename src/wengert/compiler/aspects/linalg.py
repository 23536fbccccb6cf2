"""Linear algebra: triangular systems by BLAS, and the predicates of factorisations."""

from __future__ import annotations

from wengert.compiler.aspects import small_matrices
from wengert.compiler.forms.lowering import Alternatives, expansion, lowering
from wengert.compiler.routines.triangular import TRIANGULAR
from wengert.ops.linear_algebra import cholesky, gauge, systems
from wengert.ops.linear_algebra.triangular import _solve_triangular

lowering.enter(Alternatives(small_matrices.SOLVE_TRIANGULAR, TRIANGULAR), _solve_triangular)
lowering.enter(small_matrices.SOLVE, systems._solve)
lowering.enter(small_matrices.INV, systems._inv)
lowering.enter(small_matrices.COFACTOR, systems._cofactor)
lowering.enter(small_matrices.DET, systems._det)
lowering.enter(small_matrices.LOGDET, systems._logdet)
lowering.enter(small_matrices.DET_SIGN, systems._det_sign)
lowering.enter(small_matrices.CHOLESKY, cholesky._cholesky)

expansion.enter(gauge.is_negligible, gauge.negligible)
expansion.enter(gauge.are_coincident, gauge._coincident)
