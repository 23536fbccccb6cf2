"""Values only: numbers in order, their ranks among others, and how many fall into each bin.

Wengert and numba compile the function of NumPy as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

BINS = 64


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(n)


def sort(x: Any) -> tuple:
    """The numbers in order."""
    return (np.sort(x),)


def rank(x: Any, others: Any) -> tuple:
    """How many of some sorted numbers are smaller than each."""
    return (np.searchsorted(others, x),)


def count(x: Any, edges: Any) -> tuple:
    """How many numbers each bin has."""
    return (np.histogram(x, edges)[0],)


def _jax_sort(jnp: Any, x: Any) -> tuple:
    return (jnp.sort(x),)


def _jax_rank(jnp: Any, x: Any, others: Any) -> tuple:
    return (jnp.searchsorted(others, x),)


def _jax_count(jnp: Any, x: Any, edges: Any) -> tuple:
    return (jnp.histogram(x, edges)[0],)


def _torch_sort(torch: Any, x: Any) -> tuple:
    return (torch.sort(x).values,)


def _torch_rank(torch: Any, x: Any, others: Any) -> tuple:
    return (torch.searchsorted(others, x),)


def _torch_count(torch: Any, x: Any, edges: Any) -> tuple:
    return (torch.histogram(x, edges)[0],)


def _workload(
    name: str, what: str, data: Callable[[int], tuple], by_numpy: Callable, by_jax: Callable, by_torch: Callable
) -> Workload:
    made = Workload(
        name,
        f"{what} 10 000 and 1 000 000 numbers: values",
        data=data,
        sizes={"small": 10_000, "large": 1_000_000},
        observe=lambda problem, result: tuple(a.astype(np.float64) for a in result),  # systems count in other dtypes
        subject="wengert compiled",
        family="values only",
        traffic=lambda n: 8 * n,
    )

    @made.implementation("numpy")
    def numpy(*problem: np.ndarray) -> Run:
        return lambda: by_numpy(*problem)

    @made.implementation("wengert compiled")
    def wengert(*problem: np.ndarray) -> Run:
        import wengert as wg

        compiled = wg.compile(by_numpy)
        return lambda: compiled(*problem)

    @made.implementation("numba")
    def numba(*problem: np.ndarray) -> Run:
        import numba

        compiled = numba.njit(by_numpy)
        return lambda: compiled(*problem)

    @made.implementation("jax")
    def jax(*problem: np.ndarray) -> Run:
        import jax

        compiled, arrays = jax.jit(lambda *a: by_jax(jax.numpy, *a)), list(map(jax.numpy.asarray, problem))
        return lambda: jax.block_until_ready(compiled(*arrays))

    @made.implementation("torch")
    def torch(*problem: np.ndarray) -> Run:
        import torch

        arrays = list(map(torch.tensor, problem))
        return lambda: by_torch(torch, *arrays)

    return made


workloads = [
    _workload("sort", "sorting", lambda n: (numbers(n),), sort, _jax_sort, _torch_sort),
    _workload(
        "rank",
        "`searchsorted` in an eighth as many of",
        lambda n: (numbers(n), np.sort(numbers(n)[::8])),
        rank,
        _jax_rank,
        _torch_rank,
    ),
    _workload(
        "histogram",
        f"a histogram with {BINS} bins of",
        lambda n: (numbers(n), np.linspace(-4.0, 4.0, BINS + 1)),
        count,
        _jax_count,
        _torch_count,
    ),
]
