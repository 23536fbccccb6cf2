"""Equations, and numbers that depend on everything in their solutions, for tests of integration."""

from __future__ import annotations

import numpy as np

from wengert.integrate import solve_ivp

EXPLICIT = ["RK23", "RK45", "DOP853"]
Y0, P = np.array([1.0, 0.5]), np.array([2.0, 0.3])
POINTS = np.array([0.0, 0.3, 0.8, 1.1])
TIGHT = {"rtol": 1e-9, "atol": 1e-10}


def pendulum(t, y, p):
    return [y[1], -p[0] * np.sin(y[0]) - p[1] * y[1] + 0.1 * t]


def differences(f, x, h=1e-4):
    """The Jacobian by central differences of fourth order."""
    x = np.asarray(x, float)
    columns = []
    for i in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[i] = h
        columns.append((8 * (f(x + e) - f(x - e)) - f(x + 2 * e) + f(x - 2 * e)) / (12 * h))
    return np.stack(columns, -1).reshape((*np.shape(columns[0]), *x.shape))


def weighted(method, adjoint, fun=pendulum, tolerances=TIGHT):
    """A number that depends on everything: initial state, parameters, both ends of the span and points inside."""

    def f(y0, p, ends, points):
        y = solve_ivp(fun, (ends[0], ends[1]), y0, method, points, args=(p,), adjoint=adjoint, **tolerances).y
        return (y * np.array([[1.0, 2.0, 3.0, 4.0], [2.0, -1.0, 1.0, 0.5]])).sum()

    return f
