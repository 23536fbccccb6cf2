"""Operations that NumPy or SciPy run between native parts, and why."""

from __future__ import annotations

from wengert.compiler.forms.lowering import lowering
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.ops.calculus import differences
from wengert.ops.elementwise import bits, choices, exponential, predicates, trigonometric
from wengert.ops.indexing import taking
from wengert.ops.linear_algebra import matrix_functions, sparse, spectral, structured
from wengert.ops.reductions import without_nan
from wengert.ops.samples import histograms, sets, sorting
from wengert.ops.shape import casting, joining, rearranging
from wengert.ops.special import (
    bessel,
    combinatorial,
    entropy,
    error,
    gamma,
    hypergeometric,
    incomplete,
    integrals,
    quantile,
)

lowering.without("a loop or a branch around the native code of what it holds", LOOP, SWITCH)
lowering.without("a program runs on one device", casting._to_device)
lowering.without("native code finds the indices at its positions, and partitions around them", sorting._argpartition)
lowering.without("its outputs become slices of the operand", rearranging._split, joining._unstack)

lowering.without(
    "there are no instructions for it yet",
    *(
        exponential.logaddexp2,
        trigonometric._sinc,
        choices.nextafter,
    ),
    predicates._isclose,
    *(
        bits._fraction,
        bits._mantissa,
        bits._exponent,
        bits._ldexp,
        bits.spacing,
        bits.gcd,
        bits.lcm,
        bits.bitwise_count,
    ),
    *(without_nan._nanmax, without_nan._nanmin),
)

lowering.without(
    "SciPy runs it, and there is no vector function yet",
    *(bessel.j0, bessel.j1, bessel.y0, bessel.y1, bessel._jv, bessel._yv),
    *(bessel.i0, bessel.i1, bessel.i0e, bessel.i1e),
    *(bessel._iv, bessel._ive, bessel._kv, bessel._kve),
    combinatorial.binom,
    *(entropy.xlogy, entropy.xlog1py, entropy.entr, entropy.rel_entr, entropy.kl_div),
    entropy.logit,
    *(error.erfinv, error.erfcinv, error._erfcx),
    *(error.log_ndtr, error.ndtri),
    *(gamma.gamma, gamma.beta, gamma.betaln, gamma._polygamma_op, gamma._zeta),
    *(gamma.loggamma, gamma.rgamma, gamma.gammasgn),
    hypergeometric._hyp2f1,
    *(incomplete.gammainc_in_order, incomplete.gammaincc, incomplete.betainc_in_order),
    *(integrals.exp1, integrals.expi, integrals._expn, integrals._si, integrals._ci, integrals._lambertw),
    *(quantile.gammaincinv, quantile.gammainccinv, quantile.betaincinv),
    *(quantile.odd_integral, quantile.stdtr, quantile.stdtrit),
)

lowering.without(
    "each element depends on the previous ones, or on their order",
    *(
        sets._first_indices,
        sets._inverse,
        sets._multiplicities,
        sets._isin,
        taking.argwhere,
        histograms._bin_edges,
    ),
)

lowering.without("SuperLU factors the matrix, called by SciPy", sparse.sparse_solution)

lowering.without(
    "LAPACK factors the matrix, in Python so far",
    spectral._eig,
    *(matrix_functions._expm, matrix_functions._expm_frechet, matrix_functions._logm, matrix_functions._logm_frechet),
    *(matrix_functions._sqrtm, structured._solve_banded, structured._sylvester),
)

lowering.without(
    "it is computed by Fourier transforms, or in a separate loop",
    differences._convolve,
    *(structured._banded, structured._band_of_product, structured._constant_diagonals, structured._diagonal_sums),
)
