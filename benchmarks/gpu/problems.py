"""The problems that are timed on a GPU, each written once for NumPy's functions, which JAX has, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gpu.systems import Function, System
from benchmarks.gpu.transformer import transformer_data, transformer_gradient, transformer_torch


class Problem(NamedTuple):
    """A program of a system, its data as arrays of NumPy, and the bytes that it must move, if that is its limit."""

    name: str
    program: Callable[[System], Function]
    data: Callable[[np.random.Generator, float], tuple]
    wanted: str
    nbytes: Callable[[tuple], int] | None = None
    tolerance: float = 1e-6
    torch: Callable[[tuple, str], Callable[[], Any]] | None = None  # for a device


def normal(dtype: str, *shape: int) -> Callable[[np.random.Generator, float], tuple]:
    """Normal numbers; the first axis is scaled."""
    return lambda rng, scale: (rng.standard_normal((max(int(shape[0] * scale), 1), *shape[1:])).astype(dtype),)


def read_and_written(args: tuple) -> int:
    """The bytes of all arguments, twice."""
    return 2 * sum(a.nbytes for a in args)


def read_once(args: tuple) -> int:
    """The bytes of all arguments."""
    return sum(a.nbytes for a in args)


def bell_gradient(s: System) -> Function:
    return s.grad(lambda x: (s.xp.exp(-x * x) * x).sum())


def elementwise_gradient(s: System) -> Function:
    return s.grad(lambda x: (s.xp.sin(x) * s.xp.exp(-0.1 * x * x) + s.xp.sqrt(x * x + 1.0)).sum())


def along(name: str, axis: int) -> Callable[[System], Function]:
    """A reduction along an axis."""
    if name == "logsumexp":
        return lambda s: lambda x: s.logsumexp(x, axis=axis)
    return lambda s: lambda x: getattr(s.xp, name)(x, axis=axis)


def gmm_data(points: int) -> Callable[[np.random.Generator, float], tuple]:
    def make(rng: np.random.Generator, scale: float) -> tuple:
        n, d, k = max(int(points * scale), 8), 10, 25
        return (
            rng.standard_normal(k),
            rng.standard_normal((k, d)),
            0.1 * rng.standard_normal((k, d)),
            0.1 * rng.standard_normal((k, d, d)),
            rng.standard_normal((n, d)),
        )

    return make


def gmm_gradient(s: System) -> Function:
    """The log-likelihood of a mixture of normal distributions, with triangular factors of the precisions."""
    xp = s.xp

    def objective(alphas: Any, means: Any, logs: Any, lower: Any, x: Any) -> Any:
        d = x.shape[1]
        factors = lower * np.tri(d, k=-1) + xp.exp(logs)[:, :, None] * np.eye(d)
        centered = x[:, None, :] - means[None]
        rotated = xp.einsum("kij,nkj->nki", factors, centered)
        terms = alphas + logs.sum(1) - 0.5 * (rotated * rotated).sum(2)
        return s.logsumexp(terms, axis=1).sum() - x.shape[0] * s.logsumexp(alphas, axis=0)

    return s.grad(objective, (0, 1, 2, 3))


def option_data(dtype: str) -> Callable[[np.random.Generator, float], tuple]:
    def make(rng: np.random.Generator, scale: float) -> tuple:
        n = max(int(1e8 * scale), 8)
        ranges = (80, 120), (80, 120), (0.1, 2.0), (0.1, 0.5)
        return tuple([rng.random(n, np.float32).astype(dtype) * (b - a) + a for a, b in ranges])

    return make


def greeks(s: System) -> Function:
    """The prices of call options, and their derivatives with respect to spot, time and volatility."""
    xp = s.xp

    def prices(spot: Any, strike: Any, time: Any, volatility: Any) -> Any:
        width = volatility * xp.sqrt(time)
        first = (xp.log(spot / strike) + (0.02 + 0.5 * volatility * volatility) * time) / width
        cdf = lambda x: 0.5 * (1.0 + s.erf(x * 0.7071067811865476))
        return spot * cdf(first) - strike * xp.exp(-0.02 * time) * cdf(first - width)

    def run(spot: Any, strike: Any, time: Any, volatility: Any) -> Any:
        value = prices(spot, strike, time, volatility)
        total = lambda *args: prices(*args).sum()
        return value, s.grad(total, (0, 2, 3))(spot, strike, time, volatility)

    return run


def bodies_gradient(s: System) -> Function:
    """The forces of n bodies on each other: the gradient of the energy of all pairs."""

    def energy(x: Any, mass: Any) -> Any:
        difference = x[:, None, :] - x[None, :, :]
        distance = s.xp.sqrt((difference * difference).sum(2) + 1e-3)
        return -0.5 * (mass[:, None] * mass[None, :] / distance).sum()

    return s.grad(energy)


def reprojection_data(rng: np.random.Generator, scale: float) -> tuple:
    n = max(int(3e6 * scale), 8)
    cameras, points = 0.1 * rng.standard_normal((n, 11)), rng.standard_normal((n, 3))
    points[:, 2] += 5.0
    return cameras, points, 1.0 + 0.1 * rng.standard_normal(n)


def reprojection_jacobians(s: System) -> Function:
    """The derivatives of two residuals of an observation with respect to camera, point and weight."""
    xp = s.xp

    def residuals(z: Any) -> Any:
        rotation, center, focal, principal, radial = z[:3], z[3:6], z[6], z[7:9], z[9:11]
        point, weight = z[11:14], z[14]
        moved = point - center
        angle = (rotation * rotation).sum() + 1e-12
        theta = xp.sqrt(angle)
        axis = rotation / theta
        cross = lambda a, b: xp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
        rotated = (
            moved * xp.cos(theta)
            + cross(axis, moved) * xp.sin(theta)
            + axis * (axis * moved).sum() * (1.0 - xp.cos(theta))
        )
        plane = rotated[:2] / rotated[2]
        size = (plane * plane).sum()
        distorted = plane * (1.0 + radial[0] * size + radial[1] * size * size)
        return weight * (focal * distorted + principal)

    def run(cameras: Any, points: Any, weights: Any) -> Any:
        z = xp.concatenate([cameras, points, weights[:, None]], axis=1)
        return s.vmap(s.jacobian(residuals))(z)

    return run


def mlp_data(rng: np.random.Generator, scale: float) -> tuple:
    batch, hidden = max(int(4096 * scale), 8), max(int(4096 * scale), 8)
    f4 = lambda *shape: rng.standard_normal(shape).astype("f4")
    labels = np.eye(10, dtype="f4")[rng.integers(0, 10, batch)]
    return f4(784, hidden) * 0.05, f4(hidden) * 0.0, f4(hidden, 10) * 0.05, f4(10) * 0.0, f4(batch, 784), labels


def mlp_step(s: System) -> Function:
    """One step of gradient descent."""

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        hidden = s.xp.maximum(x @ w1 + b1, np.float32(0.0))
        scores = hidden @ w2 + b2
        return (s.logsumexp(scores, axis=1) - (scores * y).sum(1)).mean()

    def step(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        parameters = w1, b1, w2, b2
        gradients = s.grad(loss, (0, 1, 2, 3))(w1, b1, w2, b2, x, y)
        return tuple([p - np.float32(0.1) * g for p, g in zip(parameters, gradients, strict=True)])

    return step


def mlp_torch(args: tuple, device: str) -> Callable[[], Any]:
    """The same step in PyTorch."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    w1, b1, w2, b2, x, y = [torch.tensor(a, device=device) for a in args]
    parameters = [p.requires_grad_() for p in (w1, b1, w2, b2)]

    def step() -> Any:
        scores = torch.relu(x @ parameters[0] + parameters[1]) @ parameters[2] + parameters[3]
        loss = (torch.logsumexp(scores, 1) - (scores * y).sum(1)).mean()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            return [p - 0.1 * g for p, g in zip(parameters, gradients, strict=True)]

    return step


def rosenbrock(s: System) -> Function:
    return s.value_and_grad(lambda x: (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum())


def embedding_data(rng: np.random.Generator, scale: float) -> tuple:
    n, rows = max(int(1e7 * scale), 8), max(int(1e6 * scale), 8)
    return rng.standard_normal((rows, 8)).astype("f4"), rng.integers(0, rows, n)


def embedding_gradient(s: System) -> Function:
    return s.grad(lambda table, indices: (s.xp.tanh(table[indices])).sum())


def lorenz_data(rng: np.random.Generator, scale: float) -> tuple:
    n = max(int(1e6 * scale), 8)
    start = np.array([1.0, 1.0, 20.0]) + 0.1 * rng.standard_normal((n, 3))
    return start, np.array([10.0, 28.0, 8 / 3]) + 0.1 * rng.standard_normal((n, 3))


def lorenz_gradient(s: System) -> Function:
    """Trajectories of the Lorenz system with adaptive steps (Bogacki and Shampine), and their sensitivities.

    Derivatives with respect to the parameters go forward along each trajectory: three tangents beside the state.
    """
    xp = s.xp

    def slope(y: Any, p: Any) -> Any:
        return xp.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])

    def integrate(start: Any, p: Any) -> Any:
        def step(state: Any) -> Any:
            t, h, y = state
            h = xp.minimum(h, 1.0 - t)
            k1 = slope(y, p)
            k2 = slope(y + 0.5 * h * k1, p)
            k3 = slope(y + 0.75 * h * k2, p)
            new = y + h * (2.0 / 9.0 * k1 + 1.0 / 3.0 * k2 + 4.0 / 9.0 * k3)
            k4 = slope(new, p)
            wrong = h * (-5.0 / 72.0 * k1 + 1.0 / 12.0 * k2 + 1.0 / 9.0 * k3 - 0.125 * k4)
            scaled = wrong / (1e-6 + 1e-4 * xp.maximum(xp.abs(y), xp.abs(new)))
            size = xp.sqrt((scaled * scaled).sum() / 3.0 + 1e-30)
            accepted = size <= 1.0
            factor = xp.clip(0.9 * size ** (-1.0 / 3.0), 0.2, 5.0)
            return xp.where(accepted, t + h, t), h * factor, xp.where(accepted, new, y)

        end = s.while_loop(lambda state: state[0] < 1.0 - 1e-12, step, (0.0 * start[0], 0.0 * start[0] + 0.01, start))
        return end[2]

    return lambda start, p: s.vmap(lambda y, q: s.jacobian(lambda r: integrate(y, r))(q))(start, p)


SIDE = 8192, 16384
PROBLEMS = [
    Problem("exp(-x²)x, gradient, 2^27 f64", bell_gradient, normal("f8", 1 << 27), "≤ 0.75 of JAX", read_and_written),
    Problem("elementwise, gradient, 2^27 f32", elementwise_gradient, normal("f4", 1 << 27), "≤ 0.75 of JAX",
            read_and_written, 1e-4),
    *[
        Problem(f"{name} of {what}, 2^27 f64", along(name, axis), normal("f8", *SIDE), "≤ 0.9 of JAX", read_once)
        for name in ("sum", "mean", "var", "logsumexp")
        for what, axis in (("rows", 1), ("columns", 0))
    ],
    Problem("GMM, gradient, 10^4 points", gmm_gradient, gmm_data(10**4), "≤ 0.5 of JAX"),
    Problem("GMM, gradient, 10^6 points", gmm_gradient, gmm_data(10**6), "≤ 0.5 of JAX"),
    Problem("Black-Scholes and Greeks, 10^8 f32", greeks, option_data("f4"), "≤ 0.6 of JAX", read_and_written, 1e-2),
    Problem("Black-Scholes and Greeks, 10^8 f64", greeks, option_data("f8"), "≤ 0.6 of JAX", read_and_written),
    Problem("n bodies, gradient, 10^4", bodies_gradient,
            lambda rng, scale: (rng.standard_normal((max(int(1e4 * scale), 8), 3)),
                                1.0 + rng.random(max(int(1e4 * scale), 8))), "≤ 0.8 of JAX"),
    Problem("reprojection, Jacobians, 3·10^6", reprojection_jacobians, reprojection_data, "≤ 0.3 of JAX"),
    Problem("MLP step 784-4096-10, batch 4096, f32", mlp_step, mlp_data, "≤ 1.0 of JAX", None, 1e-2, mlp_torch),
    Problem("transformer, gradient, 4 layers of 768, 4096 tokens, f32", transformer_gradient, transformer_data,
            "≤ 1.0 of JAX", None, 1e-3, transformer_torch),
    Problem("rosenbrock(10), value and gradient", rosenbrock, normal("f8", 10), "≤ 0.3 of JAX"),
    Problem("Lorenz ensemble 10^6, adaptive, sensitivities", lorenz_gradient, lorenz_data, "≤ 0.1 of JAX", None, 1e-2),
    Problem("embedding 10^7 of 10^6 rows, gradient", embedding_gradient, embedding_data, "≤ 1.0 of JAX", None, 1e-3),
]  # fmt: skip
