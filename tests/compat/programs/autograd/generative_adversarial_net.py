"""A generator and a critic that improve against each other, on two-dimensional data."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad
from autograd.misc import flatten

rng = npr.RandomState(14)


def relu(x):
    return np.maximum(0, x)


def sigmoid(x):
    return 0.5 * (np.tanh(x) + 1.0)


def init(sizes):
    return [(0.5 * rng.randn(m, n), 0.1 * rng.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]


def network(params, x):
    for i, (w, b) in enumerate(params):
        x = np.dot(x, w) + b
        x = relu(x) if i < len(params) - 1 else x
    return x


def objective(generator, critic, real, noise):
    fake = network(generator, noise)
    on_real, on_fake = network(critic, real), network(critic, fake)
    return np.mean(np.log(sigmoid(on_real) + 1e-6)) + np.mean(np.log(1 - sigmoid(on_fake) + 1e-6))


generator, critic = init([2, 8, 2]), init([2, 8, 1])
values = []
for _ in range(6):
    angle = 2 * np.pi * rng.rand(16)
    real = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    noise = rng.randn(16, 2)
    down, up = grad(objective, (0, 1))(generator, critic, real, noise)
    values.append(objective(generator, critic, real, noise))
    generator = [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(generator, down)]
    critic = [(w + 0.1 * dw, b + 0.1 * db) for (w, b), (dw, db) in zip(critic, up)]
results = {"values": values, "generator": flatten(generator)[0], "critic": flatten(critic)[0]}
