"""Bessel functions.

Each derivative is half a sum or difference of the neighbouring orders, which holds at 0 where J1(x) / x would not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.array import implements
from wengert.core.errors import user_error
from wengert.core.kinds import case, describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import POSITIVE
from wengert.ops.elementwise.complex_numbers import sign
from wengert.ops.special.scipy_functions import (
    constants_for,
    floating_dtype,
    for_each_order,
    of_scipy,
    plain_numbers,
    real_part_of,
    scipy_special,
    with_constants,
)

__all__ = [
    "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1", "jn", "jv", "k0", "k0e", "k1", "k1e", "kn", "kv", "kve", "y0",
    "y1", "yn", "yv",
]  # fmt: skip

CASES = (
    case(np.array([0, 1, 2]), np.array([0.6, 1.5, 3.0])),
    case(np.array([[1], [3]]), np.array([0.8, 1.0, 2.0])),
    case(np.array(2), np.array(1.3)),
    case(np.array(0), np.ones((2, 0))),
)


def _of_order(name: str, rule: Callable) -> Callable:
    return with_constants(name, of_scipy(name), rule, ("v", "x"), ("order v",), CASES)


_jv = _of_order("jv", lambda t, v, x: t * (0.5 * (_jv(v - 1, x) - _jv(v + 1, x))))
_yv = _of_order("yv", lambda t, v, x: t * (0.5 * (_yv(v - 1, x) - _yv(v + 1, x))))
_iv = _of_order("iv", lambda t, v, x: t * (0.5 * (_iv(v - 1, x) + _iv(v + 1, x))))
_kv = _of_order("kv", lambda t, v, x: t * (-0.5 * (_kv(v - 1, x) + _kv(v + 1, x))))


_kve = _of_order("kve", lambda t, v, x, out: t * (out - 0.5 * (_kve(v - 1, x) + _kve(v + 1, x))))


def _scaled_iv(x: Any, v: float) -> Any:
    if np.iscomplexobj(x):
        raise user_error(TypeError, "ive of complex numbers is not in the table: |x| has no complex derivative")
    return scipy_special("ive")(np.asarray(v, real_part_of(floating_dtype(np.asarray(x)))), x)


_ive = elementwise(
    "ive",
    _scaled_iv,
    lambda t, x, out, v: t * (0.5 * (_ive(x, v=v - 1.0) + _ive(x, v=v + 1.0)) - sign(x) * out),
    domain=POSITIVE,
    params={"v": 2.0},
)


def jv(v: Any, z: Any) -> Any:
    """The Bessel function of the first kind, differentiable with respect to z.

    >>> jv(1, [0.5, 1.0])
    array([0.24226846, 0.44005059])
    """
    z = as_operand(z)
    return _jv(*constants_for(z, v), z)


def yv(v: Any, z: Any) -> Any:
    """The Bessel function of the second kind, differentiable with respect to z.

    >>> yv(1, [0.5, 1.0])
    array([-1.47147239, -0.78121282])
    """
    z = as_operand(z)
    return _yv(*constants_for(z, v), z)


def iv(v: Any, z: Any) -> Any:
    """The modified Bessel function of the first kind, differentiable with respect to z.

    >>> iv(1, [0.5, 1.0])
    array([0.25789431, 0.5651591 ])
    """
    z = as_operand(z)
    return _iv(*constants_for(z, v), z)


def kv(v: Any, z: Any) -> Any:
    """The modified Bessel function of the second kind, differentiable with respect to z.

    >>> kv(1, [0.5, 1.0])
    array([1.65644112, 0.60190723])
    """
    z = as_operand(z)
    return _kv(*constants_for(z, v), z)


def ive(v: Any, z: Any) -> Any:
    """iv(v, z) exp(-|z|) of real z, without overflow; differentiable with respect to z.

    >>> ive(1, [0.5, 1000.0]).round(6)
    array([0.156421, 0.012611])
    """
    z = as_operand(z)
    return for_each_order(plain_numbers(v, "ive", "order v"), lambda v: _ive(z, v=float(v)))


def kve(v: Any, z: Any) -> Any:
    """kv(v, z) exp(z), without underflow; differentiable with respect to z.

    >>> kve(1, [0.5, 1000.0])
    array([2.73100971, 0.03964813])
    """
    z = as_operand(z)
    return _kve(*constants_for(z, v), z)


def k0(x: Any) -> Any:
    """The modified Bessel function of the second kind of order 0.

    >>> k0([0.5, 1.0])
    array([0.92441907, 0.42102444])
    """
    return kv(0, x)


def k1(x: Any) -> Any:
    """The modified Bessel function of the second kind of order 1.

    >>> k1([0.5, 1.0])
    array([1.65644112, 0.60190723])
    """
    return kv(1, x)


def k0e(x: Any) -> Any:
    """k0(x) exp(x), without underflow.

    >>> k0e([0.5, 1000.0])
    array([1.52410939, 0.03962832])
    """
    return kve(0, x)


def k1e(x: Any) -> Any:
    """k1(x) exp(x), without underflow.

    >>> k1e([0.5, 1000.0])
    array([2.73100971, 0.03964813])
    """
    return kve(1, x)


jn, yn, kn = jv, yv, kv

j0 = elementwise("j0", of_scipy("j0"), lambda t, x: -t * j1(x), singular={(0.0,): (0.0,)})
j1 = elementwise("j1", of_scipy("j1"), lambda t, x: t * (0.5 * (j0(x) - jv(2, x))), singular={(0.0,): (0.5,)})
y0 = elementwise("y0", of_scipy("y0"), lambda t, x: -t * y1(x), domain=POSITIVE, singular={(0.0,): (np.inf,)})
y1 = elementwise("y1", of_scipy("y1"), lambda t, x: t * (0.5 * (y0(x) - yv(2, x))), domain=POSITIVE)
i0 = implements(np.i0)(elementwise("i0", of_scipy("i0"), lambda t, x: t * i1(x), singular={(0.0,): (0.0,)}))
i1 = elementwise("i1", of_scipy("i1"), lambda t, x: t * (0.5 * (i0(x) + iv(2, x))), singular={(0.0,): (0.5,)})
i0e = elementwise(
    "i0e", of_scipy("i0e"), lambda t, x, out: t * (i1e(x) - sign(x) * out), domain=POSITIVE, singular={(0.0,): (0.0,)}
)
i1e = elementwise(
    "i1e",
    of_scipy("i1e"),
    lambda t, x, out: t * (0.5 * (i0e(x) + _ive(x, v=2.0)) - sign(x) * out),
    domain=POSITIVE,
    singular={(0.0,): (0.5,)},
)


describe(
    {
        j0: "The Bessel function of the first kind of order 0. >>> j0([0.0, 1.0]) -> array([1.        , 0.76519769])",
        j1: "The Bessel function of the first kind of order 1. >>> j1([0.0, 1.0]) -> array([0.        , 0.44005059])",
        y0: "The Bessel function of the second kind of order 0. >>> y0([1.0, 2.0]) -> array([0.08825696, 0.51037567])",
        y1: "The Bessel function of the second kind of order 1. "
        ">>> y1([1.0, 2.0]) -> array([-0.78121282, -0.10703243])",
        i0: "The modified Bessel function of the first kind of order 0. "
        ">>> i0([0.0, 1.0]) -> array([1.        , 1.26606588])",
        i1: "The modified Bessel function of the first kind of order 1. "
        ">>> i1([0.0, 1.0]) -> array([0.       , 0.5651591])",
        i0e: "i0(x) exp(-|x|), without overflow. >>> i0e([0.0, 1000.0]) -> array([1.        , 0.01261724])",
        i1e: "i1(x) exp(-|x|), without overflow. >>> i1e([0.0, 1000.0]) -> array([0.        , 0.01261093])",
    }
)
