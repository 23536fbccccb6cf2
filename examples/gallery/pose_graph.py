"""Where has the robot been?

A robot measures its own steps, which drift, and sometimes recognises a place that it has visited. Least squares on
all poses at once closes the loop. Each residual depends on two poses only, so the Jacobian is sparse, and Wengert
finds its pattern.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

N = 200
rng = np.random.default_rng(2)


def relative(a, b):
    """The pose b as seen from the pose a: position and direction."""
    cosine, sine = np.cos(a[..., 2]), np.sin(a[..., 2])
    dx, dy = b[..., 0] - a[..., 0], b[..., 1] - a[..., 1]
    return np.stack([cosine * dx + sine * dy, -sine * dx + cosine * dy, b[..., 2] - a[..., 2]], axis=-1)


turn = np.linspace(0.0, 4.0 * np.pi, N)  # two rounds on a bent track
truth = np.stack([4.0 * np.cos(turn), 2.5 * np.sin(turn) + np.cos(2.0 * turn)], axis=1)
truth = np.concatenate([truth, np.unwrap(np.arctan2(*np.gradient(truth, axis=0).T[::-1]))[:, None]], axis=1)
steps = relative(truth[:-1], truth[1:]) + rng.normal(0.0, (0.03, 0.03, 0.01), (N - 1, 3))
FIRST, SECOND = np.arange(0, 100, 5), np.arange(0, 100, 5) + 100  # places that were recognised in the second round
seen = relative(truth[FIRST], truth[SECOND]) + rng.normal(0.0, (0.03, 0.03, 0.01), (len(FIRST), 3))
WEIGHTS = 1.0 / np.array([0.03, 0.03, 0.01])


def residuals(poses):
    odometry = (relative(poses[:-1], poses[1:]) - steps) * WEIGHTS
    loops = (relative(poses[FIRST], poses[SECOND]) - seen) * WEIGHTS
    return np.concatenate([odometry, loops, 100.0 * (poses[:1] - truth[:1])]).ravel()


drifted = [truth[0]]
for dx, dy, d in steps:
    x, y, a = drifted[-1]
    drifted.append(np.array([x + np.cos(a) * dx - np.sin(a) * dy, y + np.sin(a) * dx + np.cos(a) * dy, a + d]))
drifted = np.array(drifted)
found = wg.optimize.least_squares(residuals, drifted, tol=1e-10)
error = lambda poses: float(np.linalg.norm(poses[:, :2] - truth[:, :2], axis=1).mean())
assert error(found.x) < 0.5 * error(drifted)

plt.figure(figsize=(7, 4.5))
plt.plot(*truth[:, :2].T, color="0.6", lw=4, alpha=0.5, label="truth")
plt.plot(*drifted[:, :2].T, "--", label=f"steps added up: error {error(drifted):.2f}")
plt.plot(*found.x[:, :2].T, "k", lw=1, label=f"least squares: error {error(found.x):.2f}")
plt.plot(*np.stack([found.x[FIRST, :2], found.x[SECOND, :2]]).transpose(2, 0, 1), color="C3", lw=0.7)
plt.gca().set(aspect="equal")
plt.legend()
plt.show()
