"""A sharper picture.

The camera moved while a photograph was taken, and the photograph is noisy. The picture that explains it best, with
few edges, minimises a sum: the misfit of a convolution and the total variation. There are ten thousand unknowns, and
the gradient costs as much as a few convolutions.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import convolve2d

import wengert as wg

N = 96
y, x = np.mgrid[:N, :N] / N
sharp = (
    0.15 + 0.6 * ((x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.05) + 0.5 * ((np.abs(x - 0.7) < 0.12) & (np.abs(y - 0.65) < 0.2))
)
sharp -= 0.4 * ((x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.012) + 0.35 * (np.abs(x - y + 0.55) < 0.03)
stroke = np.zeros((9, 9))
for k in np.linspace(0.0, 8.0, 40):
    stroke[int(round(8 - k)), int(round(k))] += 1.0
stroke /= stroke.sum()
rng = np.random.default_rng(0)
photo = convolve2d(sharp, stroke, "same") + 0.01 * rng.standard_normal((N, N))


def blur(picture):
    return wg.signal.convolve2d(picture, stroke, mode="same")


def objective(picture):
    across, down = np.diff(picture, axis=1)[:-1], np.diff(picture, axis=0)[:, :-1]
    variation = np.sqrt(across**2 + down**2 + 1e-6).sum()
    return 0.5 * ((blur(picture) - photo) ** 2).sum() + 0.002 * variation


found = wg.optimize.minimize(objective, photo, method="L-BFGS-B", options={"maxiter": 300}).x
error = lambda picture: float(np.sqrt(((picture - sharp)[6:-6, 6:-6] ** 2).mean()))
assert error(found) < 0.5 * error(photo)

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6))
for axis, picture, name in zip(axes, (sharp, photo, found), ("truth", "photograph", "restored"), strict=True):
    axis.imshow(picture, cmap="gray", vmin=0.0, vmax=1.0)
    axis.set_title(name if picture is sharp else f"{name}: error {error(picture):.3f}")
    axis.axis("off")
plt.show()
