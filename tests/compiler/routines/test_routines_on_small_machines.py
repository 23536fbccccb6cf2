"""Routines on shrunken machines: equal bits for all fields that do not say the order of additions, and close to NumPy.

The fuzzer draws programs of gathers and scatters for such machines; these are the operations that it does not draw.
"""

from __future__ import annotations

import numpy as np
import pytest
from tools.fuzz.machines import VECTORS, draw_fields

import wengert as wg
from wengert.core import machine
from wengert.nn import functional

RNG = np.random.default_rng(0)
X, TALL = RNG.normal(size=(7, 90)), RNG.normal(size=(80, 5))
STACK, MATRIX = RNG.normal(size=(5, 6, 6)), RNG.normal(size=(30, 30))
DEFINITE, LARGER = STACK @ STACK.swapaxes(-1, -2) + 6 * np.eye(6), MATRIX @ MATRIX.T + 30 * np.eye(30)
IMAGES, FILTERS = RNG.normal(size=(2, 3, 9, 10)), RNG.normal(size=(4, 3, 3, 3))
SIGNALS = RNG.normal(size=(3, 60)) + 1j * RNG.normal(size=(3, 60))
QUERIES, INTEGERS = RNG.normal(size=(2, 40, 8)), RNG.integers(-50, 50, (4, 70))
SINGLES = np.ascontiguousarray(X, np.float32)

PROGRAMS = {
    "sort": (lambda x: (np.sort(x, -1), np.argsort(x, 0, kind="stable")), X),
    "sort of singles": (lambda x: (np.sort(x, -1), np.argsort(x, -1, kind="stable")), SINGLES),
    "sort of integers": (lambda i: (np.sort(i, -1), np.argsort(i, -1, kind="stable"), np.sort(i % 2 == 0)), INTEGERS),
    "selection": (lambda x: (np.median(x, -1), np.quantile(x, [0.1, 0.9], -1), np.partition(x, 40, -1)[:, 40]), X),
    "search and counts": (lambda x: (np.searchsorted(np.sort(x[0]), x), np.histogram(x, 12)[0]), X),
    "running sums": (lambda x: np.cumsum(x, 0) + np.cumsum(x, 1), X),
    "definite matrices": (
        wg.grad(
            lambda s: (
                np.linalg.cholesky(s).sum()
                + np.linalg.slogdet(s)[1].sum()
                + np.linalg.eigvalsh(s).sum()
                + np.linalg.solve(s, np.ones((5, 6, 2))).sum()
            )
        ),
        DEFINITE,
    ),
    "small matrices": (lambda a: (np.linalg.qr(a)[1], np.linalg.det(a), np.linalg.svd(a)[1], np.linalg.inv(a)), STACK),
    "larger matrices": (wg.grad(lambda m: (np.linalg.cholesky(m) + np.linalg.solve(m, m[:, :1])).sum()), LARGER),
    "convolution": (wg.grad(lambda x, k: (functional.conv2d(x, k, padding=1) ** 2).sum(), (0, 1)), IMAGES, FILTERS),
    "convolution with strides": (
        wg.grad(lambda x, k: (functional.conv2d(x, k, stride=2) ** 2).sum(), (0, 1)),
        IMAGES,
        FILTERS,
    ),
    "pooling": (
        wg.grad(lambda x: (functional.max_pool2d(x, 3, 2) ** 2).sum() + (functional.avg_pool2d(x, 2) ** 2).sum()),
        IMAGES,
    ),
    "transforms": (lambda z: (np.fft.fft(z), np.fft.fft(z, axis=0), np.fft.fft(z[:, :59]), np.fft.fft2(z)), SIGNALS),
    "complex": (lambda z: (np.exp(z) * z / (z + 3.0), np.abs(z).sum(), np.sqrt(z) @ np.ones(60)), SIGNALS),
    "attention": (
        wg.grad(lambda q: (functional.scaled_dot_product_attention(q, q + 1.0, 2.0 * q) ** 2).sum()),
        QUERIES,
    ),
    "products": (lambda x: (x @ x.T, x.T @ x, x @ x[0], x.T @ x[:, 0], np.einsum("ij,kj->ik", x, x)), X),
    "tall products": (wg.grad(lambda w, t: (np.tanh(t @ w) ** 2).sum(), (0, 1)), RNG.normal(size=(5, 3)), TALL),
    "integers": (lambda i: (i // 7, i % 5, np.fmod(i, 3), (i * i).sum(0)), INTEGERS),
    "functions": (
        lambda x: (np.logaddexp(x, 1.0).sum(), np.var(x, 0), functional.softmax(x, -1), np.hypot(x, x[::-1])),
        X,
    ),
    "short rows": (lambda t: np.stack([t[:, i] * t[:, i - 1] for i in range(5)], 1), TALL),
}


def leaves(tree):
    return [np.asarray(leaf) for leaf in wg.tree.leaves(tree)]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_machines_agree(name, seed):
    f, *args = PROGRAMS[name]
    expected = leaves(f(*args))
    rng = np.random.default_rng([seed, len(name)])
    order = draw_fields(rng, True) if seed == 2 else {}
    width, bits = int(rng.choice(VECTORS)), set()
    for shrunken in ({}, draw_fields(rng, False), draw_fields(rng, False)):
        with machine.using(**order | shrunken | {"threads": int(rng.choice([1, 2, 4])), "vector_bytes": width}):
            found = leaves(wg.compile(f)(*args))
        for y, z in zip(found, expected, strict=True):
            tolerance = 1e-4 if z.dtype == np.float32 else 1e-9
            scale = np.max(np.abs(z), initial=1.0)
            np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance * scale)
        bits.add(b"".join([y.tobytes() for y in found]))
    assert len(bits) == 1
