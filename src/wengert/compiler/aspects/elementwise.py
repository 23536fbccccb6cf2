"""Elementwise operations: the instructions that compute one element as NumPy does, bit for bit.

Vector functions are in `simd/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np

from wengert.compiler.lanes import Lanes, select
from wengert.compiler.lowering import Instructions, floats, lowering, numbers, scalars
from wengert.ops.elementwise import arithmetic, choices, complex_numbers, trigonometric
from wengert.ops.reductions.sums import root


def same(x: Lanes) -> Lanes:
    return x


lowering.enter(numbers(same, cost=0), arithmetic.positive, complex_numbers.conj, complex_numbers.real)
lowering.enter(numbers(lambda x: x.like(0), cost=0), complex_numbers.imag)

# Arithmetic


def add(x: Lanes, y: Lanes) -> Lanes:
    """The sum of booleans is `or`."""
    return x | y if x.type.kind == "i1" else x + y


def multiply(x: Lanes, y: Lanes) -> Lanes:
    """The product of booleans is `and`."""
    return x & y if x.type.kind == "i1" else x * y


lowering.enter(scalars(add), arithmetic.add)
lowering.enter(scalars(multiply), arithmetic.multiply)
lowering.enter(numbers(lambda x, y: x - y), arithmetic.subtract)
lowering.enter(numbers(lambda x: -x), arithmetic.negative)
lowering.enter(numbers(lambda x: x * x), arithmetic.square)
lowering.enter(floats(lambda x, y: x / y, cost=4), arithmetic.divide)
lowering.enter(floats(lambda x: 1.0 / x, cost=4), arithmetic.reciprocal)
lowering.enter(floats(lambda x: x.sqrt(), cost=5), arithmetic.sqrt, root)
lowering.enter(floats(lambda x, y: select(x.ne(0.0), x / y, x.like(0.0)), cost=4), arithmetic.divide_live)
lowering.enter(floats(lambda x, y: select(x.ne(0.0), x * y, x.like(0.0))), arithmetic.multiply_live)
lowering.enter(floats(lambda x: x * x.like(pi / 180.0)), trigonometric.deg2rad)


@lowering(trigonometric.rad2deg)
@floats
def rad2deg(x: Lanes) -> Lanes:
    """NumPy divides in the dtype itself, and in float32 that rounds otherwise."""
    return x * (180.0 / pi if x.type.bits == 64 else float(np.float32(180.0) / np.float32(pi)))


# The larger, the smaller


def maximum(x: Lanes, y: Lanes) -> Lanes:
    """The larger one, NaN if there is one; the second of equal ones, as NumPy has it for zeros of different sign."""
    if not x.type.is_float:
        return x | y if x.type.kind == "i1" else select(x > y, x, y)
    return select((x > y) | x.is_nan(), x, y)


def minimum(x: Lanes, y: Lanes) -> Lanes:
    if not x.type.is_float:
        return x & y if x.type.kind == "i1" else select(x < y, x, y)
    return select((x < y) | x.is_nan(), x, y)


lowering.enter(scalars(maximum), choices.maximum)
lowering.enter(scalars(minimum), choices.minimum)
lowering.enter(floats(lambda x, y: select((x > y) | y.is_nan(), x, y)), choices.fmax)
lowering.enter(floats(lambda x, y: select((x < y) | y.is_nan(), x, y)), choices.fmin)
lowering.enter(numbers(lambda x: maximum(x, x.like(0))), choices.relu)

# Signs

lowering.enter(numbers(lambda x: x.abs() if x.type.is_float else select(x < 0, -x, x)), complex_numbers.absolute)
lowering.enter(floats(lambda x: x.abs()), complex_numbers.fabs)
lowering.enter(floats(lambda x, y: x.copysign(y)), choices.copysign)


@lowering(choices.heaviside)
@floats
def heaviside(x: Lanes, y: Lanes) -> Lanes:
    return select(x.is_nan(), x, select(x.eq(0.0), y, select(x < 0.0, x.like(0.0), x.like(1.0))))


# Choices


class Where(Instructions):
    """The condition stays a boolean."""

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:
        condition, x, y = operands
        return self.body(condition, x.to(kind), y.to(kind))


lowering.enter(Where(select, "fib"), choices._where)
