"""The basins of Newton's method.

Newton's method for the roots of z^3 = 1 in the complex plane ends at one of three roots, and the boundary between
their basins is a fractal. The derivative of a holomorphic function is a complex number: `jvp` with the tangent one,
for all points of the plane at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg


def f(z):
    return z**3 - 1.0


@wg.compile
def newton(z):
    def step(state, _):
        z, count = state
        value, slope = wg.jvp(f, (z,), (np.ones_like(z),))
        count = count + np.where(np.abs(value) > 1e-3, 1.0, np.clip(np.abs(value) / 1e-3, 0.0, 1.0))
        return (z - value / slope, count), None

    return wg.scan(step, (z, np.zeros(z.shape)), None, length=25)[0]


axis = np.linspace(-1.6, 1.6, 500)
z, count = newton(axis + 1j * axis[:, None] + 1e-9)
roots = np.exp(2j * np.pi * np.arange(3) / 3)
nearest = np.argmin(np.abs(z[..., None] - roots), axis=-1)
assert (np.abs(f(z)) < 1e-6).mean() > 0.99
assert np.abs([np.mean(nearest == k) - 1 / 3 for k in range(3)]).max() < 0.02  # by symmetry

colours = np.array([[0.90, 0.62, 0.0], [0.34, 0.71, 0.91], [0.0, 0.62, 0.45]])
shade = 1.0 / (1.0 + 0.09 * count)
plt.figure(figsize=(5, 5))
plt.imshow(colours[nearest] * shade[..., None], extent=(-1.6, 1.6, -1.6, 1.6), origin="lower")
plt.plot(roots.real, roots.imag, "w+", ms=12)
plt.axis("off")
plt.show()
