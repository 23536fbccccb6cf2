"""Functions in a Hilbert space as objects: a sum of kernels, differentiated with respect to its coefficients."""

import autograd.numpy as np
import numpy.random as npr
from autograd import grad, value_and_grad

rng = npr.RandomState(18)


def kernel(x, y):
    return np.exp(-((x - y) ** 2))


class Expansion:
    """The function of a list of centres and their coefficients."""

    def __init__(self, centres, alphas):
        self.centres, self.alphas = centres, alphas

    def __call__(self, x):
        return sum(alpha * kernel(centre, x) for centre, alpha in zip(self.centres, self.alphas))

    def inner(self, other):
        return sum(a * other(centre) for centre, a in zip(self.centres, self.alphas))


centres = [-1.0, -0.2, 0.6, 1.5]
x, y = np.linspace(-2.0, 2.0, 12), np.sin(np.linspace(-2.0, 2.0, 12)) + 0.1 * rng.randn(12)


def objective(alphas):
    f = Expansion(centres, alphas)
    return np.sum((f(x) - y) ** 2) + 0.1 * f.inner(f)


alphas, values = np.zeros(4), []
for _ in range(15):
    value, gradient = value_and_grad(objective)(alphas)
    values.append(value)
    alphas = alphas - 0.02 * gradient
slope = grad(lambda point: Expansion(centres, alphas)(point))
results = {"values": values, "alphas": alphas, "slopes": [slope(p) for p in (-1.0, 0.0, 0.7)]}
