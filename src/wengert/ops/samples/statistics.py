"""Statistics of samples: covariances and quantiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.core.array import Array, implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.calculus.differences import inexact
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import divide, remainder, sqrt
from wengert.ops.elementwise.choices import clip, where
from wengert.ops.elementwise.complex_numbers import conj, imag, real
from wengert.ops.elementwise.predicates import (
    ceil,
    equal,
    floor,
    greater_equal,
    isnan,
    less,
    logical_and,
    rint,
)
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.indexing.taking import take_along_axis
from wengert.ops.reductions.axes import Axis
from wengert.ops.reductions.cumulative import cumsum
from wengert.ops.reductions.extremes import collapse, take_last
from wengert.ops.reductions.logical import count_nonzero
from wengert.ops.reductions.sums import average
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.samples.sorting import argsort
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import atleast_2d
from wengert.ops.shape.rearranging import concatenate, diag
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, moveaxis, reshape, squeeze

__all__ = ["corrcoef", "cov", "nanpercentile", "nanquantile", "percentile", "quantile"]

# Covariance


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of variables, one in each row (or column), over their observations.

    They are differentiable with respect to `aweights` too.

    >>> cov([1.0, 2.0, 4.0], [1.0, 3.0, 2.0]).round(3)
    array([[2.333, 0.5  ],
           [0.5  , 1.   ]])
    """
    samples = [as_operand(v) for v in (m, y) if v is not None]
    if any(v.ndim > 2 for v in samples):
        raise user_error(ValueError, "cov needs arrays of at most two axes")
    dtype = np.result_type(*[v.dtype for v in samples], np.float64) if dtype is None else np.dtype(dtype)
    rows = [astype(atleast_2d(v), dtype) for v in samples]
    rows = [row.T if not rowvar and v.ndim != 1 else row for v, row in zip(samples, rows, strict=True)]
    x = rows[0] if len(rows) == 1 else concatenate(rows, 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = _weights_of_observations(fweights, aweights, x.shape[1])
    if weights is None:
        mean, freedom = average(x, 1), x.shape[1] - ddof
    else:
        mean, total = average(x, 1, weights), sum_(weights)
        squares = 1 if aweights is None else sum_(weights * as_operand(aweights)) / total
        freedom = total - ddof * squares if ddof else total
    if not isinstance(freedom, Array) and freedom <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = 0.0
    x = x - expand_dims(mean, 1)
    weighted = x if weights is None else x * weights
    products = matmul(x, conj(weighted).T if dtype.kind == "c" else weighted.T)
    return astype(squeeze(divide(products, freedom)), dtype, copy=False)


def _weights_of_observations(fweights: Any, aweights: Any, n: int) -> Any:
    given = [(w, as_operand(w)) for w in (fweights, aweights) if w is not None]
    for _, w in given:
        if w.shape != (n,):
            raise user_error(RuntimeError, f"cov needs a weight for each of {n} observations, and got shape {w.shape}")
        if not isinstance(w, Array) and (w < 0).any():
            raise user_error(ValueError, "The weights of cov cannot be negative")
    if fweights is not None and not isinstance(given[0][1], Array) and (given[0][1] != np.around(given[0][1])).any():
        raise user_error(TypeError, "fweights must be integer")
    weights = [astype(w, float) for _, w in given]
    return weights[0] * weights[1] if len(weights) == 2 else weights[0] if weights else None


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlation coefficients of variables, one in each row (or column), over their observations.

    >>> corrcoef([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = sqrt(real(diag(c)))
    c = c / expand_dims(deviation, 1) / deviation
    return clip(real(c), -1, 1) + 1j * clip(imag(c), -1, 1) if c.dtype.kind == "c" else clip(c, -1, 1)


# Quantiles. A method gives a position between two of the n sorted numbers, and the weight of the upper
# one.


def _position_formula(alpha: float, beta: float) -> Callable:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _integer_position(position: Any, stays: Any) -> Any:
    """The next integer above a position, or the position itself where `stays`."""
    return clip(floor(position) + where(stays, 0.0, 1.0), 0.0, None)


def _closest(n: Any, q: Any) -> Any:
    position = n * q - 1.5
    return _integer_position(
        position, logical_and(equal(position, floor(position)), equal(remainder(floor(position), 2), 1))
    )


CONTINUOUS: dict[str, Callable] = {
    "linear": lambda n, q: (n - 1) * q,
    "interpolated_inverted_cdf": _position_formula(0, 1),
    "hazen": _position_formula(0.5, 0.5),
    "weibull": _position_formula(0, 0),
    "median_unbiased": _position_formula(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _position_formula(3 / 8.0, 3 / 8.0),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "midpoint": lambda n, q: 0.5 * (floor((n - 1) * q) + ceil((n - 1) * q)),
}
DISCRETE: dict[str, Callable] = {
    "inverted_cdf": lambda n, q: _integer_position(n * q - 1, equal(n * q - 1, floor(n * q - 1))),
    "closest_observation": _closest,
    "lower": lambda n, q: floor((n - 1) * q),
    "higher": lambda n, q: ceil((n - 1) * q),
    "nearest": lambda n, q: rint((n - 1) * q),
}
UPPER: dict[str, Callable] = {
    "averaged_inverted_cdf": lambda fraction: where(equal(fraction, 0), 0.5, 1.0),
    "midpoint": lambda fraction: where(equal(fraction, 0), 0.0, 0.5),
}


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    **foreign: Never,
) -> Any:
    """The q-th quantiles by any of NumPy's methods.

    They are differentiable with respect to a, and to q if the method is continuous.

    >>> float(quantile([1.0, 2.0, 4.0], 0.75))
    3.0
    """
    if foreign:
        refuse_keywords(foreign)
    return _quantile(a, q, 1, axis, out, method, keepdims, weights, False)


@implements(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles in hundredths.

    >>> percentile([1.0, 2.0, 3.0], [50, 100])
    array([2., 3.])
    """
    return _quantile(a, q, 100, axis, out, method, keepdims, weights, False)


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles of the elements that are not NaN; NaN if all are.

    >>> nanquantile([1.0, np.nan, 3.0], [0.0, 0.5])
    array([1., 2.])
    """
    return _quantile(a, q, 1, axis, out, method, keepdims, weights, True)


@implements(np.nanpercentile)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Percentiles of the elements that are not NaN; NaN if all are.

    >>> nanpercentile([1.0, np.nan, 3.0], [0, 50])
    array([1., 2.])
    """
    return _quantile(a, q, 100, axis, out, method, keepdims, weights, True)


def _quantile(
    a: Any, q: Any, parts: int, axis: Axis, out: None, method: str, keepdims: bool, weights: Any, skips_nan: bool
) -> Any:
    refuse_out(out)
    a, yields = as_operand(a), type(q) in (int, float)  # a Python number gives way to the dtype of the sample
    q = as_operand(q) if parts == 1 else as_operand(q) / parts
    if a.dtype.kind == "c":
        raise user_error(TypeError, "Quantiles are for real numbers, which have an order")
    if method not in CONTINUOUS and method not in DISCRETE:
        raise user_error(ValueError, f"{method!r} is not a method: use one of {', '.join([*CONTINUOUS, *DISCRETE])}")
    if not isinstance(q, Array) and not np.all((q >= 0) & (q <= 1)):
        raise user_error(ValueError, f"Quantiles must be between 0 and {parts}")
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    rows = collapse(a, axes)
    if not rows.shape[-1]:
        raise user_error(IndexError, "There are no quantiles of no numbers")
    order = argsort(rows)  # NaNs come last
    ordered = take_along_axis(rows, order)
    flat_q = reshape(q, (-1,))
    if weights is not None:
        result = _weighted_quantile(ordered, order, flat_q, _rows_of_weights(weights, a, axes, method), skips_nan)
    else:
        if skips_nan and rows.dtype.kind == "f":
            n = count_nonzero(equal(rows, rows), -1, keepdims=True)
        else:
            n = rows.shape[-1]
        result = _unweighted_quantile(ordered, n, flat_q, method, yields)
    if not skips_nan and rows.dtype.kind == "f":
        last = getitem(ordered, (..., slice(-1, None)))
        result = where(isnan(last), last, result)
    result = reshape(moveaxis(result, -1, 0), q.shape + rows.shape[:-1])
    return expand_dims(result, tuple([q.ndim + i for i in axes])) if keepdims else result


def _unweighted_quantile(ordered: Any, n: Any, q: Any, method: str, yields: bool) -> Any:
    q = numpy_of(ordered).asarray(q) if isinstance(q, np.ndarray) else q
    if method in DISCRETE or (method == "linear" and q.dtype.kind in "iu"):
        return _at(ordered, (DISCRETE.get(method) or CONTINUOUS[method])(n, q), n)
    q = inexact(q)
    position = CONTINUOUS[method](n, q)
    lower = floor(position)
    below = _at(ordered, lower, n)
    fraction = astype(position - lower, q.dtype, copy=False)  # n may be an array of integers
    weight = astype(UPPER[method](fraction), q.dtype, copy=False) if method in UPPER else fraction
    if yields and ordered.dtype.kind == "f":
        weight = astype(weight, ordered.dtype, copy=False)
    above = _at(ordered, lower + 1, n)
    step = above - below
    return where(greater_equal(weight, 0.5), above - step * (1 - weight), below + step * weight)


def _at(ordered: Any, position: Any, n: Any) -> Any:
    """The elements of sorted rows at positions, one array for all rows, or one for each row if n differs."""
    position = astype(clip(position, 0, n - 1), np.intp)
    return getitem(ordered, (..., position)) if position.ndim == 1 else take_last(ordered, position)


def _rows_of_weights(weights: Any, a: Any, axes: tuple[int, ...], method: str) -> Any:
    weights = as_operand(weights)
    if method != "inverted_cdf":
        raise user_error(ValueError, f"Only the method 'inverted_cdf' takes weights, not {method!r}")
    if weights.shape not in (a.shape, tuple([a.shape[i] for i in axes])):
        raise user_error(ValueError, f"weights of shape {weights.shape} fit neither {a.shape} nor its axes {axes}")
    if not isinstance(weights, Array) and (weights < 0).any():
        raise user_error(ValueError, "Weights must be non-negative")
    return collapse(weights, axes) if weights.shape == a.shape else reshape(weights, (-1,))


def _weighted_quantile(ordered: Any, order: Any, q: Any, weights: Any, skips_nan: bool) -> Any:
    """The first number up to which the weights are the q-th part of their sum; piecewise constant in the weights."""
    weights = take_along_axis(broadcast_to(weights, ordered.shape), order)
    if skips_nan:
        weights = where(isnan(ordered), 0.0, weights)
    parts = cumsum(weights, -1, float)
    parts = parts / parts[..., -1:]
    parts = expand_dims(where(equal(parts, 0), -1.0, parts), -1)
    return take_last(ordered, clip(count_nonzero(less(parts, q), -2), 0, ordered.shape[-1] - 1))
