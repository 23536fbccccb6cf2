"""Images and language models."""

from __future__ import annotations

import numpy as np
from tests.large.cases import Case

import wengert as wg

F = wg.nn.functional


def convolution(x, w):
    return (F.relu(F.conv2d(x, w, padding=1)) ** 2).mean()


def pooled(x, w):
    return (F.max_pool2d(F.relu(F.conv2d(x, w)), 2) ** 2).mean()


def total_variation(x, _):
    return np.sqrt((x[..., 1:, :-1] - x[..., :-1, :-1]) ** 2 + (x[..., :-1, 1:] - x[..., :-1, :-1]) ** 2 + 0.01).sum()


def warped(image, flow):
    rows, columns = np.meshgrid(np.arange(2.0, 122.0), np.arange(2.0, 122.0), indexing="ij")
    y, x = rows + np.tanh(flow[0]), columns + np.tanh(flow[1])
    j, i = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    p, q = y - j, x - i
    low = (1 - q) * image[j, i] + q * image[j, i + 1]
    high = (1 - q) * image[j + 1, i] + q * image[j + 1, i + 1]
    return (((1 - p) * low + p * high) ** 2).mean()


def splatted(values, at):
    row, column = at // 200, at % 200
    image = wg.zeros((200, 200)).at[row, column].add(np.sin(values))
    return (image[1:, :] * image[:-1, :]).sum()


def filtered(image, _):
    spectrum = np.fft.rfft2(np.exp(np.sin(image)))
    return (np.fft.irfft2(spectrum * np.exp(-np.arange(spectrum.shape[-1]) / 9.0)) ** 2).mean()


def normalised(x, _):
    mean, var = x.mean(axis=(0, 2, 3), keepdims=True), x.var(axis=(0, 2, 3), keepdims=True)
    return (((x - mean) / np.sqrt(var + 1e-5)) ** 3).sum()


def histogram_of_brightness(image, _):
    soft = np.exp(-((image.reshape(-1, 1) - np.linspace(-2, 2, 16)) ** 2))
    return (soft.mean(axis=0) ** 2).sum()


def tokens(d, vocabulary=2000, width=32, count=4000):
    return d.normal(vocabulary, width) / 4, d.normal(width, 64) / 6, d.indices(vocabulary, count)


def cross_entropy(table, w, ids):
    logits = table[ids[:-1]] @ w
    return -np.take_along_axis(F.log_softmax(logits, dim=-1), (ids[1:] % 64)[:, None], axis=1).mean()


def tied_embedding(table, w, ids):
    h = np.tanh(F.embedding(ids[:300], table) @ w)[:, :32]
    return np.log(np.exp(h @ table[:500].T).sum(axis=1)).mean() - (h * table[ids[:300]]).sum(axis=1).mean()


def bag_of_words(table, w, ids):
    bags = table[ids.reshape(-1, 40)].mean(axis=1) - table[ids.reshape(-1, 40)[:, ::-1]].max(axis=1)
    return (np.tanh(bags @ w) ** 2).sum()


def negative_sampling(table, w, ids):
    centre, near, far = table[ids[:2000]], table[ids[2000:]], table[(ids[2000:] * 7) % 2000]
    return np.log1p(np.exp(-(centre * near).sum(1))).mean() + np.log1p(np.exp((centre * far).sum(1))).mean()


def attention(q, k, v):
    score = np.einsum("bid,bjd->bij", q, k) / 5.0
    causal = np.tril(np.ones(score.shape[-2:], bool))
    return (F.softmax(np.where(causal, score, -1e9), dim=-1) @ v).std()


def feed_forward(table, w, ids):
    x = table[ids]
    x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return (F.gelu(x @ w) ** 2).mean()


def recurrent(table, w, ids):
    def step(h, i):
        h = np.tanh(0.5 * h + table[i] @ w[:, :32])
        return h, h.sum()

    h, sums = wg.scan(step, wg.zeros((400, 32)), ids.reshape(10, 400))
    return (h**2).sum() + sums.mean()


def positions(table, w, ids):
    x = table[ids] + table[np.arange(len(ids)) % 128]
    return ((x @ w)[::2] * (x @ w)[1::2]).sum()


def images(d):
    return d.normal(4, 3, 40, 40), d.normal(8, 3, 3, 3) / 5


def picture(d):
    return d.normal(128, 128), d.normal(2, 120, 120)


FAMILY = {
    "convolution": Case(convolution, images),
    "pooled": Case(pooled, images),
    "total variation": Case(total_variation, images),
    "normalised": Case(normalised, images),
    "warped": Case(warped, picture),
    "filtered": Case(filtered, picture),
    "histogram of brightness": Case(histogram_of_brightness, picture),
    "splatted": Case(splatted, lambda d: (d.normal(50_000), d.indices(40_000, 50_000))),
    "cross entropy": Case(cross_entropy, tokens),
    "tied embedding": Case(tied_embedding, tokens),
    "bag of words": Case(bag_of_words, tokens),
    "negative sampling": Case(negative_sampling, tokens),
    "attention": Case(attention, lambda d: tuple(d.normal(4, 128, 16) for _ in range(3))),
    "feed forward": Case(feed_forward, tokens),
    "recurrent": Case(recurrent, tokens),
    "positions": Case(positions, tokens),
}
