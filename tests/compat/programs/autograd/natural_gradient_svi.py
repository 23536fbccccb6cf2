"""Variational inference by natural gradients: the Fisher information of a Gaussian in closed form."""

import autograd.numpy as np
import autograd.scipy.stats.norm as norm
import numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import sgd

DIMENSION = 2
rng = npr.RandomState(10)


def log_density(x):
    return norm.logpdf(x[:, 1], 0, 1.35) + norm.logpdf(x[:, 0], 0, np.exp(x[:, 1]))


def bound(params, t):
    mean, log_std = params[:DIMENSION], params[DIMENSION:]
    draws = rng.randn(30, DIMENSION) * np.exp(log_std) + mean
    return -(np.sum(log_std) + np.mean(log_density(draws)))


gradient = grad(bound)


def fisher_diagonal(log_std):
    return np.concatenate([np.exp(-2.0 * log_std), 2.0 * np.ones(DIMENSION)])


def natural_gradient(params, t):
    return gradient(params, t) / fisher_diagonal(params[DIMENSION:])


start = np.array([-1.0, -0.5, -0.5, -0.5])
results = {
    "natural": sgd(natural_gradient, start, num_iters=20, step_size=0.1),
    "plain": sgd(gradient, start, num_iters=20, step_size=0.1),
}
