"""Random draws that are differentiable with respect to their parameters, and counts, which are not.

A draw is the quantile of a probability that the generator chose, and has the derivative of that quantile
(`ops/special/quantile.py`). A `*_draw` takes the number that was drawn and gives it this derivative. The number itself
is never computed again, which is why these operations are not in the table: their value is no function of their
parameters alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from wengert.core.definition import Definition
from wengert.core.kinds import case, keep_params
from wengert.core.primitive import Primitive, as_operand
from wengert.ops.elementwise.arithmetic import sqrt
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import exp
from wengert.ops.elementwise.predicates import sign
from wengert.ops.elementwise.trigonometric import cos, sin
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.reshaping import broadcast_to, expand_dims
from wengert.ops.special.bessel import i0e, i1e
from wengert.ops.special.error import erfcx
from wengert.ops.special.quantile import beta_slope, gamma_slope, t_slope
from wengert.ops.special.scipy_functions import with_constants

NODES = 48
"""Of Gauss's rule, enough for all digits where an exponential falls by no more than DECAY."""
DECAY = 40.0


def draw(name: str, *rules: Callable, inputs: tuple[str, ...]) -> Callable:
    """A draw z as a value that depends on the parameters with which it was made."""
    return Primitive(
        Definition(name=name, impl=lambda z, *_: z, kind="elementwise", inputs=("z", *inputs), rules=(None, *rules))
    ).op


def wald_slope(shape: Any, x: Any) -> Any:
    """The derivative of a quantile x of the inverse Gaussian distribution of mean 1 with respect to its shape.

    With r = sqrt(shape / x) its distribution function is ndtr(r (x - 1)) + exp(2 shape) ndtr(-r (x + 1)). In its
    derivative over the density all that is large cancels, and x / shape - sqrt(2 pi) x erfcx(r (x + 1) / sqrt(2)) / r
    is left.
    """
    r = sqrt(shape / x)
    return x / shape - math.sqrt(2.0 * math.pi) * x * erfcx(r * (x + 1.0) / math.sqrt(2.0)) / r


@cache
def gauss() -> tuple[np.ndarray, np.ndarray]:
    """Points between 0 and 1, and their weights."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    return 0.5 + 0.5 * points, 0.5 * weights


def _reach(kappa: Any, z: Any) -> Any:
    inward = np.cos(z) > scaled_mean(kappa)
    with np.errstate(divide="ignore"):
        outward = np.arccos(np.maximum(np.cos(z) - DECAY / np.asarray(kappa), -1.0))
    return np.where(inward, 0.0, outward).astype(np.result_type(kappa, z))[()]


reach = Primitive(
    Definition(
        name="vonmises_reach",
        impl=_reach,
        kind="nondifferentiable",
        inputs=("kappa", "z"),
        takes_params=True,
        batch=keep_params,
        reason="the integral does not depend on it",
    )
).op
"""Where the integral for the slope may end: at 0, or out where the density is negligible, so that its integrand has one
sign.
"""


def scaled_mean(kappa: Any) -> Any:
    """The mean of cos z."""
    return i1e(kappa) / i0e(kappa)


def vonmises_slope(kappa: Any, z: Any) -> Any:
    """The derivative of a quantile z of the von Mises distribution with respect to kappa.

    That is the integral of (cos u - mean) exp(kappa (cos u - cos z)) from z outwards to pi, which is also that inwards
    to 0, since that from 0 to pi vanishes; for z < 0 it is mirrored.
    """
    kappa, z = as_operand(kappa), as_operand(z)
    start = absolute(z)
    way = expand_dims(reach(kappa, start) - start, -1)
    points, weights = [a.astype(z.dtype) for a in gauss()]
    k, y = expand_dims(kappa, -1), expand_dims(start, -1)
    step = way * points
    height = exp(-2.0 * k * sin(y + 0.5 * step) * sin(0.5 * step))
    mean = expand_dims(scaled_mean(kappa), -1)
    return sign(z) * sum_(way * weights * (cos(y + step) - mean) * height, -1)


gamma_draw = draw("gamma_draw", lambda t, a, out: t * gamma_slope(a, out), inputs=("a",))
beta_draw = draw(
    "beta_draw",
    lambda t, a, b, out: t * beta_slope(a, b, out, (1, 0)),
    lambda t, a, b, out: t * beta_slope(a, b, out, (0, 1)),
    inputs=("a", "b"),
)
t_draw = draw("t_draw", lambda t, df, out: t * t_slope(df, out), inputs=("df",))
wald_draw = draw("wald_draw", lambda t, shape, out: t * wald_slope(shape, out), inputs=("shape",))
vonmises_draw = draw("vonmises_draw", lambda t, kappa, out: t * vonmises_slope(kappa, out), inputs=("kappa",))

counts = with_constants(
    "counts",
    lambda k, x: np.broadcast_to(k, np.broadcast_shapes(k.shape, x.shape)),
    lambda t, out_spec: broadcast_to(t * 0.0, out_spec.shape),
    ("k", "x"),
    ("count k, an integer,",),
    (case(np.array([0, 1, 2]), np.array(0.5)), case(np.array([[3], [4]]), np.array([0.1, 0.2]))),
)
"""Integers k in the precision of x. Probabilities have no derivative with respect to them."""
