"""Convolutions against loops, SciPy and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.signal import convolve2d as scipy_convolve2d
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.ops.convolution import convolution, convolve2d

RNG = np.random.default_rng(0)


def by_loops(x, w, stride, padding, dilation, groups):
    """The definition, element by element."""
    rank = w.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    reach = [(n - 1) * d + 1 for n, d in zip(w.shape[2:], dilation, strict=True)]
    lengths = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *lengths))
    channels = w.shape[1]
    for b, f, *at in itertools.product(*map(range, out.shape)):
        first = f // (w.shape[0] // groups) * channels
        for c, *k in itertools.product(*map(range, w.shape[1:])):
            place = [at[i] * stride[i] + k[i] * dilation[i] for i in range(rank)]
            out[(b, f, *at)] += x[(b, first + c, *place)] * w[(f, c, *k)]
    return out


CASES = [
    ((2, 3, 9), (4, 3, 3), (1,), (0,), (1,), 1),
    ((1, 2, 8), (2, 2, 3), (2,), (2,), (2,), 1),
    ((2, 4, 6, 5), (6, 2, 3, 2), (2, 1), (1, 0), (1, 2), 2),
    ((1, 2, 3, 4, 3), (2, 2, 2, 3, 1), (1, 2, 1), (0, 1, 0), (1, 1, 1), 1),
    ((1, 3, 4), (3, 1, 2), (1,), (0,), (1,), 3),
]


@pytest.mark.parametrize(("x", "w", "stride", "padding", "dilation", "groups"), CASES)
def test_the_definition(x, w, stride, padding, dilation, groups):
    x, w = RNG.normal(size=x), RNG.normal(size=w)
    out = convolution(x, w, stride, padding, dilation, groups)
    np.testing.assert_allclose(out, by_loops(x, w, stride, padding, dilation, groups), atol=1e-12)


@pytest.mark.parametrize(("x", "w", "stride", "padding", "dilation", "groups"), CASES)
def test_gradients(x, w, stride, padding, dilation, groups):
    x, w = RNG.normal(size=x), RNG.normal(size=w)
    f = lambda x, w: (convolution(x, w, stride, padding, dilation, groups) ** 2).sum()
    for i, found in enumerate(wg.grad(f, (0, 1))(x, w)):
        np.testing.assert_allclose(found, numerical_gradient(f, [x, w], i), rtol=1e-6, atol=1e-6)


def test_same_keeps_the_lengths():
    for n in (1, 2, 3, 4):
        assert convolution(np.ones((1, 1, 7)), np.ones((1, 1, n)), padding="same").shape == (1, 1, 7)
    assert convolution(np.ones((1, 1, 7)), np.ones((1, 1, 3)), padding=[(2, 0)]).tolist() == [[[1, 2, 3, 3, 3, 3, 3]]]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("a", "b"), [((5, 6), (3, 2)), ((4, 4), (3, 3)), ((6, 5), (2, 4)), ((2, 2), (4, 3))])
def test_matrices_as_in_scipy(mode, a, b):
    a, b = RNG.normal(size=a), RNG.normal(size=b)
    np.testing.assert_allclose(convolve2d(a, b, mode), scipy_convolve2d(a, b, mode), atol=1e-12)


def test_in_every_mode():
    x, w = RNG.normal(size=(2, 2, 6)), RNG.normal(size=(3, 2, 3))
    f = lambda w: np.sin(convolution(x, w, padding=1)).sum()
    slope = wg.grad(f)(w)
    direction = RNG.normal(size=w.shape)
    np.testing.assert_allclose(wg.jvp(f, (w,), (direction,))[1], (slope * direction).sum())
    np.testing.assert_allclose(wg.compile(wg.grad(f))(w), slope, atol=1e-12)
    batch = np.stack([w, 2.0 * w])
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(batch), [wg.grad(f)(v) for v in batch], atol=1e-12)


@pytest.mark.parametrize(
    ("x", "w", "options", "message"),
    [
        ((3,), (3,), {}, "batch, channels"),
        ((1, 2, 5), (1, 3, 2), {}, "2 channels"),
        ((1, 4, 5), (3, 2, 2), {"groups": 2}, "multiple of 2"),
        ((1, 1, 2), (1, 1, 3), {}, "do not fit"),
        ((1, 1, 5), (1, 1, 3), {"stride": 0}, "stride=0"),
        ((1, 1, 5), (1, 1, 3), {"padding": "full"}, "padding='full'"),
    ],
)
def test_what_does_not_fit_is_told(x, w, options, message):
    with pytest.raises(ValueError, match=message):
        convolution(np.ones(x), np.ones(w), **options)
