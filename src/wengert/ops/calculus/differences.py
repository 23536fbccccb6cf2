"""Calculus on samples: differences, integrals, interpolation, polynomials, convolution.

Nearly all functions are compositions of other operations. Convolution is a primitive, and its transposes are
convolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.kinds import case, keep_params, multilinear
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.arithmetic import add, multiply, remainder, subtract
from wengert.ops.elementwise.choices import clip, where
from wengert.ops.elementwise.complex_numbers import absolute, conj
from wengert.ops.elementwise.predicates import equal, greater, less, logical_and, not_equal
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.reductions.axes import Axis
from wengert.ops.reductions.cumulative import cumprod, cumsum
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.samples.sorting import argsort, searchsorted
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import atleast_1d, unstack, zeros_like
from wengert.ops.shape.rearranging import concatenate, flip
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape

__all__ = [
    "convolve", "correlate", "cumulative_trapezoid", "diff", "ediff1d", "gradient", "interp", "polyval", "trapezoid",
    "unwrap", "vander",
]  # fmt: skip


def _slice_along(x: Any, axis: int, *bounds: int | None) -> Any:
    """x[..., start:stop, ...] along an axis."""
    return getitem(x, (slice(None),) * axis + (slice(*bounds),))


def inexact(x: Any) -> Any:
    """Integers as floating-point numbers."""
    return x if x.dtype.kind in "fc" else astype(x, float)


# Differences


@implements(np.diff)
def diff(a: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, **foreign: Never) -> Any:
    """The n-th differences of neighbours along an axis.

    >>> diff([1.0, 4.0, 9.0, 16.0])
    array([3., 5., 7.])
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    if n == 0:
        return a
    if n < 0 or a.ndim == 0:
        what = f"an order that is not negative, and got {n}" if n < 0 else "at least one axis"
        raise user_error(ValueError, f"diff needs {what}")
    axis = normalize_axis_index(axis, a.ndim)
    ends = [as_operand(end) for end in (prepend, append) if end is not None]
    border = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    ends = [broadcast_to(end, border) if end.ndim == 0 else end for end in ends]
    if ends:
        a = concatenate([*ends[:1], a, *ends[1:]] if prepend is not None else [a, *ends], axis)
    difference = not_equal if a.dtype.kind == "b" else subtract
    for _ in range(n):
        a = difference(_slice_along(a, axis, 1, None), _slice_along(a, axis, None, -1))
    return a


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, with numbers in front and at the end.

    >>> ediff1d([1.0, 2.0, 4.0], to_end=9.0)
    array([1., 2., 9.])
    """
    ary = reshape(as_operand(ary), (-1,))
    parts = [diff(ary)]
    for end, name in ((to_begin, "to_begin"), (to_end, "to_end")):
        if end is not None:
            end = reshape(as_operand(end), (-1,))
            if not np.can_cast(end.dtype, ary.dtype, "same_kind"):
                raise user_error(TypeError, f"`{name}` of {end.dtype} cannot be cast to {ary.dtype}")
            parts.insert(0 if name == "to_begin" else 2, astype(end, ary.dtype, copy=False))
    return parts[0] if len(parts) == 1 else concatenate(parts)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """The derivative of samples by central differences, one-sided at the ends.

    It is differentiable with respect to the samples and the spacing.

    >>> gradient([1.0, 4.0, 9.0, 16.0])
    array([3., 4., 6., 7.])
    """
    f = as_operand(f)
    dtype = f.dtype if f.dtype.kind in "fc" else np.dtype(float)
    f = astype(f, float) if f.dtype.kind in "iu" else f
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    spacings = [as_operand(v) for v in varargs] or [np.float64(1)]
    if len(spacings) == 1 and spacings[0].ndim == 0:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise user_error(
            TypeError, f"gradient takes one spacing, or one for each of {len(axes)} axes, and got {len(varargs)}"
        )
    if edge_order > 2:
        raise user_error(ValueError, "'edge_order' greater than 2 is not supported")
    out = [astype(_slopes(f, h, i, edge_order), dtype, copy=False) for h, i in zip(spacings, axes, strict=True)]
    return out[0] if len(out) == 1 else tuple(out)


def _slopes(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise user_error(ValueError, f"gradient needs at least {edge_order + 1} samples along axis {axis}, and got {n}")
    if h.ndim > 1 or (h.ndim == 1 and h.shape != (n,)):
        raise user_error(
            ValueError, f"The spacing of gradient is one number, or {n} positions, and not of shape {h.shape}"
        )
    differences = diff(f, axis=axis)
    step = h
    if h.ndim == 1:
        step = reshape(diff(inexact(h)), (-1,) + (1,) * (f.ndim - 1 - axis))
    one_sided = differences / step
    first, last = _slice_along(one_sided, axis, 0, 1), _slice_along(one_sided, axis, n - 2, n - 1)
    if h.ndim == 0:
        inside = (_slice_along(f, axis, 2, None) - _slice_along(f, axis, None, -2)) / (2.0 * h)
        before = after = 0.5
    else:
        # The slope of the parabola through three points, at the middle one: the mean of the slopes on both sides,
        # weighted by the distance on the other side.
        left, right = _slice_along(step, 0, None, -1), _slice_along(step, 0, 1, None)
        before, after = left / (left + right), right / (left + right)
        inside = after * _slice_along(one_sided, axis, None, -1) + before * _slice_along(one_sided, axis, 1, None)
    if edge_order == 2:
        # The same parabola at its ends: from there the slope changes by the second difference.
        bend = diff(one_sided, axis=axis)
        before, after = (
            (before, after) if h.ndim == 0 else (_slice_along(before, 0, 0, 1), _slice_along(after, 0, -1, None))
        )
        first = first - before * _slice_along(bend, axis, 0, 1)
        last = last + after * _slice_along(bend, axis, n - 3, n - 2)
    return concatenate([first, inside, last], axis)


# Integrals


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule, differentiable with respect to the sample points.

    >>> float(trapezoid([1.0, 2.0, 3.0]))
    4.0
    """
    areas, axis = _trapezoids(y, x, dx, axis)
    return sum_(areas, axis)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: float | None = None) -> Any:
    """The integral of samples up to each one but the first, as in SciPy; `initial=0` puts a zero in front.

    >>> cumulative_trapezoid([0.0, 2.0, 4.0], dx=0.5)
    array([0.5, 2. ])
    """
    areas, axis = _trapezoids(y, x, dx, axis)
    out = cumsum(areas, axis)
    if initial is None:
        return out
    if initial != 0:
        raise user_error(ValueError, "`initial` must be None or 0")
    return concatenate([numpy_of(out).zeros((*out.shape[:axis], 1, *out.shape[axis + 1 :]), out.dtype), out], axis)


def _trapezoids(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, int]:
    y = as_operand(y)
    axis = normalize_axis_index(axis, y.ndim)
    if x is not None:
        x = as_operand(x)
        dx = reshape(diff(x), (-1,) + (1,) * (y.ndim - 1 - axis)) if x.ndim == 1 else diff(x, axis=axis - y.ndim)
    return dx * (_slice_along(y, axis, 1, None) + _slice_along(y, axis, None, -1)) / 2.0, axis


# Interpolation


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Linear interpolation of samples fp at increasing xp, differentiable with respect to x, xp and fp.

    At a sample, the derivative is the slope on its right.

    >>> interp(1.5, [1.0, 2.0, 3.0], [10.0, 20.0, 0.0])
    np.float64(15.0)
    """
    x, xp, fp = as_operand(x), as_operand(xp), as_operand(fp)
    if not any(isinstance(v, Array) for v in (x, xp, fp, left, right, period)):
        return np.interp(x, xp, fp, left, right, period)
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise user_error(
            ValueError, f"interp needs as many xp as fp, at least one, and got shapes {xp.shape} and {fp.shape}"
        )
    for name, v in (("x", x), ("xp", xp)):
        if v.dtype.kind == "c":
            raise user_error(
                TypeError,
                f"interp needs real numbers {name}, which have an order, and got {v.dtype}",
                "Only fp may be complex.",
            )
    x, xp, fp = astype(x, float), astype(xp, float), astype(fp, complex if fp.dtype.kind == "c" else float)
    if period is not None:
        if not isinstance(period, Array) and period == 0:
            raise user_error(ValueError, "period must be a non-zero value")
        left, right, period = None, None, absolute(period)
        x, xp = remainder(x, period), remainder(xp, period)
        order = argsort(xp)
        xp, fp = getitem(xp, order), getitem(fp, order)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    n = xp.size
    out = fp[0]
    if n > 1:
        i = clip(searchsorted(xp, x, "right") - 1, 0, n - 2)
        x0, f0 = getitem(xp, i), getitem(fp, i)
        out = (getitem(fp, i + 1) - f0) / (getitem(xp, i + 1) - x0) * (x - x0) + f0
        out = where(equal(x, xp[-1]), fp[-1], out)
    out = where(less(x, xp[0]), fp[0] if left is None else left, out)
    return where(greater(x, xp[-1]), fp[-1] if right is None else right, out)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Phases without jumps: each differs from the one before by at most half a period.

    The derivative is the identity.

    >>> unwrap([0.0, 3.0, -3.0])
    array([0.        , 3.        , 3.28318531])
    """
    p = as_operand(p)
    axis = normalize_axis_index(axis, p.ndim)
    steps = diff(p, axis=axis)
    whole = np.result_type(steps, period).kind in "iu"
    half = period // 2 if whole else period / 2
    wrapped = remainder(steps + half, period) - half
    if not whole or period % 2 == 0:  # a step of half a period keeps its sign
        wrapped = where(logical_and(equal(wrapped, -half), greater(steps, 0)), wrapped + 2 * half, wrapped)
    jumps = where(less(absolute(steps), period / 2 if discont is None else discont), 0, wrapped - steps)
    later = _slice_along(p, axis, 1, None) + cumsum(jumps, axis)
    return concatenate([astype(_slice_along(p, axis, 0, 1), later.dtype, copy=False), later], axis)


# Polynomials


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """The value at x of the polynomial with coefficients p, those of the highest powers first.

    >>> polyval([1, 0, -1], 3)
    np.int64(8)
    """
    p, x = as_operand(p), as_operand(x)
    y = numpy_of(x, p).zeros(x.shape, x.dtype)[()]
    for coefficient in unstack(p):
        y = add(multiply(y, x), coefficient)
    return y if p.shape[0] else zeros_like(x)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of the powers of x, N of them, the highest first unless `increasing`.

    >>> vander([2.0, 3.0], 3).tolist()
    [[4.0, 2.0, 1.0], [9.0, 3.0, 1.0]]
    """
    x = as_operand(x)
    if x.ndim != 1:
        raise user_error(ValueError, f"vander needs a vector, and got shape {x.shape}")
    x = astype(x, np.promote_types(x.dtype, int), copy=False)
    N = x.size if N is None else N
    ones = numpy_of(x).ones((x.size, min(N, 1)), x.dtype)
    powers = cumprod(concatenate([ones, broadcast_to(expand_dims(x, 1), (x.size, max(N - 1, 0)))], 1), 1)
    return powers if increasing else flip(powers, 1)


# Convolution


def _convolve_impl(x: Any, y: Any, mode: str) -> Any:
    """Convolution along the last axis, with broadcasting over the others; "valid" is for y not longer than x."""
    if x.ndim == y.ndim == 1:
        return np.convolve(x, y, mode)  # type: ignore[call-overload]  # any mode, checked before
    if mode == "full":
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(y.shape[-1] - 1,) * 2])
    return np.matmul(sliding_window_view(x, y.shape[-1], axis=-1), np.flip(y, -1)[..., None])[..., 0]


def _convolve_spec(x: Any, y: Any, mode: str) -> Spec:
    n, m = x.shape[-1], y.shape[-1]
    length = n + m - 1 if mode == "full" else n - m + 1
    return Spec((*np.broadcast_shapes(x.shape[:-1], y.shape[:-1]), length), np.result_type(x.dtype, y.dtype))


# With out[i + j] = sum x[i] y[j] in full, the cotangent of x[i] is the sum of t[i + j] y[j]: a valid convolution of t
# with the reversed y.
_convolve: Callable = multilinear(
    "convolve",
    _convolve_impl,
    lambda t, y, mode: _convolve(t, flip(y, -1), mode="valid" if mode == "full" else "full"),
    lambda t, x, mode: (
        _convolve(t, flip(x, -1), mode="valid") if mode == "full" else flip(_convolve(x, flip(t, -1), mode="valid"), -1)
    ),
    takes_params=True,
    batch=keep_params,
    spec=_convolve_spec,
    cases=(
        case((4,), (3,), mode="full"),
        case((2,), (3,), mode="full"),
        case((5,), (3,), mode="valid"),
        case((3,), (3,), mode="valid"),
        case((2, 5), (3,), mode="valid"),
        case((2, 1, 3), (3, 2), mode="full"),
        case((4,), (2, 3), mode="full"),
    ),
)


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors.

    `mode` selects all of it ("full"), as many elements as the longer vector has ("same"), or those where both vectors
    overlap completely ("valid").

    >>> convolve([1, 2, 3], [0, 1, 10])
    array([ 0,  1, 12, 23, 30])
    """
    a, v = _vectors("convolve", *atleast_1d(as_operand(a), as_operand(v)))
    longer, shorter = (a, v) if a.size >= v.size else (v, a)
    if mode != "same":
        return _convolve(longer, shorter, mode=_mode(mode))
    return _convolve(longer, shorter, mode="full")[(shorter.size - 1) // 2 :][: longer.size]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The cross-correlation of two vectors: sums of products with the second one, conjugated and shifted.

    >>> correlate([1, 2, 3], [0, 1, 10], "full")
    array([10, 21, 32,  3,  0])
    """
    a, v = _vectors("correlate", a, v)
    v = flip(conj(v) if v.dtype.kind == "c" else v, -1)
    if a.size >= v.size or mode != "same":
        return convolve(a, v, mode)
    return _convolve(v, a, mode="full")[a.size // 2 :][: v.size]


def _vectors(name: str, a: Any, v: Any) -> tuple[Any, Any]:
    a, v = as_operand(a), as_operand(v)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise user_error(ValueError, f"{name} needs vectors that are not empty, and got shapes {a.shape} and {v.shape}")
    return a, v


def _mode(mode: str) -> str:
    if mode not in ("full", "valid"):
        raise user_error(ValueError, f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    return mode
