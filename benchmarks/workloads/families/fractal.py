"""The set of Mandelbrot: how many steps each point of the plane takes to escape."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

STEPS, BOUND = 50, 4.0


def data(n: int) -> tuple:
    """Real and imaginary parts of the points of a square grid."""
    real, imaginary = np.meshgrid(np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n))
    return real, imaginary


def escape(a: Any, b: Any, m: Any) -> tuple:
    """The steps that each point takes, by arrays: a point that has escaped stays where it is."""
    x, y, steps = a * 0.0, b * 0.0, a * 0.0
    for _ in range(STEPS):
        xx, yy = x * x, y * y
        stays = xx + yy <= BOUND
        x, y = m.where(stays, xx - yy + a, x), m.where(stays, 2.0 * x * y + b, y)
        steps = m.where(stays, steps + 1.0, steps)
    return (steps,)


workload = Workload(
    "mandelbrot",
    f"{STEPS} steps of Mandelbrot's iteration on grids of 128 x 128 and 1 024 x 1 024 points: values",
    data=data,
    sizes={"small": 128, "large": 1_024},
    subject="wengert compiled",
    family="values only",
    flops=lambda n: 7 * STEPS * n * n,
)


@workload.implementation("numpy")
def numpy(*problem: np.ndarray) -> Run:
    return lambda: escape(*problem, np)


@workload.implementation("wengert compiled")
def wengert(*problem: np.ndarray) -> Run:
    import wengert as wg

    compiled = wg.compile(lambda a, b: escape(a, b, np))
    return lambda: compiled(*problem)


@workload.implementation("numba")
def numba(*problem: np.ndarray) -> Run:
    """Point by point: a point that has escaped is done."""
    from numba import njit, prange

    @njit(parallel=True)
    def steps_of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        steps = np.empty(a.shape)
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                x = y = 0.0
                n = 0
                while n < STEPS and x * x + y * y <= BOUND:
                    x, y = x * x - y * y + a[i, j], 2.0 * x * y + b[i, j]
                    n += 1
                steps[i, j] = n
        return steps

    return lambda: (steps_of(*problem),)


@workload.implementation("jax")
def jax(*problem: np.ndarray) -> Run:
    import jax

    compiled = jax.jit(lambda a, b: escape(a, b, jax.numpy))
    arrays = list(map(jax.numpy.asarray, problem))
    return lambda: jax.block_until_ready(compiled(*arrays))


@workload.implementation("torch")
def torch(*problem: np.ndarray) -> Run:
    import torch

    arrays = list(map(torch.tensor, problem))
    return lambda: escape(*arrays, torch)
