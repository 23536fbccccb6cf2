"""Independent oracles: derivatives by differences of values, that know nothing of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg

WEIGHTS = np.array([-0.5, 1.0 / 12.0, 0.5, -1.0 / 12.0])
OFFSETS = np.array([-1.0, -2.0, 1.0, 2.0])
STEP = 1e-3
"""The stencil f' = (8 f(h) - 8 f(-h) - f(2h) + f(-2h)) / 12h: its error is of order h^4, about 1e-12, beside rounding
of about 1e-13.
"""


FEW = 4
"""Elements of an argument that second derivatives are compared for one by one. Those of more elements are compared
along as many random directions: an error in any element is seen along all of them.
"""


def slope_along(f: Callable[..., Any], args: Sequence[np.ndarray], i: int, direction: np.ndarray) -> float:
    """The derivative of a real function of arrays along a direction of its argument `i`."""
    points = [args[i] + (offset * STEP * direction).astype(args[i].dtype) for offset in OFFSETS]
    values = [float(f(*args[:i], point, *args[i + 1 :])) for point in points]
    return np.dot([-8, 1, 8, -1], values) / (12 * STEP)


def random_directions(x: np.ndarray) -> list[np.ndarray]:
    """Directions of length one, in which no element is small beside the others."""
    rng = np.random.default_rng(13)
    found = [rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1.0, 1.0], x.shape) for _ in range(FEW)]
    if x.dtype.kind == "c":
        found = [v * np.exp(2j * np.pi * rng.uniform(size=x.shape)) for v in found]
    return [v / np.linalg.norm(v) for v in found]


def numerical_gradient(f: Callable[..., Any], args: Sequence[np.ndarray], i: int) -> np.ndarray:
    """The gradient of a real function of arrays in its argument `i`; for a complex argument df/dRe + i df/dIm."""
    x = np.array(args[i])
    gradient = np.zeros(x.shape, x.dtype)
    directions = (1.0, 1j) if x.dtype.kind == "c" else (1.0,)
    for index in np.ndindex(x.shape):
        for direction in directions:
            values = []
            for offset in OFFSETS:
                moved = x.copy()
                moved[index] += offset * STEP * direction
                values.append(float(f(*args[:i], moved, *args[i + 1 :])))
            slope = np.dot([-8, 1, 8, -1], values) / (12 * STEP)
            gradient[index] += slope * direction
    return gradient


def tape_gradients(
    f: Callable[..., Any], args: Sequence[Any], live: Sequence[int], create_graph: bool = False
) -> tuple[Any, list]:
    """Value of a scalar function on the tape, and its gradients with respect to the live arguments.

    They are zeros where it does not depend on one.
    """
    tensors = [wg.tensor(a, requires_grad=True) if i in live else a for i, a in enumerate(args)]
    value = f(*tensors)
    if isinstance(value, wg.Tensor) and value.requires_grad:
        value.backward(create_graph=create_graph)
    return value, [tensors[i].grad if tensors[i].grad is not None else wg.tensor(np.zeros_like(args[i])) for i in live]


def weighted(op: Callable[..., Any], weights: Any) -> Callable[..., Any]:
    """A real scalar function of everything that `op` returns."""

    def f(*args: Any) -> Any:
        total = 0.0
        outs = op(*args)
        for out, weight in zip(outs if isinstance(outs, tuple | list) else (outs,), weights, strict=True):
            total = total + wg.real((out * weight).sum())
        return total

    return f


def random_weights(op: Callable[..., Any], args: Sequence[Any], seed: int = 7) -> list[np.ndarray]:
    """Weights of the shapes and dtypes of what `op` returns."""
    rng = np.random.default_rng(seed)
    outs = op(*args)
    weights = []
    for out in outs if isinstance(outs, tuple | list) else (outs,):
        weight = rng.uniform(0.5, 1.5, np.shape(out))
        if np.asarray(out).dtype.kind == "c":
            weight = weight + 1j * rng.uniform(0.5, 1.5, np.shape(out))
        weights.append(weight.astype(np.asarray(out).dtype))
    return weights


def check_derivatives(
    op: Callable[..., Any], args: Sequence[Any], live: Sequence[int], orders: int = 2, rtol: float = 1e-7
) -> None:
    """Assert that the tape's gradients of `op` agree with differences of values, and its second ones with differences
    of the first.
    """
    f = weighted(op, random_weights(op, args))
    _, gradients = tape_gradients(f, args, live)
    for i, gradient in zip(live, gradients, strict=True):
        expected = numerical_gradient(f, args, i)
        assert gradient.shape == np.shape(args[i])
        assert gradient.dtype == np.asarray(args[i]).dtype
        np.testing.assert_allclose(
            gradient.numpy(), expected, rtol=rtol, atol=rtol, err_msg=f"first order, argument {i}"
        )
    if orders < 2:
        return
    rng = np.random.default_rng(11)
    directions = [rng.uniform(0.5, 1.5, np.shape(args[i])) for i in live]

    def slope(*args: Any) -> Any:
        """The derivative of f along the directions, itself a function of the arguments."""
        tensors = [a if isinstance(a, wg.Tensor) else wg.tensor(a) if i in live else a for i, a in enumerate(args)]
        for i in live:
            if not tensors[i].requires_grad:
                tensors[i].requires_grad = True
        value = f(*tensors)
        if not (isinstance(value, wg.Tensor) and value.requires_grad):
            return wg.tensor(0.0)
        found = wg.autograd.grad(value, [tensors[i] for i in live], create_graph=True, materialize_grads=True)
        return sum(wg.real((g * v).sum()) for g, v in zip(found, directions, strict=True))

    _, seconds = tape_gradients(slope, args, live)
    for i, second in zip(live, seconds, strict=True):
        found, number = second.numpy(), lambda *a: slope(*a).item()
        if found.size <= FEW:
            expected = numerical_gradient(number, args, i)
        else:
            directions_of_x = random_directions(np.asarray(args[i]))
            expected = np.array([slope_along(number, args, i, v) for v in directions_of_x])
            found = np.array([np.sum(np.real(np.conj(found) * v)) for v in directions_of_x])
        np.testing.assert_allclose(
            found, expected, rtol=10 * rtol, atol=10 * rtol, err_msg=f"second order, argument {i}"
        )


def forward_slope(f: Callable[..., Any], i: int) -> Callable[..., Any]:
    """The derivative of a function of numbers in its argument `i`, by forward mode, the others being constant."""
    return lambda *args: wg.jvp(lambda x: f(*args[:i], x, *args[i + 1 :]), [args[i]], [np.float64(1.0)])[1]


def second_derivatives(f: Callable[..., Any], args: Sequence[np.floating], i: int, j: int) -> dict[str, float]:
    """The derivative of a real function of numbers in its arguments i and j, by every pair of modes, and of one by
    Taylor mode.
    """
    reverse, forward = wg.grad(f, argnums=i), forward_slope(f, i)
    ways = {
        "reverse over reverse": wg.grad(reverse, argnums=j),
        "forward over reverse": forward_slope(reverse, j),
        "reverse over forward": wg.grad(forward, argnums=j),
        "forward over forward": forward_slope(forward, j),
    }
    if i == j:
        ways["Taylor"] = lambda *args: wg.derivative(lambda x: f(*args[:i], x, *args[i + 1 :]), 2)(args[i])
    with np.errstate(all="ignore"):
        return {name: float(way(*args)) for name, way in ways.items()}


def assert_modes_agree(f: Callable[..., Any], args: Sequence[np.floating], i: int, j: int) -> None:
    """Assert that all modes have the same second derivative.

    Where a slope is infinite, it may be any that is no finite number.
    """
    with np.errstate(all="ignore"):
        slopes = [float(forward_slope(f, k)(*args)) for k in (i, j)]
    found = second_derivatives(f, args, i, j)
    first, *others = found.values()
    if all(np.isfinite(slopes)) or any(map(np.isfinite, found.values())):
        np.testing.assert_allclose(others, [first] * len(others), rtol=1e-13, err_msg=str(found))
