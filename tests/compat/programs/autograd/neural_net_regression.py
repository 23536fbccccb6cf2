"""Regression by a network with parameters in a dict, by three optimisers."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad, value_and_grad
from autograd.misc import flatten
from autograd.misc.optimizers import adam, rmsprop, sgd

rng = npr.RandomState(1)
x = np.linspace(-2.0, 2.0, 30)[:, None]
y = np.cos(2.0 * x) * np.exp(-0.2 * x) + 0.05 * rng.randn(30, 1)
params = {
    "hidden": {"w": rng.randn(1, 12), "b": rng.randn(12)},
    "out": {"w": 0.3 * rng.randn(12, 1), "b": np.zeros(1)},
}


def predict(params, x):
    hidden = np.maximum(0.0, np.dot(x, params["hidden"]["w"]) + params["hidden"]["b"])
    return np.dot(hidden, params["out"]["w"]) + params["out"]["b"]


def loss(params, i=0):
    return np.mean((predict(params, x) - y) ** 2)


value, gradient = value_and_grad(loss)(params)
results = {"value": value, "gradient": flatten(gradient)[0]}
for optimize in (sgd, rmsprop, adam):
    found = optimize(grad(loss), params, num_iters=25, step_size=0.02)
    results[optimize.__name__] = {"params": flatten(found)[0], "loss": loss(found)}
