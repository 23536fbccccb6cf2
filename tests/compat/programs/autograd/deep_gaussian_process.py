"""Two Gaussian processes, one after the other: the likelihood of hidden values and hyperparameters together."""

import autograd.numpy as np
import numpy.random as npr
from autograd import value_and_grad
from scipy.optimize import minimize

rng = npr.RandomState(11)
x = np.linspace(-2.0, 2.0, 8)[:, None]
y = np.where(x[:, 0] > 0.3, 1.0, -1.0) + 0.05 * rng.randn(8)


def covariance(params, a):
    differences = np.expand_dims(a / np.exp(params[1]), 1) - np.expand_dims(a / np.exp(params[1]), 0)
    return np.exp(params[0]) * np.exp(-0.5 * np.sum(differences**2, axis=2)) + 0.01 * np.eye(len(a))


def log_likelihood(params, inputs, outputs):
    chol = np.linalg.cholesky(covariance(params, inputs))
    whitened = np.linalg.solve(chol, outputs)
    return -0.5 * np.dot(whitened, whitened) - np.sum(np.log(np.diag(chol))) - 0.5 * len(outputs) * np.log(2 * np.pi)


def objective(params):
    hidden = params[4:]
    return -log_likelihood(params[:2], x, hidden) - log_likelihood(params[2:4], np.reshape(hidden, (-1, 1)), y)


start = np.concatenate([np.zeros(4), 0.5 * x[:, 0] + 0.05 * rng.randn(8)])
value, gradient = value_and_grad(objective)(start)
found = minimize(value_and_grad(objective), start, jac=True, method="BFGS", options={"maxiter": 4})
results = {"value": value, "gradient": gradient, "fun": found.fun, "x": found.x}
