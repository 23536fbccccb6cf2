"""Linear algebra: forms of many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.explain.comparing.digits import Form, digits
from wengert.ops.linear_algebra.cholesky import _cholesky
from wengert.ops.linear_algebra.matrix_functions import _expm
from wengert.ops.linear_algebra.systems import _det, _inv


def on_matrices(function: Callable) -> Form:
    """A function of mpmath and one matrix, on each matrix of a stack."""

    def form(mp: Any, x: Any, **params: Any) -> Any:
        found = [
            np.array(entries(function(mp, mp.matrix(x[place].tolist()))), object) for place in np.ndindex(x.shape[:-2])
        ]
        return np.array(found, object).reshape(x.shape[:-2] + np.shape(found[0]))

    def entries(result: Any) -> Any:
        return result.tolist() if hasattr(result, "tolist") else result

    return form


digits.enter(on_matrices(lambda mp, x: mp.det(x)), _det)
digits.enter(on_matrices(lambda mp, x: mp.inverse(x)), _inv)
digits.enter(on_matrices(lambda mp, x: mp.cholesky(x)), _cholesky)
digits.enter(on_matrices(lambda mp, x: mp.expm(x)), _expm)
