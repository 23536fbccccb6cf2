"""A Gaussian process learns its own smoothness.

Length scale, amplitude and noise of a Gaussian process maximise the marginal likelihood: a Cholesky factorisation, a
triangular system and a determinant, all of which have derivatives.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg

rng = np.random.default_rng(4)
x = np.sort(rng.uniform(0.0, 10.0, 40))
y = np.sin(x) + 0.3 * np.sin(3.7 * x) + 0.15 * rng.standard_normal(40)


def kernel(p, a, b):
    return np.exp(2.0 * p["amplitude"] - 0.5 * ((a[:, None] - b) * np.exp(-p["length"])) ** 2)


def covariance(p):
    return kernel(p, x, x) + (np.exp(2.0 * p["noise"]) + 1e-9) * np.eye(len(x))


def negative_log_likelihood(p):
    L = np.linalg.cholesky(covariance(p))
    z = wg.linalg.solve_triangular(L, y, lower=True)
    return 0.5 * z @ z + np.log(np.diagonal(L)).sum() + 0.5 * len(x) * np.log(2.0 * np.pi)


start = {"amplitude": 0.0, "length": 1.0, "noise": -1.0}
found = wg.optimize.minimize(negative_log_likelihood, start, tol=1e-8)
assert found.fun < negative_log_likelihood(start) - 5.0
assert 0.08 < np.exp(found.x["noise"]) < 0.3  # 0.15 in truth


def predict(p, at):
    K, k = covariance(p), kernel(p, at, x)
    return k @ np.linalg.solve(K, y), np.sqrt(np.exp(2 * p["amplitude"]) - (k * np.linalg.solve(K, k.T).T).sum(-1))


at = np.linspace(-0.5, 11.0, 300)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True)
for axis, p, name in zip(axes, (start, found.x), ("before", "after"), strict=True):
    mean, error = predict(p, at)
    axis.fill_between(at, mean - 2 * error, mean + 2 * error, alpha=0.3)
    axis.plot(at, mean)
    axis.plot(x, y, "k.")
    axis.set_title(f"{name}: length {np.exp(p['length']):.2f}, noise {np.exp(p['noise']):.2f}")
plt.show()
