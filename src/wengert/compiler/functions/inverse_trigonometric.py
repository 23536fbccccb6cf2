"""Arcsine, arccosine and the arctangents: a polynomial on a short interval, plus a multiple of pi/4 in two parts.

Quotients and roots carry their rounding errors.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.functions.vector_functions import vector
from wengert.compiler.simd.double import Double, fast_two_sum
from wengert.compiler.simd.lanes import Lanes, fma, polynomial, select
from wengert.ops.elementwise import trigonometric

TANGENT_OF_EIGHTH = 0.41421356237309503


class InverseConstants(NamedTuple):
    """The constants of the functions for one precision."""

    quarter_pi: tuple[float, float]
    tiny: float
    """Numbers below this, and above `huge`, are scaled before a division."""
    huge: float
    enlarged: float
    reduced: float
    arctangent: tuple[float, ...]
    arcsine: tuple[float, ...]


# atan(t) = t + t^3 P(t^2) for |t| <= 1.002 tan(pi/8); relative errors of the fits 2^-59.4 for doubles, 2^-30.4 for
# singles. asin(s) = s + s^3 P(s^2) for |s| <= 0.5; relative errors of the fits 2^-59.8 and 2^-27.6.
PRECISIONS = {
    "f64": InverseConstants(
        quarter_pi=(0.7853981633974483, 3.061616997868383e-17),
        tiny=2.0**-900,
        huge=2.0**800,
        enlarged=2.0**120,
        reduced=2.0**-100,
        arctangent=(
            -0.017861018981441244, 0.03802322131698391, -0.0503771186463873, 0.058475436449866386,
            -0.06663057648808454, 0.0769205623160288, -0.09090897539381902, 0.11111110776059678,
            -0.14285714280052247, 0.19999999999952187, -0.3333333333333319,
        ),
        arcsine=(
            0.032696651900201004, -0.021107845368535556, 0.02178433677893904, 0.003674792001717317,
            0.01078862862383525, 0.011397416717045765, 0.013981003462840468, 0.017351596747028457,
            0.02237221583766308, 0.030381942677624174, 0.04464285717524022, 0.0749999999997014, 0.16666666666666763,
        ),
    ),
    "f32": InverseConstants(
        quarter_pi=(0.7853981852531433, -2.1855694143368964e-08),
        tiny=2.0**-80,
        huge=2.0**80,
        enlarged=2.0**40,
        reduced=2.0**-30,
        arctangent=(
            -0.060871873050928116, 0.10598335415124893, -0.1424432098865509, 0.19998526573181152,
            -0.33333316445350647,
        ),
        arcsine=(
            0.04221620410680771, 0.024150187149643898, 0.0454762801527977, 0.07495251297950745,
            0.16666753590106964,
        ),
    ),
}  # fmt: skip


def _sum(quarters: Lanes, main: Lanes, tail: Lanes) -> Lanes:
    """A multiple of pi/4, zero or larger than the rest, plus the rest in two parts."""
    high, low = PRECISIONS[main.type.kind].quarter_pi
    base = quarters * high
    base_low = fma(quarters, low, fma(quarters, high, -base))
    total, lost = fast_two_sum(base, main)
    return total + (lost + (base_low + tail))


def _arctangent(a: Lanes, b: Lanes) -> tuple[Lanes, Double]:
    """atan(a/b) for 0 <= a <= b, b > 0: zero or one quarter of pi, and the rest.

    Beyond tan(pi/8) it is pi/4 + atan((a - b)/(a + b)), which is at most pi/8 in size again.
    """
    beyond = a > b * TANGENT_OF_EIGHTH
    difference, total = fast_two_sum(-b, a), fast_two_sum(b, a)
    top, top_low = select(beyond, difference.high, a), select(beyond, difference.low, 0.0)
    below, below_low = select(beyond, total.high, b), select(beyond, total.low, 0.0)
    inverse = 1.0 / below
    t = top * inverse
    low = (fma(-t, below, top) + fma(-t, below_low, top_low)) * inverse
    z = t * t
    return select(beyond, t.like(1.0), 0.0), Double(
        t, fma(t * z, polynomial(z, PRECISIONS[a.type.kind].arctangent), fma(-z, low, low))
    )


@vector(trigonometric.arctan)
def arctan(x: Lanes) -> Lanes:
    """The arctangent."""
    size = x.abs()
    size = select(size > 2.0**80, 2.0**80, size)
    steep = size > 1.0
    quarters, (t, tail) = _arctangent(select(steep, 1.0, size), select(steep, size, 1.0))
    return _sum(select(steep, 2.0 - quarters, quarters), select(steep, -t, t), select(steep, -tail, tail)).copysign(x)


@vector(trigonometric.arctan2)
def arctan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y), from the octant where the quotient is at most one."""
    width, height = x.abs(), y.abs()
    steep = height > width
    a, b = select(steep, width, height), select(steep, height, width)
    infinite = b.eq(float("inf"))
    a = select(infinite, select(a.eq(float("inf")), a.like(1.0), 0.0), a)
    b = select(infinite | b.eq(0.0), 1.0, b)
    precision = PRECISIONS[x.type.kind]
    scale = select(
        b > precision.huge, b.like(precision.reduced), select(a < precision.tiny, b.like(precision.enlarged), 1.0)
    )
    quarters, (t, tail) = _arctangent(a * scale, b * scale)
    left = x.bits() < 0
    quarters = select(steep, 2.0 - quarters, quarters)
    quarters = select(left, 4.0 - quarters, quarters)
    backwards = steep ^ left
    angle = _sum(quarters, select(backwards, -t, t), select(backwards, -tail, tail)).copysign(y)
    return select(x.is_nan() | y.is_nan(), x + y, angle)


def _arcsine(x: Lanes) -> tuple[Lanes, Double]:
    """Whether |x| is at most one half, and the arcsine of |x| if so, else of sqrt((1 - |x|)/2)."""
    size = x.abs()
    small = size <= 0.5
    z = select(small, x * x, (1.0 - size) * 0.5)
    root = z.sqrt()
    lost = fma(-root, root, z) * (0.5 / (root + 1e-30))  # which avoids 0 / 0, and is lost in any other root
    s, low = select(small, size, root), select(small, 0.0, lost)
    return small, Double(s, fma(s * z, polynomial(z, PRECISIONS[x.type.kind].arcsine), fma(low * z, 0.5, low)))


@vector(trigonometric.arcsin)
def arcsin(x: Lanes) -> Lanes:
    """The arcsine."""
    small, (s, tail) = _arcsine(x)
    factor = select(small, s.like(1.0), -2.0)
    return _sum(select(small, s.like(0.0), 2.0), factor * s, factor * tail).copysign(x)


@vector(trigonometric.arccos)
def arccos(x: Lanes) -> Lanes:
    """The arccosine."""
    small, (s, tail) = _arcsine(x)
    factor = select(small, s.like(-1.0), 2.0) * s.like(1.0).copysign(x)
    quarters = select(small, s.like(2.0), select(x > 0.0, s.like(0.0), 4.0))
    return _sum(quarters, factor * s, factor * tail)
