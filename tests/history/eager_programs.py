"""Eager programs whose bits must not depend on how often they have run: a value, and the gradients of all inputs.

Each takes a size and returns a function of arrays, with arrays for it. A size is roughly the number of elements of the
largest array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert import nn

F = nn.functional

Case = tuple[Callable[..., Any], list[np.ndarray]]
PROGRAMS: dict[str, Callable[[int, np.random.Generator], Case]] = {}


def program(make: Callable[[int, np.random.Generator], Case]) -> Callable[[int, np.random.Generator], Case]:
    """Register a program under the name of its function."""
    PROGRAMS[make.__name__] = make
    return make


def side(n: int) -> int:
    """The rows of a square matrix with about so many elements."""
    return max(int(n**0.5), 2)


@program
def functions(n, rng):
    return lambda x: np.sum(np.sin(x) * np.exp(-x) + np.log1p(x * x)), [rng.normal(size=n)]


@program
def arithmetic(n, rng):
    return lambda x, y: ((x * y - 2.0 * x) ** 2 / (1.0 + y * y)).sum(), [rng.normal(size=n), rng.normal(size=n)]


@program
def roots(n, rng):
    return lambda x, y: np.sqrt(x * x + y * y + 1.0).mean(), [rng.normal(size=n), rng.normal(size=n)]


@program
def powers(n, rng):
    return lambda x, p: (x**p + x**2.5).sum(), [rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)]


@program
def long_chain(n, rng):
    def f(x):
        for k in range(30):
            x = np.tanh(x) + 0.1 * k * np.cos(x)
        return x.mean()

    return f, [rng.normal(size=n)]


@program
def choices(n, rng):
    return lambda x: np.where(x > 0.2, np.sqrt(np.abs(x)), np.maximum(x * x, -x)).sum(), [rng.normal(size=n)]


@program
def inverses(n, rng):
    x = rng.normal(size=(max(n // 9, 2), 3, 3)) + 3.0 * np.eye(3)
    return lambda x: (np.linalg.inv(x) @ np.swapaxes(x, 1, 2) * 0.5).sum() + np.linalg.det(x).mean(), [x]


@program
def rotations(n, rng):
    x = rng.normal(size=(max(n // 16, 2), 4, 4))
    return lambda x: (np.linalg.eigh(x + np.swapaxes(x, 1, 2))[0] ** 3).sum(), [x]


@program
def compiled_layer(n, rng):
    """A compiled function whose sums native code adds in its own order, between eager operations."""
    rows = max(n // 40, 2)
    layer = wg.compile(lambda x, w: np.tanh(np.sum(x[:, :, None] * w, axis=1)))

    def f(x, w):
        return (np.sin(layer(x * 1.5, w)) ** 2).sum() + layer(x, w * 0.5).mean()

    return f, [rng.normal(size=(rows, 40)), rng.normal(size=(40, 5)) / 6]


@program
def lstm(n, rng):
    steps, batch, size = 7, max(n // 400, 1), 12
    model = nn.LSTM(size, 9, rng=1, dtype=np.float64)
    return lambda x: (model(np.tanh(x))[0] ** 2).mean(), [rng.normal(size=(steps, batch, size))]


@program
def right_hand_sides(n, rng):
    """One small matrix, and a system for each column."""
    root, x = rng.normal(size=(5, 5)), rng.normal(size=(max(n // 5, 2), 5))

    def f(root, x):
        factor = np.linalg.cholesky(root @ root.T + np.eye(5))
        white = wg.linalg.solve_triangular(factor, (x * 0.5).T, lower=True)
        return 0.5 * (white**2).sum() + np.log(np.diagonal(factor)).sum() + (np.linalg.solve(factor, x.T) ** 3).mean()

    return f, [root, x]


@program
def softmax_cross_entropy(n, rng):
    classes = 10
    x, w = rng.normal(size=(max(n // 20, 4), 20)), rng.normal(size=(20, classes))
    labels = rng.integers(0, classes, len(x))
    return lambda x, w: F.cross_entropy(x @ w, labels), [x, w]


@program
def softmax_rows(n, rng):
    x = rng.normal(size=(max(n // 25, 2), 25))
    return lambda x: (wg.softmax(x, axis=-1) ** 2).sum(), [x]


@program
def layer_norm(n, rng):
    x, w, b = rng.normal(size=(max(n // 32, 2), 32)), rng.normal(size=32), rng.normal(size=32)
    return lambda x, w, b: (F.layer_norm(x, (32,), w, b) ** 3).mean(), [x, w, b]


@program
def normalised_by_hand(n, rng):
    x, w = rng.normal(size=(max(n // 32, 2), 32)), rng.normal(size=32)

    def f(x, w):
        m = x.mean(axis=-1, keepdims=True)
        v = ((x - m) ** 2).mean(axis=-1, keepdims=True)
        return ((x - m) / np.sqrt(v + 1e-5) * w).sum(axis=0).max()

    return f, [x, w]


@program
def multilayer_perceptron(n, rng):
    k = 16
    x, y = rng.normal(size=(max(n // k, 2), k)), rng.normal(size=(max(n // k, 2), 3))
    w1, b1, w2, b2 = rng.normal(size=(k, 24)), rng.normal(size=24), rng.normal(size=(24, 3)), rng.normal(size=3)

    def f(w1, b1, w2, b2):
        h = np.tanh(x @ w1 + b1)
        return ((h @ w2 + b2 - y) ** 2).mean()

    return f, [w1, b1, w2, b2]


@program
def relu_network(n, rng):
    k = 16
    x = rng.normal(size=(max(n // k, 2), k))
    ws = [rng.normal(size=(k, k)) / 4 for _ in range(8)]
    bs = [rng.normal(size=k) for _ in range(8)]

    def f(*ps):
        h = x
        for w, b in zip(ps[::2], ps[1::2], strict=True):
            h = wg.relu(h @ w + b) + 0.5 * h
        return (h * h).mean()

    return f, [p for pair in zip(ws, bs, strict=True) for p in pair]


@program
def gelu_network(n, rng):
    k = 16
    x = rng.normal(size=(max(n // k, 2), k))
    return lambda w, v: (F.gelu(x @ w) @ v).sum(), [rng.normal(size=(k, k)), rng.normal(size=(k, 1))]


@program
def convolution(n, rng):
    m = max(side(n) // 2, 6)
    x = rng.normal(size=(2, 2, m, m))
    w, b = rng.normal(size=(4, 2, 3, 3)), rng.normal(size=4)
    return lambda x, w, b: (F.max_pool2d(wg.relu(F.conv2d(x, w, b, padding=1)), 2) ** 2).mean(), [x, w, b]


@program
def attention(n, rng):
    m = max(n // 64, 4)
    q, k, v = rng.normal(size=(3, 2, m, 8))

    def f(q, k, v):
        return (F.scaled_dot_product_attention(q, k, v) ** 2).sum()

    return f, [q, k, v]


@program
def attention_by_hand(n, rng):
    m = max(side(n), 4)
    q, k, v = rng.normal(size=(3, m, 8))

    def f(q, k, v):
        return ((wg.softmax(q @ k.T / 3.0, axis=-1) @ v) ** 2).sum()

    return f, [q, k, v]


@program
def graph_network(n, rng):
    nodes, edges, k = max(n // 8, 4), max(n // 4, 8), 4
    s, t = rng.integers(0, nodes, (2, edges))
    h, w, u = rng.normal(size=(nodes, k)), rng.normal(size=(k, k)), rng.normal(size=(k, k))

    def f(h, w, u):
        for _ in range(2):
            messages = np.tanh(h[s] @ w - h[t] @ u)
            h = h + wg.array(np.zeros((nodes, k))).at[t].add(messages)
        return (h * h).mean()

    return f, [h, w, u]


@program
def few_targets(n, rng):
    groups = rng.integers(0, 5, n)
    return lambda x: (wg.array(np.zeros(5)).at[groups].add(x * x) ** 2).sum(), [rng.normal(size=n)]


@program
def embedding(n, rng):
    table, i = rng.normal(size=(50, 16)), rng.integers(0, 50, max(n // 16, 2))
    return lambda table, w: (np.tanh(F.embedding(i, table)) @ w).sum(), [table, rng.normal(size=(16, 2))]


@program
def mixture(n, rng):
    x = rng.normal(size=(n // 4, 1))
    m, s, c = rng.normal(size=4), rng.uniform(0.5, 1.0, 4), rng.normal(size=4)

    def f(m, s, c):
        log_p = -0.5 * ((x - m) / s) ** 2 - np.log(s) + c - wg.logsumexp(c)
        return wg.logsumexp(log_p, axis=1).mean()

    return f, [m, s, c]


@program
def black_scholes(n, rng):
    s, k = rng.uniform(80, 120, n), rng.uniform(80, 120, n)

    def f(s, k, v, r):
        d = (np.log(s / k) + (r + 0.5 * v * v)) / v
        cdf = lambda z: 0.5 * (1.0 + wg.erf(z / np.sqrt(2.0)))
        return (s * cdf(d) - k * np.exp(-r) * cdf(d - v)).sum()

    return f, [s, k, np.float64(0.2), np.float64(0.05)]


@program
def recurrent(n, rng):
    k = max(min(side(n) // 4, 24), 2)
    x = rng.normal(size=(12, max(n // k // 12, 2), k))
    w, u, b = rng.normal(size=(k, 4 * k)) / 4, rng.normal(size=(k, 4 * k)) / 4, rng.normal(size=4 * k)

    def f(w, u, b):
        h = c = np.zeros(x.shape[1:])
        for step in x:
            z = step @ w + h @ u + b
            i, g, o, r = (z[:, j * k : (j + 1) * k] for j in range(4))
            c = wg.sigmoid(r) * c + wg.sigmoid(i) * np.tanh(g)
            h = wg.sigmoid(o) * np.tanh(c)
        return (h * h).mean()

    return f, [w, u, b]


@program
def oscillator(n, rng):
    def f(y, k):
        for _ in range(25):
            y = y + 0.01 * np.stack([y[1], -k * np.sin(y[0])])
        return (y**2).sum()

    return f, [rng.normal(size=(2, max(n // 4, 2))), rng.uniform(0.5, 1.5, max(n // 4, 2))]


@program
def heat(n, rng):
    def f(u):
        for _ in range(20):
            u = u.at[1:-1].add(0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
        return (u**2).sum()

    return f, [rng.normal(size=n)]


@program
def distances(n, rng):
    m = max(side(n), 3)

    def f(p):
        d = p[:, None] - p[None, :]
        r = np.sqrt((d**2).sum(axis=-1) + 0.1)
        return (1.0 / r).sum()

    return f, [rng.normal(size=(m, 3))]


@program
def statistics(n, rng):
    x = rng.normal(size=(max(n // 8, 3), 8))
    return lambda x: np.var(x, axis=0).sum() + np.std(x) + np.mean(x, axis=1).max() + np.cumsum(x)[-1], [x]


@program
def factors(n, rng):
    m = max(min(side(n), 48), 3)
    a = rng.normal(size=(m, m))
    a, b = a @ a.T + m * np.eye(m), rng.normal(size=m)
    return lambda a, b: b @ np.linalg.solve(a, b) + np.log(np.diagonal(np.linalg.cholesky(a))).sum(), [a, b]


@program
def stacks(n, rng):
    a = rng.normal(size=(max(n // 9, 2), 3, 3)) + 3.0 * np.eye(3)
    b = rng.normal(size=(len(a), 3, 1))
    return lambda a, b: (np.linalg.solve(a, b) ** 2).sum() + np.log(np.abs(np.linalg.det(a))).sum(), [a, b]


@program
def several_outputs(n, rng):
    def f(x):
        left, right = np.split(np.sort(x, kind="stable"), 2)
        q, r = np.linalg.qr(x[:36].reshape(6, 6) + 6.0 * np.eye(6))
        rows = wg.unstack(x[:40].reshape(4, 10))
        return (np.sin(left) * right).sum() + (q[0] * r[0]).sum() + (rows[1] * rows[2] * rows[3]).sum()

    return f, [rng.normal(size=n)]


@program
def heads(n, rng):
    m = max(n // 32, 4)
    x, w = rng.normal(size=(m, 8)), rng.normal(size=(8, 24))

    def f(x, w):
        q, k, v = np.split(x @ w, 3, axis=1)
        return ((wg.softmax(q[:50] @ k[:50].T, axis=-1) @ v[:50]) ** 2).sum() + (np.tanh(v) * x).sum()

    return f, [x, w]


@program
def sorting(n, rng):
    w = rng.normal(size=n)
    return lambda x: (np.sort(x, kind="stable") * w).sum() + np.median(x), [rng.normal(size=n)]


@program
def single_precision(n, rng):
    k = 8
    x = rng.normal(size=(max(n // k, 2), k)).astype(np.float32)
    w, b = rng.normal(size=(k, k)).astype(np.float32), rng.normal(size=k).astype(np.float32)
    return lambda w, b: (np.exp(-np.tanh(x @ w + b)) * x).mean(), [w, b]


@program
def transposed(n, rng):
    m = side(n)
    a, b = rng.normal(size=(m, m)), rng.normal(size=(m, m))
    return lambda a, b: ((a.T * b) @ (a + b.T)).sum(axis=0).std() + (np.exp(a.T) * b).sum(), [a, b]


def gradients(make: Callable[[int, np.random.Generator], Case], n: int) -> Callable[[], bytes]:
    """A function that runs a program eagerly, with its backward pass, and returns the bits of all results."""
    function, arrays = make(n, np.random.default_rng(n))

    def run() -> bytes:
        tensors = [wg.tensor(a, requires_grad=True) for a in arrays]
        y = function(*tensors)
        y.backward()
        return b"".join(
            [
                np.asarray(v.numpy() if hasattr(v, "numpy") else v).tobytes()
                for v in (y.detach(), *[t.grad for t in tensors])
            ]
        )

    return run
