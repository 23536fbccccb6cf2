"""Floating-point numbers taken apart (integer and fractional part, powers of two), bits, and common divisors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import implements
from wengert.core.errors import user_error
from wengert.core.kinds import case, describe, elementwise, general, keep_params, nondifferentiable
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.complex_numbers import absolute, imag, real
from wengert.ops.elementwise.predicates import BITS, STEPS, bitwise_and, left_shift, less, not_equal, right_shift, trunc
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.reductions.logical import all as all_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.samples.sorting import sort
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import pad
from wengert.ops.shape.reshaping import expand_dims, moveaxis, ravel, reshape

__all__ = [
    "bitwise_count", "frexp", "gcd", "lcm", "ldexp", "modf", "packbits", "real_if_close", "sort_complex", "spacing",
    "unpackbits",
]  # fmt: skip

# Fractions and powers of two

_fraction = elementwise("fraction", lambda x: np.modf(x)[0], lambda t: t, domain=(0.1, 0.9), singular={(2.0,): (1.0,)})


@implements(np.modf)
def modf(x: Any, /) -> tuple:
    """The fractional part, which has the derivative of x, and the integral part, which has none.

    >>> modf(-2.5)
    (np.float64(-0.5), np.float64(-2.0))
    """
    x = as_operand(x)
    x = x if x.dtype.kind in "fc" else astype(x, float)
    return _fraction(x), trunc(x)


def _scale(x: Any, exponent: Any) -> Any:
    if np.iscomplexobj(x):
        return np.ldexp(np.real(x), exponent) + 1j * np.ldexp(np.imag(x), exponent)
    return np.ldexp(x, exponent)


_ldexp: Any = general(
    "ldexp",
    _scale,
    lambda t, exponent: _ldexp(t, exponent),
    None,
    inputs=("x", "exponent"),
    jvps=(lambda t, exponent: _ldexp(t, exponent), None),
    batch=keep_params,
    spec=lambda x, exponent: Spec(
        np.broadcast_shapes(x.shape, exponent.shape), _scale(*[np.ones((), v.dtype) for v in (x, exponent)]).dtype
    ),
    cases=(
        case((3,), np.array([0, -2, 5])),
        case((2, 1), np.array([1, 2, 3])),
        case((), np.array(-1)),
        case((0, 2), np.array([4])),
    ),
)


@implements(np.ldexp)
def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 times 2 to the power of the integer x2, exactly; differentiable with respect to x1.

    >>> ldexp(0.75, 3)
    np.float64(6.0)
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    if x2.dtype.kind not in "iub":
        raise user_error(TypeError, f"ldexp needs an integer exponent, and got {x2.dtype}", "Use x1 * 2.0**x2.")
    return _ldexp(x1 if x1.dtype.kind in "fc" else astype(x1, float), x2)


_exponent = nondifferentiable("exponent", lambda x: np.frexp(x)[1], batch=keep_params, reason=STEPS)
_mantissa = elementwise("mantissa", lambda x: np.frexp(x)[0], lambda t, x: _ldexp(t, -_exponent(x)), domain=(1.1, 1.9))


@implements(np.frexp)
def frexp(x: Any, /) -> tuple:
    """The mantissa, which has a derivative, and the integer exponent of 2, which has none; the inverse of `ldexp`.

    >>> frexp(6.0)
    (np.float64(0.75), np.int32(3))
    """
    x = as_operand(x)
    x = x if x.dtype.kind in "fc" else astype(x, float)
    return _mantissa(x), _exponent(x)


spacing = nondifferentiable("spacing", np.spacing, reason=STEPS)

# Integers and bits

_PAIRS = (case(np.array([4, 6, 0]), np.array([[6], [9]])), case(np.array(12), np.array(18)))
gcd = nondifferentiable("gcd", np.gcd, 2, domain=None, cases=_PAIRS, reason="works on integers")
lcm = nondifferentiable("lcm", np.lcm, 2, domain=None, cases=_PAIRS, reason="works on integers")
bitwise_count = nondifferentiable(
    "bitwise_count", np.bitwise_count, domain=None, cases=(case(np.array([0, 5, 255])),), reason=BITS
)

# The bits of a byte, from the first or from the last.
_SHIFTS = {"big": np.arange(7, -1, -1, dtype=np.uint8), "little": np.arange(8, dtype=np.uint8)}


def _bytes_along(name: str, a: Any, axis: int | None, bitorder: str) -> tuple[Any, int, Any]:
    """Integers with the axis of their bits moved to the end, its old index, and the shift of each bit in a byte."""
    a = as_operand(a)
    if a.dtype.kind not in "iub" or (name == "unpackbits" and a.dtype != np.uint8):
        wanted = "uint8" if name == "unpackbits" else "integers or booleans"
        raise user_error(TypeError, f"{name} is for {wanted}, and got {a.dtype}")
    if bitorder not in _SHIFTS:
        raise user_error(ValueError, f"'bitorder' must be 'little' or 'big', not {bitorder!r}")
    a, axis = (ravel(a), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))
    return moveaxis(a, axis, -1), axis, numpy_of(a).asarray(_SHIFTS[bitorder])


@implements(np.packbits)
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    """The elements that are not zero as the bits of bytes, the last byte filled up with zeros.

    >>> packbits([1, 0, 1])
    array([160], dtype=uint8)
    """
    a, axis, shifts = _bytes_along("packbits", a, axis, bitorder)
    bits = pad(astype(not_equal(a, 0), np.uint8), [(0, 0)] * (a.ndim - 1) + [(0, -a.shape[-1] % 8)])
    bits = reshape(bits, (*a.shape[:-1], bits.shape[-1] // 8, 8))
    return moveaxis(sum_(left_shift(bits, shifts), -1, np.uint8), -1, axis)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """The bits of bytes, as zeros and ones.

    All of them, the first `count`, or without the last ones if `count` is negative.

    >>> unpackbits(np.array([160], np.uint8), count=4)
    array([1, 0, 1, 0], dtype=uint8)
    """
    a, axis, shifts = _bytes_along("unpackbits", a, axis, bitorder)
    bits = bitwise_and(right_shift(expand_dims(a, -1), shifts), np.uint8(1))
    bits = reshape(bits, (*a.shape[:-1], 8 * a.shape[-1]))
    if count is not None:
        more = max(count - bits.shape[-1], 0)
        bits = getitem(pad(bits, [(0, 0)] * (a.ndim - 1) + [(0, more)]), (..., slice(count)))
    return moveaxis(bits, -1, axis)


# Complex numbers


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part, if all imaginary parts are within `tol` times the precision, or within `tol` if that is at most 1.

    Else a itself.

    >>> real_if_close([1.0 + 1e-16j])
    array([1.])
    """
    a = as_operand(a)
    if a.dtype.kind != "c":
        return a
    limit = tol * float(np.finfo(a.dtype).eps) if tol > 1 else tol
    return real(a) if bool(all_(less(absolute(imag(a)), limit))) else a


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """An array sorted by real part, then by imaginary part, along the last axis; always complex.

    >>> sort_complex([2.0, 1.0])
    array([1.+0.j, 2.+0.j])
    """
    a = sort(as_operand(a))
    if a.dtype.kind == "c":
        return a
    return astype(a, np.complex64 if a.dtype.kind in "iu" and a.dtype.itemsize <= 2 else np.complex128)


describe(
    {
        spacing: "The distance from x to the next floating-point number. >>> spacing([1.0]) -> array([2.22044605e-16])",
        gcd: "The greatest common divisor. >>> gcd([12, 20], 8) -> array([4, 4])",
        lcm: "The least common multiple. >>> lcm([4, 6], 10) -> array([20, 30])",
        bitwise_count: "The number of bits that are set in the absolute value of x. "
        ">>> bitwise_count([7, 8]) -> array([3, 1], dtype=uint8)",
    }
)
