"""Rosenbrock's valley in ten dimensions: the small problem of every optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

workload = Workload(
    "rosenbrock",
    "Rosenbrock's function of 10 doubles: value and gradient",
    data=lambda n: (np.linspace(0.5, 1.5, n),),
    sizes={"small": 10},
)


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@workload.implementation("wengert")
def wengert(x: np.ndarray) -> Run:
    import wengert as wg

    def run() -> tuple:
        a = wg.tensor(x, requires_grad=True)
        y = rosenbrock(a)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("torch")
def torch(x: np.ndarray) -> Run:
    import torch

    def run() -> tuple:
        a = torch.tensor(x, requires_grad=True)
        y = rosenbrock(a)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("autograd")
def autograd(x: np.ndarray) -> Run:
    import autograd

    value_and_grad = autograd.value_and_grad(rosenbrock)
    return lambda: value_and_grad(x)


@workload.implementation("jax")
def jax(x: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    value_and_grad = jax.jit(jax.value_and_grad(rosenbrock))
    x = jnp.asarray(x)
    return lambda: jax.block_until_ready(value_and_grad(x))


@workload.implementation("numpy")
def numpy(x: np.ndarray) -> Run:
    def run() -> tuple:
        head = x[:-1]
        a, b = x[1:] - head**2, 1 - head
        dx = np.zeros_like(x)
        dx[1:] += 200.0 * a
        dx[:-1] -= 400.0 * a * head + 2.0 * b
        return (100.0 * a**2 + b**2).sum(), dx

    return run
