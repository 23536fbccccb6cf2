"""One elementwise expression on small, medium and large arrays: memory traffic and mathematical functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

workload = Workload(
    "elementwise",
    "tanh(sin(x) * x + exp(-x**2)) * log(1 + x**2), summed: value and gradient, 1 000, 100 000 and 2 000 000 doubles",
    data=lambda n: (np.random.default_rng(0).standard_normal(n),),
    sizes={"small": 1_000, "medium": 100_000, "large": 2_000_000},
    targets={"large": {"autograd": 0.60}},
)


def expression(x: Any, m: Any) -> Any:
    return (m.tanh(m.sin(x) * x + m.exp(-(x**2))) * m.log(1 + x**2)).sum()


@workload.implementation("wengert")
def wengert(x: np.ndarray) -> Run:
    import wengert as wg

    a = wg.tensor(x, requires_grad=True)

    def run() -> tuple:
        a.grad = None
        y = expression(a, wg)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("torch")
def torch(x: np.ndarray) -> Run:
    import torch

    a = torch.tensor(x, requires_grad=True)

    def run() -> tuple:
        a.grad = None
        y = expression(a, torch)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("autograd")
def autograd(x: np.ndarray) -> Run:
    import autograd
    import autograd.numpy as anp

    value_and_grad = autograd.value_and_grad(lambda a: expression(a, anp))
    return lambda: value_and_grad(x)


@workload.implementation("jax")
def jax(x: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    value_and_grad = jax.jit(jax.value_and_grad(lambda a: expression(a, jnp)))
    x = jnp.asarray(x)
    return lambda: jax.block_until_ready(value_and_grad(x))


@workload.implementation("numpy")
def numpy(x: np.ndarray) -> Run:
    def run() -> tuple:
        square, sine = x * x, np.sin(x)
        bell = np.exp(-square)
        a, b = np.tanh(sine * x + bell), np.log(1 + square)
        dx = (1 - a * a) * b * (np.cos(x) * x + sine - 2 * x * bell) + a * (2 * x) / (1 + square)
        return (a * b).sum(), dx

    return run
