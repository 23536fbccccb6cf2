"""Feed-forward networks: a perceptron, a convolutional network, and one so small that only the overhead counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.training.steps import Step

Batch = tuple[np.ndarray, np.ndarray]


def dense(p: dict, name: str, x: Any) -> Any:
    """An affine layer in JAX, with PyTorch's layout of weights."""
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def images(rng: np.random.Generator, n: int, *shape: int) -> Batch:
    """Normal numbers and labels."""
    return rng.standard_normal((n, *shape), dtype=np.float32), rng.integers(0, 10, n)


def perceptron(nn: Any) -> Any:
    """784-256-10."""
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


def perceptron_for_jax(p: dict, x: Any) -> Any:
    """The same for JAX."""
    import jax

    return dense(p, "2", jax.nn.relu(dense(p, "0", x)))


def convolutional(nn: Any) -> Any:
    """Two convolutions with 16 and 32 channels, each followed by pooling, and an affine layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip


def convolutional_for_jax(p: dict, x: Any) -> Any:
    """The same for JAX."""
    import jax

    for name in ("0", "3"):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "SAME")
        x = jax.nn.relu(x + p[f"{name}.bias"][:, None, None])
        x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return dense(p, "7", x.reshape(x.shape[0], -1))


def tiny(nn: Any) -> Any:
    """2-5-1, which has 20 parameters."""
    return nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1, bias=False))


def tiny_for_jax(p: dict, x: Any) -> Any:
    """The same for JAX."""
    import jax.numpy as jnp

    return jnp.tanh(dense(p, "0", x)) @ p["2.weight"].T


def points(rng: np.random.Generator, n: int) -> Batch:
    """Points of the plane, and a number for each."""
    x = rng.standard_normal((n, 2), dtype=np.float32)
    return x, (x[:, :1] * x[:, 1:]).astype(np.float32)


STEPS = [
    Step(
        "train-mlp", "784-256-10 with relu and cross entropy, batch 128", perceptron,
        lambda rng, n: images(rng, n, 784), "cross_entropy", perceptron_for_jax, 128, 1.0, 0.8,
    ),
    Step(
        "train-conv", "two convolutions of 3 x 3 with 16 and 32 channels on 28 x 28, batch 64", convolutional,
        lambda rng, n: images(rng, n, 1, 28, 28), "cross_entropy", convolutional_for_jax, 64, 1.3, 1.0,
    ),
    Step("train-tiny", "2-5-1 with 20 parameters, batch 32", tiny, points, "mse_loss", tiny_for_jax, 32, 0.6, 0.05),
]  # fmt: skip
