"""The fastest slide.

Along which curve does a bead slide from one point to another in the least time? Johann Bernoulli asked this in 1696.
The time along a polygon is a function of its heights, and its gradient leads to the answer: a cycloid.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import wengert as wg

X = np.linspace(0.0, 1.0, 101) ** 2  # finer where the slide is steep
DROP = 0.65


def travel_time(inner):
    """Time along the polygon: the mean speed of a segment is that of uniform acceleration."""
    depth = np.concatenate([np.zeros(1), inner, np.array([DROP])])
    speed = np.sqrt(2.0 * 9.81 * depth)
    length = np.hypot(np.diff(X), np.diff(depth))
    return (2.0 * length / (speed[1:] + speed[:-1])).sum()


straight = DROP * X[1:-1]
found = wg.optimize.minimize(travel_time, straight, method="L-BFGS-B", bounds=(1e-9, 2.0), tol=1e-14,
                             options={"maxiter": 5000, "maxfun": 20000})  # fmt: skip

angle = brentq(lambda a: (a - np.sin(a)) / (1.0 - np.cos(a)) - 1.0 / DROP, 0.1, 6.0)
radius = DROP / (1.0 - np.cos(angle))
best = np.sqrt(radius / 9.81) * angle  # the time along the cycloid
assert best < found.fun < 1.001 * best

a = np.linspace(0.0, angle, 200)
plt.figure(figsize=(7, 4))
plt.plot(X, -np.concatenate([[0.0], straight, [DROP]]), "--", label=f"straight: {travel_time(straight):.3f} s")
plt.plot(radius * (a - np.sin(a)), -radius * (1.0 - np.cos(a)), lw=6, alpha=0.3, label=f"cycloid: {best:.4f} s")
plt.plot(X, -np.concatenate([[0.0], found.x, [DROP]]), "k", label=f"by gradients: {found.fun:.4f} s")
plt.gca().set(title="from (0, 0) to (1, -0.65) in the least time", aspect="equal")
plt.legend()
plt.show()
