"""Complex numbers: the instructions of operations on them, element by element.

Functions of complex numbers are in `functions/complex_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from wengert.compiler.aspects.elementwise import WhereInstructions, identity
from wengert.compiler.forms.lowering import Cost, Instructions, Predicate, complex_lowering
from wengert.compiler.functions.vector_functions import call, function_cost
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Lanes, select
from wengert.core.machine import Machine
from wengert.ops.elementwise import arithmetic, choices, complex_numbers, predicates
from wengert.ops.shape import casting


def product_cost(now: Machine) -> int:
    """The cost of a product."""
    return now.operations_of_complex_product


def quotient_cost(now: Machine) -> int:
    """The cost of a quotient."""
    return now.operations_of_complex_quotient


def to_complex(body: Callable[..., Lanes], cost: Cost = 2) -> Instructions:
    """Instructions on complex numbers whose results are complex."""
    return Instructions(body, "c", cost)


def to_real(body: Callable[..., Lanes], cost: Cost = 1) -> Instructions:
    """Instructions on complex numbers whose results are real."""
    return Instructions(body, "f", cost)


complex_lowering.enter(to_complex(identity, cost=0), arithmetic.positive, casting._copy, casting._stop_gradient)
complex_lowering.enter(to_complex(lambda x, dtype: x, cost=0), casting._astype, casting._astype_discrete)

# Parts

complex_lowering.enter(to_complex(lambda x: x.conj(), cost=1), complex_numbers.conj)
complex_lowering.enter(to_real(lambda x: x.real, cost=0), complex_numbers.real)
complex_lowering.enter(to_real(lambda x: x.imag, cost=0), complex_numbers.imag)
complex_lowering.enter(to_real(lambda x: call("hypot", x.real, x.imag), function_cost), complex_numbers.absolute)
complex_lowering.enter(to_real(lambda x: call("arctan2", x.imag, x.real), function_cost), complex_numbers._angle)

# Arithmetic

complex_lowering.enter(to_complex(lambda x, y: x + y), arithmetic.add)
complex_lowering.enter(to_complex(lambda x, y: x - y), arithmetic.subtract)
complex_lowering.enter(to_complex(lambda x: -x), arithmetic.negative)
complex_lowering.enter(to_complex(lambda x, y: x * y, product_cost), arithmetic.multiply)
complex_lowering.enter(to_complex(lambda x: x * x, product_cost), arithmetic.square)
complex_lowering.enter(to_complex(lambda x, y: x / y, quotient_cost), arithmetic.divide)
complex_lowering.enter(WhereInstructions(select, "c"), choices._where)


@complex_lowering(arithmetic.divide_live)
@to_complex
def divide_live(x: Complex, y: Complex) -> Complex:
    """x / y, zero where x is."""
    return (x / y).where(x.ne(0.0), x.like(0.0))


@complex_lowering(arithmetic.multiply_live)
@to_complex
def multiply_live(x: Complex, y: Complex) -> Complex:
    """x y, zero where x is."""
    return (x * y).where(x.ne(0.0), x.like(0.0))


# Predicates


def is_infinite(x: Complex) -> Lanes:
    """Whether one of the parts is infinite."""
    return x.real.abs().eq(inf) | x.imag.abs().eq(inf)


def are_parts_finite(x: Complex) -> Lanes:
    """Whether both parts are finite."""
    return (x.real.abs() < inf) & (x.imag.abs() < inf)


complex_lowering.enter(Predicate(lambda x, y: x.eq(y)), predicates.equal)
complex_lowering.enter(Predicate(lambda x, y: x.ne(y)), predicates.not_equal)
complex_lowering.enter(Predicate(lambda x: x.is_nan()), predicates.isnan)
complex_lowering.enter(Predicate(is_infinite), predicates.isinf)
complex_lowering.enter(Predicate(are_parts_finite), predicates.isfinite)
complex_lowering.enter(Predicate(lambda x: x.imag.eq(0.0)), predicates.isreal)
complex_lowering.enter(Predicate(lambda x: x.imag.ne(0.0)), predicates.iscomplex)
complex_lowering.enter(Predicate(lambda x: x.eq(0.0)), predicates.logical_not)
complex_lowering.enter(Predicate(lambda x, y: x.ne(0.0) & y.ne(0.0)), predicates.logical_and)
complex_lowering.enter(Predicate(lambda x, y: x.ne(0.0) | y.ne(0.0)), predicates.logical_or)
complex_lowering.enter(Predicate(lambda x, y: x.ne(0.0) ^ y.ne(0.0)), predicates.logical_xor)
