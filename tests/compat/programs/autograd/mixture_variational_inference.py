"""Variational inference with a mixture of Gaussians: one reparametrised draw from each component."""

import autograd.numpy as np
import autograd.scipy.stats.norm as norm
import numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp

COMPONENTS, DIMENSION = 3, 2
rng = npr.RandomState(0)


def diagonal_logpdf(x, mean, log_std):
    return np.sum(norm.logpdf(x, mean, np.exp(log_std)), axis=-1)


def unpack(params):
    return (
        params[:COMPONENTS] - logsumexp(params[:COMPONENTS]),
        np.reshape(params[COMPONENTS : COMPONENTS + 6], (COMPONENTS, DIMENSION)),
        np.reshape(params[COMPONENTS + 6 :], (COMPONENTS, DIMENSION)),
    )


def mixture_logpdf(params, x):
    weights, means, log_stds = unpack(params)
    each = np.stack([w + diagonal_logpdf(x, m, s) for w, m, s in zip(weights, means, log_stds)], axis=0)
    return logsumexp(each, axis=0)


def target(x):
    return diagonal_logpdf(x, np.array([1.0, 0.0]), np.array([-0.5, 0.2])) - 0.1 * np.cos(3.0 * x[..., 0])


def objective(params, t):
    weights, means, log_stds = unpack(params)
    draws = means + np.exp(log_stds) * rng.randn(8, COMPONENTS, DIMENSION)
    return -np.mean(np.sum(np.exp(weights) * (target(draws) - mixture_logpdf(params, draws)), axis=1))


start = np.concatenate([np.log(np.ones(COMPONENTS) / COMPONENTS), 0.5 * rng.randn(6), -1.0 * np.ones(6)])
found = adam(grad(objective), start, step_size=0.1, num_iters=15)
results = {
    "found": found,
    "gradient": grad(objective)(start, 0),
    "density": mixture_logpdf(found, np.array([[0.0, 0.5], [1.0, -1.0]])),
}
