"""Shaping a lens.

A lens with spherical faces blurs: rays far from the axis meet before the focus. Rays are traced through two surfaces
by Snell's law, and least squares chooses the curvature and the aspheric terms so that all rays meet in one point.
Where a ray meets a surface is an implicit equation, solved by a few steps of Newton's method.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

HEIGHTS = np.linspace(-1.0, 1.0, 21)
THICKNESS, FOCUS, INDEX = 0.6, 5.0, 1.5


def sag(shape, y):
    """A conic section and even powers: the depth of a surface at height y."""
    c, k, a4, a6 = shape
    return c * y**2 / (1.0 + np.sqrt(1.0 - (1.0 + k) * (c * y) ** 2)) + a4 * y**4 + a6 * y**6


def meet(shape, offset, point, direction):
    """Where rays meet a surface, and its slope there."""
    t = offset - point[0]
    for _ in range(8):
        y, miss = point[1] + t * direction[1], point[0] + t * direction[0] - offset
        depth, slope = wg.jvp(lambda y: sag(shape, y), (y,), (np.ones_like(y),))
        t = t - (miss - depth) / (direction[0] - slope * direction[1])
    return (point[0] + t * direction[0], point[1] + t * direction[1]), slope


def refract(direction, slope, ratio):
    """Snell's law in vectors; the normal of the surface points along the axis."""
    norm = np.sqrt(1.0 + slope**2)
    nx, ny = 1.0 / norm, -slope / norm
    cosine = direction[0] * nx + direction[1] * ny
    along = np.sqrt(1.0 - ratio**2 * (1.0 - cosine**2)) - ratio * cosine
    return ratio * direction[0] + along * nx, ratio * direction[1] + along * ny


def trace_rays(lens):
    ray = (np.zeros_like(HEIGHTS) - 1.0, HEIGHTS)
    first, slope = meet(lens[0], 0.0, ray, (np.ones_like(HEIGHTS), np.zeros_like(HEIGHTS)))
    inside = refract((np.ones_like(HEIGHTS), np.zeros_like(HEIGHTS)), slope, 1.0 / INDEX)
    second, slope = meet(lens[1], THICKNESS, first, inside)
    outside = refract(inside, slope, INDEX)
    t = (FOCUS - second[0]) / outside[0]
    return first, second, (second[0] + t * outside[0], second[1] + t * outside[1])


spherical = np.array([[0.2, 0.0, 0.0, 0.0], [-0.2, 0.0, 0.0, 0.0]])
spot = lambda lens: trace_rays(lens)[2][1]  # heights in the focal plane
found = wg.optimize.least_squares(spot, spherical, tol=1e-12)
blur = lambda lens: float(np.sqrt((spot(lens) ** 2).mean()))
assert blur(found.x) < 1e-4 < blur(spherical)

figure, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True)
for axis, lens, name in zip(axes, (spherical, found.x), ("spherical", "optimised"), strict=True):
    points = trace_rays(lens)
    path = np.stack([np.stack([np.full_like(HEIGHTS, -1.0), HEIGHTS]), *[np.stack(p) for p in points]])
    axis.plot(path[:, 0], path[:, 1], color="C1", lw=0.7)
    y = np.linspace(-1.1, 1.1, 100)
    axis.fill_betweenx(y, sag(lens[0], y), THICKNESS + sag(lens[1], y), alpha=0.4)
    axis.set(title=f"{name}: the spot has a radius of {blur(lens):.1e}", ylim=(-1.2, 1.2))
plt.tight_layout()
plt.show()
