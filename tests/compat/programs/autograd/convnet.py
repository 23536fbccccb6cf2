"""A small convolutional network: convolutions over images with channels, max pooling, a dense layer."""

import autograd.numpy as np
import autograd.scipy.signal
import numpy.random as npr
from autograd import grad
from autograd.scipy.special import logsumexp

convolve = autograd.scipy.signal.convolve
rng = npr.RandomState(2)
images = rng.randn(4, 1, 10, 10)
labels = np.eye(3)[rng.randint(0, 3, 4)]
params = [
    (0.3 * rng.randn(1, 4, 3, 3), 0.1 * rng.randn(1, 4, 1, 1)),
    (0.3 * rng.randn(4, 2, 3, 3), 0.1 * rng.randn(1, 2, 1, 1)),
    (0.3 * rng.randn(2, 3), 0.1 * rng.randn(3)),
]


def pool(x, size):
    n, channels, height, width = x.shape
    x = np.reshape(x, (n, channels, height // size, size, width // size, size))
    return np.max(np.max(x, axis=3), axis=4)


def log_probabilities(params, x):
    for kernel, bias in params[:-1]:
        x = convolve(x, kernel, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid") + bias
        x = np.tanh(pool(x, 2) if x.shape[2] % 2 == 0 else x)
    w, b = params[-1]
    outputs = np.dot(np.reshape(x, (x.shape[0], -1)), w) + b
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def loss(params):
    return -np.sum(log_probabilities(params, images) * labels) / len(images)


results = {"losses": []}
for _ in range(3):
    gradient = grad(loss)(params)
    results["losses"].append(loss(params))
    params = [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, gradient)]
results["kernel"] = params[0][0]
results["dense"] = params[2][0]
results["gradient"] = gradient[1][0]
