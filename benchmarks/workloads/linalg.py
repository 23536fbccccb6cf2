"""Factorisations of matrices: a number made of each, and its gradient.

The numbers do not depend on the signs of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workload import Run, Workload

SIZES = {"small": 10, "medium": 100, "large": 500}


class Problem(NamedTuple):
    """A matrix, and vectors that the loss is made with."""

    matrix: np.ndarray
    vectors: np.ndarray


def _orthogonal(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def positive(n: int) -> Problem:
    """Eigenvalues well apart, from 1 to 3, and an antisymmetric part that the loss must not see."""
    rng = np.random.default_rng(0)
    q, noise = _orthogonal(rng, n), rng.standard_normal((n, n))
    return Problem((q * np.linspace(1.0, 3.0, n)) @ q.T + 0.1 * (noise - noise.T), rng.standard_normal((3, n)))


def general(n: int) -> Problem:
    """Singular values well apart, from 3 to 1."""
    rng = np.random.default_rng(0)
    return Problem((_orthogonal(rng, n) * np.linspace(3.0, 1.0, n)) @ _orthogonal(rng, n), rng.standard_normal((4, n)))


def cholesky_loss(xp: Any, a: Any, vectors: Any) -> Any:
    u, v = vectors[0], vectors[1]
    return u @ (xp.linalg.cholesky((a + a.T) / 2.0) @ v)


def solve_loss(xp: Any, a: Any, vectors: Any) -> Any:
    u, v = vectors[0], vectors[1]
    return u @ xp.linalg.solve(a, v)


def eigh_loss(xp: Any, a: Any, vectors: Any) -> Any:
    """Weights of the eigenvalues, and of squared projections on their vectors."""
    values, basis = xp.linalg.eigh((a + a.T) / 2.0)
    return vectors[0] @ values + vectors[1] @ (vectors[2] @ basis) ** 2


def svd_loss(xp: Any, a: Any, vectors: Any) -> Any:
    left, values, right = xp.linalg.svd(a, full_matrices=False)
    return vectors[0] @ values + vectors[1] @ ((vectors[2] @ left) * (right @ vectors[3]))


def cholesky_by_hand(a: np.ndarray, vectors: np.ndarray) -> tuple:
    u, v, _ = vectors
    factor = np.linalg.cholesky((a + a.T) / 2.0)
    inner = np.tril(factor.T @ np.outer(u, v))
    inner[np.diag_indices(len(a))] /= 2.0
    inverse = np.linalg.inv(factor)
    pulled = inverse.T @ inner @ inverse
    return u @ (factor @ v), (pulled + pulled.T) / 2.0


def solve_by_hand(a: np.ndarray, vectors: np.ndarray) -> tuple:
    u, v = vectors[:2]
    x = np.linalg.solve(a, v)
    return u @ x, -np.outer(np.linalg.solve(a.T, u), x)


def eigh_by_hand(a: np.ndarray, vectors: np.ndarray) -> tuple:
    c, d, u = vectors
    w, v = np.linalg.eigh((a + a.T) / 2.0)
    along = u @ v
    differences = w - w[:, None]
    np.fill_diagonal(differences, np.inf)
    inner = np.outer(along, 2.0 * d * along) / differences
    pulled = v @ (inner + np.diag(c)) @ v.T
    return c @ w + d @ along**2, (pulled + pulled.T) / 2.0


def svd_by_hand(a: np.ndarray, vectors: np.ndarray) -> tuple:
    c, d, p, q = vectors
    u, s, vh = np.linalg.svd(a)
    left, right = p @ u, vh @ q
    by_u, by_v = np.outer(left, d * right), np.outer(right, d * left)
    squares = s**2 - (s**2)[:, None]
    np.fill_diagonal(squares, np.inf)
    skew_u, skew_v = (by_u - by_u.T) / squares, (by_v - by_v.T) / squares
    return c @ s + d @ (left * right), u @ (skew_u * s + s[:, None] * skew_v + np.diag(c)) @ vh


class Factorisation(NamedTuple):
    """A loss in the functions of a namespace, `xp`, and the same with its gradient, by hand."""

    statement: str
    data: Callable[[int], Problem]
    loss: Callable[[Any, Any, Any], Any]
    by_hand: Callable[[np.ndarray, np.ndarray], tuple]


FACTORISATIONS = {
    "cholesky": Factorisation(
        "u L v with the Cholesky factor L of (a + a.T) / 2", positive, cholesky_loss, cholesky_by_hand
    ),
    "solve": Factorisation("u x with a x = v", general, solve_loss, solve_by_hand),
    "eigh": Factorisation(
        "weighted eigenvalues and squared projections on eigenvectors", positive, eigh_loss, eigh_by_hand
    ),
    "svd": Factorisation(
        "weighted singular values and products of projections on singular vectors", general, svd_loss, svd_by_hand
    ),
}


class Runs(NamedTuple):
    """The function alone, on values of the system's own, and the function with its gradient."""

    function: Run
    gradient: Run


def wengert(loss: Callable, a: np.ndarray, vectors: np.ndarray) -> Runs:
    import wengert as wg

    plain = wg.tensor(a)

    def gradient() -> tuple:
        x = wg.tensor(a, requires_grad=True)
        value = loss(np, x, vectors)
        value.backward()
        return value, x.grad

    return Runs(lambda: (loss(np, plain, vectors),), gradient)


def wengert_compiled(loss: Callable, a: np.ndarray, vectors: np.ndarray) -> Runs:
    import wengert as wg

    function = wg.compile(lambda a: loss(np, a, vectors))
    gradient = wg.compile(wg.value_and_grad(lambda a: loss(np, a, vectors)))
    return Runs(lambda: (function(a),), lambda: gradient(a))


def torch(loss: Callable, a: np.ndarray, vectors: np.ndarray) -> Runs:
    import torch

    plain, weights = torch.tensor(a), torch.tensor(vectors)

    def gradient() -> tuple:
        x = plain.detach().requires_grad_()
        value = loss(torch, x, weights)
        value.backward()
        return value, x.grad

    return Runs(lambda: (loss(torch, plain, weights),), gradient)


def autograd(loss: Callable, a: np.ndarray, vectors: np.ndarray) -> Runs:
    import autograd
    import autograd.numpy as anp

    value_and_grad = autograd.value_and_grad(lambda a: loss(anp, a, vectors))
    return Runs(lambda: (loss(np, a, vectors),), lambda: value_and_grad(a))


def jax(loss: Callable, a: np.ndarray, vectors: np.ndarray) -> Runs:
    import jax
    import jax.numpy as jnp

    function = jax.jit(lambda a, vectors: loss(jnp, a, vectors))
    gradient = jax.jit(jax.value_and_grad(lambda a, vectors: loss(jnp, a, vectors)))
    x, weights = jnp.asarray(a), jnp.asarray(vectors)
    return Runs(
        lambda: (jax.block_until_ready(function(x, weights)),), lambda: jax.block_until_ready(gradient(x, weights))
    )


EAGER: dict[str, Callable[..., Runs]] = {"wengert": wengert, "torch": torch, "autograd": autograd, "jax": jax}
RUNS = EAGER | {"wengert compiled": wengert_compiled}


def runs(name: str, system: str, size: int) -> Runs:
    """One factorisation at one size by one system."""
    factorisation = FACTORISATIONS[name]
    return RUNS[system](factorisation.loss, *factorisation.data(size))


def _workload(name: str, factorisation: Factorisation) -> Workload:
    made = Workload(name, f"{factorisation.statement}, and its gradient", data=factorisation.data, sizes=SIZES)
    for system, prepare in EAGER.items():
        made.implementation(system)(
            lambda a, vectors, prepare=prepare: prepare(factorisation.loss, a, vectors).gradient
        )
    made.implementation("numpy")(lambda a, vectors: lambda: factorisation.by_hand(a, vectors))
    return made


workloads: Sequence[Workload] = [_workload(name, factorisation) for name, factorisation in FACTORISATIONS.items()]
