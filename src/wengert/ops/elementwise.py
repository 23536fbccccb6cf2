"""Elementwise operations: one rule per argument, linear in `t`.

Conventions where there is no derivative, the same in every mode: ties of `maximum`, `minimum` and `clip` share equally, `relu'(0) = 0`,
`abs'(0) = 0`, and a factor that is infinite at a point (`sqrt` at 0) times a cotangent of zero is zero. At a kink, derivatives of higher
order are zero. Each is listed as `singular`, and docs/design/singular_points.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import series
from wengert.core.array import Array, implements
from wengert.core.errors import user_line
from wengert.core.facts import CHEAP, Facts
from wengert.core.kinds import elementwise
from wengert.core.parallel import EXPENSIVE, parallel
from wengert.core.primitive import operand
from wengert.ops.predicates import equal, floor_divide, isinf, isnan, logical_and, logical_not, not_equal, refuse_out, trunc
from wengert.ops.predicates import sign as _sign

POSITIVE = (0.2, 3.0)
UNIT = (-0.9, 0.9)
LN2, LN10, PI = math.log(2.0), math.log(10.0), math.pi


# Arithmetic

add = elementwise("add", parallel(np.add), lambda t: t, lambda t: t, facts=Facts(commutative=True, cost=1))
subtract = elementwise("subtract", parallel(np.subtract), lambda t: t, lambda t: -t, facts=CHEAP)
multiply = elementwise(
    "multiply",
    parallel(np.multiply),
    lambda t, y: t * y,
    lambda t, x: t * x,
    taylor=series.product_of,
    facts=Facts(commutative=True, cost=1),
)
divide = elementwise(
    "divide",
    parallel(np.divide),
    lambda t, y: t / y,
    lambda t, out, y: -t * out / y,
    domain=((-2.0, 2.0), POSITIVE),
    taylor=series.quotient_by(lambda x, y: divide(x, y)),
    facts=Facts(cost=4),
)
negative = elementwise("negative", parallel(np.negative), lambda t: -t, facts=CHEAP)
positive = elementwise("positive", np.positive, lambda t: t, facts=Facts(moves=True, cost=0))
reciprocal = elementwise("reciprocal", parallel(np.reciprocal), lambda t, out: -t * out * out, domain=POSITIVE, facts=Facts(cost=4))
square = elementwise("square", parallel(np.square), lambda t, x: t * (2.0 * x), taylor=lambda x: series.product_of(x, x), facts=CHEAP)
remainder = elementwise("remainder", np.remainder, lambda t: t, lambda t, x, y: -t * floor_divide(x, y), domain=((0.1, 0.9), (1.1, 2.0)))
fmod = elementwise("fmod", np.fmod, lambda t: t, lambda t, x, y: -t * trunc(x / y), domain=((2.3, 2.5), (1.1, 1.14)))


def _divide_live(t: Any, y: Any) -> Any:
    t, y = np.asarray(t), np.asarray(y)
    shape = np.broadcast_shapes(t.shape, y.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(t, y, out=np.zeros(shape, np.result_type(t, y)), where=t != 0)[()]


def _multiply_live(t: Any, y: Any) -> Any:
    t, y = np.asarray(t), np.asarray(y)
    shape = np.broadcast_shapes(t.shape, y.shape)
    return np.multiply(t, y, out=np.zeros(shape, np.result_type(t, y)), where=t != 0)[()]


divide_live = elementwise(
    "divide_live",
    _divide_live,
    lambda t, y: divide_live(t, y),
    lambda t, x, out, y: -divide_live(multiply_live(t, out), where(equal(x, 0), 1.0, y)),
    domain=(POSITIVE, POSITIVE),
    singular={(0.0, 0.0): (math.inf, 0.0)},
    taylor=series.quotient_by(lambda x, y: divide_live(x, y), lambda t, y: multiply_live(t, y)),
    facts=Facts(cost=4),
)
"""t / y, but zero wherever t is zero: for derivatives t / y whose y may vanish."""
multiply_live = elementwise("multiply_live", _multiply_live, lambda t, y: multiply_live(t, y), lambda t, x: t * x)
"""t * y, but zero wherever t is zero: for derivatives t * y whose y may be infinite."""


def _infinite_if_zero(size: Any) -> Any:
    """The denominator of the derivative of a size or an angle: at zero, where there is a kink, derivatives of all orders are zero by it."""
    return where(equal(size, 0), math.inf, size)


# Powers

sqrt = elementwise(
    "sqrt",
    parallel(np.sqrt),
    lambda t, out: divide_live(t, 2.0 * out),
    domain=POSITIVE,
    singular={(0.0,): (math.inf,)},
    facts=Facts(cost=5),
)
cbrt = elementwise(
    "cbrt", parallel(np.cbrt), lambda t, out: divide_live(t, 3.0 * out * out), domain=POSITIVE, singular={(0.0,): (math.inf,)}
)


def _power_base(t: Any, x: Any, y: Any) -> Any:
    if isinstance(y, int | float):
        return t * (y * power(x, y - 1)) if y else t * 0.0
    broken = logical_and(equal(x, 0), equal(y, 0))  # there y * x**(y - 1) is 0 * inf, while x**y is constant in x
    return t * where(broken, 0.0, y * power(where(broken, 1.0, x), y - 1))


_power = elementwise(
    "power",
    np.power,
    _power_base,
    lambda t, x, out: t * out * log(where(x == 0, 1.0, x)),
    domain=(POSITIVE, (-2.0, 2.0)),
    taylor=series.power_of,
    singular={(0.0, 0.0): (0.0, 0.0), (0.0, 2.0): (0.0, 0.0), (0.0, 1.0): (1.0, 0.0), (-2.0, 3.0): (12.0, math.nan)},
)
_EXACT_POWERS = {2: square, 0.5: sqrt, -1: reciprocal}


@implements(np.power)
def power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2. For an exponent that is constant, nothing but the base is kept."""
    if x2.__class__ in (int, float) and x2 in _EXACT_POWERS and operand(x1).dtype.kind in "fc":
        return _EXACT_POWERS[x2](x1)
    return _power(x1, x2)


def raise_to(x: Any, y: Any, /) -> Any:
    """x ** y, the operator: the same, but for the square of booleans, which NumPy's operator makes 8-bit integers of."""
    if y.__class__ in (int, float) and y in _EXACT_POWERS and operand(x).dtype.kind in ("fcb" if y.__class__ is int and y == 2 else "fc"):
        return _EXACT_POWERS[y](x)
    return _power(x, y)


@implements(np.float_power)
def float_power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2 in double precision."""
    return power(multiply(x1, np.float64(1.0)), x2)


# Exponentials and logarithms

exp = elementwise("exp", parallel(np.exp), lambda t, out: t * out)
exp2 = elementwise("exp2", parallel(np.exp2), lambda t, out: t * (LN2 * out))
expm1 = elementwise("expm1", parallel(np.expm1), lambda t, out: t * (out + 1.0))
log = elementwise("log", parallel(np.log), lambda t, x: t / x, domain=POSITIVE)
log2 = elementwise("log2", parallel(np.log2), lambda t, x: t / (LN2 * x), domain=POSITIVE)
log10 = elementwise("log10", parallel(np.log10), lambda t, x: t / (LN10 * x), domain=POSITIVE)
log1p = elementwise("log1p", parallel(np.log1p), lambda t, x: t / (1.0 + x), domain=(-0.8, 3.0))
logaddexp = elementwise(
    "logaddexp",
    np.logaddexp,
    lambda t, x, y: t * sigmoid(_difference(x, y)),
    lambda t, x, y: t * sigmoid(_difference(y, x)),
    singular={(-math.inf, -math.inf): (0.5, 0.5), (1.0, -math.inf): (1.0, 0.0), (800.0, 0.0): (1.0, 0.0)},
)
logaddexp2 = elementwise(
    "logaddexp2", np.logaddexp2, lambda t, x, y: t * sigmoid(LN2 * _difference(x, y)), lambda t, x, y: t * sigmoid(LN2 * _difference(y, x))
)


def _difference(x: Any, y: Any) -> Any:
    """x - y, and zero where both are the same infinity."""
    return where(logical_and(equal(x, y), isinf(x)), 0.0, x - y)


# Trigonometric and hyperbolic functions, and their inverses

sin = elementwise("sin", parallel(np.sin, EXPENSIVE), lambda t, x: t * cos(x))
cos = elementwise("cos", parallel(np.cos, EXPENSIVE), lambda t, x: -t * sin(x))
tan = elementwise("tan", parallel(np.tan), lambda t, out: t * (1.0 + out * out), domain=(-1.2, 1.2))
arcsin = elementwise("arcsin", parallel(np.arcsin), lambda t, x: t / sqrt(1.0 - x * x), domain=UNIT)
arccos = elementwise("arccos", parallel(np.arccos), lambda t, x: -t / sqrt(1.0 - x * x), domain=UNIT)
arctan = elementwise("arctan", parallel(np.arctan), lambda t, x: t / (1.0 + x * x))
sinh = elementwise("sinh", parallel(np.sinh), lambda t, x: t * cosh(x))
cosh = elementwise("cosh", parallel(np.cosh), lambda t, x: t * sinh(x))
tanh = elementwise("tanh", parallel(np.tanh), lambda t, out: t * (1.0 - out * out))
arcsinh = elementwise("arcsinh", parallel(np.arcsinh), lambda t, x: t / sqrt(1.0 + x * x))
arccosh = elementwise("arccosh", parallel(np.arccosh), lambda t, x: t / sqrt(x * x - 1.0), domain=(1.2, 4.0))
arctanh = elementwise("arctanh", parallel(np.arctanh), lambda t, x: t / (1.0 - x * x), domain=UNIT)
arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    lambda t, x, y: t * y / _infinite_if_zero(x * x + y * y),
    lambda t, x, y: -t * x / _infinite_if_zero(x * x + y * y),
    domain=(POSITIVE, (-2.0, 2.0)),
    singular={(0.0, 0.0): (0.0, 0.0)},
)
hypot = elementwise(
    "hypot",
    np.hypot,
    lambda t, x, out: t * x / _infinite_if_zero(out),
    lambda t, y, out: t * y / _infinite_if_zero(out),
    domain=(POSITIVE, (-2.0, 2.0)),
    singular={(0.0, 0.0): (0.0, 0.0)},
)
deg2rad = elementwise("deg2rad", np.deg2rad, lambda t: t * (PI / 180.0))
rad2deg = elementwise("rad2deg", np.rad2deg, lambda t: t * (180.0 / PI))
implements(np.radians)(deg2rad)
implements(np.degrees)(rad2deg)


def _sinc_derivative(x: Any, order: int) -> Any:
    """The derivative of sin(pi x) / (pi x): a Taylor series near 0, elsewhere the recurrence that x * sinc(x) = sin(pi x) / pi gives."""
    if order == 0:
        return np.sinc(x)
    x = np.asarray(x)
    near = np.abs(x) < 1.0 + order / 4.0
    far = np.where(near, 1.0, x)
    value = np.sinc(far)
    for n in range(1, order + 1):
        value = (PI ** (n - 1) * np.sin(PI * far + n * PI / 2.0) - n * value) / far
    series = np.zeros_like(value)
    small = np.where(near, x, 0.0)
    for k in range((order + 1) // 2, (order + 1) // 2 + 20 + 2 * order):
        power_ = 2 * k - order
        coefficient = (-1) ** k * PI ** (2 * k) / (2 * k + 1) / math.factorial(power_)
        series = series + coefficient * small**power_
    return np.where(near, series, value).astype(x.dtype)[()]


_sinc = elementwise("sinc", _sinc_derivative, lambda t, x, order: t * _sinc(x, order=order + 1), params={"order": 0})


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), smooth at 0 together with all its derivatives."""
    return _sinc(operand(x), order=0)


# Choices

_where = elementwise(
    "where",
    np.where,
    None,
    lambda t, condition: where(condition, t, 0.0),
    lambda t, condition: where(condition, 0.0, t),
    inputs=("condition", "x", "y"),
    lanes=(None, lambda t, condition: logical_not(condition), lambda t, condition: condition),
    facts=CHEAP,
)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition holds, else y. What is not taken gets no gradient, even where its derivative is infinite."""
    condition = operand(condition)
    if x is None and y is None:
        return condition.nonzero()
    if x is None or y is None:
        raise ValueError(f"where takes either both x and y or neither, at {user_line()}.")
    return _where(condition if condition.dtype.kind == "b" else not_equal(condition, 0), x, y)


def _larger(t: Any, x: Any, y: Any) -> Any:
    return where(x > y, t, where(x == y, 0.5 * t, 0.0))


def _larger_or_alone(t: Any, x: Any, y: Any) -> Any:
    return where(isnan(y), t, _larger(t, x, y))


def _smaller_or_alone(t: Any, x: Any, y: Any) -> Any:
    return where(isnan(y), t, _larger(t, y, x))


def has_zero(x: Any) -> bool:
    """Whether there is a zero, whose sign may be in question."""
    return np.count_nonzero(x) < x.size if x.ndim else not x


def _ignoring_nan(ufunc: np.ufunc, extreme: Callable) -> Callable:
    """`fmax` and `fmin`: of 0.0 and -0.0 the second, as in `maximum` and `minimum`. NumPy's choice depends on the place in the array."""

    def run(x: Any, y: Any) -> Any:
        out = ufunc(x, y)
        if not (isinstance(out, np.ndarray | np.floating) and out.dtype.kind == "f" and has_zero(out)):
            return out
        signed = extreme(x, y)
        return np.where(np.isnan(signed), out, signed)[()]

    run.ufunc = ufunc  # type: ignore[attr-defined]  # which NumPy calls it by
    return run


TIES = {(1.0, 1.0): (0.5, 0.5)}
maximum = elementwise("maximum", parallel(np.maximum), _larger, lambda t, x, y: _larger(t, y, x), singular=TIES, facts=CHEAP)
minimum = elementwise("minimum", parallel(np.minimum), lambda t, x, y: _larger(t, y, x), _larger, singular=TIES, facts=CHEAP)
fmax = elementwise("fmax", _ignoring_nan(np.fmax, np.maximum), _larger_or_alone, lambda t, x, y: _larger_or_alone(t, y, x), singular=TIES)
fmin = elementwise("fmin", _ignoring_nan(np.fmin, np.minimum), _smaller_or_alone, lambda t, x, y: _smaller_or_alone(t, y, x), singular=TIES)
absolute = elementwise(
    "absolute",
    np.absolute,
    lambda t, x: t * sign(x) if x.dtype.kind != "c" else t * conj(x) / _infinite_if_zero(absolute(x)),
    real_output=True,
    domain=POSITIVE,
    singular={(0.0,): (0.0,), (-2.0,): (-1.0,)},
    facts=CHEAP,
)
fabs = elementwise("fabs", np.fabs, lambda t, x: t * sign(x), domain=POSITIVE, singular={(0.0,): (0.0,)}, facts=CHEAP)
copysign = elementwise(
    "copysign", np.copysign, lambda t, x, y: t * (copysign(1.0, x) * copysign(1.0, y)), None, domain=(POSITIVE, POSITIVE), facts=CHEAP
)
nextafter = elementwise("nextafter", np.nextafter, lambda t: t, None)
heaviside = elementwise(
    "heaviside", np.heaviside, None, lambda t, x: where(x == 0, t, 0.0), domain=POSITIVE, singular={(0.0, 0.5): (0.0, 1.0)}
)


@implements(np.sign)
def sign(x: Any, /) -> Any:
    """-1, 0 or 1; for complex numbers x / abs(x)."""
    if operand(x).dtype.kind != "c" or not (isinstance(x, Array) and x.has_derivative):
        return _sign(x)
    return x / _infinite_if_zero(absolute(x))


@implements(np.clip)
def clip(x: Any, /, min: Any = None, max: Any = None, out: None = None, *, a_min: Any = None, a_max: Any = None) -> Any:
    """x, held between the bounds, either of which may be None. Ties share equally, as in `maximum` and `minimum`."""
    refuse_out(out)
    lower, upper = (a_min if min is None else min), (a_max if max is None else max)
    if (x := operand(x)).dtype.kind in "iu":  # a number of Python's that no integer of x can reach is no bound
        bounds = np.iinfo(x.dtype)
        lower = None if lower.__class__ is int and lower <= bounds.min else lower
        upper = None if upper.__class__ is int and upper >= bounds.max else upper
    if lower is None or upper is None or operand(lower).ndim or operand(upper).ndim:
        x = x if lower is None else maximum(x, lower)
        return x if upper is None else minimum(x, upper)
    return minimum(upper, maximum(lower, x))  # between two numbers, zeros keep their sign: the second of equal ones is taken


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """x with NaN and infinities replaced; no gradient flows where that happened."""
    x = operand(x)
    if x.dtype.kind == "c":
        return nan_to_num(real(x), copy, nan, posinf, neginf) + 1j * nan_to_num(imag(x), copy, nan, posinf, neginf)
    if x.dtype.kind != "f":
        return x.copy()
    largest = float(np.finfo(x.dtype).max)
    finite = where(equal(x, math.inf), largest if posinf is None else posinf, x)
    finite = where(equal(x, -math.inf), -largest if neginf is None else neginf, finite)
    return where(isnan(x), nan, finite).astype(x.dtype, copy=False)


# Complex numbers

conj = elementwise("conj", np.conj, lambda t: conj(t), facts=Facts(cost=0))
real = elementwise("real", np.real, lambda t: t, real_output=True, facts=Facts(moves=True, cost=0))
imag = elementwise("imag", np.imag, lambda t: t * -1j, real_output=True, facts=Facts(moves=True, cost=1))
_angle = elementwise(
    "angle",
    np.angle,
    lambda t, x: t * -1j * conj(x) / _infinite_if_zero(real(x * conj(x))),
    real_output=True,
    domain=POSITIVE,
    singular={(0.0,): (0.0,)},
)
implements(np.real)(real)
implements(np.imag)(imag)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """The argument of a complex number; its derivative at 0 is taken as 0."""
    return rad2deg(_angle(z)) if deg else _angle(z)


# Activations


def _stable_sigmoid(x: Any) -> Any:
    if np.iscomplexobj(x):
        return 1.0 / (1.0 + np.exp(-x))
    small = np.exp(-np.abs(x))  # in (0, 1]: nothing overflows
    return np.where(np.asarray(x) >= 0, 1.0, small) / (1.0 + small)


sigmoid = elementwise("sigmoid", _stable_sigmoid, lambda t, out: t * (out * (1.0 - out)), singular={(-800.0,): (0.0,), (800.0,): (0.0,)})
relu = elementwise(
    "relu",
    lambda x: np.maximum(x, 0),
    lambda t, out: where(out > 0, t, 0.0),
    domain=POSITIVE,
    singular={(0.0,): (0.0,), (-1.0,): (0.0,)},
    facts=CHEAP,
)
softplus = elementwise(
    "softplus", lambda x: np.logaddexp(x, 0.0), lambda t, x: t * sigmoid(x), singular={(-800.0,): (0.0,), (800.0,): (1.0,)}
)
