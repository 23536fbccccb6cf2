"""A network with random weights: the evidence bound of its posterior, by draws of all weights at once."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam

sizes = [1, 6, 6, 1]
shapes = list(zip(sizes[:-1], sizes[1:]))
count = sum((m + 1) * n for m, n in shapes)
rng = npr.RandomState(9)
x = np.concatenate([np.linspace(0, 2, 10), np.linspace(6, 8, 10)])[:, None]
y = (np.cos(x) + 0.1 * rng.randn(20, 1)) / 2.0
x = (x - 4.0) / 4.0


def layers(weights):
    draws = len(weights)
    for m, n in shapes:
        yield (
            weights[:, : m * n].reshape((draws, m, n)),
            weights[:, m * n : m * n + n].reshape((draws, 1, n)),
        )
        weights = weights[:, (m + 1) * n :]


def predictions(weights, x):
    x = np.expand_dims(x, 0)
    for w, b in layers(weights):
        outputs = (
            np.einsum("mnd,mdo->mno", x if x.shape[0] == len(weights) else np.tile(x, (len(weights), 1, 1)), w) + b
        )
        x = np.exp(-(outputs**2))
    return outputs


def log_probability(weights, t):
    prior = -0.1 * np.sum(weights**2, axis=1)
    fit = -np.sum((predictions(weights, x) - y) ** 2, axis=1)[:, 0] / 0.1
    return prior + fit


def objective(params, t):
    mean, log_std = params[:count], params[count:]
    draws = npr.RandomState(t).randn(5, count) * np.exp(log_std) + mean
    return -(np.sum(log_std) + np.mean(log_probability(draws, t)))


start = np.concatenate([rng.randn(count), -5.0 * np.ones(count)])
found = adam(grad(objective), start, step_size=0.1, num_iters=10)
results = {"found": found, "bound": objective(found, 0), "gradient": grad(objective)(found, 1)}
