"""A differential equation whose right-hand side is a network, fitted to a trajectory through the solver."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad
from autograd.builtins import tuple
from autograd.scipy.integrate import odeint

times = np.linspace(0.0, 1.5, 5)
spiral = np.array([[-0.1, 2.0], [-2.0, -0.1]])
truth = odeint(lambda y, t: np.dot(y**3, spiral), np.array([1.2, 0.3]), times, rtol=1e-12, atol=1e-12)
rng = npr.RandomState(13)
params = tuple((0.3 * rng.randn(2, 5), 0.1 * rng.randn(5), 0.3 * rng.randn(5, 2)))


def network(y, t, w, b, v):
    return np.dot(np.tanh(np.dot(y**3, w) + b), v) + 0.1 * np.sin(t) * y


def loss(params, y0):
    found = odeint(network, y0, times, params, rtol=1e-12, atol=1e-12)
    return np.mean((found - truth) ** 2)


y0 = np.array([1.2, 0.3])
gradient = grad(loss)(params, y0)
results = {
    "loss": loss(params, y0),
    "w": gradient[0],
    "b": gradient[1],
    "v": gradient[2],
    "y0": grad(loss, 1)(params, y0),
}
