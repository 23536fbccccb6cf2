"""A recurrent network that learns to predict the next letter of a text."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp

TEXT = "a tape records what a chain of operations did "
letters = sorted(set(TEXT))
codes = np.eye(len(letters))[[letters.index(c) for c in TEXT]]
rng = npr.RandomState(4)
n, hidden = len(letters), 6
params = {
    "init": 0.1 * rng.randn(1, hidden),
    "change": 0.1 * rng.randn(n + hidden + 1, hidden),
    "predict": 0.1 * rng.randn(hidden + 1, n),
}


def with_ones(weights, *parts):
    ones = np.ones((parts[0].shape[0], 1))
    return np.dot(np.hstack(parts + (ones,)), weights)


def log_probabilities(params, inputs):
    state = np.repeat(params["init"], inputs.shape[1], axis=0)
    outputs = []
    for x in inputs:
        state = np.tanh(with_ones(params["change"], x, state))
        raw = with_ones(params["predict"], state)
        outputs.append(raw - logsumexp(raw, axis=1, keepdims=True))
    return outputs


sequences = np.stack([codes[i : i + 12] for i in range(0, 30, 5)], axis=1)


def loss(params, i=0):
    predicted = log_probabilities(params, sequences[:-1])
    likelihood = 0.0
    for t in range(len(predicted)):
        likelihood = likelihood + np.sum(predicted[t] * sequences[t + 1])
    return -likelihood / sequences.size


losses = []
trained = adam(grad(loss), params, num_iters=8, step_size=0.1, callback=lambda p, i, g: losses.append(loss(p)))
results = {"losses": losses, "trained": trained, "gradient": grad(loss)(trained)}
