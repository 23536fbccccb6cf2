"""Products with logarithms, entropies, odds, and softmax.

Where x = 0, a product x log y is 0 for every y, so its derivative with respect to y is 0 there. Its derivative with
respect to x is log y, minus infinity at y = 0. An infinite derivative times a cotangent of zero is zero, as everywhere
in the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Never

import numpy as np

from wengert.core.facts import FLAT
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.infer import keep_shape
from wengert.core.kinds import case, describe, elementwise, general, nondifferentiable, shift_axes
from wengert.core.large_arrays import for_rows
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import divide_live
from wengert.ops.elementwise.choices import POSITIVE, minimum, where
from wengert.ops.elementwise.complex_numbers import absolute, sign
from wengert.ops.elementwise.exponential import exp, log, sigmoid, softplus
from wengert.ops.elementwise.predicates import equal, logical_and, logical_or, not_equal
from wengert.ops.reductions import sums
from wengert.ops.reductions.axes import Axis, axes_of
from wengert.ops.reductions.short_rows import add_along, largest_along
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_arrays, reshape
from wengert.ops.special.scipy_functions import constants_for, of_scipy

__all__ = [
    "entr", "expit", "kl_div", "log_expit", "log_softmax", "logit", "logsumexp", "rel_entr", "softmax", "xlog1py",
    "xlogy",
]  # fmt: skip

xlogy = elementwise(
    "xlogy",
    of_scipy("xlogy"),
    lambda t, y: xlogy(t, y),
    lambda t, x, y: divide_live(t * x, y),
    domain=((-2.0, 2.0), POSITIVE),
    singular={(0.0, 0.0): (-math.inf, 0.0), (0.0, 2.0): (math.log(2.0), 0.0), (1.0, 0.0): (-math.inf, math.inf)},
)
xlog1py = elementwise(
    "xlog1py",
    of_scipy("xlog1py"),
    lambda t, y: xlog1py(t, y),
    lambda t, x, y: divide_live(t * x, 1.0 + y),
    domain=((-2.0, 2.0), (-0.8, 3.0)),
    singular={(0.0, -1.0): (-math.inf, 0.0), (0.0, 1.0): (math.log1p(1.0), 0.0)},
)
entr = elementwise(
    "entr",
    of_scipy("entr"),
    lambda t, x: -t - xlogy(t, x),
    domain=POSITIVE,
    singular={(0.0,): (math.inf,), (-1.0,): (math.nan,)},
)


def _log_ratio(t: Any, x: Any, y: Any) -> Any:
    """t log(x / y).

    Where one of them is zero, by the logarithm of each, whose derivatives are not lost in the ratio.
    """
    zero = logical_or(equal(x, 0), equal(y, 0))
    ratio = where(zero, 1.0, x) / where(zero, 1.0, y)
    apart = logical_and(zero, not_equal(x, y))
    return xlogy(t, ratio) + xlogy(t, where(zero, x, 1.0)) - xlogy(t, where(apart, y, 1.0))


rel_entr = elementwise(
    "rel_entr",
    of_scipy("rel_entr"),
    lambda t, x, y: t + _log_ratio(t, x, y),
    lambda t, x, y: -divide_live(t * x, y),
    domain=POSITIVE,
    singular={(0.0, 1.0): (-math.inf, 0.0), (0.0, 0.0): (-math.inf, 0.0), (1.0, 0.0): (math.inf, -math.inf)},
)
kl_div = elementwise(
    "kl_div",
    of_scipy("kl_div"),
    lambda t, x, y: _log_ratio(t, x, y),
    lambda t, x, y: t - divide_live(t * x, y),
    domain=POSITIVE,
    singular={(0.0, 1.0): (-math.inf, 1.0), (0.0, 0.0): (-math.inf, 1.0), (1.0, 0.0): (math.inf, -math.inf)},
)
logit = elementwise(
    "logit",
    of_scipy("logit"),
    lambda t, x: divide_live(t, x) + divide_live(t, 1.0 - x),
    domain=(0.1, 0.9),
    singular={(0.0,): (math.inf,), (1.0,): (math.inf,)},
)
expit = sigmoid


def log_expit(x: Any) -> Any:
    """log(1 / (1 + exp(-x))), without overflow.

    >>> log_expit([0.0, -1000.0])
    array([-6.93147181e-01, -1.00000000e+03])
    """
    return -softplus(-as_operand(x))


def _inexact(x: Any) -> Any:
    x = as_operand(x)
    return x if x.dtype.kind in "fc" else astype(x, float)


def _largest(x: Any, axis: tuple[int, ...]) -> Any:
    largest = largest_along(np.real(x), axis)
    return np.where(np.isfinite(largest), largest, largest.dtype.type(0.0))[()]


_offset = nondifferentiable(
    "softmax_offset",
    _largest,
    takes_params=True,
    batch=shift_axes,
    cases=(case((3,), axis=(0,)), case((2, 3), axis=(0, 1)), case((2, 3), axis=(1,)), case((0, 2), axis=(0,))),
    reason="the softmax does not depend on it",
)
"""The largest number along the axes, if it is finite: taken from all of them, it leaves no large numbers to cancel."""


def _weights(x: Any, axis: tuple[int, ...]) -> Any:
    out = np.exp(x - _largest(x, axis))
    total = add_along(out, axis, keepdims=True)
    return out / np.where(total == 0, total.dtype.type(1), total)


def _weights_slope(t: Any, out: Any, axis: tuple[int, ...]) -> Any:
    return out * (t - sums.sum(t * out, axis, keepdims=True))


def _proportions(x: Any, axis: tuple[int, ...]) -> Any:
    largest = largest_along(np.real(x), axis)
    out = np.exp(x - np.where(largest > -np.inf, largest, largest.dtype.type(0)))
    total = add_along(out, axis, keepdims=True)
    return out / np.where(largest == np.inf, total.dtype.type(1), total)


def _softmax_operation(name: str, impl: Callable[..., Any]) -> Callable[..., Any]:
    """An operation exp(x) / sum(exp(x)) along axes. Its derivative needs its result alone."""
    return general(
        name,
        for_rows(impl),
        _weights_slope,
        jvps=(_weights_slope,),
        batch=shift_axes,
        spec=keep_shape(impl),
        cases=(
            case((3,), axis=(0,)),
            case((2, 3), axis=(1,)),
            case((2, 3), axis=(0, 1)),
            case(np.array([[0.5, -1.0], [1e3, 2.0]]), axis=(1,)),
            case((0, 2), axis=(0,)),
        ),
        facts=FLAT,
    )


softmax_weights = _softmax_operation("softmax_weights", _weights)
"""exp(x) / sum(exp(x)) along the axes, and zeros where all elements are -inf, which `softmax` makes NaN."""
_softmax = _softmax_operation("softmax", _proportions)


def softmax(x: Any, axis: Axis = None, **foreign: Never) -> Any:
    """exp(x) / sum(exp(x)) along the axes, without overflow.

    >>> softmax([1000.0, 1000.0])
    array([0.5, 0.5])
    """
    if foreign:
        refuse_keywords(foreign)
    x = _inexact(x)
    return _softmax(x, axis=axes_of(x, axis))


def log_softmax(x: Any, axis: Axis = None, **foreign: Never) -> Any:
    """x - logsumexp(x) along the axes, accurate beside the largest x.

    >>> log_softmax([1.0, 1.0])
    array([-0.69314718, -0.69314718])
    """
    if foreign:
        refuse_keywords(foreign)
    x = _inexact(x)
    x = x - _offset(x, axis=axes_of(x, axis))
    return x - sums.logsumexp(x, axis, keepdims=True)


def logsumexp(a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b * exp(a))) along the axes, without overflow.

    With `return_sign` that of the absolute value, and the sum's sign.

    >>> float(logsumexp([1000.0, 1e9], b=[0.5, 0.0]))
    999.3068528194401
    """
    if b is None and not return_sign:
        return sums.logsumexp(a, axis, keepdims=keepdims)
    a = _inexact(a)
    a, b = broadcast_arrays(a, *constants_for(a, 1.0 if b is None else b))
    offset = _offset(where(equal(b, 0), -math.inf, a), axis=axes_of(a, axis))
    a = a - offset
    if a.dtype.kind == "f":
        a = minimum(
            a, math.log(np.finfo(a.dtype).max) - 1.0
        )  # what b leaves out may be above the offset, and 0 times inf is no number
    total = sums.sum(b * exp(a), axis, keepdims=keepdims)
    offset = reshape(offset, total.shape)
    return (log(absolute(total)) + offset, sign(total)) if return_sign else log(total) + offset


describe(
    {
        xlogy: "x log(y), and 0 where x is 0. >>> xlogy([0.0, 2.0], [0.0, 3.0]) -> array([0.        , 2.19722458])",
        xlog1py: "x log(1 + y), and 0 where x is 0. "
        ">>> xlog1py([0.0, 2.0], [-1.0, 3.0]) -> array([0.        , 2.77258872])",
        entr: "-x log(x), the contribution of a probability to the entropy; 0 at 0. "
        ">>> entr([0.0, 0.5]) -> array([0.        , 0.34657359])",
        rel_entr: "x log(x / y). >>> rel_entr([0.0, 0.5], 0.25) -> array([0.        , 0.34657359])",
        kl_div: "x log(x / y) - x + y. >>> kl_div([0.5, 0.5], [0.25, 0.5]) -> array([0.09657359, 0.        ])",
        logit: "log(x / (1 - x)), the inverse of expit. >>> logit([0.5, 0.75]) -> array([0.        , 1.09861229])",
    }
)
