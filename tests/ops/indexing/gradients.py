"""Gradients of indexing, and the same by differences of values."""

from __future__ import annotations

import numpy as np

from wengert.modes.tensor import tensor
from wengert.ops.elementwise import arithmetic


def names(key: object) -> str:
    return repr(key).replace("\n", "")[:60]


def weights(shape: tuple[int, ...]) -> np.ndarray:
    return np.cos(1.0 + np.arange(np.prod(shape, dtype=int))).reshape(shape)


def gradient(f, *args: np.ndarray) -> list[np.ndarray]:
    """The cotangents of the arguments of f for fixed weights of its result."""
    xs = [tensor(a, requires_grad=True) for a in args]
    out = f(*xs)
    out.backward(gradient=weights(out.shape).astype(out.dtype))
    return [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in xs]


def differences(f, *args: np.ndarray, eps: float = 1e-6) -> list[np.ndarray]:
    """The same by central differences."""
    grads = []
    for i, a in enumerate(args):
        grad = np.zeros(a.shape)
        for j in np.ndindex(a.shape):
            step = np.zeros(a.shape)
            step[j] = eps
            plus, minus = (np.asarray(f(*args[:i], a + s, *args[i + 1 :])) for s in (step, -step))
            grad[j] = (weights(plus.shape) * (plus - minus)).sum() / (2 * eps)
        grads.append(grad)
    return grads


def check(f, *args: np.ndarray) -> None:
    for got, expected in zip(gradient(f, *args), differences(f, *args), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def check_second_order(f, *args: np.ndarray) -> None:
    """The gradient of <gradient(f(x)**2), u>, against differences of the gradient."""
    xs = [tensor(a, requires_grad=True) for a in args]
    out = f(*xs)
    arithmetic.square(out).backward(gradient=weights(out.shape), create_graph=True)
    firsts = [x.grad for x in xs]
    for x in xs:
        x.grad = None
    for first in firsts:
        if first is not None and first.requires_grad:
            first.backward(gradient=weights(first.shape), retain_graph=True)
    seconds = [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in xs]

    def functional(*ys: np.ndarray) -> float:
        zs = [tensor(y, requires_grad=True) for y in ys]
        out = f(*zs)
        arithmetic.square(out).backward(gradient=weights(out.shape))
        return sum((z.grad.numpy() * weights(z.shape)).sum() for z in zs if z.grad is not None)

    for i, a in enumerate(args):
        for j in np.ndindex(a.shape):
            step = np.zeros(a.shape)
            step[j] = 1e-5
            plus, minus = (functional(*args[:i], a + s, *args[i + 1 :]) for s in (step, -step))
            assert abs(seconds[i][j] - (plus - minus) / 2e-5) < 1e-5
