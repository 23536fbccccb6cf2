"""Finite elements, particles, splines and solvers."""

from __future__ import annotations

import numpy as np
from tests.large.cases import Case

import wengert as wg


def triangles(d, nodes=5000, count=9000):
    """Coordinates, values at the nodes, and three nodes for each element."""
    return d.normal(nodes, 2), d.normal(nodes), d.indices(nodes, count, 3)


def dirichlet_energy(x, u, cells):
    a, b, c = (x[cells[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    du, dv = u[cells[:, 1]] - u[cells[:, 0]], u[cells[:, 2]] - u[cells[:, 0]]
    return ((du**2 + dv**2) / (0.1 + area**2)).sum() / len(cells)


def assembled_load(x, u, cells):
    f = np.sin(x[cells].mean(axis=1)).sum(axis=1) * u[cells].mean(axis=1)
    load = wg.zeros(u.shape).at[cells].add(np.broadcast_to(f[:, None], cells.shape) / 3)
    return (load * u).sum()


def stiffness_times_vector(x, u, cells):
    local = np.exp(-((x[cells] - x[cells].mean(axis=1, keepdims=True)) ** 2).sum(axis=2))
    return (wg.zeros(u.shape).at[cells].add(local * u[cells]) ** 2).mean()


def elasticity(x, u, cells):
    moved = x + 0.1 * np.stack([u, u**2], axis=1)
    edge = moved[cells] - moved[np.roll(cells, 1, axis=1)]
    return (np.sqrt((edge**2).sum(axis=2) + 0.1) - 1.0).std()


def springs(x, s, t):
    d = x[s] - x[t]
    return ((np.sqrt((d**2).sum(axis=1) + 1e-3) - 1.0) ** 2).sum()


def forces(x, s, t):
    return (wg.grad(springs)(x, s, t) ** 2).mean()


def leapfrog(x, s, t):
    def step(state, _):
        x, v = state
        d = x[s] - x[t]
        f = d / (1.0 + (d**2).sum(axis=1, keepdims=True))
        v = v - 0.01 * wg.zeros(x.shape).at[s].add(f).at[t].add(-f)
        return (x + 0.01 * v, v), None

    (x, v), _ = wg.scan(step, (x, 0.0 * x), np.arange(4.0))
    return (x**2).mean() + (v**2).mean()


def pairwise(x):
    r2 = ((x[:, None] - x[None]) ** 2).sum(axis=2) + 0.5
    return (r2**-6 - r2**-3).sum() / len(x)


def charge_on_a_grid(x, q):
    at = 50 + 10 * np.tanh(x)
    cell = np.floor(at).astype(np.int64)
    part = at - cell
    grid = wg.zeros(128).at[cell].add(q * (1 - part)).at[cell + 1].add(q * part)
    return (grid**2).mean()


def linear_spline(x, knots):
    at = 0.5 * (1 + np.tanh(x)) * (len(knots) - 2)
    k = np.floor(at).astype(np.int64)
    return (((1 - at + k) * knots[k] + (at - k) * knots[k + 1]) ** 2).mean()


def cubic_spline(x, knots):
    at = 1 + 0.5 * (1 + np.tanh(x)) * (len(knots) - 5)
    k = np.floor(at).astype(np.int64)
    w = at - k
    a, b, c, d = (knots[k + j] for j in (-1, 0, 1, 2))
    y = b + 0.5 * w * (c - a + w * (2 * a - 5 * b + 4 * c - d + w * (3 * (b - c) + d - a)))
    return np.abs(y).sum()


def surface_spline(x, y, table):
    k, j = (np.clip(np.floor(20 + 5 * np.tanh(v)).astype(np.int64), 0, 38) for v in (x, y))
    p, q = 20 + 5 * np.tanh(x) - k, 20 + 5 * np.tanh(y) - j
    low = (1 - p) * table[k, j] + p * table[k + 1, j]
    high = (1 - p) * table[k, j + 1] + p * table[k + 1, j + 1]
    return (((1 - q) * low + q * high) ** 2).mean()


def heat(u):
    for _ in range(5):
        u = u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)
    return (u**4).mean()


def heat_in_a_loop(u):
    step = lambda k, u: wg.asarray(u).at[1:-1, 1:-1].add(0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1]))
    return (wg.fori_loop(0, 6, step, u) ** 2).sum()


def upwind(u, c):
    def step(u, _):
        flux = np.where(c > 0, u * c, np.roll(u, -1) * c)
        return u - 0.1 * (flux - np.roll(flux, 1)), (u**2).sum()

    u, energies = wg.scan(step, u, np.arange(8.0))
    return energies.mean() + (u**3).sum()


def jacobi(a, b):
    d = 4.0 + np.abs(a).sum(axis=1)
    step = lambda k, x: (b - a @ x) / d
    return (wg.fori_loop(0, 10, step, 0.0 * b) ** 2).sum()


def conjugate_gradients(a, b):
    apply = lambda x: 5.0 * x + a.T @ (a @ x) / len(b)

    def step(k, state):
        x, r, p = state
        ap = apply(p)
        alpha = (r @ r) / (p @ ap)
        new = r - alpha * ap
        return x + alpha * p, new, new + (new @ new) / (r @ r) * p

    return (wg.fori_loop(0, 5, step, (0.0 * b, b, b))[0] ** 2).sum()


def dense_solve(a, b):
    return (np.linalg.solve(a @ a.T / len(b) + 3 * np.eye(len(b)), b) ** 2).sum()


def oscillators(x, v):
    def step(state, _):
        x, v = state
        v = v - 0.02 * np.sin(x)
        return (x + 0.02 * v, v), None

    (x, v), _ = wg.scan(step, (x, v), np.arange(20.0))
    return (v**2).mean() - np.cos(x).mean()


def bodies(d, n=3000, count=15_000):
    return d.normal(n, 3), d.indices(n, count), d.indices(n, count)


def square(d, n=430):
    return d.normal(n, n) / n, d.normal(n)


FAMILY = {
    "Dirichlet energy": Case(dirichlet_energy, triangles),
    "assembled load": Case(assembled_load, triangles),
    "stiffness times vector": Case(stiffness_times_vector, triangles),
    "elasticity": Case(elasticity, triangles),
    "springs": Case(springs, bodies),
    "forces": Case(forces, bodies),
    "leapfrog": Case(leapfrog, bodies),
    "pairs": Case(pairwise, lambda d: (d.normal(220, 3),)),
    "charge on a grid": Case(charge_on_a_grid, lambda d: (d.normal(40_000), d.normal(40_000))),
    "linear spline": Case(linear_spline, lambda d: (d.normal(60_000), d.normal(50))),
    "cubic spline": Case(cubic_spline, lambda d: (d.normal(40_000), d.normal(300))),
    "surface spline": Case(surface_spline, lambda d: (d.normal(30_000), d.normal(30_000), d.normal(40, 40))),
    "heat": Case(heat, lambda d: (d.normal(200, 200),)),
    "heat in a loop": Case(heat_in_a_loop, lambda d: (d.normal(200, 200),)),
    "upwind": Case(upwind, lambda d: (d.normal(20_000), d.normal(20_000))),
    "Jacobi": Case(jacobi, square),
    "conjugate gradients": Case(conjugate_gradients, square),
    "dense solve": Case(dense_solve, lambda d: square(d, 150)),
    "oscillators": Case(oscillators, lambda d: (d.normal(10_000), d.normal(10_000))),
}
