"""The vibrations of a water molecule.

Near its minimum, the energy of a molecule is a quadratic form. The eigenvalues of its Hessian, weighted by the
masses, are the squares of the frequencies at which the molecule absorbs infrared light: here those of a simple force
field, which agree with the measured spectrum of water to a few per cent.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

BOND, ANGLE = 0.9572, np.deg2rad(104.52)  # angstrom, radian
STRETCH, BEND, CROSS = 8.45, 0.697, -0.10  # millidyne per angstrom, and millidyne angstrom
MASSES = np.repeat([15.9949, 1.00783, 1.00783], 3)
WAVENUMBERS = 1302.79  # of the square root of one millidyne per angstrom and atomic mass unit, in 1/cm


def energy(x):
    """Two bonds and the angle between them, as springs."""
    a, b = x[1] - x[0], x[2] - x[0]
    ra, rb = np.sqrt(a @ a), np.sqrt(b @ b)
    angle = np.arccos(a @ b / (ra * rb))
    stretch = 0.5 * STRETCH * ((ra - BOND) ** 2 + (rb - BOND) ** 2) + CROSS * (ra - BOND) * (rb - BOND)
    return stretch + 0.5 * BEND * (angle - ANGLE) ** 2


half = 0.5 * ANGLE
water = BOND * np.array([[0.0, 0.0, 0.0], [np.sin(half), np.cos(half), 0.0], [-np.sin(half), np.cos(half), 0.0]])
assert np.abs(wg.grad(energy)(water)).max() < 1e-12  # at rest

H = wg.hessian(energy)(water).reshape(9, 9)
squares, modes = np.linalg.eigh(H / np.sqrt(np.outer(MASSES, MASSES)))
frequencies = WAVENUMBERS * np.sqrt(np.maximum(squares, 0.0))
measured = np.array([1595.0, 3657.0, 3756.0])
assert np.abs(frequencies[-3:] / measured - 1.0).max() < 0.06
assert frequencies[:6].max() < 1.0  # moving and turning the molecule costs nothing

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2))
for k, axis in enumerate(axes):
    move = (modes[:, 6 + k] / np.sqrt(MASSES)).reshape(3, 3)
    axis.scatter(*water[:, :2].T, s=[900, 350, 350], c=["C3", "0.8", "0.8"], edgecolor="black")
    axis.quiver(*water[:, :2].T, *move[:, :2].T, angles="xy", scale_units="xy", scale=2.2, width=0.012, zorder=3)
    name = ("bending", "symmetric stretching", "asymmetric stretching")[k]
    axis.set(title=f"{name}\n{frequencies[6 + k]:.0f} per cm (measured {measured[k]:.0f})", aspect="equal")
    axis.set(xlim=(-1.5, 1.5), ylim=(-0.8, 1.3))
    axis.axis("off")
plt.tight_layout()
plt.show()
