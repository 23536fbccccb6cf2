"""Conversion to integers, division with remainder, rounding to decimals, and shifts: as NumPy does it, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.compiler.forms.lowering import Instructions, expansion, lowering, on_numbers
from wengert.compiler.functions.vector_functions import replace_rare, vector_function
from wengert.compiler.simd.lanes import Lanes, fma, select
from wengert.core.machine import Machine
from wengert.core.spec import Spec
from wengert.ops.elementwise import arithmetic, predicates
from wengert.ops.elementwise.predicates import rint
from wengert.ops.shape import casting


def division_cost(now: Machine) -> int:
    """The cost of a division with remainder."""
    return now.operations_of_integer_quotient


def least_integer(kind: str) -> int:
    """The smallest integer of a type."""
    return -(1 << (int(kind[1:]) - 1))


class Conversion(Instructions):
    """Instructions that convert between dtypes."""

    def is_for(self, operands: Sequence[Spec], out: Spec) -> bool:  # noqa: ARG002  # converts from all dtypes
        return out.dtype.kind in self.results

    def write(self, operands: Sequence[Lanes], kind: str, params: dict[str, Any]) -> Lanes:  # noqa: ARG002  # those of all instructions
        (x,) = operands
        return to_integer(x, kind) if x.type.is_float and kind[0] == "i" and kind != "i1" else x.to(kind)


def to_integer(x: Lanes, kind: str) -> Lanes:
    """Floats truncated to integers; NaNs and what is too large become the least integer, as on x86 processors."""
    least = least_integer(kind)
    is_inside = (x >= float(least)) & (x < -float(least))
    if x.type.kind == "f64" and kind == "i32":
        is_inside = (x > least - 1.0) & (x < -float(least))
    return select(is_inside, x.to(kind), x.code.constant(least, x.type.of(kind)))


lowering.enter(Conversion(lambda x, dtype: x, "fib"), casting._astype, casting._astype_discrete)

# Division with remainder


def integer_division(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """The quotient and the remainder of integers, truncated; 0 by 0, and the least integer over -1 wraps around."""
    overflows = x.eq(least_integer(x.type.kind)) & y.eq(-1)
    divisor = select(y.eq(0) | overflows, y.like(1), y)
    quotient, rest = [x.code.add(f"{op} {x.typed}, {divisor.text}", x.type) for op in ("sdiv", "srem")]
    return select(y.eq(0), 0, quotient), select(y.eq(0), 0, rest)


def float_remainder(x: Lanes, y: Lanes) -> Lanes:
    """x minus y times the truncated quotient, exactly: C's `fmod`.

    While the quotient is an exact integer, at most one too large, the fused difference is exact.
    """
    size, divisor = x.abs(), y.abs()
    quotient = (size / divisor).trunc()
    rest = fma(-quotient, divisor, size)
    rest = select(rest < 0.0, rest + divisor, rest).copysign(x)
    limit = 2.0 ** (52 if x.type.bits == 64 else 23)
    is_plain = (quotient < limit) & (divisor < float("inf"))
    return replace_rare(rest, ~is_plain, "fmod.far", x, y)


@vector_function("fmod.far")
def far_remainder(x: Lanes, y: Lanes) -> Lanes:
    """For quotients of any size, NaNs, infinities and zeros, by the C library."""
    return x.code.add(f"frem {x.typed}, {y.text}", x.type)


def divide_with_remainder(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """The quotient of floats, rounded down, and the remainder, which has the sign of y."""
    rest = float_remainder(x, y)
    quotient = (x - rest) / y
    has_other_sign = rest.ne(0.0) & ((y < 0.0) ^ (rest < 0.0))
    quotient = select(has_other_sign, quotient - 1.0, quotient)
    whole = quotient.floor()
    whole = select(quotient - whole > 0.5, whole + 1.0, whole)
    whole = select(quotient.eq(0.0), x.like(0.0).copysign(x / y), whole)
    proper = select(rest.eq(0.0), x.like(0.0).copysign(y), select(has_other_sign, rest + y, rest))
    return select(y.eq(0.0), x / y, whole), select(y.eq(0.0), rest, proper)


def floor_divide(x: Lanes, y: Lanes) -> Lanes:
    """The quotient, rounded down."""
    if x.type.is_float:
        return divide_with_remainder(x, y)[0]
    quotient, rest = integer_division(x, y)
    return select(rest.ne(0) & ((rest < 0) ^ (y < 0)), quotient - 1, quotient)


def remainder(x: Lanes, y: Lanes) -> Lanes:
    """The remainder, with the sign of y."""
    if x.type.is_float:
        return divide_with_remainder(x, y)[1]
    _, rest = integer_division(x, y)
    return select(rest.ne(0) & ((rest < 0) ^ (y < 0)), rest + y, rest)


def fmod(x: Lanes, y: Lanes) -> Lanes:
    """The remainder, with the sign of x."""
    return float_remainder(x, y) if x.type.is_float else integer_division(x, y)[1]


lowering.enter(on_numbers(floor_divide, cost=division_cost), predicates.floor_divide)
lowering.enter(on_numbers(remainder, cost=division_cost), arithmetic.remainder)
lowering.enter(on_numbers(fmod, cost=division_cost), arithmetic.fmod)

# Shifts


def left_shift(x: Lanes, y: Lanes) -> Lanes:
    """Zero if no bit is left."""
    return select(is_shift(y), x << (y & (x.type.bits - 1)), 0)


def right_shift(x: Lanes, y: Lanes) -> Lanes:
    """The sign if no bit is left."""
    return x >> select(is_shift(y), y, y.like(x.type.bits - 1))


def is_shift(y: Lanes) -> Lanes:
    """Whether a number of places is less than all of them."""
    return (y >= 0) & (y < y.type.bits)


SHIFTS = {predicates.left_shift: left_shift, predicates.right_shift: right_shift}
for _operation, _body in SHIFTS.items():
    lowering.enter(Instructions(_body, "i"), _operation)


# Rounding


@expansion(predicates._round)
def expand_round(x: Any, decimals: int) -> Any:
    """By the nearest integer, of a multiple."""
    if x.dtype.kind != "f":
        return x if decimals >= 0 and x.dtype.kind == "i" else None
    if decimals == 0:
        return rint(x)
    power = 10.0 ** abs(decimals)
    return rint(x * power) / power if decimals > 0 else rint(x / power) * power
