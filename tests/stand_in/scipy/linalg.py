"""The stand-in for `cupyx.scipy.linalg`: what is used of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from tests.stand_in.wrapping import on_device


def _solve_stacks(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    if a.ndim == 2:
        return scipy.linalg.solve_triangular(a, b, trans, lower, unit_diagonal)
    if a.shape[:-2] != b.shape[: a.ndim - 2]:
        raise ValueError("incompatible dimensions")
    solve = lambda i: scipy.linalg.solve_triangular(a[i], b[i], trans, lower, unit_diagonal)
    return np.array([solve(i) for i in np.ndindex(a.shape[:-2])]).reshape(b.shape)


solve_triangular = on_device(_solve_stacks)


def _of_one(function: Any) -> Any:
    """A function that takes no stacks."""

    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        if a.ndim != 2:
            raise ValueError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
        return function(a, *args, **kwargs)

    return on_device(run)


lu = _of_one(scipy.linalg.lu)
expm = _of_one(scipy.linalg.expm)
lu_factor, lu_solve = _of_one(scipy.linalg.lu_factor), on_device(scipy.linalg.lu_solve)
