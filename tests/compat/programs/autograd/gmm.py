"""A mixture of Gaussians in a matrix of observations, fitted by second derivatives with SciPy."""

import autograd.numpy as np
import autograd.scipy.stats.multivariate_normal as mvn
import numpy.random as npr
from autograd import grad, hessian_vector_product
from autograd.misc.flatten import flatten_func
from autograd.scipy.special import logsumexp
from scipy.optimize import minimize

rng = npr.RandomState(6)
centres = np.array([[2.0, 0.0], [-1.0, 1.5], [0.0, -2.0]])
data = np.concatenate([c + 0.4 * rng.randn(12, 2) for c in centres])
params = {
    "log proportions": 0.1 * rng.randn(3),
    "means": 0.5 * rng.randn(3, 2),
    "lower triangles": np.stack([np.eye(2) + 0.1 * rng.randn(2, 2) for _ in range(3)]),
}


def log_likelihood(params, data):
    normalised = params["log proportions"] - logsumexp(params["log proportions"])
    each = []
    for proportion, mean, chol in zip(normalised, params["means"], params["lower triangles"]):
        each.append(proportion + mvn.logpdf(data, mean, np.dot(chol.T, chol)))
    return np.sum(logsumexp(np.vstack(each), axis=0))


def objective(params):
    return -log_likelihood(params, data)


flat, unflatten, start = flatten_func(lambda p: np.array([objective(p)]), params)
value = lambda x: flat(x)[0]
hvp = hessian_vector_product(value)
found = minimize(value, start, jac=grad(value), hessp=hvp, method="Newton-CG", options={"maxiter": 3})
results = {
    "start": value(start),
    "gradient": grad(value)(start),
    "product": hvp(start, np.ones(len(start))),
    "fun": found.fun,
    "x": found.x,
}
