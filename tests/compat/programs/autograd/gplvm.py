"""Hidden coordinates of observations by a Gaussian process on them: a determinant, solves and a prior."""

import autograd.numpy as np
import autograd.scipy.stats.norm as norm
import numpy.random as npr
from autograd import value_and_grad
from scipy.optimize import minimize

rng = npr.RandomState(20)
COUNT, LATENT = 7, 2
angles = np.linspace(0.0, 3.0, COUNT)
observed = np.stack([np.cos(angles), np.sin(angles), 0.3 * angles**2], axis=1) + 0.02 * rng.randn(COUNT, 3)


def objective(params):
    hidden = params[: COUNT * LATENT].reshape(COUNT, LATENT)
    scale, noise = np.exp(params[-2]), np.exp(params[-1]) + 1e-3
    squares = np.sum((hidden[:, None, :] - hidden[None, :, :]) ** 2, axis=2)
    cov = np.exp(-0.5 * squares / scale) + noise * np.eye(COUNT)
    fit = 0.5 * np.trace(np.dot(observed.T, np.linalg.solve(cov, observed)))
    return fit + 0.5 * observed.shape[1] * np.linalg.slogdet(cov)[1] - np.sum(norm.logpdf(hidden, 0.0, 1.0))


start = np.concatenate([rng.randn(COUNT * LATENT), np.array([0.0, -2.0])])
value, gradient = value_and_grad(objective)(start)
found = minimize(value_and_grad(objective), start, jac=True, method="CG", options={"maxiter": 3})
results = {"value": value, "gradient": gradient, "fun": found.fun, "x": found.x}
