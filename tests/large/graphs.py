"""Graph networks, and two uses of one value at different indices."""

from __future__ import annotations

import numpy as np
from tests.large.cases import Case

import wengert as wg


def edges(d, nodes=1000, features=16, count=10_000):
    """Features of nodes, weights, and the two ends of each edge."""
    return d.normal(nodes, features), d.normal(features, 16) / 4, d.indices(nodes, count), d.indices(nodes, count)


def two_terms(h, b, s, t):
    a = h @ b
    return (a[s] ** 3).mean() + (a[t] ** 2).mean()


def differences(h, b, s, t):
    a = h @ b
    return ((a[s] - a[t]) ** 2).mean()


def taken_twice(h, b, s, t):
    a = np.tanh(h @ b)
    return (np.take(a, s, axis=0) * np.take(a, t, axis=0)).sum()


def embedded_twice(h, b, s, t):
    a = np.tanh(h @ b)
    return (wg.nn.functional.embedding(s, a) * wg.nn.functional.embedding(t, a)).mean()


def chosen_end(h, b, s, t):
    a = h @ b
    return (np.where((s > t)[:, None], a[s], a[t]) ** 2).mean()


def both_ends_receive(h, b, s, t):
    m = np.tanh(h[s] @ b - h[t] @ b)
    return (wg.asarray(h @ b).at[s].add(m).at[t].add(-m) ** 2).mean()


def rounds_of_messages(h, b, s, t):
    def step(a, _):
        m = np.tanh((a[s] - a[t]) @ b)
        return wg.asarray(a).at[t].add(0.01 * m), np.sum(m)

    a, sums = wg.scan(step, h, np.arange(3.0))
    return (a**2).mean() + 1e-3 * sums.sum()


def second_derivative(h, b, s, t):
    energy = lambda h: (np.sin(h[s]) * h[t] ** 2).sum()
    return (wg.grad(energy)(h @ b) ** 2).mean()


def hessian_product(h, b, s, t):
    a = h @ b
    return (wg.hvp(lambda a: ((a[s] - a[t]) ** 4).sum(), a, np.cos(a)) ** 2).mean()


def attention_over_edges(h, b, s, t):
    a = h @ b
    score = np.exp(np.tanh((a[s] * a[t]).sum(axis=1)))
    total = wg.zeros(h.shape[0]).at[t].add(score) + 1e-6
    return (wg.zeros(a.shape).at[t].add((score / total[t])[:, None] * a[s]) ** 2).mean()


def mean_of_neighbours(h, b, s, t):
    degree = wg.zeros(h.shape[0]).at[t].add(1.0) + 1.0
    a = wg.zeros(h.shape).at[t].add(h[s]) / degree[:, None]
    return (np.maximum(a @ b, 0.0) ** 2).sum()


def masked_edges(h, b, s, t):
    a = h @ b
    kept = np.where((s % 3 == 0)[:, None], a[s] * a[t], 0.0)
    return wg.zeros(a.shape).at[t].add(kept).std()


def column_of_a_long_matrix(z, v):
    return ((z * 1.0).at[:, 0].add(v) ** 2).sum()


FAMILY = {
    "two terms": Case(two_terms, edges),
    "differences": Case(differences, edges),
    "taken twice": Case(taken_twice, edges),
    "embedded twice": Case(embedded_twice, edges),
    "chosen end": Case(chosen_end, edges),
    "both ends receive": Case(both_ends_receive, edges),
    "rounds of messages": Case(rounds_of_messages, edges),
    "second derivative": Case(second_derivative, edges),
    "product with a Hessian": Case(hessian_product, edges),
    "attention over edges": Case(attention_over_edges, edges),
    "mean of neighbours": Case(mean_of_neighbours, edges),
    "masked edges": Case(masked_edges, edges),
    "column of a long matrix": Case(
        lambda z, v: column_of_a_long_matrix(wg.asarray(z), v), lambda d: (d.normal(100_002, 33), d.normal(100_002))
    ),
}
