"""Gradient descent on trees of arrays: `autograd.misc.optimizers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.misc.flatten import flatten
from wengert.compat.autograd.wrap_util import wraps
from wengert.compat.differences import without

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]

__getattr__ = without(__name__, ABSENT)

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any]


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """An optimiser of vectors as one of trees."""

    @wraps(optimize)
    def optimize_tree(grad: Gradient, x0: Any, callback: Callback | None = None, *args: Any, **kwargs: Any) -> Any:
        vector, unflatten = flatten(x0)
        on_vectors = callback and (lambda x, i, g: callback(unflatten(x), i, unflatten(g)))
        found = optimize(lambda x, i: flatten(grad(unflatten(x), i))[0], vector, on_vectors, *args, **kwargs)
        return unflatten(found)

    return optimize_tree


def descend(grad: Gradient, x: Any, callback: Callback | None, num_iters: int, step: Callable[[int, Any], Any]) -> Any:
    """The vector after `num_iters` steps; `step(i, g)` is the change for the gradient g."""
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        x = x + step(i, g)
    return x


@unflatten_optimizer
def sgd(
    grad: Gradient,
    x: Any,
    callback: Callback | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Gradient descent with momentum. `grad(x, i)` is the gradient in iteration i."""
    velocity = np.zeros(len(x))

    def step(_: int, g: Any) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return step_size * velocity

    return descend(grad, x, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: Gradient,
    x: Any,
    callback: Callback | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Gradient descent with steps divided by the root of the mean square of the gradients."""
    mean_square = np.ones(len(x))

    def step(_: int, g: Any) -> Any:
        nonlocal mean_square
        mean_square = mean_square * gamma + g**2 * (1 - gamma)
        return -step_size * g / (wg.sqrt(mean_square) + eps)

    return descend(grad, x, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: Gradient,
    x: Any,
    callback: Callback | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam (Kingma and Ba, 2015)."""
    mean = square = np.zeros(len(x))

    def step(i: int, g: Any) -> Any:
        nonlocal mean, square
        mean = b1 * mean + (1 - b1) * g
        square = b2 * square + (1 - b2) * g**2
        corrected = mean / (1 - b1 ** (i + 1)), square / (1 - b2 ** (i + 1))
        return -step_size * corrected[0] / (wg.sqrt(corrected[1]) + eps)

    return descend(grad, x, callback, num_iters, step)
