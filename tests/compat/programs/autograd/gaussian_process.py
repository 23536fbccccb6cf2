"""Regression by a Gaussian process: hyperparameters by the marginal likelihood, and predictions."""

import autograd.numpy as np
import autograd.scipy.stats.multivariate_normal as mvn
import numpy.random as npr
from autograd import value_and_grad
from scipy.optimize import minimize

rng = npr.RandomState(7)
x = np.sort(rng.uniform(-3.0, 3.0, 14))[:, None]
y = np.sin(x[:, 0]) + 0.1 * rng.randn(14)


def kernel(params, a, b):
    scales = np.exp(params[1:])
    differences = np.expand_dims(a / scales, 1) - np.expand_dims(b / scales, 0)
    return np.exp(params[0]) * np.exp(-0.5 * np.sum(differences**2, axis=2))


def split(params):
    return params[0], np.exp(params[1]) + 0.001, params[2:]


def predict(params, x, y, new):
    mean, noise, cov_params = split(params)
    among = kernel(cov_params, new, new)
    across = kernel(cov_params, new, x)
    prior = kernel(cov_params, x, x) + noise * np.eye(len(y))
    predicted = np.dot(across, np.linalg.solve(prior, y - mean)) + mean
    return predicted, among - np.dot(across, np.linalg.solve(prior, across.T))


def negative_likelihood(params):
    mean, noise, cov_params = split(params)
    cov = kernel(cov_params, x, x) + noise * np.eye(len(y))
    return -mvn.logpdf(y, mean * np.ones(len(y)), cov)


start = np.array([0.1, -2.0, 0.0, 0.3])
value, gradient = value_and_grad(negative_likelihood)(start)
found = minimize(value_and_grad(negative_likelihood), start, jac=True, method="L-BFGS-B", options={"maxiter": 4})
mean, cov = predict(found.x, x, y, np.linspace(-4.0, 4.0, 9)[:, None])
results = {"value": value, "gradient": gradient, "x": found.x, "mean": mean, "cov": cov}
