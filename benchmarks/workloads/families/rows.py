"""Rows of tables: an embedding, and the factorisation of a matrix of which some entries are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all, write_for_jax, write_for_torch, write_for_wengert

WORDS, WIDTH = 10_000, 64
RANK, RATINGS_PER_USER, RATINGS_PER_ITEM = 16, 10, 20


def embedding_data(n: int) -> tuple:
    """The table, and the words."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((WORDS, WIDTH)).astype(np.float32), rng.integers(0, WORDS, n)


def embedding_loss(table: Any, words: Any, face: Face) -> Any:
    return face.numpy.sum(table[words] ** 2)


def embedding_loss_of_torch(table: Any, words: Any, face: Face) -> Any:
    """By PyTorch's function for it, which is faster there than an index."""
    return (face.numpy.nn.functional.embedding(words, table) ** 2).sum()


def factorisation_data(n: int) -> tuple:
    """Factors of users and items; who rated what, and how."""
    rng = np.random.default_rng(0)
    users, items = n // RATINGS_PER_USER, n // RATINGS_PER_ITEM
    factors = [rng.standard_normal((users, RANK)), rng.standard_normal((items, RANK))]
    return factors, rng.integers(0, users, n), rng.integers(0, items, n), rng.standard_normal(n)


def factorisation_loss(params: Any, users: Any, items: Any, ratings: Any, face: Face) -> Any:
    """The squared error, and a penalty on large factors."""
    m = face.numpy
    u, v = params
    error = m.sum(u[users] * v[items], axis=1) - ratings
    return m.sum(error**2) + 0.1 * (m.sum(u**2) + m.sum(v**2))


embedding = Workload(
    "embedding",
    "the sum of squares of 4 096 and 65 536 rows out of a table of 10 000 x 64, float32: value and gradient",
    data=embedding_data,
    sizes={"small": 2**12, "large": 2**16},
    subject="wengert compiled",
    reference="wengert",
    family="gather",
    traffic=lambda n: 4 * WIDTH * (WORDS + 2 * n) + 8 * n,
)
factorisation = Workload(
    "factorisation",
    "a matrix of rank 16 at 10 000 and 200 000 known entries: squared error, and gradients in both factors",
    data=factorisation_data,
    sizes={"small": 10_000, "large": 200_000},
    subject="wengert compiled",
    reference="wengert",
    family="gather",
)
write_for_wengert(embedding, embedding_loss)
write_for_jax(embedding, embedding_loss)
write_for_torch(embedding, embedding_loss_of_torch)
write_for_all(factorisation, factorisation_loss)
