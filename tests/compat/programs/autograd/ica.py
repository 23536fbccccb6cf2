"""Independent components of mixed signals, by maximum likelihood of the unmixing matrix."""

import autograd.numpy as np
import autograd.scipy.stats.t as t
import numpy.random as npr
from autograd import value_and_grad
from scipy.optimize import minimize

rng = npr.RandomState(16)
sources = rng.standard_t(3.0, size=(60, 2))
mixing = np.array([[1.0, 0.4], [-0.3, 0.9]])
data = np.dot(sources, mixing.T)


def log_likelihood(weights):
    unmixed = np.dot(data, np.reshape(weights, (2, 2)).T)
    sign, logdet = np.linalg.slogdet(np.reshape(weights, (2, 2)))
    return np.mean(np.sum(t.logpdf(unmixed, 3.0), axis=1)) + logdet


objective = lambda weights: -log_likelihood(weights)
value, gradient = value_and_grad(objective)(np.eye(2).ravel())
found = minimize(value_and_grad(objective), np.eye(2).ravel(), jac=True, method="CG", options={"maxiter": 5})
results = {"value": value, "gradient": gradient, "found": found.x, "fun": found.fun}
