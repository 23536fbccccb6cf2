"""Error-free transformations, and numbers of twice the precision as unevaluated sums of two floats.

The rounding error of an addition or a product is itself a float, and is computed exactly here. A `Double` carries it
along: about 105 bits with two doubles, 47 with two singles. Infinities and NaN become NaN in the low part, which
functions replace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert.compiler.simd.lanes import Lanes, fma
from wengert.compiler.simd.types import Number


class Double(NamedTuple):
    """`high + low`, where `low` is at most half an ulp of `high`."""

    high: Lanes
    low: Lanes

    def value(self) -> Lanes:
        """The sum rounded to one float."""
        return self.high + self.low

    def __neg__(self) -> Double:
        return Double(-self.high, -self.low)

    def plus(self, other: Double | Lanes | Number) -> Double:
        """The sum, right to about two units of the square of the precision even if it cancels."""
        if not isinstance(other, Double):
            total, error = two_sum(self.high, self.high.like(other))
            return fast_two_sum(total, error + self.low)
        total, error = two_sum(self.high, other.high)
        low, rest = two_sum(self.low, other.low)
        total, error = fast_two_sum(total, error + low)
        return fast_two_sum(total, error + rest)

    def times(self, other: Double | Lanes | Number) -> Double:
        """The product."""
        if not isinstance(other, Double):
            factor = self.high.like(other)
            product, error = two_product(self.high, factor)
            return fast_two_sum(product, fma(self.low, factor, error))
        product, error = two_product(self.high, other.high)
        return fast_two_sum(product, fma(self.high, other.low, fma(self.low, other.high, error)))

    def over(self, other: Double | Lanes) -> Double:
        """The quotient."""
        divisor, low = (other.high, other.low) if isinstance(other, Double) else (other, None)
        quotient = self.high / divisor
        rest = fma(-quotient, divisor, self.high) + self.low
        if low is not None:
            rest = fma(-quotient, low, rest)
        return fast_two_sum(quotient, rest / divisor)

    def sqrt(self) -> Double:
        """The root of a positive number, by one step of Newton's method with an exact residual."""
        root = self.high.sqrt()
        return fast_two_sum(root, (fma(-root, root, self.high) + self.low) / (root + root))


def two_sum(x: Lanes, y: Lanes | Number) -> Double:
    """x + y exactly, whichever is larger."""
    y = x.like(y)
    total = x + y
    part = total - x
    return Double(total, (x - (total - part)) + (y - part))


def fast_two_sum(x: Lanes, y: Lanes | Number) -> Double:
    """x + y exactly, where |x| >= |y| or x is zero."""
    total = x + y
    return Double(total, y - (total - x))


def two_product(x: Lanes, y: Lanes | Number) -> Double:
    """x y exactly, unless the error underflows."""
    product = x * y
    return Double(product, fma(x, y, -product))


def double_constant(x: Lanes, high: float, low: float) -> Double:
    """The constant `high + low` in two parts of the type of x."""
    if x.type.kind == "f32":
        rounded = float(np.float32(high))
        high, low = rounded, high - rounded + low
    return Double(x.like(high), x.like(low))
