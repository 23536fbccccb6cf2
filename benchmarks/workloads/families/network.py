"""Derivatives of a small network other than its gradient: that of every sample, and the Hessian of the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

INPUTS, HIDDEN = 16, 32


def sample_data(n: int) -> tuple:
    """Two layers; inputs and targets of a batch."""
    rng = np.random.default_rng(0)
    params = [rng.standard_normal((INPUTS, HIDDEN)) / 4, rng.standard_normal(HIDDEN) / 4, rng.standard_normal(HIDDEN)]
    return params, rng.standard_normal((n, INPUTS)), rng.standard_normal(n)


def sample_loss(params: Any, x: Any, y: Any, m: Any) -> Any:
    """The squared error of one sample."""
    weights, shift, out = params
    return (m.tanh(x @ weights + shift) @ out - y) ** 2


def hessian_data(units: int) -> tuple:
    """All parameters of a network as one vector; 64 inputs and targets."""
    rng = np.random.default_rng(0)
    return 0.5 * rng.standard_normal(6 * units), rng.standard_normal((64, 4)), rng.standard_normal(64)


def batch_loss(params: Any, x: Any, y: Any, m: Any) -> Any:
    """The mean squared error of a network with 4 inputs."""
    units = params.shape[0] // 6
    weights, shift, out = params[: 4 * units].reshape(4, units), params[4 * units : 5 * units], params[5 * units :]
    return m.mean((m.tanh(x @ weights + shift) @ out - y) ** 2)


per_sample = Workload(
    "per-sample",
    "the gradients of a network with 576 parameters at each of 64 and 4 096 samples",
    data=sample_data,
    sizes={"small": 64, "large": 4_096},
    subject="wengert compiled",
    reference="wengert",
    family="statistics",
    traffic=lambda n: 8 * n * (INPUTS + 1 + INPUTS * HIDDEN + 2 * HIDDEN),
)
hessian = Workload(
    "network-hessian",
    "the Hessian of the loss of a network with 8 and 32 units, 48 and 192 parameters, at 64 samples",
    data=hessian_data,
    sizes={"small": 8, "large": 32},
    subject="wengert compiled",
    reference="wengert",
    family="statistics",
)


def _gradients(system: Any, m: Any) -> Callable:
    """The gradients of every sample, by the transforms of a system and its array module."""
    dims = "in_dims" if system.__name__ == "torch.func" else "in_axes"
    return system.vmap(system.grad(lambda *a: sample_loss(*a, m)), **{dims: (None, 0, 0)})


def _hessian(system: Any, m: Any) -> Callable:
    return system.hessian(lambda *a: batch_loss(*a, m))


def _declare(workload: Workload, derivative: Callable[[Any, Any], Callable]) -> None:
    """Write a derivative for Wengert, JAX and PyTorch, whose transforms have the same names."""
    results = lambda found: tuple(found) if isinstance(found, list | tuple) else (found,)

    @workload.implementation("wengert")
    def eager(*problem: Any) -> Run:
        import wengert as wg

        function = derivative(wg, np)
        return lambda: results(function(*problem))

    @workload.implementation("wengert compiled")
    def wengert(*problem: Any) -> Run:
        import wengert as wg

        function = wg.compile(derivative(wg, np))
        return lambda: results(function(*problem))

    @workload.implementation("jax")
    def jax(*problem: Any) -> Run:
        import jax

        function, arrays = jax.jit(derivative(jax, jax.numpy)), jax.tree.map(jax.numpy.asarray, problem)
        return lambda: jax.block_until_ready(results(function(*arrays)))

    def prepare_torch(problem: tuple, wrap: Callable) -> Run:
        import torch

        tensors = [[torch.tensor(a) for a in p] if isinstance(p, list) else torch.tensor(p) for p in problem]
        function = wrap(derivative(torch.func, torch))
        return lambda: results(function(*tensors))

    @workload.implementation("torch")
    def torch(*problem: Any) -> Run:
        return prepare_torch(problem, lambda f: f)

    @workload.implementation("torch compiled")
    def torch_compiled(*problem: Any) -> Run:
        import torch

        return prepare_torch(problem, torch.compile)


_declare(per_sample, _gradients)
_declare(hessian, _hessian)
