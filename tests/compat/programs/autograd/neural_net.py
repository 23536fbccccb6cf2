"""A classifier with hidden layers in a list of tuples, a Gaussian prior on its weights, trained by Adam."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad
from autograd.misc import flatten
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp

rng = npr.RandomState(0)
sizes = [6, 10, 8, 4]
params = [(0.1 * rng.randn(m, n), 0.1 * rng.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]
images = rng.randn(32, 6)
labels = np.eye(4)[rng.randint(0, 4, 32)]


def log_probabilities(params, x):
    for w, b in params:
        outputs = np.dot(x, w) + b
        x = np.tanh(outputs)
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def log_posterior(params, x, y, penalty):
    vector, _ = flatten(params)
    return -penalty * np.dot(vector, vector) + np.sum(log_probabilities(params, x) * y)


def objective(params, i):
    rows = slice(8 * (i % 4), 8 * (i % 4) + 8)
    return -log_posterior(params, images[rows], labels[rows], 1.0)


trace = []
trained = adam(
    grad(objective), params, step_size=0.01, num_iters=20, callback=lambda p, i, g: trace.append(objective(p, i))
)
results = {
    "trace": trace,
    "gradient": flatten(grad(objective)(trained, 0))[0],
    "params": flatten(trained)[0],
    "first bias": trained[0][1],
}
