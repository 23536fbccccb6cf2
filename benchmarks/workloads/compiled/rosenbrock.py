"""Rosenbrock's valley, compiled: what a call costs when there is almost nothing to compute, and a Hessian that is
mostly zeros.
"""

from __future__ import annotations

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads import rosenbrock as eager

workload = Workload(
    "rosenbrock-compiled",
    "Rosenbrock's function of 10 doubles, compiled: value and gradient, NumPy arrays in and out",
    data=eager.workload.data,
    sizes={"small": 10},
    targets={"small": {"jax": 1 / 10}},
    subject="wengert compiled",
)
hessian = Workload(
    "hessian",
    "the Hessian of Rosenbrock's function of 100 doubles, compiled",
    data=eager.workload.data,
    sizes={"small": 100},
    targets={"small": {"jax": 1 / 3}},
    subject="wengert compiled",
)
workload.implementation("numpy")(eager.numpy)


@workload.implementation("wengert compiled")
def wengert(x: np.ndarray) -> Run:
    import wengert as wg

    value_and_grad = wg.compile(wg.value_and_grad(eager.rosenbrock))
    return lambda: value_and_grad(x)


@hessian.implementation("wengert compiled")
def wengert_hessian(x: np.ndarray) -> Run:
    import wengert as wg

    second = wg.compile(wg.hessian(eager.rosenbrock))
    return lambda: (second(x),)


@workload.implementation("jax")
def jax(x: np.ndarray) -> Run:
    import jax

    value_and_grad = jax.jit(jax.value_and_grad(eager.rosenbrock))

    def run() -> tuple:
        value, gradient = value_and_grad(x)
        return np.asarray(value), np.asarray(gradient)

    return run


@hessian.implementation("jax")
def jax_hessian(x: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    second = jax.jit(jax.hessian(eager.rosenbrock))
    x = jnp.asarray(x)
    return lambda: (second(x).block_until_ready(),)


@hessian.implementation("numpy")
def numpy_hessian(x: np.ndarray) -> Run:
    def run() -> tuple:
        head, tail = x[:-1], x[1:]
        second = np.zeros((len(x), len(x)))
        diagonal = np.einsum("ii->i", second)
        diagonal[1:] += 200.0
        diagonal[:-1] += 1200.0 * head**2 - 400.0 * tail + 2.0
        upper, lower = np.einsum("ii->i", second[:-1, 1:]), np.einsum("ii->i", second[1:, :-1])
        upper[:] = lower[:] = -400.0 * head
        return (second,)

    return run
