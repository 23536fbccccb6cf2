"""The Mandelbrot set, drawn by a derivative.

The derivative of the iterate z with respect to c tells how far away the set is: about |z| ln|z| / |dz/dc|. With this
distance, hairs that are thinner than a pixel become visible.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg


def escape(c):
    """Iterate z = z^2 + c, and stop changing a point that has left."""

    def step(_, z):
        return np.where(np.abs(z) < 1e3, z * z + c, z)

    return wg.fori_loop(0, 200, step, np.zeros_like(c))


@wg.compile
def distance(c):
    z, slope = wg.jvp(escape, (c,), (np.ones_like(c),))
    modulus = np.abs(z)
    return np.where(modulus < 2.0, 0.0, modulus * np.log(np.maximum(modulus, 2.0)) / np.maximum(np.abs(slope), 1e-30))


x, y = np.linspace(-2.1, 0.7, 700), np.linspace(-1.15, 1.15, 575)
c = x + 1j * y[:, None]
far = distance(c)
pixel = x[1] - x[0]
assert abs((far == 0.0).mean() * 2.8 * 2.3 - 1.5066) < 0.03  # the area of the set
assert (far[np.abs(c) > 2.0] > 0.0).all()

plt.figure(figsize=(7, 5.8))
plt.imshow(np.log10(far + 0.3 * pixel), extent=(-2.1, 0.7, -1.15, 1.15), cmap="cividis", origin="lower")
plt.axis("off")
plt.show()
