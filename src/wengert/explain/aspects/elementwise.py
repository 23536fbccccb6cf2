"""Elementwise operations: why they are not finite or flat, their forms of many digits, their signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.aspects import primitive_of
from wengert.explain.comparing.digits import NEIGHBOURS, digits, elementwise_form, mpmath_form
from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import (
    BACKWARD,
    BAD_FACTOR,
    BAD_SLOPE,
    FORWARD,
    SAFE_ARGUMENT,
    Remedy,
    always,
    has_infinity,
    remedies,
)
from wengert.explain.why.zero_slopes import beyond_bound, untaken_branch, zero_slope
from wengert.ops.elementwise import arithmetic, choices, complex_numbers, exponential, predicates, trigonometric
from wengert.ops.reductions import sums

# Where numbers are not finite


def zero_times_infinity(x: Any, y: Any) -> bool:
    """Whether one factor is zero and the other infinite."""
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
            "Keep the argument above 0: np.log(x + eps) or np.log(np.maximum(x, eps)). The logarithm of a softmax is "
            "x - wg.logsumexp(x), that of a sigmoid is -wg.softplus(-x), and log(1 + x) is np.log1p(x).",
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
    exponential.log,
    exponential.log2,
    exponential.log10,
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
    exponential.log1p,
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
            "eps), or wg.where(x > 0, np.sqrt(wg.where(x > 0, x, 1.0)), 0.0).",
        ),
    ),
    arithmetic.sqrt,
    sums.root,
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
    arithmetic.cbrt,
)
remedies.enter(
    (
        ZERO_BY_ZERO,
        Remedy(
            FORWARD,
            lambda x, y: np.isinf(x) and np.isinf(y),
            "an infinity divided by an infinity is not a number",
            "Both overflowed before: divide by the largest term first, or subtract logarithms. In a softmax subtract "
            "the maximum, x - x.max().",
        ),
        DIVISION_BY_ZERO,
        STEEP_QUOTIENT,
        TOO_LARGE,
    ),
    arithmetic.divide,
)
remedies.enter((ZERO_BY_ZERO, DIVISION_BY_ZERO), predicates.floor_divide, arithmetic.remainder, arithmetic.fmod)
remedies.enter((DIVISION_BY_ZERO,), arithmetic.divide_live)
remedies.enter((DIVISION_BY_ZERO, STEEP_QUOTIENT, TOO_LARGE), arithmetic.reciprocal)
remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "the result is larger than any number of this precision",
            "Take the largest argument out first, np.exp(x - x.max()); wg.logsumexp, wg.softplus, wg.sigmoid and "
            "np.logaddexp do so. Or bound the argument: np.minimum(x, 50.0).",
        ),
        Remedy(
            BACKWARD,
            always,
            "the derivative is larger than any number of this precision",
            "Take the largest argument out first, np.exp(x - x.max()), or bound it.",
        ),
    ),
    exponential.exp,
    exponential.exp2,
    exponential.expm1,
    trigonometric.sinh,
    trigonometric.cosh,
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
            "a negative number has no real power with an exponent that is not an integer",
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
            "the derivative with respect to the exponent has the logarithm of the base, which is negative",
            "Pass the exponent as a plain number or integer if it needs no derivative, or make the base positive.",
        ),
    ),
    exponential._power,
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
    arithmetic.multiply,
)
remedies.enter(
    (
        Remedy(
            FORWARD,
            has_infinity,
            "inf - inf is not a number",
            "Find which infinity was meant. Where all elements of a row are masked by -inf, x - x.max() is one: mask "
            "with a large finite number such as -1e9, or use wg.logsumexp, which knows.",
        ),
        TOO_LARGE,
    ),
    arithmetic.add,
    arithmetic.subtract,
)
remedies.enter((TOO_LARGE,), arithmetic.square)
remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "the argument is not between -1 and 1",
            "Rounding may carry a cosine over 1: np.clip(x, -1.0, 1.0). The angle between vectors is np.arctan2(|a x "
            "b|, a . b) at any angle.",
        ),
        Remedy(
            BACKWARD,
            always,
            "the derivative 1 / sqrt(1 - x**2) is infinite at -1 and 1",
            "Stay inside, np.clip(x, -1 + eps, 1 - eps), or compute the angle by np.arctan2, which is smooth there.",
        ),
    ),
    trigonometric.arccos,
    trigonometric.arcsin,
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
    trigonometric.arctanh,
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
    trigonometric.arccosh,
)
remedies.enter((BAD_SLOPE,), trigonometric.hypot)


# Where the derivative is zero

zero_slope.enter(beyond_bound, choices.maximum, choices.minimum, choices.fmax, choices.fmin)
zero_slope.enter(untaken_branch, choices._where)

# Signs

sign.enter("×", arithmetic.multiply)
sign.enter("÷", arithmetic.divide)
sign.enter("^", exponential._power)
sign.enter("−", arithmetic.negative)
sign.enter("( )²", arithmetic.square)
sign.enter("√", arithmetic.sqrt)

# Numbers of many digits

for operation in (
    exponential.exp, exponential.expm1, exponential.log, exponential.log1p, arithmetic.sqrt, trigonometric.hypot,
    trigonometric.sin, trigonometric.cos, trigonometric.tan, trigonometric.sinh, trigonometric.cosh, trigonometric.tanh,
    trigonometric.arcsin, trigonometric.arccos, trigonometric.arctan, trigonometric.arctan2,
    trigonometric.arcsinh, trigonometric.arccosh, trigonometric.arctanh,
):  # fmt: skip
    digits.enter(mpmath_form(primitive_of(operation).name.replace("arc", "a")), operation)
digits.enter(mpmath_form("sqrt"), sums.root)
digits.enter(mpmath_form("arg"), complex_numbers._angle)

digits.enter(elementwise_form(lambda mp, x: x), arithmetic.positive, complex_numbers.conj, complex_numbers.real)
digits.enter(elementwise_form(lambda mp, x: mp.mpf(0)), complex_numbers.imag)
digits.enter(elementwise_form(lambda mp, x: -x), arithmetic.negative)
digits.enter(elementwise_form(lambda mp, x: abs(x)), complex_numbers.absolute, complex_numbers.fabs)
digits.enter(elementwise_form(lambda mp, x: 1 / x), arithmetic.reciprocal)
digits.enter(elementwise_form(lambda mp, x: x * x), arithmetic.square)
digits.enter(elementwise_form(lambda mp, x: mp.sign(x) * mp.cbrt(abs(x))), arithmetic.cbrt)
digits.enter(elementwise_form(lambda mp, x: mp.mpf(2) ** x), exponential.exp2)
digits.enter(elementwise_form(lambda mp, x: mp.log(x, 2)), exponential.log2)
digits.enter(elementwise_form(lambda mp, x: mp.log(x, 10)), exponential.log10)
digits.enter(elementwise_form(lambda mp, x: x * mp.pi / 180), trigonometric.deg2rad)
digits.enter(elementwise_form(lambda mp, x: x * 180 / mp.pi), trigonometric.rad2deg)
digits.enter(elementwise_form(lambda mp, x, order: mp.diff(mp.sincpi, x, order)), trigonometric._sinc)
digits.enter(elementwise_form(lambda mp, x: 1 / (1 + mp.exp(-x))), exponential.sigmoid)
digits.enter(elementwise_form(lambda mp, x: mp.log1p(mp.exp(x))), exponential.softplus)
digits.enter(elementwise_form(lambda mp, x: max(x, mp.mpf(0))), choices.relu)

digits.enter(elementwise_form(lambda mp, x, y: x + y), arithmetic.add)
digits.enter(elementwise_form(lambda mp, x, y: x - y), arithmetic.subtract)
digits.enter(elementwise_form(lambda mp, x, y: x * y), arithmetic.multiply, arithmetic.multiply_live)
digits.enter(elementwise_form(lambda mp, x, y: x / y), arithmetic.divide)
digits.enter(elementwise_form(lambda mp, x, y: x / y if x else x), arithmetic.divide_live)
digits.enter(elementwise_form(lambda mp, x, y: mp.power(x, int(y) if y == int(y) else y)), exponential._power)
digits.enter(elementwise_form(lambda mp, x, y: x % y), arithmetic.remainder)
digits.enter(elementwise_form(lambda mp, x, y: x - y * int(x / y)), arithmetic.fmod)
digits.enter(elementwise_form(lambda mp, x, y: mp.log(mp.exp(x) + mp.exp(y))), exponential.logaddexp)
digits.enter(elementwise_form(lambda mp, x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2)), exponential.logaddexp2)
digits.enter(elementwise_form(lambda mp, x, y: max(x, y)), choices.maximum, choices.fmax)
digits.enter(elementwise_form(lambda mp, x, y: min(x, y)), choices.minimum, choices.fmin)
digits.enter(elementwise_form(lambda mp, x, y: abs(x) if y >= 0 else -abs(x)), choices.copysign)
digits.enter(elementwise_form(lambda mp, x, y: y if x == 0 else mp.mpf(x > 0)), choices.heaviside)
digits.enter(elementwise_form(lambda mp, condition, x, y: x if condition else y), choices._where)
digits.without(NEIGHBOURS, choices.nextafter)
