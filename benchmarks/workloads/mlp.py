"""A training step of a multi-layer perceptron: matrix products, and the fixed costs of a step around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

LEARNING_RATE = 0.01


def data(batch: int) -> tuple:
    """Inputs, labels, and the parameters W1, b1, W2, b2 of 784-256-10, in float32."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    params = [0.05 * normal(784, 256), np.zeros(256, np.float32), 0.05 * normal(256, 10), np.zeros(10, np.float32)]
    return normal(batch, 784), rng.integers(0, 10, batch), params


def loss_and_updates(problem: tuple, result: tuple) -> tuple:
    """What is compared: the loss, and how far the steps have moved each parameter, which the gradient alone decides."""
    loss, *params = result
    return loss, *(after - before for after, before in zip(params, problem[2], strict=True))


workload = Workload(
    "mlp",
    "a training step of 784-256-10 with tanh, softmax cross-entropy and gradient descent, batch 128, float32",
    data=data,
    sizes={"medium": 128},
    targets={"medium": {"torch": 1.0}},
    observe=loss_and_updates,
)


def wengert_loss(x: Any, labels: np.ndarray, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
    import wengert as wg

    z = wg.tanh(x @ W1 + b1) @ W2 + b2
    return (wg.logsumexp(z, axis=1) - z[np.arange(len(labels)), labels]).mean()


def torch_loss(x: Any, labels: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
    import torch

    z = torch.addmm(b2, torch.tanh(torch.addmm(b1, x, W1)), W2)
    return torch.nn.functional.cross_entropy(z, labels)


@workload.implementation("wengert")
def wengert(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import wengert as wg

    inputs = wg.tensor(x)
    weights = [wg.tensor(p, requires_grad=True) for p in params]

    def run() -> tuple:
        loss = wengert_loss(inputs, labels, *weights)
        loss.backward()
        with wg.no_grad():
            for p in weights:
                p -= LEARNING_RATE * p.grad
                p.grad = None
        return loss, *weights

    return run


@workload.implementation("torch")
def torch(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import torch

    inputs, targets = torch.tensor(x), torch.tensor(labels)
    weights = [torch.tensor(p, requires_grad=True) for p in params]

    def run() -> tuple:
        loss = torch_loss(inputs, targets, *weights)
        loss.backward()
        with torch.no_grad():
            for p in weights:
                p.add_(p.grad, alpha=-LEARNING_RATE)
                p.grad = None
        return loss, *weights

    return run


@workload.implementation("autograd")
def autograd(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import autograd
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    rows = np.arange(len(labels))

    def loss(params: list) -> Any:
        W1, b1, W2, b2 = params
        z = anp.dot(anp.tanh(anp.dot(x, W1) + b1), W2) + b2
        return anp.mean(logsumexp(z, axis=1) - z[rows, labels])

    value_and_grad = autograd.value_and_grad(loss)

    def run() -> tuple:
        value, gradients = value_and_grad(params)
        for p, gradient in zip(params, gradients, strict=True):
            p -= LEARNING_RATE * gradient
        return value, *params

    return run


@workload.implementation("jax")
def jax(x: np.ndarray, labels: np.ndarray, params: list[np.ndarray]) -> Run:
    import jax
    import jax.numpy as jnp

    def loss(params: list, x: Any, labels: Any) -> Any:
        W1, b1, W2, b2 = params
        z = jnp.tanh(x @ W1 + b1) @ W2 + b2
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - z[jnp.arange(len(labels)), labels])

    def step(params: list, x: Any, labels: Any) -> tuple:
        value, gradients = jax.value_and_grad(loss)(params, x, labels)
        return value, [p - LEARNING_RATE * gradient for p, gradient in zip(params, gradients, strict=True)]

    compiled = jax.jit(step, donate_argnums=0)
    inputs, targets, weights = jnp.asarray(x), jnp.asarray(labels), [jnp.asarray(p) for p in params]

    def run() -> tuple:
        nonlocal weights
        value, weights = jax.block_until_ready(compiled(weights, inputs, targets))
        return value, *weights

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
        for p, gradient in zip(params, (x.T @ dh, dh.sum(axis=0), h.T @ dz, dz.sum(axis=0)), strict=True):
            p -= LEARNING_RATE * gradient
        return loss, *params

    return run
