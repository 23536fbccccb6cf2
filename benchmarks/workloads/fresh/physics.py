"""Models of physics: particles in a periodic box, shallow water, a truss, and a lens."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.faces import Face
from benchmarks.workloads.fresh.fresh import fresh

BOX = 6.0


def box_data(n: int) -> tuple:
    """Positions of particles; charges."""
    rng = np.random.default_rng(0)
    side = int(np.ceil(n ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)[:n]
    return BOX / side * (grid + 0.2 * rng.uniform(size=(n, 3))), rng.choice([-1.0, 1.0], n)


def box_loss(x: Any, charges: Any, face: Face) -> Any:
    """The energy of Lennard-Jones particles with screened charges, each beside the nearest image of each other."""
    m = face.numpy
    d = x[:, None, :] - x[None, :, :]
    d = d - BOX * m.round(d / BOX)
    squares = m.sum(d**2, axis=2)
    itself = squares < 1e-12
    safe = m.where(itself, m.ones_like(squares), squares)
    sixth = (0.5 / safe) ** 3
    r = m.sqrt(safe)
    pair = 4.0 * (sixth**2 - sixth) + charges[:, None] * charges[None, :] * m.exp(-r) / r
    near = (safe < (0.5 * BOX) ** 2) & ~itself
    return 0.5 * m.sum(m.where(near, pair, m.zeros_like(pair)))


def water_data(n: int) -> tuple:
    """The height of the water at the start; the bottom; the height at the end that is wanted."""
    rng = np.random.default_rng(0)
    y, x = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    start = 1.0 + 0.1 * np.exp(-60.0 * ((x - 0.4) ** 2 + (y - 0.5) ** 2))
    return start, 0.05 * rng.uniform(size=(n, n)), np.ones((n, n))


def water_loss(h: Any, bottom: Any, wanted: Any, face: Face) -> Any:
    """Squared differences from a wanted height, after 15 steps of the shallow-water equations on a torus."""
    m = face.numpy
    ahead = lambda a, axis: m.roll(a, -1, axis)
    behind = lambda a, axis: m.roll(a, 1, axis)
    slope = lambda a, axis: 0.5 * (ahead(a, axis) - behind(a, axis))
    smooth = lambda a: 0.25 * (ahead(a, 0) + behind(a, 0) + ahead(a, 1) + behind(a, 1))

    def step(state: tuple, _: Any) -> tuple:
        h, u, v = state
        p, q = h * u, h * v
        level = h + bottom
        dt = 0.1
        new = smooth(h) - dt * (slope(p, 0) + slope(q, 1))
        du = u * slope(u, 0) + v * slope(u, 1) + slope(level, 0)
        dv = u * slope(v, 0) + v * slope(v, 1) + slope(level, 1)
        return (new, smooth(u) - dt * du, smooth(v) - dt * dv), None

    (last, _, _), _ = face.scan(step, (h, 0.0 * h, 0.0 * h), length=15)
    return m.sum((last - wanted) ** 2)


def truss_data(bays: int) -> tuple:
    """Areas of bars; nodes of a beam of bays, the ends of its bars, loads."""
    top = np.stack([np.arange(bays + 1.0), np.ones(bays + 1)], 1)
    nodes = np.concatenate([top - [0.0, 1.0], top])
    k = np.arange(bays)
    over = bays + 1
    bars = [(k, k + 1), (k + over, k + 1 + over), (k, k + 1 + over), (k + 1, k + over), (k + 1, k + 1 + over)]
    ends = np.concatenate([np.stack(pair, 1) for pair in bars])
    loads = np.zeros((len(nodes), 2))
    loads[bays, 1] = -1.0
    return np.full(len(ends), 0.5), nodes, ends[:, 0], ends[:, 1], loads.reshape(-1)


def truss_loss(areas: Any, nodes: Any, first: Any, second: Any, loads: Any, face: Face) -> Any:
    """The compliance of a truss that is held at one end, plus its weight."""
    m = face.numpy
    count = nodes.shape[0]
    along = nodes[second] - nodes[first]
    length = m.sqrt(m.sum(along**2, axis=1))
    unit = along / length[:, None]
    eye = m.eye(count, dtype=nodes.dtype)
    ends = eye[second] - eye[first]
    rows = (ends[:, :, None] * unit[:, None, :]).reshape(-1, 2 * count)
    held = (nodes[:, 0] == 0.0)[:, None] & (nodes[:, :1] == nodes[:, :1])
    held = m.where(held, 1e6 * m.ones_like(nodes), m.zeros_like(nodes)).reshape(-1)
    stiffness = rows.T @ (rows * (areas / length)[:, None]) + m.eye(2 * count, dtype=nodes.dtype) * held[None, :]
    moved = m.linalg.solve(stiffness, loads)
    return m.sum(loads * moved) + 0.1 * m.sum(areas * length)


def lens_data(rays: int) -> tuple:
    """Curvatures of six surfaces; distances and indices of refraction between them; heights of rays."""
    curvatures = np.array([0.05, -0.02, -0.04, 0.03, 0.02, -0.05])
    rng = np.random.default_rng(0)
    gaps, indices = np.array([2.0, 1.0, 1.5, 0.5, 2.0, 9.0]), np.array([1.5, 1.0, 1.7, 1.0, 1.6, 1.0])
    return curvatures, gaps, indices, rng.uniform(-2.0, 2.0, rays)


def lens_loss(curvatures: Any, gaps: Any, indices: Any, heights: Any, face: Face) -> Any:
    """The spread of rays behind six spherical surfaces, by the law of refraction, and a penalty for strong ones."""
    m = face.numpy
    y, slope, outside = heights, 0.0 * heights, 1.0
    for k in range(6):
        c, inside = curvatures[k], indices[k]
        normal = m.arcsin(m.clip(c * y, -0.9, 0.9))
        sag = c * y**2 / (1.0 + m.cos(normal))
        incidence = m.arctan(slope) + normal
        refracted = m.arcsin(m.clip(outside / inside * m.sin(incidence), -0.95, 0.95))
        slope = m.tan(refracted - normal)
        y = y + slope * (gaps[k] - sag)
        outside = inside
    return m.mean(y**2) - m.mean(y) ** 2 + 0.1 * m.sum(curvatures**2)


workloads = [
    fresh("periodic-box", "the energy of charged particles in a periodic box", box_data, box_loss, small=40, large=800),
    fresh("shallow-water", "15 steps of the shallow-water equations", water_data, water_loss, small=24, large=300),
    fresh("truss", "the compliance of a truss", truss_data, truss_loss, small=10, large=150),
    fresh("lens", "rays through six spherical surfaces", lens_data, lens_loss, small=1_000, large=300_000),
]
