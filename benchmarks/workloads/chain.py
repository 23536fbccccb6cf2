"""Small operations, one after another: what the tape itself costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

workload = Workload(
    "chain",
    "y = sin(y) * x + y, one hundred times on 8 doubles, summed: value and gradient (300 operations)",
    data=lambda repeats: (np.linspace(0.0, 1.0, 8), repeats),
    sizes={"small": 100},
    targets={"small": {"torch": 0.70, "autograd": 0.30}},
)


def chain(x: Any, sin: Callable, repeats: int) -> Any:
    y = x
    for _ in range(repeats):
        y = sin(y) * x + y
    return y.sum()


@workload.implementation("wengert")
def wengert(x: np.ndarray, repeats: int) -> Run:
    import wengert as wg

    def run() -> tuple:
        a = wg.tensor(x, requires_grad=True)
        y = chain(a, wg.sin, repeats)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("torch")
def torch(x: np.ndarray, repeats: int) -> Run:
    import torch

    def run() -> tuple:
        a = torch.tensor(x, requires_grad=True)
        y = chain(a, torch.sin, repeats)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("autograd")
def autograd(x: np.ndarray, repeats: int) -> Run:
    import autograd
    import autograd.numpy as anp

    value_and_grad = autograd.value_and_grad(lambda a: chain(a, anp.sin, repeats))
    return lambda: value_and_grad(x)


@workload.implementation("jax")
def jax(x: np.ndarray, repeats: int) -> Run:
    import jax
    import jax.numpy as jnp

    value_and_grad = jax.jit(jax.value_and_grad(lambda a: chain(a, jnp.sin, repeats)))
    x = jnp.asarray(x)
    return lambda: jax.block_until_ready(value_and_grad(x))


@workload.implementation("numpy")
def numpy(x: np.ndarray, repeats: int) -> Run:
    def run() -> tuple:
        y, sines, cosines = x, [], []
        for _ in range(repeats):
            sines.append(np.sin(y))
            cosines.append(np.cos(y))
            y = sines[-1] * x + y
        t, dx = np.ones_like(y), np.zeros_like(x)
        for sine, cosine in zip(reversed(sines), reversed(cosines), strict=True):
            dx += t * sine
            t = t * (cosine * x + 1.0)
        return y.sum(), dx + t

    return run
