"""Values that are used again and again: a recursion over paths would never end, a walk over nodes does not notice.

`diamond` uses each of its values three times, so that 3 to the power 256 paths lead from the result to x; `fan` uses
one value a thousand times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

workload = Workload(
    "diamond",
    "y = y + y * y / 256, 256 times on 8 doubles, summed: value and gradient",
    data=lambda depth: (np.linspace(0.1, 0.5, 8), depth),
    sizes={"small": 256},
)
fan = Workload(
    "fan",
    "the sum of sin(x) * k over k = 1 ... 1000, on 8 doubles: value and gradient",
    data=lambda uses: (np.linspace(0.1, 0.5, 8), uses),
    sizes={"small": 1_000},
)


def diamonds(x: Any, depth: int) -> Any:
    y = x
    for _ in range(depth):
        y = y + y * y / 256
    return y.sum()


def uses(x: Any, sin: Callable, n: int) -> Any:
    y = total = sin(x)
    for k in range(2, n + 1):
        total = total + y * k
    return total.sum()


@workload.implementation("wengert")
def wengert(x: np.ndarray, depth: int) -> Run:
    import wengert as wg

    def run() -> tuple:
        a = wg.tensor(x, requires_grad=True)
        y = diamonds(a, depth)
        y.backward()
        return y, a.grad

    return run


@fan.implementation("wengert")
def wengert_fan(x: np.ndarray, n: int) -> Run:
    import wengert as wg

    def run() -> tuple:
        a = wg.tensor(x, requires_grad=True)
        y = uses(a, wg.sin, n)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("torch")
def torch(x: np.ndarray, depth: int) -> Run:
    import torch

    def run() -> tuple:
        a = torch.tensor(x, requires_grad=True)
        y = diamonds(a, depth)
        y.backward()
        return y, a.grad

    return run


@fan.implementation("torch")
def torch_fan(x: np.ndarray, n: int) -> Run:
    import torch

    def run() -> tuple:
        a = torch.tensor(x, requires_grad=True)
        y = uses(a, torch.sin, n)
        y.backward()
        return y, a.grad

    return run


@workload.implementation("autograd")
def autograd(x: np.ndarray, depth: int) -> Run:
    import autograd

    value_and_grad = autograd.value_and_grad(lambda a: diamonds(a, depth))
    return lambda: value_and_grad(x)


@fan.implementation("autograd")
def autograd_fan(x: np.ndarray, n: int) -> Run:
    import autograd
    import autograd.numpy as anp

    value_and_grad = autograd.value_and_grad(lambda a: uses(a, anp.sin, n))
    return lambda: value_and_grad(x)


@workload.implementation("jax")
def jax(x: np.ndarray, depth: int) -> Run:
    import jax
    import jax.numpy as jnp

    value_and_grad = jax.jit(jax.value_and_grad(lambda a: diamonds(a, depth)))
    x = jnp.asarray(x)
    return lambda: jax.block_until_ready(value_and_grad(x))


@fan.implementation("jax")
def jax_fan(x: np.ndarray, n: int) -> Run:
    import jax
    import jax.numpy as jnp

    def looped(a: Any) -> Any:  # unrolled a thousand times, XLA needs more than 24 GB to compile it
        y = jnp.sin(a)
        return jax.lax.fori_loop(2, n + 1, lambda k, total: total + y * k, y).sum()

    value_and_grad = jax.jit(jax.value_and_grad(looped))
    x = jnp.asarray(x)
    return lambda: jax.block_until_ready(value_and_grad(x))


@workload.implementation("numpy")
def numpy(x: np.ndarray, depth: int) -> Run:
    def run() -> tuple:
        y, dx = x, np.ones_like(x)
        for _ in range(depth):
            dx = dx * (1 + y / 128)
            y = y + y * y / 256
        return y.sum(), dx

    return run


@fan.implementation("numpy")
def numpy_fan(x: np.ndarray, n: int) -> Run:
    def run() -> tuple:
        y, total, uses = np.sin(x), np.zeros_like(x), 0.0
        for k in range(1, n + 1):
            total += y * k
            uses += k
        return total.sum(), uses * np.cos(x)

    return run
