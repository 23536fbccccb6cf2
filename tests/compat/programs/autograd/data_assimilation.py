"""The initial state of a chaotic system (Lorenz, 1996) from noisy observations of a part of it (4D-Var)."""

import autograd.numpy as np
import numpy.random as npr
from autograd import checkpoint, grad, make_jvp

SIZE, STEP = 8, 0.02
rng = npr.RandomState(21)


def tendency(x):
    return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 8.0


@checkpoint
def advance(x):
    k1 = tendency(x)
    k2 = tendency(x + 0.5 * STEP * k1)
    k3 = tendency(x + 0.5 * STEP * k2)
    k4 = tendency(x + STEP * k3)
    return x + STEP * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def trajectory(x, steps=10):
    states = []
    for _ in range(steps):
        x = advance(x)
        states.append(x)
    return np.array(states)


truth = 8.0 + rng.randn(SIZE)
observations = trajectory(truth)[::2, ::2] + 0.05 * rng.randn(5, SIZE // 2)
background = truth + 0.3 * rng.randn(SIZE)


def cost(x):
    return (
        0.5 * np.sum((trajectory(x)[::2, ::2] - observations) ** 2) / 0.05**2
        + 0.5 * np.sum((x - background) ** 2) / 0.09
    )


x, costs = background, []
for _ in range(5):
    costs.append(cost(x))
    x = x - 2e-5 * grad(cost)(x)
results = {"costs": costs, "x": x, "gradient": grad(cost)(x)}
tangent = make_jvp(lambda x: tendency(x))(truth)(np.ones(SIZE))
results["tangent"] = tangent[1]
