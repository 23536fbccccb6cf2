"""Many small matrices: `solve`, `inv`, `det`, `cholesky`, `eigh` and `qr` of batches, a number made of each, and its
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all

ORDERS = (3, 6)


def solve_data(n: int, order: int) -> tuple:
    """Matrices that are well conditioned, and right-hand sides."""
    rng = np.random.default_rng(0)
    return ([inv_data(n, order)[0], rng.standard_normal((n, order, 1))],)


def inv_data(n: int, order: int) -> tuple:
    return (np.random.default_rng(1).standard_normal((n, order, order)) + 3.0 * np.eye(order),)


def cholesky_data(n: int, order: int) -> tuple:
    """Positive definite matrices, and weights for the entries of their factors."""
    rng = np.random.default_rng(0)
    square = rng.standard_normal((n, order, order))
    return square @ square.swapaxes(1, 2) + np.eye(order), rng.standard_normal((order, order))


def eigh_data(n: int, order: int) -> tuple:
    """Symmetric matrices, whose eigenvalues are distinct."""
    square = np.random.default_rng(2).standard_normal((n, order, order))
    return (square + square.swapaxes(1, 2),)


def solve_loss(params: Any, face: Face) -> Any:
    a, b = params
    return face.numpy.sum(face.numpy.linalg.solve(a, b) ** 2)


def inv_loss(a: Any, face: Face) -> Any:
    return face.numpy.sum(face.numpy.linalg.inv(a) ** 2)


def det_loss(a: Any, face: Face) -> Any:
    return face.numpy.sum(face.numpy.linalg.det(a) ** 2)


def cholesky_loss(a: Any, weights: Any, face: Face) -> Any:
    m = face.numpy
    return m.sum(m.linalg.cholesky((a + m.swapaxes(a, 1, 2)) / 2.0) * weights)


def eigh_loss(a: Any, face: Face) -> Any:
    """An element of exp(-A^2), which does not depend on the signs of the vectors."""
    m = face.numpy
    values, vectors = m.linalg.eigh((a + m.swapaxes(a, 1, 2)) / 2.0)
    return m.sum(vectors[:, 0, :] ** 2 * m.exp(-values * values))


def qr_loss(a: Any, face: Face) -> Any:
    """The logarithm of the last element of R, and the squares of a row of Q: no signs."""
    m = face.numpy
    q, r = m.linalg.qr(a)
    return m.sum(q[:, 0, :] ** 2 * m.log(r[:, -1:, -1] ** 2 + 1.0))


def _workload(name: str, what: str, data: Callable, loss: Callable, order: int) -> Workload:
    made = Workload(
        f"{name}-{order}",
        f"{what} of 1 000 and 100 000 matrices, {order} x {order}: value and gradient",
        data=lambda n: data(n, order),
        sizes={"small": 1_000, "large": 100_000},
        subject="wengert compiled",
        reference="wengert",
        family="linear algebra",
        traffic=lambda n: 8 * n * 2 * order * (order + (name == "solve")),
    )
    write_for_all(made, loss)
    return made


workloads = [
    _workload(name, what, data, loss, order)
    for order in ORDERS
    for name, what, data, loss in (
        ("solve", "the sum of squares of solutions", solve_data, solve_loss),
        ("inv", "the sum of squares of inverses", inv_data, inv_loss),
        ("det", "the sum of squares of determinants", inv_data, det_loss),
        ("cholesky", "the weighted entries of Cholesky factors", cholesky_data, cholesky_loss),
        ("eigh", "functions of eigenvalues and eigenvectors", eigh_data, eigh_loss),
        ("qr", "functions of Q and R", inv_data, qr_loss),
    )
]
