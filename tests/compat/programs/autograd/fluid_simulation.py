"""Smoke in a box: the initial velocities that carry it into a given shape, through a solver of incompressible flow."""

import autograd.numpy as np
import numpy.random as npr
from autograd import value_and_grad
from scipy.optimize import minimize

SIZE, STEPS = 8, 3
rng = npr.RandomState(12)
start_smoke = np.zeros((SIZE, SIZE))
start_smoke[2:5, 2:5] = 1.0
goal = np.roll(start_smoke, 2, axis=1)


def project(vx, vy):
    """Remove the divergence, by some steps of Jacobi's method."""
    pressure = np.zeros(vx.shape)
    divergence = -0.5 * (
        np.roll(vx, -1, axis=1) - np.roll(vx, 1, axis=1) + np.roll(vy, -1, axis=0) - np.roll(vy, 1, axis=0)
    )
    for _ in range(5):
        around = np.roll(pressure, 1, axis=1) + np.roll(pressure, -1, axis=1)
        around = around + np.roll(pressure, 1, axis=0) + np.roll(pressure, -1, axis=0)
        pressure = (divergence + around) / 4.0
    vx = vx - 0.5 * (np.roll(pressure, -1, axis=1) - np.roll(pressure, 1, axis=1))
    vy = vy - 0.5 * (np.roll(pressure, -1, axis=0) - np.roll(pressure, 1, axis=0))
    return vx, vy


def advect(f, vx, vy):
    """Take what comes from upstream, with linear interpolation."""
    ys, xs = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
    from_x, from_y = (xs - vx).ravel(), (ys - vy).ravel()
    left, top = np.floor(from_x).astype(int), np.floor(from_y).astype(int)
    rw, bw = from_x - left, from_y - top
    left, right = np.mod(left, SIZE), np.mod(left + 1, SIZE)
    top, bottom = np.mod(top, SIZE), np.mod(top + 1, SIZE)
    upper = (1 - rw) * f[top, left] + rw * f[top, right]
    lower = (1 - rw) * f[bottom, left] + rw * f[bottom, right]
    return np.reshape((1 - bw) * upper + bw * lower, (SIZE, SIZE))


def simulate(params):
    vx, vy = np.reshape(params, (2, SIZE, SIZE))
    smoke = start_smoke
    for _ in range(STEPS):
        vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
        smoke = advect(smoke, vx, vy)
    return smoke


def objective(params):
    return np.mean((goal - simulate(params)) ** 2)


start = 0.1 * rng.randn(2 * SIZE * SIZE) + 0.05
value, gradient = value_and_grad(objective)(start)
found = minimize(value_and_grad(objective), start, jac=True, method="CG", options={"maxiter": 2})
results = {"value": value, "gradient": gradient, "fun": found.fun, "smoke": simulate(found.x)}
