"""A long short-term memory over a sequence: its gradient, by steps of gradient descent."""

import autograd.numpy as np
import numpy.random as npr
from autograd import value_and_grad

rng = npr.RandomState(5)
size, inputs = 5, 3
gates = ("change", "forget", "ingate", "outgate")
params = {name: 0.3 * rng.randn(inputs + size + 1, size) for name in gates}
params["predict"] = 0.3 * rng.randn(size + 1, 1)
params["cells"] = 0.1 * rng.randn(1, size)
params["hiddens"] = 0.1 * rng.randn(1, size)
sequence = rng.randn(9, 4, inputs)
targets = np.cumsum(sequence[:, :, 0], axis=0)


def sigmoid(x):
    return 0.5 * (np.tanh(0.5 * x) + 1.0)


def affine(weights, *parts):
    return np.dot(np.concatenate([*parts, np.ones((parts[0].shape[0], 1))], axis=1), weights)


def loss(params):
    cells = np.repeat(params["cells"], sequence.shape[1], axis=0)
    hiddens = np.repeat(params["hiddens"], sequence.shape[1], axis=0)
    total = 0.0
    for x, y in zip(sequence, targets):
        change = np.tanh(affine(params["change"], x, hiddens))
        forget, ingate, outgate = [sigmoid(affine(params[name], x, hiddens)) for name in gates[1:]]
        cells = cells * forget + ingate * change
        hiddens = outgate * np.tanh(cells)
        total = total + np.sum((affine(params["predict"], hiddens)[:, 0] - y) ** 2)
    return total


losses = []
for _ in range(5):
    value, gradient = value_and_grad(loss)(params)
    losses.append(value)
    params = {name: params[name] - 1e-3 * gradient[name] for name in params}
results = {"losses": losses, "params": params, "gradient": gradient}
