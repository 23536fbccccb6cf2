"""Complex numbers and absolute values: parts, conjugate, angle, sign."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.facts import CHEAP, Facts
from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import POSITIVE, _infinite_if_zero, copysign, where
from wengert.ops.elementwise.predicates import equal, isinf, isnan
from wengert.ops.elementwise.predicates import sign as _sign
from wengert.ops.elementwise.trigonometric import rad2deg

__all__ = ["abs", "absolute", "angle", "conj", "conjugate", "fabs", "imag", "nan_to_num", "real", "sign"]

absolute = elementwise(
    "absolute",
    np.absolute,
    lambda t, x: t * sign(x) if x.dtype.kind != "c" else t * conj(x) * (1.0 / _infinite_if_zero(absolute(x))),
    real_output=True,
    domain=POSITIVE,
    singular={(0.0,): (0.0,), (-2.0,): (-1.0,)},
    facts=CHEAP,
)
fabs = elementwise("fabs", np.fabs, lambda t, x: t * sign(x), domain=POSITIVE, singular={(0.0,): (0.0,)}, facts=CHEAP)


@implements(np.sign)
def sign(x: Any, /) -> Any:
    """-1, 0 or 1; for complex numbers x / abs(x).

    >>> sign([-2.0, 0.0, 3.0])
    array([-1.,  0.,  1.])
    """
    if as_operand(x).dtype.kind != "c" or not (isinstance(x, Array) and x.has_derivative):
        return _sign(x)
    is_infinite = isinf(absolute(x))
    finite = where(is_infinite, 0.0, x)
    size = _infinite_if_zero(absolute(finite))  # by which both parts are divided: its reciprocal may overflow
    return where(is_infinite, _sign_of_infinite(real(x), imag(x)), real(finite) / size + 1j * (imag(finite) / size))


def _sign_of_infinite(x: Any, y: Any) -> Any:
    """The sign of x + yi if one of them is infinite, as in NumPy: along the axis of that one, NaN if both are."""
    is_real, other = isinf(x), where(isinf(y), math.nan, 0.0).astype(x.dtype, copy=False)
    return where(is_real, copysign(1.0, x) + other, 0.0) + 1j * where(is_real, other, copysign(1.0, y))


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """x with NaN and infinities replaced; no gradient flows through replaced elements.

    >>> nan_to_num([1.0, np.nan, np.inf], posinf=9.0)
    array([1., 0., 9.])
    """
    x = as_operand(x)
    if x.dtype.kind == "c":
        return nan_to_num(real(x), copy, nan, posinf, neginf) + 1j * nan_to_num(imag(x), copy, nan, posinf, neginf)
    if x.dtype.kind != "f":
        return x.copy()
    largest = float(np.finfo(x.dtype).max)
    finite = where(equal(x, math.inf), largest if posinf is None else posinf, x)
    finite = where(equal(x, -math.inf), -largest if neginf is None else neginf, finite)
    return where(isnan(x), nan, finite).astype(x.dtype, copy=False)


# Complex numbers

conj = elementwise("conj", np.conj, lambda t: conj(t), facts=Facts(cost=0, exact=True))
real = elementwise("real", np.real, lambda t: t, real_output=True, facts=Facts(moves=True, cost=0, exact=True))
imag = elementwise("imag", np.imag, lambda t: t * -1j, real_output=True, facts=Facts(moves=True, cost=1, exact=True))
_angle = elementwise(
    "angle",
    np.angle,
    lambda t, x: t * -1j * conj(x) * (1.0 / _infinite_if_zero(real(x * conj(x)))),
    real_output=True,
    domain=POSITIVE,
    singular={(0.0,): (0.0,)},
)
implements(np.real)(real)
implements(np.imag)(imag)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """The argument of a complex number; its derivative at 0 is taken as 0.

    >>> angle([1.0j, -1.0], deg=True)
    array([ 90., 180.])
    """
    return rad2deg(_angle(z)) if deg else _angle(z)


describe(
    {
        absolute: "The absolute value of x, or the modulus of a complex number; its derivative at 0 is taken as 0. "
        ">>> absolute([-1.5, 3.0 + 4.0j]) -> array([1.5, 5. ])",
        fabs: "The absolute value of real x; its derivative at 0 is taken as 0. "
        ">>> fabs([-1.5, 2.0]) -> array([1.5, 2. ])",
        conj: "The complex conjugate of x. >>> conj([1.0 + 2.0j]) -> array([1.-2.j])",
        real: "The real part of x. >>> real([1.0 + 2.0j]) -> array([1.])",
        imag: "The imaginary part of x. >>> imag([1.0 + 2.0j]) -> array([2.])",
    }
)


# Other names

abs = absolute
conjugate = conj
