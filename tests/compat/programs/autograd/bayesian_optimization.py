"""Bayesian optimisation: a Gaussian process for what is known, and the expected new maximum for the next point."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad, value_and_grad
from autograd.scipy.stats import norm
from scipy.optimize import minimize

rng = npr.RandomState(8)


def target(x):
    return np.sin(3.0 * x) - 0.2 * x**2


def predict(x, y, new):
    kernel = lambda a, b: np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / 0.3**2)
    prior = kernel(x, x) + 1e-2 * np.eye(len(x))
    across = kernel(new, x)
    mean = np.dot(across, np.linalg.solve(prior, y))
    variance = 1.0 - np.sum(across * np.linalg.solve(prior, across.T).T, axis=1)
    return mean, np.sqrt(variance + 1e-6)


def expected_maximum(mean, std, best):
    return best + std * norm.pdf((mean - best) / std) + (mean - best) * norm.cdf((mean - best) / std) - best


x = rng.uniform(-1.0, 1.0, 3)
y = target(x)
points = []
for _ in range(3):
    acquisition = lambda new: -np.sum(expected_maximum(*predict(x, y, np.atleast_1d(new)), np.max(y)))
    starts = np.linspace(-0.9, 0.9, 3)
    found = [
        minimize(value_and_grad(acquisition), np.array([s]), jac=True, method="L-BFGS-B", options={"maxiter": 2})
        for s in starts
    ]
    best = min(found, key=lambda f: f.fun)
    points.append([best.x[0], best.fun])
    x, y = np.concatenate([x, best.x]), np.concatenate([y, target(best.x)])
results = {"points": points, "x": x, "y": y, "slope": grad(acquisition)(np.array([0.123]))}
