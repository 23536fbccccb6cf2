"""Logistic regression by gradient descent, with a check of the gradient."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad
from autograd.test_util import check_grads

rng = npr.RandomState(3)
inputs = rng.randn(40, 3)
targets = inputs @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.randn(40) > 0


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1.0)


def training_loss(weights):
    predictions = sigmoid(np.dot(inputs, weights))
    likelihoods = predictions * targets + (1 - predictions) * (1 - targets)
    return -np.sum(np.log(likelihoods))


gradient = grad(training_loss)
weights = np.zeros(3)
check_grads(training_loss, modes=["rev"])(weights)
losses = []
for _ in range(30):
    losses.append(training_loss(weights))
    weights = weights - 0.05 * gradient(weights)
results = {"weights": weights, "losses": losses, "gradient": gradient(weights)}
