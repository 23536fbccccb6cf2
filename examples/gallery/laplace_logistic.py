"""How sure is a classifier?

A logistic regression is fitted to two groups of points. The Hessian of the loss at the minimum is the inverse of the
covariance of the weights (Laplace's approximation), and with it every prediction has an error: the model says where
it does not know.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

rng = np.random.default_rng(0)
points = np.concatenate([rng.normal((-1.0, -0.6), 0.7, (25, 2)), rng.normal((1.0, 0.6), 0.7, (25, 2))])
labels = np.repeat([0.0, 1.0], 25)


def scores(w, x):
    return x @ w[:2] + w[2]


def loss(w):
    """Negative log-likelihood, with a normal prior on the weights."""
    s = scores(w, points)
    return (wg.softplus(s) - labels * s).sum() + 0.05 * (w**2).sum()


found = wg.optimize.minimize(loss, np.zeros(3), method="trust-exact", tol=1e-10)
covariance = np.linalg.inv(wg.hessian(loss)(found.x))
assert np.abs(wg.grad(loss)(found.x)).max() < 1e-8

axis = np.linspace(-4.0, 4.0, 200)
grid = np.stack(np.meshgrid(axis, axis), axis=-1)
s, J = scores(found.x, grid), np.concatenate([grid, np.ones((200, 200, 1))], axis=-1)
spread = np.sqrt(np.einsum("xyi,ij,xyj->xy", J, covariance, J))
certain = wg.sigmoid(s)
honest = wg.sigmoid(s / np.sqrt(1.0 + np.pi / 8.0 * spread**2))  # averaged over the weights
assert (np.abs(honest - 0.5) <= np.abs(certain - 0.5)).all()

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for panel, p, name in zip(
    axes, (certain, honest), ("the most likely weights", "averaged over the weights"), strict=True
):
    panel.contourf(axis, axis, p, np.linspace(0, 1, 21), cmap="PuOr")
    panel.contour(axis, axis, p, [0.05, 0.5, 0.95], colors="black", linewidths=0.7)
    panel.scatter(*points.T, c=np.where(labels > 0, "indigo", "darkorange"), s=12, edgecolor="white", linewidth=0.4)
    panel.set(title=name, aspect="equal")
plt.show()
