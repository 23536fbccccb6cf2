"""Differential equations by adaptive steps, and gradients with respect to their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads.faces import first_and_leaves, write_for_wengert

RTOL, ATOL = 1e-6, 1e-8
MAX_STEPS = 4096


def lorenz(t: Any, y: Any, p: Any, m: Any) -> Any:
    """The Lorenz system."""
    return m.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


def pendulum(t: Any, y: Any, p: Any, m: Any) -> Any:
    """A pendulum with friction that is driven."""
    return m.stack([y[1], -p[0] * m.sin(y[0]) - p[1] * y[1] + p[2] * m.cos(t)])


def robertson(t: Any, y: Any, p: Any, m: Any) -> Any:
    """Robertson's chemical reactions, which are stiff; rates in units of their usual values."""
    fast, slow, square = 1e4 * p[2] * y[1] * y[2], 0.04 * p[0] * y[0], 3e7 * p[1] * y[1] * y[1]
    return m.stack([fast - slow, slow - fast - square, square])


class Problem:
    """A right-hand side, where it starts and ends, its parameters, and whether it is stiff."""

    def __init__(self, name: str, f: Callable, end: float, start: list[float], params: list[float], is_stiff: bool):
        self.name, self.f, self.end, self.is_stiff = name, f, end, is_stiff
        self.start, self.params = np.array(start), np.array(params)
        self.weights = np.arange(1.0, len(start) + 1.0)

    def loss(self, p: Any, start: Any, face: Any) -> Any:
        """A weighted sum of the final state, by Wengert."""
        import wengert as wg

        found = wg.integrate.solve_ivp(
            lambda t, y, p: self.f(t, y, p, np), (0.0, self.end), start, method="Radau" if self.is_stiff else "RK45",
            args=(p,), rtol=RTOL, atol=ATOL,
        )  # fmt: skip
        return np.sum(self.weights * found.y[:, -1])

    def by_diffrax(self, p: np.ndarray, start: np.ndarray) -> Run:
        """The same by diffrax, in the form that its documentation recommends."""
        import diffrax
        import jax

        term = diffrax.ODETerm(lambda t, y, p: self.f(t, y, p, jax.numpy))
        solver = diffrax.Kvaerno5() if self.is_stiff else diffrax.Dopri5()
        control = diffrax.PIDController(rtol=RTOL, atol=ATOL)

        def loss(p: Any, start: Any) -> Any:
            found = diffrax.diffeqsolve(
                term, solver, 0.0, self.end, None, start, p, stepsize_controller=control, max_steps=MAX_STEPS,
            )  # fmt: skip
            return jax.numpy.sum(self.weights * found.ys[-1])

        return compiled_by_jax(loss, p, start)

    def by_jax(self, p: np.ndarray, start: np.ndarray) -> Run:
        """The same by the integrator of JAX itself: Dopri5, and the continuous adjoint, which is wrong if chaotic."""
        import jax
        from jax.experimental.ode import odeint

        def loss(p: Any, start: Any) -> Any:
            times = jax.numpy.array([0.0, self.end])
            f = lambda y, t, p: self.f(t, y, p, jax.numpy)
            return jax.numpy.sum(self.weights * odeint(f, start, times, p, rtol=RTOL, atol=ATOL)[-1])

        return compiled_by_jax(loss, p, start)

    def workload(self) -> Workload:
        """The workload, with Wengert, diffrax, and, where its adjoint is right, JAX."""
        made = Workload(
            f"ode-{self.name}",
            f"{self.name} over {self.end:g} units of time by adaptive steps: final state, and gradient in 3 parameters",
            data=lambda _: (self.params, self.start),
            sizes={"medium": 1},
            targets={"medium": {"diffrax": 0.5}},
            compile_targets={"medium": {"diffrax": 0.5}},
            subject="wengert compiled",
            reference="wengert",
            family="loops",
            tolerance=1e-3,  # each system chooses its own steps
        )
        write_for_wengert(made, self.loss)
        made.implementation("diffrax")(self.by_diffrax)
        if self.f is pendulum:
            made.implementation("jax")(self.by_jax)
        return made


def compiled_by_jax(loss: Callable, p: np.ndarray, start: np.ndarray) -> Run:
    """Value and gradient of a loss in JAX's operations."""
    import jax

    value_and_grad = jax.jit(jax.value_and_grad(loss))
    return first_and_leaves(
        lambda *a: jax.block_until_ready(value_and_grad(*a)), jax.numpy.asarray(p), (jax.numpy.asarray(start),)
    )


workloads = [
    problem.workload()
    for problem in (
        Problem("lorenz", lorenz, 2.0, [1.0, 1.0, 1.0], [10.0, 28.0, 8.0 / 3.0], False),
        Problem("pendulum", pendulum, 10.0, [1.0, 0.0], [1.0, 0.1, 0.5], False),
        Problem("robertson", robertson, 100.0, [1.0, 0.0, 0.0], [1.0, 1.0, 1.0], True),
    )
]
