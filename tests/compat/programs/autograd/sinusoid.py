"""The sine by its series, stopped by a condition on the value of a term, and its derivatives."""

import autograd.numpy as np
from autograd import grad


def sine(x):
    total = term = x
    k = 0
    while np.abs(term) > 1e-16:
        k += 1
        term = -term * x * x / ((2 * k) * (2 * k + 1))
        total = total + term
    return total


points = [-1.5, -0.2, 0.1, 0.7, 2.0]
results = {
    "sine": [sine(x) for x in points],
    "first": [grad(sine)(x) for x in points],
    "second": [grad(grad(sine))(x) for x in points],
}
