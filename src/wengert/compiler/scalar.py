"""Elementwise operations on lanes: for each name in the table, the instructions that compute it, as NumPy does, bit for bit.

What is not here, or has operands of other dtypes than floats, 32- and 64-bit integers and truth values, runs NumPy's implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, pi
from typing import Any

import numpy as np

from wengert.compiler.lanes import Lanes, Type, select
from wengert.compiler.simd import exponential, hyperbolic, inverse_trigonometric, logarithm, power, special, trigonometric  # noqa: F401  # register themselves
from wengert.compiler.simd.library import FUNCTIONS, call
from wengert.core.spec import Spec

SUPPORTED = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "?")))
Lowering = Callable[..., Lanes]


def maximum(x: Lanes, y: Lanes) -> Lanes:
    """The larger one, NaN if there is one; the second of equal ones, as NumPy has it for zeros of different sign."""
    if not x.type.is_float:
        return x | y if x.type.kind == "i1" else select(x > y, x, y)
    return select((x > y) | x.is_nan(), x, y)


def minimum(x: Lanes, y: Lanes) -> Lanes:
    if not x.type.is_float:
        return x & y if x.type.kind == "i1" else select(x < y, x, y)
    return select((x < y) | x.is_nan(), x, y)


def fmax(x: Lanes, y: Lanes) -> Lanes:
    return select((x > y) | y.is_nan(), x, y)


def fmin(x: Lanes, y: Lanes) -> Lanes:
    return select((x < y) | y.is_nan(), x, y)


def sign(x: Lanes) -> Lanes:
    zero = x.like(0)
    if not x.type.is_float:
        return select(x > 0, x.like(1), select(x < 0, x.like(-1), zero))
    return select(x > 0.0, x.like(1.0), select(x < 0.0, x.like(-1.0), select(x.is_nan(), x, zero)))


def absolute(x: Lanes) -> Lanes:
    return x.abs() if x.type.is_float else select(x < 0, -x, x)


def heaviside(x: Lanes, y: Lanes) -> Lanes:
    return select(x.is_nan(), x, select(x.eq(0.0), y, select(x < 0.0, x.like(0.0), x.like(1.0))))


def divide_live(x: Lanes, y: Lanes) -> Lanes:
    return select(x.ne(0.0), x / y, x.like(0.0))


def multiply_live(x: Lanes, y: Lanes) -> Lanes:
    return select(x.ne(0.0), x * y, x.like(0.0))


def rad2deg(x: Lanes) -> Lanes:
    """NumPy divides in the dtype itself, and in float32 that rounds otherwise."""
    return x * (180.0 / pi if x.type.bits == 64 else float(np.float32(180.0) / np.float32(pi)))


def nonzero(x: Lanes) -> Lanes:
    return x if x.type.kind == "i1" else x.ne(0)


FLOATS: dict[str, Lowering] = {
    "divide": lambda x, y: x / y,
    "reciprocal": lambda x: 1.0 / x,
    "divide_live": divide_live,
    "multiply_live": multiply_live,
    "sqrt": lambda x: x.sqrt(),
    "root": lambda x: x.sqrt(),
    "fmax": fmax,
    "fmin": fmin,
    "fabs": lambda x: x.abs(),
    "copysign": lambda x, y: x.copysign(y),
    "heaviside": heaviside,
    "floor": lambda x: x.floor(),
    "ceil": lambda x: x.ceil(),
    "trunc": lambda x: x.trunc(),
    "rint": lambda x: x.rint(),
    "deg2rad": lambda x: x * x.like(pi / 180.0),
    "rad2deg": rad2deg,
}
"""On floats; integers are converted first, where NumPy does."""

NUMBERS: dict[str, Lowering] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "square": lambda x: x * x,
    "maximum": maximum,
    "minimum": minimum,
    "relu": lambda x: maximum(x, x.like(0)),
    "absolute": absolute,
    "sign": sign,
    "conj": lambda x: x,
    "real": lambda x: x,
    "stop_gradient": lambda x: x,
    "copy": lambda x: x,
    "astype": lambda x: x,
    "astype_discrete": lambda x: x,
}
"""On floats and integers, in the dtype of the result."""

PREDICATES: dict[str, Lowering] = {
    "equal": lambda x, y: x.eq(y),
    "not_equal": lambda x, y: x.ne(y),
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "isnan": lambda x: x.is_nan() if x.type.is_float else never(x),
    "isinf": lambda x: x.abs().eq(inf) if x.type.is_float else never(x),
    "isfinite": lambda x: x.abs() < inf if x.type.is_float else ~never(x),
    "isposinf": lambda x: x.eq(inf) if x.type.is_float else never(x),
    "isneginf": lambda x: x.eq(-inf) if x.type.is_float else never(x),
    "signbit": lambda x: x.bits() < 0 if x.type.is_float else x < 0,
    "logical_and": lambda x, y: nonzero(x) & nonzero(y),
    "logical_or": lambda x, y: nonzero(x) | nonzero(y),
    "logical_xor": lambda x, y: nonzero(x) ^ nonzero(y),
    "logical_not": lambda x: ~nonzero(x),
}
"""Truth values, from operands of one common dtype."""

BITS: dict[str, Lowering] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "invert": lambda x: ~x,
}
ON_TRUTHS = frozenset(
    (
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "invert",
        "where",
        "copy",
        "stop_gradient",
        "astype",
        "astype_discrete",
        "maximum",
        "minimum",
        "add",
        "multiply",
    )
)
"""What works on truth values as they are: adding them is `or`, multiplying `and`."""


TRUTHS: dict[str, Lowering] = {"add": BITS["bitwise_or"], "multiply": BITS["bitwise_and"]}


def never(x: Lanes) -> Lanes:
    return x.code.constant(False, x.type.of("i1"))


def has_lowering(name: str, operands: Sequence[Spec], out: Spec, params: dict[str, Any]) -> bool:
    """Whether an elementwise operation has instructions for these dtypes."""
    if out.__class__ is not Spec or out.dtype not in SUPPORTED or any(o.dtype not in SUPPORTED for o in operands):
        return False
    if params and name not in ("astype", "astype_discrete"):
        return False
    if out.dtype.kind == "f":
        return name in FLOATS or name in NUMBERS or name in FUNCTIONS or name == "where"
    if name in ("astype", "astype_discrete"):
        return out.dtype.kind == "b" or operands[0].dtype.kind != "f"
    if any(o.dtype.kind == "b" for o in operands) and out.dtype.kind != "i":
        return name in ON_TRUTHS or name in PREDICATES
    return name in NUMBERS or name in PREDICATES or name in BITS or name == "where"


def common_kind(operands: Sequence[Any], out: Spec) -> str:
    """The kind of number that an operation computes with; `operands` are specs, or the types of Python's numbers."""
    if out.dtype.kind != "b":
        return Type.from_dtype(out.dtype).kind
    return Type.from_dtype(np.result_type(*[o.dtype if isinstance(o, Spec) else o(1) for o in operands])).kind


def lowered(name: str, args: Sequence[Lanes], kind: str) -> Lanes:
    """The instructions of an elementwise operation; `kind` is what it computes with."""
    if name == "where":
        condition, x, y = args
        return select(condition, x.to(kind), y.to(kind))
    if kind == "i1" and name in PREDICATES:
        kind = "i8"  # one signed bit would order True before False
    args = [a.to(kind) for a in args]
    if kind == "i1" and name in TRUTHS:
        return TRUTHS[name](*args)
    for table in (NUMBERS, FLOATS, PREDICATES, BITS):
        if name in table:
            return table[name](*args)
    return call(name, *args)
