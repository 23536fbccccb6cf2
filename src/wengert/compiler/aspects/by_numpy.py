"""Operations that NumPy or SciPy run between native parts, and why."""

from __future__ import annotations

from wengert.compiler.lowering import lowering
from wengert.ops import (
    calculus,
    convolution,
    cumulative,
    digits,
    elementwise,
    factor,
    fft,
    gauge,
    index,
    join,
    least_squares,
    matrix_functions,
    nan_reductions,
    predicates,
    reduce,
    sets,
    shape,
    sort,
    special_bessel,
    special_entropy,
    special_error,
    special_gamma,
    special_incomplete,
    special_integrals,
    special_quantile,
    spectral,
    statistics,
    structured,
    systems,
    take,
    triangular,
)  # fmt: skip

lowering.without("its outputs become slices of the operand", shape._split, join._unstack)

lowering.without(
    "it has no instructions yet",
    *(elementwise.remainder, elementwise.fmod, elementwise.logaddexp2, elementwise._sinc, elementwise.nextafter, elementwise._angle),
    *(predicates.floor_divide, predicates._round, predicates.left_shift, predicates.right_shift, predicates._isclose),
    *(digits._fraction, digits._mantissa, digits._exponent, digits._ldexp, digits.spacing, digits.gcd, digits.lcm, digits.bitwise_count),
    *(reduce._argmax, reduce._argmin, nan_reductions._nanmax, nan_reductions._nanmin),
)

lowering.without(
    "SciPy has the function, and it has no vector function yet",
    *(special_bessel.j0, special_bessel.j1, special_bessel.y0, special_bessel.y1, special_bessel._jv, special_bessel._yv),
    *(special_bessel.i0, special_bessel.i1, special_bessel.i0e, special_bessel.i1e),
    *(special_bessel._iv, special_bessel._ive, special_bessel._kv),
    *(special_entropy.xlogy, special_entropy.xlog1py, special_entropy.entr, special_entropy.rel_entr, special_entropy.kl_div),
    *(special_entropy.logit, special_entropy._offset),
    *(special_error.erfinv, special_error.erfcinv, special_error._erfcx),
    *(special_error.ndtr, special_error.log_ndtr, special_error.ndtri),
    *(special_gamma.gamma, special_gamma.beta, special_gamma.betaln, special_gamma._polygamma_op, special_gamma._zeta),
    *(special_incomplete.gammainc_in_order, special_incomplete.gammaincc, special_incomplete.betainc_in_order),
    *(special_integrals._expn, special_integrals._si, special_integrals._ci, special_integrals._lambertw),
    *(special_quantile.gammaincinv, special_quantile.gammainccinv, special_quantile.betaincinv),
    *(special_quantile.odd_integral, special_quantile.stdtr, special_quantile.stdtrit),
)

lowering.without(
    "each element depends on those before it, or on their order",
    *(cumulative._cumsum, cumulative._cumprod, sort._argsort, sort._argpartition, sort._searchsorted),
    *(sets._first_places, sets._inverse, sets._multiplicities, sets._isin, take.argwhere, statistics._histogram, statistics._bin_edges),
    *(index._add_at, index._winners),
)

lowering.without(
    "LAPACK factors the matrix",
    *(triangular._cholesky, factor._lu, factor._lu_order, factor._qr, factor._independent, factor._complement),
    *(spectral._eigh, spectral._eig, spectral._svd, gauge._anchor),
    *(least_squares._lstsq, least_squares._pinv, least_squares._matrix_rank),
    *(systems.factored, systems._solve, systems._inv, systems._det, systems._det_sign, systems._logdet, systems._cofactor),
    *(matrix_functions._expm, matrix_functions._expm_frechet, matrix_functions._logm, matrix_functions._logm_frechet),
    *(matrix_functions._sqrtm, structured._solve_banded, structured._sylvester),
)

lowering.without(
    "it is computed by transforms, or in a loop of its own",
    *(fft._fft, fft._ifft, fft._rfft, fft._irfft),
    *(convolution._convolution, convolution._convolution_signals, convolution._convolution_filters, calculus._convolve),
    *(structured._banded, structured._band_of_product, structured._constant_diagonals, structured._diagonal_sums),
)
