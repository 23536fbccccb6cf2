"""Loss and gradients of a multi-layer perceptron, compiled: matrix products, and what is fused around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads import mlp as eager

workload = Workload(
    "mlp-compiled",
    "softmax cross-entropy of 784-256-10 with tanh, batch 128, float32, compiled: value and gradients",
    data=eager.data,
    sizes={"medium": 128},
    targets={"medium": {"jax": 1.0, "torch": 1.0}},
    subject="wengert compiled",
)


@workload.implementation("wengert compiled")
def wengert(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import wengert as wg

    value_and_grad = wg.compile(wg.value_and_grad(lambda params, x, labels: eager.wengert_loss(x, labels, *params)))

    def run() -> tuple:
        loss, gradients = value_and_grad(params, x, labels)
        return loss, *gradients

    return run


@workload.implementation("torch")
def torch(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import torch

    inputs, targets = torch.tensor(x), torch.tensor(labels)
    weights = [torch.tensor(p, requires_grad=True) for p in params]

    def run() -> tuple:
        loss = eager.torch_loss(inputs, targets, *weights)
        return loss, *torch.autograd.grad(loss, weights)

    return run


@workload.implementation("jax")
def jax(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import jax
    import jax.numpy as jnp

    def loss(params: list, x: Any, labels: Any) -> Any:
        W1, b1, W2, b2 = params
        z = jnp.tanh(x @ W1 + b1) @ W2 + b2
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - z[jnp.arange(len(labels)), labels])

    value_and_grad = jax.jit(jax.value_and_grad(loss))
    inputs, targets, weights = jnp.asarray(x), jnp.asarray(labels), [jnp.asarray(p) for p in params]

    def run() -> tuple:
        value, gradients = jax.block_until_ready(value_and_grad(weights, inputs, targets))
        return value, *gradients

    return run


@workload.implementation("numpy")
def numpy(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    W1, b1, W2, b2 = params
    rows = np.arange(len(labels))

    def run() -> tuple:
        h = np.tanh(x @ W1 + b1)
        z = h @ W2 + b2
        z -= z.max(axis=1, keepdims=True)
        e = np.exp(z)
        total = e.sum(axis=1, keepdims=True)
        loss = np.mean(np.log(total[:, 0]) - z[rows, labels])
        dz = e / total
        dz[rows, labels] -= 1
        dz /= len(labels)
        dh = (dz @ W2.T) * (1 - h * h)
        return loss, x.T @ dh, dh.sum(axis=0), h.T @ dz, dz.sum(axis=0)

    return run
