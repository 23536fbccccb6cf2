"""A recurrent network with long short-term memory, its steps unrolled by a Python loop: a program for which compile
time counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

BATCH, INPUTS, HIDDEN = 16, 32, 64


def data(steps: int) -> tuple:
    """The weights of inputs, of hidden states, and biases, of the four gates side by side.

    The inputs and targets of each step.
    """
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    params = [0.2 * normal((INPUTS, 4 * HIDDEN)), 0.1 * normal((HIDDEN, 4 * HIDDEN)), 0.1 * normal(4 * HIDDEN)]
    return params, normal((steps, BATCH, INPUTS)), normal((steps, BATCH, HIDDEN))


def loss(params: Any, inputs: Any, targets: Any, m: Any, sigmoid: Callable) -> Any:
    """The mean squared difference between hidden states and targets."""
    W, U, b = params
    h = c = m.zeros((BATCH, HIDDEN))
    total = 0.0
    for t in range(len(inputs)):
        enter, forget, candidate, leave = m.split(inputs[t] @ W + h @ U + b, 4, axis=1)
        c = sigmoid(forget) * c + sigmoid(enter) * m.tanh(candidate)
        h = sigmoid(leave) * m.tanh(c)
        total = total + ((h - targets[t]) ** 2).sum()
    return total / targets.size


workload = Workload(
    "lstm",
    "an LSTM of 64 units over 12 unrolled steps, 32 inputs, batch 16, compiled: value and gradients",
    data=data,
    sizes={"medium": 12},
    subject="wengert compiled",
    family="loops",
)


@workload.implementation("wengert compiled")
def wengert(params: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> Run:
    import wengert as wg

    value_and_grad = wg.compile(wg.value_and_grad(lambda *a: loss(*a, np, wg.sigmoid)))

    def run() -> tuple:
        value, gradients = value_and_grad(params, inputs, targets)
        return value, *gradients

    return run


@workload.implementation("jax")
def jax(params: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    value_and_grad = jax.jit(jax.value_and_grad(lambda *a: loss(*a, jnp, jax.nn.sigmoid)))
    problem = [jnp.asarray(p) for p in params], jnp.asarray(inputs), jnp.asarray(targets)

    def run() -> tuple:
        value, gradients = jax.block_until_ready(value_and_grad(*problem))
        return value, *gradients

    return run


@workload.implementation("numpy")
def numpy(params: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> Run:
    W, U, b = params

    def sigmoid(a: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-a))

    def run() -> tuple:
        h = c = np.zeros((BATCH, HIDDEN))
        value, saved = 0.0, []
        for x, target in zip(inputs, targets, strict=True):
            i, f, g, o = np.split(x @ W + h @ U + b, 4, axis=1)
            i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
            before, c = (h, c), f * c + i * g
            r = np.tanh(c)
            h = o * r
            value += ((h - target) ** 2).sum()
            saved.append((x, target, *before, i, f, g, o, r, h))
        dW, dU, db = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
        dh = dc = np.zeros((BATCH, HIDDEN))
        for x, target, h_before, c_before, i, f, g, o, r, h in reversed(saved):
            dh = dh + 2 * (h - target) / targets.size
            dc = dc + dh * o * (1 - r * r)
            gates = [dc * g * i * (1 - i), dc * c_before * f * (1 - f), dc * i * (1 - g * g), dh * r * o * (1 - o)]
            dz = np.concatenate(gates, axis=1)
            dW += x.T @ dz
            dU += h_before.T @ dz
            db += dz.sum(axis=0)
            dh, dc = dz @ U.T, dc * f
        return value / targets.size, dW, dU, db

    return run
