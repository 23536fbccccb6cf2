"""Programs whose backward passes are compiled, and their gradients by a tape."""

from __future__ import annotations

import numpy as np

import wengert as wg

RNG = np.random.default_rng(0)
N = 1 << 15
X = RNG.uniform(0.5, 1.5, N)
M = RNG.standard_normal((256, 128))
INDEX = RNG.integers(0, 256, 4096)
IMAGE, FILTERS = RNG.standard_normal((8, 3, 32, 32)), RNG.standard_normal((16, 3, 3, 3))


def softmax_loss(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(np.log(e / np.sum(e, axis=1, keepdims=True))[:, 3])


def masked(x):
    return np.sum(np.where(x > 1.0, np.sqrt(np.maximum(x - 1.0, 0.0)), x * x))


def gaussian(x):
    """The density of a normal distribution: a factorisation, a triangular system and a determinant, by LAPACK."""
    factor = np.linalg.cholesky(x.T @ x + 10.0 * np.eye(128))
    white = wg.linalg.solve_triangular(factor, x[0], lower=True)
    return np.sum(white**2) + np.sum(np.log(np.diagonal(factor)))


def split(x):
    left, right = np.split(np.sort(x), 2)
    return np.sum(np.sin(left) * right)


PROGRAMS = {
    "chain": (lambda x: np.sum(np.sin(x) * np.exp(-x) + x / (1.0 + x * x)), X),
    "float32": (lambda x: np.sum(np.tanh(x) * np.log(x)), X.astype("f4")),
    "complex": (lambda x: np.sum(np.abs(np.exp(1j * x) * x) ** 2), X),
    "broadcast": (softmax_loss, M),
    "products": (lambda x: np.sum(np.tanh(x.T @ x) @ x.T), M),
    "views": (lambda x: np.sum(np.sin(x.T)[::2] * x.T[1::2] ** 2), M),
    "gather": (lambda x: np.sum(np.cos(x[INDEX]) ** 2), M),
    "untaken branch": (masked, X),
    "kinks": (lambda x: np.sum(np.abs(np.maximum(x, 1.0) - np.round(x, 1))), X),
    "several outputs": (split, X),
    "factorisations": (gaussian, M),
    "systems": (lambda x: np.sum(np.linalg.solve(x[:128] + 30.0 * np.eye(128), x[128]) ** 2), M),
    "joined": (lambda x: np.sum(np.concatenate([np.sin(x), x * x, np.stack([x, x]).sum(0)]) ** 2), X),
    "diamond": (lambda x: np.sum((lambda a, b: a * b + a / b)(np.exp(x), np.cos(x) + 2.0)), X),
    "scan": (lambda x: np.sum(np.cumsum(np.sin(x)) * 1e-3), X),
    "convolution": (lambda x: np.sum(wg.nn.functional.max_pool2d(wg.nn.functional.conv2d(x, FILTERS), 2) ** 2), IMAGE),
}


def eager_gradient(function, x):
    """The gradient by a tape and its backward pass."""
    w = wg.tensor(x, requires_grad=True)
    function(w).backward()
    return w.grad.numpy()
