"""Stencils: heat and waves by rolled arrays and by slices, and Newton's method for an equation with a second derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all, write_for_jax, write_for_torch, write_for_wengert

HEAT_STEPS, WAVE_STEPS, NEWTON_STEPS = 20, 100, 3
RATE = 0.2


def heat_data(n: int) -> tuple:
    """The initial temperatures of a square, and temperatures at the end."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, n)), rng.standard_normal((n, n))


def wave_data(n: int) -> tuple:
    """The initial shape of a string, and its shape at the end."""
    rng = np.random.default_rng(0)
    return rng.standard_normal(n), rng.standard_normal(n)


def newton_data(n: int) -> tuple:
    """The strength of the source at each point."""
    return (np.random.default_rng(0).uniform(0.5, 1.5, n),)


def heat_by_roll(u: Any, m: Any) -> Any:
    """A step on a torus."""
    around = m.roll(u, 1, 0) + m.roll(u, -1, 0) + m.roll(u, 1, 1) + m.roll(u, -1, 1)
    return u + RATE * (around - 4.0 * u)


def heat_by_slices(u: Any, m: Any) -> Any:
    """A step with fixed temperatures around the square."""
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    rows = m.concatenate([u[1:-1, :1], inner + RATE * (around - 4.0 * inner), u[1:-1, -1:]], 1)
    return m.concatenate([u[:1], rows, u[-1:]], 0)


def wave_by_roll(u: Any, old: Any, m: Any) -> Any:
    """A step on a circle."""
    return 2.0 * u - old + RATE * (m.roll(u, 1, 0) - 2.0 * u + m.roll(u, -1, 0))


def wave_by_slices(u: Any, old: Any, m: Any) -> Any:
    """A step of a string whose ends are fixed."""
    inner = 2.0 * u[1:-1] - old[1:-1] + RATE * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return m.concatenate([u[:1], inner, u[-1:]], 0)


def heat_loss(step: Callable) -> Callable:
    """The squared difference between the temperatures after some steps and others."""

    def loss(u: Any, targets: Any, face: Face) -> Any:
        u, _ = face.scan(lambda u, _: (step(u, face.numpy), None), u, length=HEAT_STEPS)
        return face.numpy.sum((u - targets) ** 2)

    return loss


def wave_loss(step: Callable) -> Callable:
    """The squared difference between the shape after some steps and another one, from rest."""

    def loss(u: Any, targets: Any, face: Face) -> Any:
        move = lambda state, _: ((step(*state, face.numpy), state[0]), None)
        (u, _), _ = face.scan(move, (u, u), length=WAVE_STEPS)
        return face.numpy.sum((u - targets) ** 2)

    return loss


def newton_loss(strength: Any, face: Face, jacobian: Callable, solve: Callable) -> Any:
    """The energy of u, where u'' + strength e^u = 0 and u is 0 at both ends (Bratu's equation)."""
    m, n = face.numpy, len(strength)

    def residual(u: Any) -> Any:
        zero = 0.0 * u[:1]
        p = m.concatenate([zero, u, zero], 0)
        return (p[2:] - 2.0 * u + p[:-2]) * (n + 1) ** 2 + strength * m.exp(u)

    u = 0.0 * strength
    for _ in range(NEWTON_STEPS):
        u = u - solve(jacobian(residual)(u), residual(u))
    return m.sum(u**2)


def wengert_newton(strength: Any, face: Face) -> Any:
    import wengert as wg

    return newton_loss(strength, face, wg.jacobian, np.linalg.solve)


def jax_newton(strength: Any, face: Face) -> Any:
    import jax

    return newton_loss(strength, face, jax.jacfwd, jax.numpy.linalg.solve)


def torch_newton(strength: Any, face: Face) -> Any:
    import torch

    return newton_loss(strength, face, torch.func.jacfwd, torch.linalg.solve)


def _workload(name: str, statement: str, data: Callable, sizes: dict[str, int], **more: Any) -> Workload:
    return Workload(
        name,
        f"{statement}: value and gradient",
        data=data,
        sizes=sizes,
        subject="wengert compiled",
        reference="wengert",
        family="stencils",
        **more,
    )


HEAT, HEAT_SIZES = "20 steps of the heat equation on 64 x 64 and 512 x 512 points", {"small": 64, "large": 512}
WAVE, WAVE_SIZES = "100 steps of the wave equation on 1 000 and 100 000 points", {"small": 1_000, "large": 100_000}

workloads = [
    _workload("heat-roll", f"{HEAT} of a torus, by roll", heat_data, HEAT_SIZES),
    _workload("heat-slices", f"{HEAT}, by slices that are joined with the border", heat_data, HEAT_SIZES),
    _workload("wave-roll", f"{WAVE} of a circle, by roll", wave_data, WAVE_SIZES),
    _workload("wave-slices", f"{WAVE}, by slices that are joined with both ends", wave_data, WAVE_SIZES),
]
for _made, _loss in zip(
    workloads,
    [heat_loss(heat_by_roll), heat_loss(heat_by_slices), wave_loss(wave_by_roll), wave_loss(wave_by_slices)],
    strict=True,
):
    write_for_all(_made, _loss)

newton = _workload(
    "bratu",
    "3 steps of Newton's method, with the whole Jacobian, for Bratu's equation on 50 and 200 points",
    newton_data,
    {"small": 50, "large": 200},
)
write_for_wengert(newton, wengert_newton)
write_for_jax(newton, jax_newton)
write_for_torch(newton, torch_newton, is_compiled=False)
workloads.append(newton)
