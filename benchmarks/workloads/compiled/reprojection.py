"""Bundle adjustment, with the camera of ADBench: the Jacobians of 30 000 pairs of residuals by 15 parameters each.

The parameters of one observation are the camera's rotation vector (3), centre (3), focal length, principal point (2)
and radial distortion (2), then the point (3) and the weight of the observation.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

TRIALS = 3


def data(observations: int) -> tuple:
    """Parameters (N, 15) and observed image points (N, 2); every point lies before its camera, no rotation is zero."""
    rng = np.random.default_rng(0)

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return rng.uniform(low, high, (observations, *shape))

    rotation, centre = uniform(0.05, 0.5, 3), uniform(-1.0, 1.0, 3)
    focal, principal, distortion = uniform(400.0, 600.0, 1), uniform(-10.0, 10.0, 2), uniform(-0.1, 0.1, 2)
    point = np.concatenate([uniform(-2.0, 2.0, 2), uniform(6.0, 12.0, 1)], axis=1)
    weight = uniform(0.5, 1.5, 1)
    return np.concatenate([rotation, centre, focal, principal, distortion, point, weight], axis=1), uniform(
        -300.0, 300.0, 2
    )


def residual(p: Any, observed: Any, m: Any) -> Any:
    """The weighted difference between where the camera shows the point and where it was seen, for one observation."""
    rotation, centre, focal, principal, distortion, point, weight = (
        p[:3],
        p[3:6],
        p[6],
        p[7:9],
        p[9:11],
        p[11:14],
        p[14],
    )
    angle = m.sqrt(rotation @ rotation)
    axis, away = rotation / angle, point - centre
    turned = m.cos(angle) * away + m.sin(angle) * m.cross(axis, away) + (1 - m.cos(angle)) * (axis @ away) * axis
    u = turned[:2] / turned[2]
    square = u @ u
    return weight * (focal * (1 + distortion[0] * square + distortion[1] * square**2) * u + principal - observed)


workload = Workload(
    "reprojection",
    "the Jacobians (2 by 15) of 30 000 reprojection residuals of bundle adjustment, batched and compiled; JAX in its "
    "better mode",
    data=data,
    sizes={"large": 30_000},
    targets={"large": {"jax": 1.0}},
    subject="wengert compiled",
)


@workload.implementation("wengert compiled")
def wengert(p: np.ndarray, observed: np.ndarray) -> Run:
    import wengert as wg

    jacobians = wg.compile(wg.vmap(wg.jacobian(lambda p, observed: residual(p, observed, np))))
    return lambda: (jacobians(p, observed),)


@workload.implementation("jax")
def jax(p: np.ndarray, observed: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    p, observed = jnp.asarray(p), jnp.asarray(observed)

    def prepared(mode: Callable) -> Run:
        jacobians = jax.jit(jax.vmap(mode(lambda p, observed: residual(p, observed, jnp))))
        return lambda: (jacobians(p, observed).block_until_ready(),)

    return min((prepared(jax.jacrev), prepared(jax.jacfwd)), key=trial)


def trial(run: Run) -> float:
    """The best time of a few calls, the first not counted."""
    run()
    times = []
    for _ in range(TRIALS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


@workload.implementation("numpy")
def numpy(p: np.ndarray, observed: np.ndarray) -> Run:
    """By hand, with dy/dr = (dy/d angle) axis^T + (dy/d axis) (1 - axis axis^T) / angle for the turned vector y."""
    one = np.eye(3)
    dot = lambda a, b: np.einsum("ni,ni->n", a, b)[:, None]
    outer = lambda a, b: a[:, :, None] * b[:, None, :]
    cross_matrix = lambda a: np.cross(a[:, None, :], one).swapaxes(1, 2)

    def run() -> tuple:
        rotation, centre, focal, principal, (k1, k2), point, weight = (
            p[:, :3], p[:, 3:6], p[:, 6:7], p[:, 7:9], (p[:, 9:10], p[:, 10:11]), p[:, 11:14], p[:, 14:15],
        )  # fmt: skip
        angle = np.sqrt(dot(rotation, rotation))
        c, s = np.cos(angle), np.sin(angle)
        axis, away = rotation / angle, point - centre
        along, across = dot(axis, away), np.cross(axis, away)
        y = c * away + s * across + (1 - c) * along * axis
        by_angle = -s * away + c * across + s * along * axis
        c_, s_ = c[:, :, None], s[:, :, None]
        by_axis = -s_ * cross_matrix(away) + (1 - c_) * (along[:, :, None] * one + outer(axis, away))
        turn = c_ * one + s_ * cross_matrix(axis) + (1 - c_) * outer(axis, axis)
        by_rotation = outer(by_angle, axis) + by_axis @ (one - outer(axis, axis)) / angle[:, :, None]

        u = y[:, :2] / y[:, 2:]
        square = dot(u, u)
        stretch = 1 + k1 * square + k2 * square**2
        perspective = (
            np.concatenate([np.broadcast_to(np.eye(2), (len(p), 2, 2)), -u[:, :, None]], axis=2) / y[:, 2:, None]
        )
        distorted = stretch[:, :, None] * np.eye(2) + outer(u, 2 * u * (k1 + 2 * k2 * square))
        by_y = (weight * focal)[:, :, None] * distorted @ perspective

        jacobian = np.empty((len(p), 2, 15))
        jacobian[:, :, :3] = by_y @ by_rotation
        jacobian[:, :, 11:14] = by_y @ turn
        jacobian[:, :, 3:6] = -jacobian[:, :, 11:14]
        jacobian[:, :, 6] = weight * stretch * u
        jacobian[:, :, 7:9] = weight[:, :, None] * np.eye(2)
        jacobian[:, :, 9] = weight * focal * square * u
        jacobian[:, :, 10] = weight * focal * square**2 * u
        jacobian[:, :, 14] = focal * stretch * u + principal - observed
        return (jacobian,)

    return run
