"""`jax.scipy.optimize`: `minimize` by SciPy's methods, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import strip_arrays, to_array
from wengert.compat.jax.differences import ABSENT
from wengert.core.errors import user_error
from wengert.core.frozen import frozen

__all__ = ["OptimizeResults", "minimize"]

__getattr__ = without(__name__, ABSENT)


class OptimizeResults(NamedTuple):
    """Where a minimum was found."""

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A minimum of a function of a vector, by the method "BFGS" or "l-bfgs-experimental-do-not-rely-on-this".

    >>> minimize(lambda x: ((x - 2.0) ** 2).sum(), np.zeros(2), method="BFGS").x
    Array([2., 2.], dtype=float64)
    """
    names = {"BFGS": "BFGS", "l-bfgs-experimental-do-not-rely-on-this": "L-BFGS-B"}
    if method not in names:
        raise user_error(ValueError, f"minimize has the method 'BFGS', not {method!r}", "Or use wengert.optimize.")
    with frozen():
        found = wg.optimize.minimize(
            fun, strip_arrays(x0), strip_arrays(args), method=names[method], tol=tol, options=dict(options or {})
        )
    parts = [found.get(name) for name in OptimizeResults._fields]
    return OptimizeResults(
        *[to_array(np.asarray(part)) if np.ndim(part) or part is not None else None for part in parts]
    )
