"""Bessel functions of integer orders, from those of the orders 0 and 1, which are all that CuPy has.

The recurrence C_(n+1) = 2n/x C_n - C_(n-1) (of I and K with other signs) is stable upward for Y and K; for J and I it
is where x is large beside n. Elsewhere their power series are used, the sum of (-+ x^2/4)^k / (k! (n+k)!) times
(x/2)^n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.device_calls import DeviceCall, device_call
from wengert.core.devices import ArrayLibrary, DeviceArray, device_of
from wengert.core.errors import user_error
from wengert.ops.special.bessel import _iv, _ive, _jv, _kv, _kve, _yv

HIGHEST = 10
"""The highest order, up to which recurrence and series have ten digits or more in double precision."""
TERMS = 45


def for_orders(function: Callable[[ArrayLibrary, int, Any], Any]) -> DeviceCall:
    """What runs a function of one integer order, for one order or an array of them on the CPU."""

    def run(library: ArrayLibrary, v: Any, x: Any) -> Any:
        xp, x = library.numpy, library.numpy.asarray(x)
        orders = None if isinstance(v, DeviceArray) else np.asarray(v)
        if orders is None or (orders % 1).any() or (abs(orders) > HIGHEST).any():
            raise user_error(
                NotImplementedError,
                f"Bessel functions run on the device {device_of(x)!r} for integer orders up to {HIGHEST}, which are "
                f"known on the CPU",
                "Move the argument, x.cpu(), or use other orders.",
            )
        if not orders.ndim:
            return function(library, int(orders), x)
        out: Any = np.nan
        for order in np.unique(orders).tolist():
            out = xp.where(xp.asarray(orders == order), function(library, int(order), x), out)
        return out

    return run


def run_upward(first: Any, second: Any, x: Any, n: int, sign: float, flip: float) -> Any:
    """C_n from C_0 and C_1 by C_(k+1) = sign 2k/x C_k + flip C_(k-1)."""
    if n == 0:
        return first
    for k in range(1, n):
        first, second = second, (sign * 2.0 * k) / x * second + flip * first
    return second


def sum_series(x: Any, n: int, sign: float) -> Any:
    """(x/2)^n times the sum of (sign x^2/4)^k / (k! (n+k)!)."""
    square = (0.25 * sign) * x * x
    total = 0.0 * x + 1.0
    for k in range(TERMS, 0, -1):
        total = 1.0 + square * total / (k * (n + k))
    return total * (0.5 * x) ** n / math.factorial(n)


def oscillating(library: ArrayLibrary, order: int, x: Any) -> Any:
    """J_n; that of -n is (-1)^n J_n."""
    xp, special = library.numpy, library.scipy("special")
    n, near = abs(order), abs(x) < max(4.0, abs(order))
    far = run_upward(special.j0(x), special.j1(x), xp.where(near, 1.0, x), n, 1.0, -1.0)
    return (-1.0) ** (n if order < 0 else 0) * xp.where(near, sum_series(xp.where(near, x, 0.0), n, -1.0), far)


def growing(library: ArrayLibrary, order: int, x: Any, scaled: bool = False) -> Any:
    """I_n, which is that of -n, or exp(-|x|) I_n."""
    xp, special = library.numpy, library.scipy("special")
    n = abs(order)
    near = abs(x) < max(8.0, 2.0 * n)
    small = xp.where(near, x, 0.0)
    low, high = (special.i0e, special.i1e) if scaled else (special.i0, special.i1)
    far = run_upward(low(x), high(x), xp.where(near, 1.0, x), n, -1.0, 1.0)
    series = sum_series(small, n, 1.0)
    return xp.where(near, series * xp.exp(-abs(small)) if scaled else series, far)


def upward_call(low: str, high: str, sign: float, flip: float, mirror: float) -> DeviceCall:
    """What runs a function whose recurrence is stable; that of -n is mirror^n times it."""

    def run(library: ArrayLibrary, order: int, x: Any) -> Any:
        special, n = library.scipy("special"), abs(order)
        found = run_upward(getattr(special, low)(x), getattr(special, high)(x), x, n, sign, flip)
        return mirror ** (n if order < 0 else 0) * found

    return for_orders(run)


device_call.enter(for_orders(oscillating), _jv)
device_call.enter(for_orders(growing), _iv)
device_call.enter(upward_call("y0", "y1", 1.0, -1.0, -1.0), _yv)
device_call.enter(upward_call("k0", "k1", 1.0, 1.0, 1.0), _kv)
device_call.enter(upward_call("k0e", "k1e", 1.0, 1.0, 1.0), _kve)


@device_call(_ive)
def ive_on_device(library: ArrayLibrary, x: Any, v: float) -> Any:
    """exp(-|x|) I_v."""
    return for_orders(lambda library, order, x: growing(library, order, x, True))(library, v, x)
