"""The drag of an obstacle in a wind tunnel, and how it changes with the obstacle's shape."""

import autograd.numpy as np
from autograd import value_and_grad

ROWS, COLUMNS = 6, 10


def occlude(f, occlusion):
    return f * (1 - occlusion)


def project(vx, vy, occlusion):
    pressure = np.zeros(vx.shape)
    divergence = -0.5 * (
        np.roll(vx, -1, axis=1) - np.roll(vx, 1, axis=1) + np.roll(vy, -1, axis=0) - np.roll(vy, 1, axis=0)
    )
    divergence = occlude(divergence, occlusion)
    for _ in range(4):
        sides = [np.roll(pressure, shift, axis) for shift in (1, -1) for axis in (0, 1)]
        pressure = occlude((divergence + sum(sides)) / 4.0, occlusion)
    vx = vx - 0.5 * (np.roll(pressure, -1, axis=1) - np.roll(pressure, 1, axis=1))
    vy = vy - 0.5 * (np.roll(pressure, -1, axis=0) - np.roll(pressure, 1, axis=0))
    return occlude(vx, occlusion), occlude(vy, occlusion)


def drag(shape):
    occlusion = 1.0 / (1.0 + np.exp(-np.reshape(shape, (ROWS, COLUMNS))))
    vx, vy = occlude(np.ones((ROWS, COLUMNS)), occlusion), occlude(np.zeros((ROWS, COLUMNS)), occlusion)
    for _ in range(3):
        before = vx
        vx = 0.9 * vx - 0.1 * (np.roll(vx, -1, axis=1) - vx) * vx
        vx, vy = project(vx, vy, occlusion)
        vx = np.concatenate([np.ones((ROWS, 1)), vx[:, 1:]], axis=1)
    return np.mean((vx - 1.0) ** 2) + 0.3 * np.mean(vy**2) + np.mean(np.abs(vx - before))


columns, rows = np.meshgrid(np.arange(COLUMNS), np.arange(ROWS))
start = np.ravel(1.5 - ((columns - 4.3) ** 2 / 3.0 + (rows - 2.4) ** 2))
shape, drags = start, []
for _ in range(3):
    value, gradient = value_and_grad(drag)(shape)
    drags.append(value)
    shape = shape - 5.0 * gradient
results = {"drags": drags, "gradient": gradient, "shape": shape}
