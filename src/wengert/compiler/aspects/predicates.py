"""Predicates, rounding, and the operations on bits."""

from __future__ import annotations

from math import inf

from wengert.compiler.aspects.elementwise import identity
from wengert.compiler.forms.lowering import Predicate, lowering, on_bits, on_floats, on_numbers, on_scalars
from wengert.compiler.simd.lanes import Lanes, select
from wengert.ops.elementwise import predicates as ops
from wengert.ops.shape.casting import _stop_gradient

lowering.enter(on_scalars(identity, cost=0), _stop_gradient)

lowering.enter(on_floats(lambda x: x.floor()), ops.floor)
lowering.enter(on_floats(lambda x: x.ceil()), ops.ceil)
lowering.enter(on_floats(lambda x: x.trunc()), ops.trunc)
lowering.enter(on_floats(lambda x: x.rint()), ops.rint)


@lowering(ops.sign)
@on_numbers
def sign(x: Lanes) -> Lanes:
    """-1, 0 or 1; NaN stays."""
    zero = x.like(0)
    if not x.type.is_float:
        return select(x > 0, x.like(1), select(x < 0, x.like(-1), zero))
    return select(x > 0.0, x.like(1.0), select(x < 0.0, x.like(-1.0), select(x.is_nan(), x, zero)))


# Comparisons

lowering.enter(Predicate(lambda x, y: x.eq(y)), ops.equal)
lowering.enter(Predicate(lambda x, y: x.ne(y)), ops.not_equal)
lowering.enter(Predicate(lambda x, y: x < y), ops.less)
lowering.enter(Predicate(lambda x, y: x <= y), ops.less_equal)
lowering.enter(Predicate(lambda x, y: x > y), ops.greater)
lowering.enter(Predicate(lambda x, y: x >= y), ops.greater_equal)

# Classification


def never(x: Lanes) -> Lanes:
    """False in every lane."""
    return x.code.constant(False, x.type.of("i1"))


lowering.enter(Predicate(lambda x: x.is_nan() if x.type.is_float else never(x)), ops.isnan)
lowering.enter(Predicate(lambda x: x.abs().eq(inf) if x.type.is_float else never(x)), ops.isinf)
lowering.enter(Predicate(lambda x: x.abs() < inf if x.type.is_float else ~never(x)), ops.isfinite)
lowering.enter(Predicate(lambda x: x.eq(inf) if x.type.is_float else never(x)), ops.isposinf)
lowering.enter(Predicate(lambda x: x.eq(-inf) if x.type.is_float else never(x)), ops.isneginf)
lowering.enter(Predicate(lambda x: ~never(x)), ops.isreal)
lowering.enter(Predicate(never), ops.iscomplex)
lowering.enter(Predicate(lambda x: x.bits() < 0 if x.type.is_float else x < 0), ops.signbit)

# Logic


def is_nonzero(x: Lanes) -> Lanes:
    """A number as a boolean."""
    return x if x.type.kind == "i1" else x.ne(0)


lowering.enter(Predicate(lambda x, y: is_nonzero(x) & is_nonzero(y)), ops.logical_and)
lowering.enter(Predicate(lambda x, y: is_nonzero(x) | is_nonzero(y)), ops.logical_or)
lowering.enter(Predicate(lambda x, y: is_nonzero(x) ^ is_nonzero(y)), ops.logical_xor)
lowering.enter(Predicate(lambda x: ~is_nonzero(x)), ops.logical_not)

# Bits

lowering.enter(on_bits(lambda x, y: x & y), ops.bitwise_and)
lowering.enter(on_bits(lambda x, y: x | y), ops.bitwise_or)
lowering.enter(on_bits(lambda x, y: x ^ y), ops.bitwise_xor)
lowering.enter(on_bits(lambda x: ~x), ops.invert)
