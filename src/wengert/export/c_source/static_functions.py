"""Small static functions of C, for what C99 lacks: one text, from which a file takes those that it calls.

They compute in double precision, or with integers of 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

ELEMENTWISE = """\
/* The larger number, or NaN. */
static double maximum(double x, double y)
{
    return (x > y || isnan(x)) ? x : y;
}

/* The smaller number, or NaN. */
static double minimum(double x, double y)
{
    return (x < y || isnan(x)) ? x : y;
}

/* x if it is positive, else 0; NaN stays. */
static double relu(double x)
{
    return (x > 0.0 || isnan(x)) ? x : 0.0;
}

/* -1, 0 or 1; NaN stays. */
static double sign(double x)
{
    if (isnan(x)) {
        return x;
    }
    return (double)((x > 0.0) - (x < 0.0));
}

/* The unit step function, y at zero. */
static double heaviside(double x, double y)
{
    if (isnan(x)) {
        return x;
    }
    return (x == 0.0) ? y : (x < 0.0) ? 0.0 : 1.0;
}

/* The angle of a real number: 0, or pi if its sign is negative. */
static double angle(double x)
{
    if (isnan(x)) {
        return x;
    }
    return signbit(x) ? 3.141592653589793 : 0.0;
}

/* 1 / (1 + exp(-x)), without overflow. */
static double sigmoid(double x)
{
    const double e = exp(-fabs(x));
    return (x >= 0.0) ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* log(1 + exp(x)), without overflow. */
static double softplus(double x)
{
    return ((x > 0.0 || isnan(x)) ? x : 0.0) + log1p(exp(-fabs(x)));
}

/* log(exp(x) + exp(y)), without overflow. */
static double logaddexp(double x, double y)
{
    if (x == y) {
        return x + 0.6931471805599453;
    }
    return (x > y) ? x + log1p(exp(y - x)) : y + log1p(exp(x - y));
}

/* log2(2^x + 2^y), without overflow. */
static double logaddexp2(double x, double y)
{
    if (x == y) {
        return x + 1.0;
    }
    return ((x > y) ? x : y) + log1p(exp2(-fabs(x - y))) * 1.4426950408889634;
}

/* The distribution function of the standard normal distribution. */
static double ndtr(double x)
{
    const double z = -x * 0.7071067811865476;
    /* The rounding error of z, and what 0.7071... lacks of sqrt(1/2): the tail of erfc amplifies them. */
    const double rest = fma(-x, 0.7071067811865476, -z) + x * 4.833646656726457e-17;
    return 0.5 * ((fabs(z) < 30.0) ? erfc(z) - 1.1283791670955126 * exp(-z * z) * rest : erfc(z));
}

/* The derivative of log(gamma(x)): by the recurrence digamma(x) = digamma(x + 1) - 1 / x up to x = 10, and the
 * asymptotic series there; negative numbers by reflection. */
static double digamma(double x)
{
    double result = 0.0;
    if (x <= 0.0) {
        if (x == floor(x)) {
            return (x == 0.0) ? copysign(INFINITY, -x) : NAN;
        }
        result = -3.141592653589793 / tan(3.141592653589793 * (x - rint(x)));
        x = 1.0 - x;
    }
    while (x < 10.0) {
        result -= 1.0 / x;
        x += 1.0;
    }
    const double z = 1.0 / (x * x);
    const double series = z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0
        - z * (691.0 / 32760.0 - z / 12.0))))));
    return result + (log(x) - 0.5 / x - series);
}

/* The logarithm of gamma(x); NaN for negative numbers. */
static double loggamma(double x)
{
    return (x < 0.0) ? NAN : lgamma(x);
}

/* The sign of gamma(x), 0 at its poles. */
static double gammasgn(double x)
{
    if (x > 0.0 || isnan(x)) {
        return isnan(x) ? x : 1.0;
    }
    if (x == 0.0) {
        return copysign(1.0, x);
    }
    if (x == floor(x)) {
        return isinf(x) ? NAN : 0.0;
    }
    return (fmod(floor(x), 2.0) == 0.0) ? 1.0 : -1.0;
}

/* x log(y), 0 for x = 0. */
static double xlogy(double x, double y)
{
    return (x == 0.0 && !isnan(y)) ? 0.0 : x * log(y);
}

/* x log(1 + y), 0 for x = 0. */
static double xlog1py(double x, double y)
{
    return (x == 0.0 && !isnan(y)) ? 0.0 : x * log1p(y);
}

/* -x log(x), 0 for x = 0. */
static double entr(double x)
{
    if (isnan(x)) {
        return x;
    }
    return (x > 0.0) ? -x * log(x) : (x == 0.0) ? 0.0 : -INFINITY;
}

/* x log(x / y). */
static double rel_entr(double x, double y)
{
    if (isnan(x) || isnan(y)) {
        return NAN;
    }
    if (x > 0.0 && y > 0.0) {
        const double ratio = x / y;
        return (ratio > 2.3e-308 && ratio < INFINITY) ? x * log(ratio) : x * (log(x) - log(y));
    }
    return (x == 0.0 && y >= 0.0) ? 0.0 : INFINITY;
}

/* x log(x / y) - x + y. */
static double kl_div(double x, double y)
{
    if (isnan(x) || isnan(y)) {
        return NAN;
    }
    if (x > 0.0 && y > 0.0) {
        return x * log(x / y) - x + y;
    }
    return (x == 0.0 && y >= 0.0) ? y : INFINITY;
}

/* log(x / (1 - x)), accurate around x = 1/2. */
static double logit(double x)
{
    const double s = 2.0 * (x - 0.5);
    return (x < 0.3 || x > 0.65) ? log(x / (1.0 - x)) : log1p(s) - log1p(-s);
}

/* The part of x behind the point, with its sign. */
static double fraction(double x)
{
    double whole;
    return modf(x, &whole);
}

/* The number m with x = m 2^k and 1/2 <= |m| < 1. */
static double mantissa(double x)
{
    int exponent;
    return frexp(x, &exponent);
}

/* The remainder of x by y with the sign of y. */
static double remainder_floored(double x, double y)
{
    const double rest = fmod(x, y);
    if (y == 0.0) {
        return rest;
    }
    if (rest == 0.0) {
        return copysign(0.0, y);
    }
    return ((y < 0.0) != (rest < 0.0)) ? rest + y : rest;
}

/* The quotient of x by y, rounded down. */
static double quotient_floored(double x, double y)
{
    const double rest = fmod(x, y);
    double quotient = (x - rest) / y;
    if (y == 0.0) {
        return x / y;
    }
    if (rest != 0.0 && (y < 0.0) != (rest < 0.0)) {
        quotient -= 1.0;
    }
    if (quotient == 0.0) {
        return copysign(0.0, x / y);
    }
    const double whole = floor(quotient);
    return (quotient - whole > 0.5) ? whole + 1.0 : whole;
}

/* The remainder of integers with the sign of x; 0 by 0. */
static int64_t remainder_truncated(int64_t x, int64_t y)
{
    return (y == 0 || y == -1) ? 0 : x % y;
}

/* The remainder of integers with the sign of y; 0 by 0. */
static int64_t integer_remainder(int64_t x, int64_t y)
{
    const int64_t rest = (y == 0 || y == -1) ? 0 : x % y;
    return (rest != 0 && (rest < 0) != (y < 0)) ? rest + y : rest;
}

/* The quotient of integers, rounded down; 0 by 0. */
static int64_t integer_quotient(int64_t x, int64_t y)
{
    if (y == 0 || (x == INT64_MIN && y == -1)) {
        return (y == 0) ? 0 : x;
    }
    const int64_t rest = x % y;
    return x / y - (rest != 0 && (rest < 0) != (y < 0));
}

/* The greatest common divisor. */
static int64_t greatest_divisor(int64_t x, int64_t y)
{
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (x < 0) ? -x : x;
}

/* The least common multiple; 0 if one of the numbers is. */
static int64_t least_multiple(int64_t x, int64_t y)
{
    const int64_t divisor = greatest_divisor(x, y);
    const int64_t multiple = (divisor == 0) ? 0 : x / divisor * y;
    return (multiple < 0) ? -multiple : multiple;
}

/* x with its bits moved y places; 0 if none is left. */
static int64_t shift_left(int64_t x, int64_t y)
{
    return (y < 0 || y > 63) ? 0 : (int64_t)((uint64_t)x << y);
}
"""


@cache
def static_functions() -> dict[str, str]:
    """The source of each function, by its name, in an order in which each comes after those that it calls."""
    from wengert.export.c_source.matrix_functions import MATRICES

    pieces = re.split(r"\n\n(?=/\*)", (ELEMENTWISE + "\n" + MATRICES).strip())
    return {re.search(r"^static \w+ (\w+)\(", piece, re.MULTILINE)[1]: piece + "\n" for piece in pieces}  # type: ignore[index]  # each has a head


def called_functions(words: Collection[str]) -> list[str]:
    """The sources of the functions among some words, and of those that they call."""
    known = static_functions()
    wanted: set[str] = set()
    stack = [word for word in words if word in known]
    while stack:
        name = stack.pop()
        if name not in wanted:
            wanted.add(name)
            stack += [other for other in known if re.search(rf"\b{other}\(", known[name])]
    return [source for name, source in known.items() if name in wanted]
