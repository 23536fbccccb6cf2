"""Hutchinson's estimators: the trace and the diagonal of a matrix that can only be multiplied.

For random z with independent elements of mean 0 and variance 1, the mean of z^T A z is the trace of A, and that of z *
(A z) its diagonal. Random signs (Rademacher) have the least variance: only the elements beside the diagonal add to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from wengert.core.errors import user_error
from wengert.structure.operators import hessian_operator


class Estimate(NamedTuple):
    """A mean over random probes: its `value`, the standard error of that, and how many probes there were."""

    value: Any
    standard_error: Any
    probes: int


def hutchinson(
    a: Any,
    x: Any = None,
    *,
    what: str = "trace",
    probes: int = 32,
    rng: Any = None,
    kind: str = "signs",
    chunk_size: int = 16,
) -> Estimate:
    """An estimate of the trace or the diagonal of a square operator `a`.

    If `x` is given, `a` is a scalar function, and its Hessian at `x` is meant. `what` is "trace" or "diagonal", `kind`
    of probes is "signs" or "normal", `rng` a seed or a NumPy generator; `chunk_size` probes are multiplied at once. The
    diagonal of a Hessian is a tree like x.

    >>> hutchinson(lambda x: (x**3).sum(), np.array([1.0, 2.0]), probes=4, rng=0)
    Estimate(value=18.0, standard_error=0.0, probes=4)
    """
    if what not in ("trace", "diagonal") or kind not in ("signs", "normal"):
        raise user_error(
            ValueError,
            f"hutchinson estimates the trace or the diagonal, with signs or normal probes, not {what!r} with {kind!r}",
        )
    if probes < 2:
        raise user_error(ValueError, f"hutchinson needs at least 2 probes to know its error, and was given {probes}")
    operator = as_operator(a, x)
    total = squares = 0.0
    for z in draw_probes(np.random.default_rng(rng), operator.shape[0], probes, kind, chunk_size):
        sample = z * operator.matmat(z)
        sample = sample.sum(axis=0) if what == "trace" else sample
        total, squares = total + sample.sum(axis=-1), squares + (sample * sample).sum(axis=-1)
    mean = np.asarray(total / probes)
    variance = np.maximum(squares / probes - mean * mean, 0.0) * probes / (probes - 1)
    error = np.sqrt(variance / probes)
    if what == "trace":
        return Estimate(float(mean), float(error), probes)
    if callable(getattr(operator, "tree", None)):
        return Estimate(operator.tree(mean), operator.tree(error), probes)
    return Estimate(mean, error, probes)


def draw_probes(rng: np.random.Generator, n: int, probes: int, kind: str, chunk_size: int) -> Iterator[np.ndarray]:
    """The probes as columns, a chunk at a time."""
    for start in range(0, probes, chunk_size):
        shape = n, min(chunk_size, probes - start)
        yield rng.standard_normal(shape) if kind == "normal" else rng.choice([-1.0, 1.0], shape)


def as_operator(a: Any, x: Any) -> Any:
    """The operator that the estimators multiply with."""
    if x is not None:
        if not callable(a) or isinstance(a, LinearOperator):
            raise user_error(TypeError, "hutchinson takes an operator alone, or a function and x")
        return hessian_operator(a, x)
    if callable(a) and not isinstance(a, LinearOperator):
        raise user_error(TypeError, "hutchinson of a function needs x, where its Hessian is taken")
    operator = aslinearoperator(a)
    if operator.shape[0] != operator.shape[1]:
        raise user_error(
            ValueError, f"Only a square matrix has a trace and a diagonal; this one has shape {operator.shape}"
        )
    return operator
