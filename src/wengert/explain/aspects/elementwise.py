"""Elementwise operations: what makes them infinite or flat, their forms of many digits, their signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.explain.comparing.digits import NEIGHBOURS, digits, of_mpmath, on_numbers
from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import (
    BACKWARD,
    BAD_FACTOR,
    BAD_SLOPE,
    FORWARD,
    SAFE_ARGUMENT,
    Remedy,
    always,
    opposite,
    remedies,
)
from wengert.explain.why.zeros import beyond_bound, saturated, times_zero, untaken, zero_slope
from wengert.ops.elementwise.arithmetic import (
    add,
    cbrt,
    divide,
    divide_live,
    fmod,
    multiply,
    multiply_live,
    negative,
    positive,
    reciprocal,
    remainder,
    sqrt,
    square,
    subtract,
)
from wengert.ops.elementwise.choices import _where, copysign, fmax, fmin, heaviside, maximum, minimum, nextafter, relu
from wengert.ops.elementwise.complex_numbers import _angle, absolute, conj, fabs, imag, real
from wengert.ops.elementwise.exponential import (
    _power,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    sigmoid,
    softplus,
)
from wengert.ops.elementwise.predicates import floor_divide
from wengert.ops.elementwise.trigonometric import (
    _sinc,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cos,
    cosh,
    deg2rad,
    hypot,
    rad2deg,
    sin,
    sinh,
    tan,
    tanh,
)
from wengert.ops.reductions.sums import root

# Where numbers are not finite


def zero_times_infinity(x: Any, y: Any) -> bool:
    return bool((x == 0 and np.isinf(y)) or (y == 0 and np.isinf(x)))


ZERO_BY_ZERO = Remedy(
    FORWARD,
    lambda x, y: x == 0 and y == 0,
    "0 / 0 is not a number",
    "Decide what the quotient should be there: wg.where(y == 0, value, x / wg.where(y == 0, 1.0, y)). For sin(x) / x "
    "use np.sinc.",
)
DIVISION_BY_ZERO = Remedy(
    FORWARD,
    lambda *args: args[-1] == 0,
    "a division by 0",
    "Add a small number to the denominator, x / (y + eps), or choose: wg.where(y == 0, value, x / wg.where(y == 0, "
    "1.0, y)).",
)
STEEP_QUOTIENT = Remedy(
    BACKWARD,
    always,
    "the derivative -x / y**2 is larger than any number of this precision",
    "Keep the denominator away from 0: np.maximum(y, eps).",
)
TOO_LARGE = Remedy(
    FORWARD,
    always,
    "the result is larger than any number of this precision",
    "Scale the numbers, compute with logarithms, or in float64.",
)
END_OF_DOMAIN = Remedy(
    BACKWARD, always, "the derivative is infinite at the end of the domain", "Stay inside by a little."
)

remedies.enter(
    (
        Remedy(
            FORWARD,
            lambda x: x == 0,
            "the logarithm of 0 is -inf",
            "Keep the argument above 0: np.log(x + eps) or np.log(np.maximum(x, eps)). The logarithm of a softmax is x "
            "- wg.logsumexp(x), "
            "that of a sigmoid is -wg.softplus(-x), and log(1 + x) is np.log1p(x).",
        ),
        Remedy(
            FORWARD,
            lambda x: x < 0,
            "a negative number has no real logarithm",
            f"Check the sign of what comes in, or {SAFE_ARGUMENT}.",
        ),
        Remedy(
            BACKWARD,
            always,
            "1 / x is larger than any number of this precision",
            "Keep the argument away from 0: np.log(np.maximum(x, eps)).",
        ),
    ),
    log,
    log2,
    log10,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            lambda x: x <= -1,
            "log(1 + x) does not exist for x <= -1",
            "Keep x above -1: np.maximum(x, -1 + eps).",
        ),
    ),
    log1p,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            lambda x: x < 0,
            "a negative number has no real square root",
            "Rounding may make a sum of squares or a variance slightly negative: np.sqrt(np.maximum(x, 0.0)).",
        ),
        Remedy(
            BACKWARD,
            lambda x: x == 0,
            "the derivative 1 / (2 sqrt x) is infinite at 0",
            "Use np.linalg.norm(x) for the root of a sum of squares (its derivative at 0 is taken as 0), np.sqrt(x + "
            "eps), or "
            "wg.where(x > 0, np.sqrt(wg.where(x > 0, x, 1.0)), 0.0).",
        ),
    ),
    sqrt,
    root,
)
remedies.enter(
    (
        Remedy(
            BACKWARD,
            lambda x: x == 0,
            "the derivative of a cube root is infinite at 0",
            "Move the argument away from 0.",
        ),
    ),
    cbrt,
)
remedies.enter(
    (
        ZERO_BY_ZERO,
        Remedy(
            FORWARD,
            lambda x, y: np.isinf(x) and np.isinf(y),
            "an infinity divided by an infinity is not a number",
            "Both overflowed before: divide by the largest term first, or subtract logarithms. In a softmax subtract "
            "the "
            "maximum, x - x.max().",
        ),
        DIVISION_BY_ZERO,
        STEEP_QUOTIENT,
        TOO_LARGE,
    ),
    divide,
)
remedies.enter(
    (
        ZERO_BY_ZERO,
        DIVISION_BY_ZERO,
    ),
    floor_divide,
    remainder,
    fmod,
)
remedies.enter((DIVISION_BY_ZERO,), divide_live)
remedies.enter(
    (
        DIVISION_BY_ZERO,
        STEEP_QUOTIENT,
        TOO_LARGE,
    ),
    reciprocal,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "the result is larger than any number of this precision",
            "Take the largest argument out first, np.exp(x - x.max()); wg.logsumexp, wg.softplus, wg.sigmoid and "
            "np.logaddexp do so. Or bound "
            "the argument: np.minimum(x, 50.0).",
        ),
        Remedy(
            BACKWARD,
            always,
            "the derivative is larger than any number of this precision",
            "Take the largest argument out first, np.exp(x - x.max()), or bound it.",
        ),
    ),
    exp,
    exp2,
    expm1,
    sinh,
    cosh,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            lambda x, y: x == 0 and y < 0,
            "0 to a negative power is a division by 0",
            "Keep the base away from 0: (x + eps) ** y.",
        ),
        Remedy(
            FORWARD,
            lambda x, y: x < 0 and y != np.round(y),
            "a negative number has no real power that is not whole",
            "Use np.abs(x) ** y, np.sign(x) * np.abs(x) ** y, or np.cbrt for a third.",
        ),
        Remedy(
            FORWARD,
            always,
            "the power is larger than any number of this precision",
            "Compute with logarithms, or scale x.",
        ),
        Remedy(
            BACKWARD,
            lambda x, y: x == 0,
            "the derivative y * x**(y - 1) is infinite at 0 for y < 1",
            "Keep the base away from 0: (x + eps) ** y.",
        ),
        Remedy(
            BACKWARD,
            lambda x, y: x < 0,
            "the derivative in the exponent has the logarithm of the base, which is negative",
            "Pass the exponent as a plain number or integer if no derivative in it is needed, or make the base "
            "positive.",
        ),
    ),
    _power,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            zero_times_infinity,
            "0 times an infinity is not a number",
            "A mask that multiplies does not remove what it masks. Choose instead: wg.where(mask, x, 0.0).",
        ),
        BAD_FACTOR,
        TOO_LARGE,
    ),
    multiply,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            opposite,
            "inf - inf is not a number",
            "Find which infinity was meant. Where all entries of a row are masked by -inf, x - x.max() is one: mask "
            "with a "
            "large finite number "
            "such as -1e9, or use wg.logsumexp, which knows.",
        ),
        TOO_LARGE,
    ),
    add,
    subtract,
)
remedies.enter((TOO_LARGE,), square)
remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "the argument is not between -1 and 1",
            "Rounding may carry a cosine over 1: np.clip(x, -1.0, 1.0). The angle between vectors is np.arctan2(|a x "
            "b|, a "
            ". b) at any angle.",
        ),
        Remedy(
            BACKWARD,
            always,
            "the derivative 1 / sqrt(1 - x**2) is infinite at -1 and 1",
            "Stay inside, np.clip(x, -1 + eps, 1 - eps), or compute the angle by np.arctan2, which is smooth there.",
        ),
    ),
    arccos,
    arcsin,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "arctanh exists only between -1 and 1, and is infinite at both ends",
            "Stay inside: np.clip(x, -1 + eps, 1 - eps).",
        ),
        END_OF_DOMAIN,
    ),
    arctanh,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "arccosh exists only for numbers of at least 1",
            "Keep the argument up: np.maximum(x, 1.0).",
        ),
        END_OF_DOMAIN,
    ),
    arccosh,
)
remedies.enter((BAD_SLOPE,), hypot)


# Where the derivative is zero

zero_slope.enter(times_zero, multiply, multiply_live, divide, divide_live)
zero_slope.enter(beyond_bound, maximum, minimum, fmax, fmin)
zero_slope.enter(untaken, _where)
zero_slope.enter(saturated, sigmoid, tanh, relu, softplus, exp, exp2, expm1, arctan, logaddexp, logaddexp2)

# Signs

for operation, text in (
    (multiply, "×"), (divide, "÷"), (_power, "^"), (negative, "−"), (square, "( )²"), (sqrt, "√"),
):  # fmt: skip
    sign.enter(text, operation)

# Many digits

NAMES = (
    (exp, "exp"), (expm1, "expm1"), (log, "log"), (log1p, "log1p"), (sqrt, "sqrt"), (root, "sqrt"), (hypot, "hypot"), (sin, "sin"),
    (cos, "cos"), (tan, "tan"), (sinh, "sinh"), (cosh, "cosh"), (tanh, "tanh"), (arcsin, "asin"), (arccos, "acos"), (arctan, "atan"),
    (arcsinh, "asinh"), (arccosh, "acosh"), (arctanh, "atanh"), (arctan2, "atan2"),
    (_angle, "arg"),
)  # fmt: skip
for operation, name in NAMES:
    digits.enter(of_mpmath(name), operation)

digits.enter(on_numbers(lambda mp, x: x), positive, conj, real)
digits.enter(on_numbers(lambda mp, x: mp.mpf(0)), imag)
digits.enter(on_numbers(lambda mp, x: -x), negative)
digits.enter(on_numbers(lambda mp, x: abs(x)), absolute, fabs)
digits.enter(on_numbers(lambda mp, x: 1 / x), reciprocal)
digits.enter(on_numbers(lambda mp, x: x * x), square)
digits.enter(on_numbers(lambda mp, x: mp.sign(x) * mp.cbrt(abs(x))), cbrt)
digits.enter(on_numbers(lambda mp, x: mp.mpf(2) ** x), exp2)
digits.enter(on_numbers(lambda mp, x: mp.log(x, 2)), log2)
digits.enter(on_numbers(lambda mp, x: mp.log(x, 10)), log10)
digits.enter(on_numbers(lambda mp, x: x * mp.pi / 180), deg2rad)
digits.enter(on_numbers(lambda mp, x: x * 180 / mp.pi), rad2deg)
digits.enter(on_numbers(lambda mp, x, order: mp.diff(mp.sincpi, x, order)), _sinc)
digits.enter(on_numbers(lambda mp, x: 1 / (1 + mp.exp(-x))), sigmoid)
digits.enter(on_numbers(lambda mp, x: mp.log1p(mp.exp(x))), softplus)
digits.enter(on_numbers(lambda mp, x: max(x, mp.mpf(0))), relu)

digits.enter(on_numbers(lambda mp, x, y: x + y), add)
digits.enter(on_numbers(lambda mp, x, y: x - y), subtract)
digits.enter(on_numbers(lambda mp, x, y: x * y), multiply, multiply_live)
digits.enter(on_numbers(lambda mp, x, y: x / y), divide)
digits.enter(on_numbers(lambda mp, x, y: x / y if x else x), divide_live)
digits.enter(on_numbers(lambda mp, x, y: mp.power(x, int(y) if y == int(y) else y)), _power)
digits.enter(on_numbers(lambda mp, x, y: x % y), remainder)
digits.enter(on_numbers(lambda mp, x, y: x - y * int(x / y)), fmod)
digits.enter(on_numbers(lambda mp, x, y: mp.log(mp.exp(x) + mp.exp(y))), logaddexp)
digits.enter(on_numbers(lambda mp, x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2)), logaddexp2)
digits.enter(on_numbers(lambda mp, x, y: max(x, y)), maximum, fmax)
digits.enter(on_numbers(lambda mp, x, y: min(x, y)), minimum, fmin)
digits.enter(on_numbers(lambda mp, x, y: abs(x) if y >= 0 else -abs(x)), copysign)
digits.enter(on_numbers(lambda mp, x, y: y if x == 0 else mp.mpf(x > 0)), heaviside)
digits.enter(on_numbers(lambda mp, condition, x, y: x if condition else y), _where)
digits.without(NEIGHBOURS, nextafter)
