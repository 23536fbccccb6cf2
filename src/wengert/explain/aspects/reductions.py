"""Sums, products and extrema along axes: why they are not finite, their forms of many digits, their signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.explain.comparing.digits import digits, enter_numpy_forms, reduction_form
from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import BAD_SLOPE, FORWARD, INFINITE_TERMS, TOO_LARGE_TOGETHER, Remedy, remedies
from wengert.ops.linear_algebra.norms import _norm
from wengert.ops.reductions.cumulative import _cumprod, _cumsum, _prod
from wengert.ops.reductions.extremes import _argmax, _argmin, _max, _min
from wengert.ops.reductions.logical import _all, _any, _count_nonzero
from wengert.ops.reductions.named_axes import _psum
from wengert.ops.reductions.sums import _logsumexp, _mean, _sum
from wengert.ops.reductions.without_nan import _nanmax, _nanmin

EMPTY_MEAN = Remedy(
    FORWARD, lambda x: x.size == 0, "the mean of no numbers is 0 / 0", "Leave empty arrays out before taking the mean."
)

remedies.enter((INFINITE_TERMS, TOO_LARGE_TOGETHER), _sum, _cumsum)
remedies.enter((INFINITE_TERMS, EMPTY_MEAN, TOO_LARGE_TOGETHER), _mean)
remedies.enter((TOO_LARGE_TOGETHER, BAD_SLOPE), _prod, _cumprod, _norm)
remedies.enter((BAD_SLOPE,), _logsumexp)

sign.enter("Σ", _sum)
sign.enter("∏", _prod)


@digits(_norm)
@reduction_form
def precise_norm(mp: Any, numbers: list, ord: Any) -> Any:
    """A norm of a vector."""
    return mp.norm(numbers, mp.inf if ord == np.inf else 2 if ord is None else ord)


digits.enter(reduction_form(lambda mp, numbers: mp.fsum(numbers) / len(numbers)), _mean)
digits.enter(lambda mp, x, axis_name, size: x * size, _psum)
digits.enter(reduction_form(lambda mp, numbers: mp.log(mp.fsum(map(mp.exp, numbers)))), _logsumexp)
digits.enter(reduction_form(lambda mp, numbers: max([x for x in numbers if not mp.isnan(x)], default=mp.nan)), _nanmax)
digits.enter(reduction_form(lambda mp, numbers: min([x for x in numbers if not mp.isnan(x)], default=mp.nan)), _nanmin)
enter_numpy_forms(_prod, _cumprod, _max, _min, _all, _any, _count_nonzero, _argmax, _argmin)
