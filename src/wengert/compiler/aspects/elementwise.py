"""Elementwise operations: the instructions that compute one element as NumPy does, bit for bit.

Vector functions are in `simd/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np

from wengert.compiler.forms.iterations import ITERATED
from wengert.compiler.forms.lowering import Instructions, Iteration, lowering, on_floats, on_numbers, on_scalars
from wengert.compiler.simd.lanes import Lanes, select
from wengert.core.machine import Machine
from wengert.ops.elementwise import arithmetic, choices, complex_numbers, trigonometric
from wengert.ops.reductions.sums import root


def identity(x: Lanes) -> Lanes:
    """The value itself."""
    return x


lowering.enter(on_numbers(identity, cost=0), arithmetic.positive, complex_numbers.conj, complex_numbers.real)
lowering.enter(on_numbers(lambda x: x.like(0), cost=0), complex_numbers.imag)

lowering.enter(Iteration(), ITERATED)

# Arithmetic


def add(x: Lanes, y: Lanes) -> Lanes:
    """The sum of booleans is `or`."""
    return x | y if x.type.kind == "i1" else x + y


def multiply(x: Lanes, y: Lanes) -> Lanes:
    """The product of booleans is `and`."""
    return x & y if x.type.kind == "i1" else x * y


def quotient_cost(now: Machine) -> int:
    """The cost of a division."""
    return now.operations_of_quotient


lowering.enter(on_scalars(add), arithmetic.add)
lowering.enter(on_scalars(multiply), arithmetic.multiply)
lowering.enter(on_numbers(lambda x, y: x - y), arithmetic.subtract)
lowering.enter(on_numbers(lambda x: -x), arithmetic.negative)
lowering.enter(on_numbers(lambda x: x * x), arithmetic.square)
lowering.enter(on_floats(lambda x, y: x / y, quotient_cost), arithmetic.divide)
lowering.enter(on_floats(lambda x: 1.0 / x, quotient_cost), arithmetic.reciprocal)
lowering.enter(on_floats(lambda x: x.sqrt(), lambda now: now.operations_of_root), arithmetic.sqrt, root)
lowering.enter(on_floats(lambda x, y: select(x.ne(0.0), x / y, x.like(0.0)), quotient_cost), arithmetic.divide_live)
lowering.enter(on_floats(lambda x, y: select(x.ne(0.0), x * y, x.like(0.0))), arithmetic.multiply_live)
lowering.enter(on_floats(lambda x: x * x.like(pi / 180.0)), trigonometric.deg2rad)


@lowering(trigonometric.rad2deg)
@on_floats
def rad2deg(x: Lanes) -> Lanes:
    """NumPy computes the factor in the dtype, which rounds differently in float32."""
    return x * (180.0 / pi if x.type.bits == 64 else float(np.float32(180.0) / np.float32(pi)))


# Maximum and minimum


def maximum(x: Lanes, y: Lanes) -> Lanes:
    """The larger one, or NaN; the second of two equal ones, which for zeros of different sign is NumPy's result."""
    if not x.type.is_float:
        return x | y if x.type.kind == "i1" else select(x > y, x, y)
    return select((x > y) | x.is_nan(), x, y)


def minimum(x: Lanes, y: Lanes) -> Lanes:
    """The smaller one, or NaN."""
    if not x.type.is_float:
        return x & y if x.type.kind == "i1" else select(x < y, x, y)
    return select((x < y) | x.is_nan(), x, y)


lowering.enter(on_scalars(maximum), choices.maximum)
lowering.enter(on_scalars(minimum), choices.minimum)
lowering.enter(on_floats(lambda x, y: select((x > y) | y.is_nan(), x, y)), choices.fmax)
lowering.enter(on_floats(lambda x, y: select((x < y) | y.is_nan(), x, y)), choices.fmin)
lowering.enter(on_numbers(lambda x: maximum(x, x.like(0))), choices.relu)

# Signs

lowering.enter(on_numbers(lambda x: x.abs() if x.type.is_float else select(x < 0, -x, x)), complex_numbers.absolute)
lowering.enter(on_floats(lambda x: x.abs()), complex_numbers.fabs)
lowering.enter(on_floats(lambda x, y: x.copysign(y)), choices.copysign)


@lowering(complex_numbers._angle)
@on_floats
def angle(x: Lanes) -> Lanes:
    """Zero, or pi for negative numbers and negative zero."""
    return select(x.is_nan(), x, select(x.bits() < 0, x.like(pi), 0.0))


@lowering(choices.heaviside)
@on_floats
def heaviside(x: Lanes, y: Lanes) -> Lanes:
    """The unit step function, y at zero."""
    return select(x.is_nan(), x, select(x.eq(0.0), y, select(x < 0.0, x.like(0.0), x.like(1.0))))


# Choices


class WhereInstructions(Instructions):
    """Instructions for `where`, whose condition stays a boolean."""

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:
        condition, x, y = operands
        return self.body(condition, x.to(kind), y.to(kind), **params)


lowering.enter(WhereInstructions(select, "fib"), choices._where)
