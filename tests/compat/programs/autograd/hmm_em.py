"""A hidden Markov model by expectation and maximisation: the expectations are gradients of the likelihood."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad, value_and_grad
from autograd.scipy.special import logsumexp

rng = npr.RandomState(15)
STATES, SYMBOLS = 3, 4
observed = rng.randint(0, SYMBOLS, 25)


def normalised(x):
    return x / np.sum(x, axis=-1, keepdims=True)


def log_partition(natural, data):
    log_start, log_move, log_emit = natural
    alpha = log_start + log_emit[:, data[0]]
    for symbol in data[1:]:
        alpha = logsumexp(alpha[:, None] + log_move, axis=0) + log_emit[:, symbol]
    return logsumexp(alpha)


params = tuple(np.log(normalised(rng.rand(*shape))) for shape in [(STATES,), (STATES, STATES), (STATES, SYMBOLS)])
results = {"likelihoods": []}
for _ in range(5):
    likelihood, counts = value_and_grad(log_partition)(params, observed)
    results["likelihoods"].append(likelihood)
    params = tuple(np.log(normalised(count + 1e-3)) for count in counts)
results["params"] = list(params)
results["counts"] = list(grad(log_partition)(params, observed))
