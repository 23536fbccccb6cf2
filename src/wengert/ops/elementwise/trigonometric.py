"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.array import implements
from wengert.core.devices import as_payload
from wengert.core.facts import FLAT
from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import sqrt
from wengert.ops.elementwise.choices import POSITIVE, UNIT, _infinite_if_zero
from wengert.ops.elementwise.exponential import PI

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
    "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "hypot", "rad2deg", "radians", "sin", "sinc",
    "sinh", "tan", "tanh",
]  # fmt: skip

# Trigonometric and hyperbolic functions, and their inverses

sin = elementwise("sin", np.sin, lambda t, x: t * cos(x))
cos = elementwise("cos", np.cos, lambda t, x: -t * sin(x))
tan = elementwise("tan", np.tan, lambda t, out: t * (1.0 + out * out), domain=(-1.2, 1.2))
arcsin = elementwise("arcsin", np.arcsin, lambda t, x: t / sqrt(1.0 - x * x), domain=UNIT)
arccos = elementwise("arccos", np.arccos, lambda t, x: -t / sqrt(1.0 - x * x), domain=UNIT)
arctan = elementwise("arctan", np.arctan, lambda t, x: t / (1.0 + x * x), facts=FLAT)
sinh = elementwise("sinh", np.sinh, lambda t, x: t * cosh(x))
cosh = elementwise("cosh", np.cosh, lambda t, x: t * sinh(x))
tanh = elementwise("tanh", np.tanh, lambda t, out: t * (1.0 - out * out), facts=FLAT)
arcsinh = elementwise("arcsinh", np.arcsinh, lambda t, x: t / sqrt(1.0 + x * x))
arccosh = elementwise("arccosh", np.arccosh, lambda t, x: t / sqrt(x * x - 1.0), domain=(1.2, 4.0))
arctanh = elementwise("arctanh", np.arctanh, lambda t, x: t / (1.0 - x * x), domain=UNIT)
arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    lambda t, x, y: t * y / _infinite_if_zero(x * x + y * y),
    lambda t, x, y: -t * x / _infinite_if_zero(x * x + y * y),
    domain=(POSITIVE, (-2.0, 2.0)),
    singular={(0.0, 0.0): (0.0, 0.0)},
)
hypot = elementwise(
    "hypot",
    np.hypot,
    lambda t, x, out: t * x / _infinite_if_zero(out),
    lambda t, y, out: t * y / _infinite_if_zero(out),
    domain=(POSITIVE, (-2.0, 2.0)),
    singular={(0.0, 0.0): (0.0, 0.0)},
)
deg2rad = elementwise("deg2rad", np.deg2rad, lambda t: t * (PI / 180.0))
rad2deg = elementwise("rad2deg", np.rad2deg, lambda t: t * (180.0 / PI))
implements(np.radians)(deg2rad)
implements(np.degrees)(rad2deg)


def _sinc_derivative(x: Any, order: int) -> Any:
    """The derivative of sin(pi x) / (pi x).

    It is a Taylor series near 0, and elsewhere the recurrence from x * sinc(x) = sin(pi x) / pi.
    """
    if order == 0:
        return np.sinc(x)
    x = as_payload(x)
    near = np.abs(x) < 1.0 + order / 4.0
    far = np.where(near, 1.0, x)
    value = np.sinc(far)
    for n in range(1, order + 1):
        value = (PI ** (n - 1) * np.sin(PI * far + n * PI / 2.0) - n * value) / far
    series = np.zeros_like(value)
    small = np.where(near, x, 0.0)
    for k in range((order + 1) // 2, (order + 1) // 2 + 20 + 2 * order):
        power_ = 2 * k - order
        coefficient = (-1) ** k * PI ** (2 * k) / (2 * k + 1) / math.factorial(power_)
        series = series + coefficient * small**power_
    return np.where(near, series, value).astype(x.dtype)[()]


_sinc = elementwise("sinc", _sinc_derivative, lambda t, x, order: t * _sinc(x, order=order + 1), params={"order": 0})


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), smooth at 0 together with all its derivatives.

    >>> sinc([0.0, 0.5])
    array([1.        , 0.63661977])
    """
    return _sinc(as_operand(x), order=0)


describe(
    {
        sin: "The sine of x, an angle in radians. >>> sin([0.0, 1.0]) -> array([0.        , 0.84147098])",
        cos: "The cosine of x, an angle in radians. >>> cos([0.0, 1.0]) -> array([1.        , 0.54030231])",
        tan: "The tangent of x, an angle in radians. >>> tan([0.0, 1.0]) -> array([0.        , 1.55740772])",
        arcsin: "The angle in [-pi/2, pi/2] whose sine is x. >>> arcsin([0.0, 1.0]) -> array([0.        , 1.57079633])",
        arccos: "The angle in [0, pi] whose cosine is x. >>> arccos([0.0, 1.0]) -> array([1.57079633, 0.        ])",
        arctan: "The angle in (-pi/2, pi/2) whose tangent is x. "
        ">>> arctan([0.0, 1.0]) -> array([0.        , 0.78539816])",
        sinh: "The hyperbolic sine of x. >>> sinh([0.0, 1.0]) -> array([0.        , 1.17520119])",
        cosh: "The hyperbolic cosine of x. >>> cosh([0.0, 1.0]) -> array([1.        , 1.54308063])",
        tanh: "The hyperbolic tangent of x. >>> tanh([0.0, 1.0]) -> array([0.        , 0.76159416])",
        arcsinh: "The number whose hyperbolic sine is x. >>> arcsinh([0.0, 1.0]) -> array([0.        , 0.88137359])",
        arccosh: "The number >= 0 whose hyperbolic cosine is x. "
        ">>> arccosh([1.0, 2.0]) -> array([0.       , 1.3169579])",
        arctanh: "The number whose hyperbolic tangent is x. >>> arctanh([0.0, 0.5]) -> array([0.        , 0.54930614])",
        arctan2: "The angle in (-pi, pi] whose tangent is x / y, in the quadrant that their signs give. "
        ">>> arctan2([0.0, 1.0], [-1.0, 1.0]) -> array([3.14159265, 0.78539816])",
        hypot: "sqrt(x ** 2 + y ** 2), without overflow. "
        ">>> hypot([3.0, 1e200], [4.0, 0.0]) -> array([5.e+000, 1.e+200])",
        deg2rad: "Degrees to radians. >>> deg2rad([0.0, 180.0]) -> array([0.        , 3.14159265])",
        rad2deg: "Radians to degrees. >>> rad2deg([0.0, np.pi]) -> array([  0., 180.])",
    }
)


# Other names

acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
degrees = rad2deg
radians = deg2rad
