"""`jax.experimental.ode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import as_arrays, to_arrays
from wengert.compat.jax.differences import ABSENT
from wengert.core.errors import user_error
from wengert.core.frozen import frozen

__all__ = ["odeint"]

__getattr__ = without(__name__, ABSENT)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = float("inf"),
    hmax: float = float("inf"),
) -> Any:
    """The solution of y' = func(y, t, *args) at the times t, by the method of Dormand and Prince."""
    if mxstep != float("inf"):
        raise user_error(NotImplementedError, "odeint has no mxstep here", "Leave it out.")
    longest = 0.0 if hmax == float("inf") else hmax  # 0 is no bound
    y0, t = as_arrays(y0), as_arrays(t)
    with frozen():
        found = wg.integrate.odeint(func, y0, t, args, rtol=rtol, atol=atol, method="RK45", hmax=longest)
    is_number = isinstance(y0, wg.Array) and not y0.ndim  # SciPy makes a vector of it
    return to_arrays(found.reshape(t.shape) if is_number else found)
