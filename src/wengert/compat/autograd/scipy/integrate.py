"""Differential equations: `autograd.scipy.integrate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import integrate as scipy_integrate

from wengert import integrate
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.differences import without
from wengert.core import tree
from wengert.core.array import Array

__all__ = ["odeint"]

__getattr__ = without(__name__, ABSENT)


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...] = (), **kwargs: Any) -> Any:
    """The solution of y' = func(y, t, *args) at the times t: SciPy's of numbers, Wengert's of values.

    >>> odeint(lambda y, t, k: -k * y, [1.0], [0.0, 1.0], (2.0,)).round(4).tolist()
    [[1.0], [0.1353]]
    """
    has_values = any(isinstance(leaf, Array) for leaf in tree.leaves((y0, t, args)))
    return (integrate if has_values else scipy_integrate).odeint(func, y0, t, args, **kwargs)
