"""Derivatives that are mostly zeros: the Jacobian of a reaction with diffusion on a torus, and Hessians with a few
dense rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

ALPHA, DENSE = 10.0, 16


def points(n: int) -> tuple[np.ndarray]:
    return (np.random.default_rng(0).normal(size=n),)


def entries(problem: tuple, result: tuple) -> tuple:
    """The sum of all entries, weighed by their indices: of a dense matrix, or of a sparse one."""
    matrix = result[0]
    if matrix.ndim == 2:
        rows, columns = np.nonzero(matrix)
        matrix = np.stack([rows, columns, matrix[rows, columns]])
    else:
        matrix = matrix.reshape(3, -1)
    rows, columns, values = matrix[:, matrix[2] != 0]
    return np.bincount(rows.astype(int), values), np.bincount(columns.astype(int), values)


brusselator = Workload(
    "brusselator",
    "the Jacobian of the Brusselator on a periodic grid of 32 x 32 points, compiled: 2048 x 2048, 12288 entries",
    data=lambda side: points(2 * side * side),
    sizes={"medium": 32},
    targets={"medium": {"jax": 1 / 100}},
    observe=entries,
    subject="wengert compiled",
)
arrowhead = Workload(
    "arrowhead",
    f"the Hessian of a function that couples {DENSE} variables with all, compiled",
    data=points,
    sizes={"small": 200, "medium": 800},
    observe=entries,
    subject="wengert compiled",
)
workloads = (brusselator, arrowhead)


def reaction(x: Any, np: Any = np) -> Any:
    side = int(round((x.size / 2) ** 0.5))
    u, v = x.reshape(2, side, side)
    laplacian = lambda w: np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1) - 4.0 * w
    h = (side - 1.0) ** 2
    du = 1.0 + u**2 * v - 4.4 * u + ALPHA * h * laplacian(u)
    dv = 3.4 * u - u**2 * v + ALPHA * h * laplacian(v)
    return np.stack([du, dv]).reshape(-1)


def coupled(x: Any, np: Any = np) -> Any:
    return np.sum(np.sin(x[:DENSE, None] * x)) + np.sum(x**4)


def triples(matrix: Any) -> np.ndarray:
    """A sparse matrix as rows, columns and values."""
    coo = matrix.tocoo()
    return np.stack([coo.row, coo.col, coo.data]).reshape(-1)


@brusselator.implementation("wengert compiled")
def wengert_reaction(x: np.ndarray) -> Run:
    return sparse("sparse_jacobian", reaction, x)


@arrowhead.implementation("wengert compiled")
def wengert_coupled(x: np.ndarray) -> Run:
    return sparse("sparse_hessian", coupled, x)


def sparse(name: str, f: Any, x: np.ndarray) -> Run:
    import wengert as wg

    derivative = wg.compile(getattr(wg, name)(f))

    class Result:
        """Read only when results are compared, so that what is timed ends with the matrix."""

        def __init__(self) -> None:
            self.matrix = derivative(x)

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return triples(self.matrix)

    return lambda: (Result(),)


@brusselator.implementation("jax")
def jax_reaction(x: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    jacobian = jax.jit(jax.jacfwd(lambda x: reaction(x, jnp)))
    x = jnp.asarray(x)
    return lambda: (jacobian(x).block_until_ready(),)


@arrowhead.implementation("jax")
def jax_coupled(x: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    hessian = jax.jit(jax.hessian(lambda x: coupled(x, jnp)))
    x = jnp.asarray(x)
    return lambda: (hessian(x).block_until_ready(),)


@brusselator.implementation("numpy")
def numpy_reaction(x: np.ndarray) -> Run:
    """By hand: the derivative of the reaction on four diagonals, and that of the diffusion, which is constant."""
    n = x.size // 2
    side = int(round(n**0.5))
    cells = np.arange(n).reshape(side, side)
    diffusion = -4.0 * np.eye(n)
    for axis in (0, 1):
        for step in (1, -1):
            diffusion[cells.reshape(-1), np.roll(cells, step, axis).reshape(-1)] += 1.0
    diffusion *= ALPHA * (side - 1.0) ** 2

    def run() -> tuple:
        u, v = x.reshape(2, n)
        uu, uv = np.diag(2.0 * u * v), np.diag(u**2)
        one = np.eye(n)
        return (np.block([[uu - 4.4 * one + diffusion, uv], [3.4 * one - uu, diffusion - uv]]),)

    return run


@arrowhead.implementation("numpy")
def numpy_coupled(x: np.ndarray) -> Run:
    """By hand, from the derivatives of sin(a b) in a and b."""

    def run() -> tuple:
        n, a = x.size, x[:DENSE, None]
        sines, cosines = np.sin(a * x), np.cos(a * x)
        mixed = cosines - a * x * sines
        second = np.zeros((n, n))
        second[:DENSE] += mixed
        second[:, :DENSE] += mixed.T
        diagonal = 12.0 * x**2 - np.sum(a**2 * sines, axis=0)
        diagonal[:DENSE] -= np.sum(x**2 * sines, axis=1)
        second[np.arange(n), np.arange(n)] += diagonal
        return (second,)

    return run
