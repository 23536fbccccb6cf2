"""Models that learn: an autoencoder, word vectors, mixtures of densities, transport."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.workloads.faces import Face
from benchmarks.workloads.fresh.fresh import fresh

PIXELS, HIDDEN, LATENT = 196, 64, 8
WORDS, SIZE, NEGATIVES = 5_000, 50, 5
COMPONENTS = 6


def autoencoder_data(n: int) -> tuple:
    """Weights of an encoder and a decoder; images, and normal numbers."""
    rng = np.random.default_rng(0)
    shapes = [(PIXELS, HIDDEN), (HIDDEN, 2 * LATENT), (LATENT, HIDDEN), (HIDDEN, PIXELS)]
    weights = [rng.normal(size=shape) / math.sqrt(shape[0]) for shape in shapes]
    biases = [np.zeros(columns) for _, columns in shapes]
    images = (rng.uniform(size=(n, PIXELS)) > 0.7).astype(np.float64)
    return [*weights, *biases], images, rng.normal(size=(n, LATENT))


def autoencoder_loss(params: Any, images: Any, noise: Any, face: Face) -> Any:
    """The negative evidence lower bound of a variational autoencoder."""
    m = face.numpy
    w1, w2, w3, w4, b1, b2, b3, b4 = params
    code = m.tanh(images @ w1 + b1) @ w2 + b2
    mean, log_variance = code[:, :LATENT], code[:, LATENT:]
    latent = mean + m.exp(0.5 * log_variance) * noise
    logits = m.tanh(latent @ w3 + b3) @ w4 + b4
    reconstruction = m.sum(face.softplus(logits) - images * logits, axis=1)
    divergence = 0.5 * m.sum(mean**2 + m.exp(log_variance) - log_variance - 1.0, axis=1)
    return m.mean(reconstruction + divergence)


def words_data(n: int) -> tuple:
    """Two tables of vectors; words, words beside them, and others."""
    rng = np.random.default_rng(0)
    tables = [0.3 * rng.normal(size=(WORDS, SIZE)) for _ in range(2)]
    return tables, rng.integers(0, WORDS, n), rng.integers(0, WORDS, n), rng.integers(0, WORDS, (n, NEGATIVES))


def words_loss(tables: Any, words: Any, near: Any, others: Any, face: Face) -> Any:
    """The loss of word vectors with negative samples."""
    m = face.numpy
    table, context = tables
    v = table[words]
    right = m.sum(v * context[near], axis=1)
    wrong = m.sum(v[:, None, :] * context[others], axis=2)
    return m.mean(face.softplus(-right) + m.sum(face.softplus(wrong), axis=1))


def densities_data(n: int) -> tuple:
    """Weights of a network of one input; points."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, (n, 1))
    params = [rng.normal(size=(1, 32)), rng.normal(size=32), rng.normal(size=(32, 3 * COMPONENTS)) / 6.0]
    return params, x, np.sin(3.0 * x) + 0.1 * rng.normal(size=(n, 1))


def densities_loss(params: Any, x: Any, y: Any, face: Face) -> Any:
    """The negative log-likelihood of a network that gives a mixture of normal densities."""
    m = face.numpy
    w1, b1, w2 = params
    out = m.tanh(x @ w1 + b1) @ w2
    weights, means, log_sizes = out[:, :COMPONENTS], out[:, COMPONENTS : 2 * COMPONENTS], out[:, 2 * COMPONENTS :]
    log_weights = weights - face.logsumexp(weights, 1)[:, None]
    terms = log_weights - log_sizes - 0.5 * ((y - means) * m.exp(-log_sizes)) ** 2
    return 0.5 * math.log(2.0 * math.pi) - m.mean(face.logsumexp(terms, 1))


def transport_data(n: int) -> tuple:
    """Points of one cloud, and of another."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), 0.5 * rng.normal(size=(n, 3)) + 1.0


def transport_loss(x: Any, y: Any, face: Face) -> Any:
    """The cost of transport between two clouds with entropy, by 20 steps of Sinkhorn on logarithms."""
    m = face.numpy
    cost = m.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    kernel = -cost / 0.5

    def step(state: tuple, _: Any) -> tuple:
        f, g = state
        f = -face.logsumexp(kernel + g[None, :], 1)
        g = -face.logsumexp(kernel + f[:, None], 0)
        return (f, g), None

    start = 0.0 * kernel[:, 0]
    (f, g), _ = face.scan(step, (start, 0.0 * kernel[0]), length=20)
    return m.sum(m.exp(kernel + f[:, None] + g[None, :]) * cost) / x.shape[0]


workloads = [
    fresh("autoencoder", "a variational autoencoder", autoencoder_data, autoencoder_loss, small=32, large=2_000),
    fresh("word-vectors", "word vectors with negative samples", words_data, words_loss, small=500, large=20_000),
    fresh(
        "densities",
        "a network that gives mixtures of densities",
        densities_data,
        densities_loss,
        small=200,
        large=50_000,
    ),
    fresh("transport", "20 steps of Sinkhorn between two clouds", transport_data, transport_loss, small=30, large=400),
]
