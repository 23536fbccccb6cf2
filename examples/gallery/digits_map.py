"""A map of handwritten digits.

t-SNE places images on a plane so that similar ones are neighbours. Its objective, a divergence between two tables of
probabilities, fits in five lines; Wengert compiles its gradient, and plain descent with momentum does the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import wengert as wg

images, digits = load_digits(return_X_y=True)
images, digits = images[:500] / 16.0, digits[:500]
N = len(images)
squares = ((images[:, None] - images) ** 2).sum(-1)


def entropy(precision, row):
    p = np.exp(-precision * row)
    return np.log(p.sum()) + precision * (p * row).sum() / p.sum()


def neighbours(row, perplexity=25.0):
    """Probabilities with a given entropy: the width of each image's neighbourhood is the root of an equation."""
    precision = 1.0
    for _ in range(40):  # Newton's method, on the logarithm
        value, slope = wg.value_and_grad(lambda b: entropy(b, row) - np.log(perplexity))(precision)
        precision *= np.exp(np.clip(-value / (slope * precision), -1.0, 1.0))
    p = np.exp(-precision * row)
    return p / p.sum()


P = np.zeros((N, N))
for i in range(N):
    others = np.arange(N) != i
    P[i, others] = neighbours(squares[i, others])
P = np.maximum((P + P.T) / (2.0 * N), 1e-12)
OUTSIDE = 1.0 - np.eye(N)


def divergence(y, p):
    closeness = OUTSIDE / (1.0 + ((y[:, None] - y) ** 2).sum(-1))
    q = np.maximum(closeness / closeness.sum(), 1e-12)
    return (OUTSIDE * p * (np.log(p) - np.log(q))).sum()


gradient = wg.compile(wg.value_and_grad(divergence))
rng = np.random.default_rng(0)
y, velocity = 1e-2 * rng.standard_normal((N, 2)), np.zeros((N, 2))
for k in range(400):
    value, slope = gradient(y, 4.0 * P if k < 100 else P)  # at first, attract more
    velocity = (0.5 if k < 100 else 0.8) * velocity - 60.0 * slope
    y = y + velocity
nearest = np.argsort(((y[:, None] - y) ** 2).sum(-1), axis=1)[:, 1]
assert (digits[nearest] == digits).mean() > 0.9  # the neighbour on the map is the same digit

plt.figure(figsize=(6, 5))
plt.scatter(*y.T, c=digits, cmap="tab10", s=10)
for d in range(10):
    plt.text(*np.median(y[digits == d], axis=0), str(d), fontsize=18, weight="bold", ha="center", va="center")
plt.title(f"500 digits; divergence {value:.2f}")
plt.axis("off")
plt.show()
