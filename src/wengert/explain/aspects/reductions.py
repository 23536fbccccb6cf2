"""Sums, products and extrema along axes: what makes them infinite or flat, their forms of many digits, their signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.explain.comparing.digits import digits, enter_as_in_numpy, on_lists
from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import BAD_SLOPE, FORWARD, INFINITE_TERMS, TOO_LARGE_TOGETHER, Remedy, remedies
from wengert.explain.why.zeros import left_out, saturated, times_zero, zero_slope
from wengert.ops.linear_algebra.norms import _norm
from wengert.ops.reductions.cumulative import _cumprod, _cumsum, _prod
from wengert.ops.reductions.extremes import _argmax, _argmin, _max, _min
from wengert.ops.reductions.logical import _all, _any, _count_nonzero
from wengert.ops.reductions.sums import _logsumexp, _mean, _sum
from wengert.ops.reductions.without_nan import _nanmax, _nanmin

remedies.enter((INFINITE_TERMS, TOO_LARGE_TOGETHER), _sum, _cumsum)
remedies.enter(
    (
        INFINITE_TERMS,
        Remedy(
            FORWARD,
            lambda x: x.size == 0,
            "the mean of no numbers is 0 / 0",
            "Leave empty arrays out before taking the mean.",
        ),
        TOO_LARGE_TOGETHER,
    ),
    _mean,
)
remedies.enter((TOO_LARGE_TOGETHER, BAD_SLOPE), _prod, _cumprod, _norm)
remedies.enter((BAD_SLOPE,), _logsumexp)

zero_slope.enter(times_zero, _prod, _cumprod)
zero_slope.enter(left_out, _max, _min)
zero_slope.enter(saturated, _logsumexp)

sign.enter("Σ", _sum)
sign.enter("∏", _prod)


@digits(_norm)
@on_lists
def norm(mp: Any, numbers: list, ord: Any) -> Any:
    return mp.norm(numbers, mp.inf if ord == np.inf else 2 if ord is None else ord)


digits.enter(on_lists(lambda mp, numbers: mp.fsum(numbers) / len(numbers)), _mean)
digits.enter(on_lists(lambda mp, numbers: mp.log(mp.fsum(map(mp.exp, numbers)))), _logsumexp)
enter_as_in_numpy(_prod, _cumprod, _max, _min, _all, _any, _count_nonzero, _argmax, _argmin)
digits.enter(on_lists(lambda mp, numbers: max([x for x in numbers if not mp.isnan(x)], default=mp.nan)), _nanmax)
digits.enter(on_lists(lambda mp, numbers: min([x for x in numbers if not mp.isnan(x)], default=mp.nan)), _nanmin)
