"""Square roots by Newton's method, as fixed points: derivatives to second order, without those of the iteration."""

import autograd.numpy as np
from autograd import grad
from autograd.misc.fixed_points import fixed_point


def newton(a):
    return lambda x: 0.5 * (x + a / x)


def distance(x, y):
    return np.max(np.abs(x - y))


def root(a, guess=10.0):
    return fixed_point(newton, a, guess, distance, 1e-13)


def equilibrium(a):
    return np.sum(
        fixed_point(lambda a: lambda x: np.tanh(np.dot(weights, x) + a), a, np.zeros(3), distance, 1e-14) ** 2
    )


weights = 0.3 * np.array([[0.5, -1.0, 0.2], [0.1, 0.4, 0.8], [-0.7, 0.3, 0.2]])
results = {
    "root": root(2.0),
    "first": grad(root)(2.0),
    "second": grad(grad(root))(2.0),
    "equilibrium": equilibrium(np.array([0.1, -0.5, 0.9])),
    "gradient": grad(equilibrium)(np.array([0.1, -0.5, 0.9])),
}
