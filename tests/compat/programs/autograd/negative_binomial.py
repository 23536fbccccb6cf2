"""Maximum likelihood of a negative binomial distribution, with its curvature."""

import autograd.numpy as np
import autograd.scipy.special as special
import numpy.random as npr
from autograd import grad, hessian
from scipy.optimize import minimize

rng = npr.RandomState(17)
counts = rng.negative_binomial(5, 0.4, size=50).astype(float)


def log_likelihood(params):
    r, p = np.exp(params[0]), 0.5 * (1.0 + np.tanh(params[1]))
    return np.sum(
        special.gammaln(counts + r)
        - special.gammaln(r)
        - special.gammaln(counts + 1.0)
        + counts * np.log1p(-p)
        + r * np.log(p)
    )


objective = lambda params: -log_likelihood(params)
start = np.array([0.5, 0.0])
found = minimize(objective, start, jac=grad(objective), hess=hessian(objective), method="trust-exact")
results = {"start": grad(objective)(start), "x": found.x, "fun": found.fun, "hessian": hessian(objective)(found.x)}
