"""Convolutions against loops, SciPy and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.signal import convolve2d as scipy_convolve2d
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.core import machine
from wengert.ops.signal.convolution import convolution
from wengert.ops.signal.filtering import convolve2d

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
            index = [at[i] * stride[i] + k[i] * dilation[i] for i in range(rank)]
            out[(b, f, *at)] += x[(b, first + c, *index)] * w[(f, c, *k)]
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


@pytest.mark.parametrize(("x", "w", "stride", "padding", "dilation", "groups"), CASES)
def test_derivatives_of_derivatives(x, w, stride, padding, dilation, groups):
    x, w = RNG.normal(size=x), RNG.normal(size=w)
    f = lambda x, w: np.sin(convolution(x, w, stride, padding, dilation, groups)).sum()
    slope = lambda x, w: sum((g * g).sum() for g in wg.grad(f, (0, 1))(x, w))
    for i, found in enumerate(wg.grad(slope, (0, 1))(x, w)):
        np.testing.assert_allclose(found, numerical_gradient(slope, [x, w], i), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("x", "w", "stride", "padding", "dilation", "groups"), CASES)
@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0)], ids=["both", "signals", "filters"])
def test_batches_of_gradients(mapped, x, w, stride, padding, dilation, groups):
    x, w = [RNG.normal(size=shape if axis is None else (3, *shape)) for shape, axis in zip((x, w), mapped, strict=True)]
    f = wg.grad(lambda x, w: np.sin(convolution(x, w, stride, padding, dilation, groups)).sum(), (0, 1))
    alone = [f(*[a if axis is None else a[i] for a, axis in zip((x, w), mapped, strict=True)]) for i in range(3)]
    for found, expected in zip(wg.vmap(f, in_axes=mapped)(x, w), zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(found, np.stack(expected), atol=1e-12)


def test_an_empty_batch_has_gradients_of_zeros():
    f = lambda x, w: convolution(x, w, padding=1).sum()
    dx, dw = wg.grad(f, (0, 1))(np.ones((0, 2, 4)), np.ones((3, 2, 3)))
    assert dx.shape == (0, 2, 4)
    assert not dw.any()


def test_a_large_batch_is_taken_in_parts():
    x, w = RNG.normal(size=(5, 2, 6, 7)), RNG.normal(size=(3, 2, 3, 3))
    f = lambda x, w: np.sin(convolution(x, w, padding=1)).sum()
    whole = wg.value_and_grad(f, (0, 1))(x, w)
    for size in (1, 10_000):
        with machine.using(block_bytes_of_window_columns=size):
            value, gradients = wg.value_and_grad(f, (0, 1))(x, w)
            np.testing.assert_allclose(value, whole[0])
            for found, expected in zip(gradients, whole[1], strict=True):
                np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("filters", "stride"), [(1, 1), (2, 1), (9, 1), (2, 2)], ids=["few", "some", "many", "steps"])
def test_the_transposes_of_one_trilinear_form(filters, stride):
    """`t * conv(x, w)` summed is linear in each; every way to pull back gives the same number."""
    x, w = RNG.normal(size=(2, 2, 7, 6)), RNG.normal(size=(filters, 2, 3, 2))[:, :, ::-1]
    y, pull = wg.vjp(lambda x, w: convolution(x, w, stride, padding=[(1, 2), (0, 1)]), x, w)
    t = RNG.normal(size=y.shape)
    dx, dw = pull(t)
    np.testing.assert_allclose([(dx * x).sum(), (dw * w).sum()], (t * y).sum())


def test_infinite_numbers_stay_where_they_are():
    x = np.ones((1, 1, 4, 4))
    x[0, 0, 0, 3] = np.inf
    assert np.isinf(convolution(x, np.ones((1, 1, 2, 2)))).sum() == 1


def test_precision_and_promotion():
    x, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32)
    assert convolution(x, w).dtype == np.float32
    assert convolution(x, w.astype(np.float64)).dtype == np.float64
    assert convolution(x.astype(int), w.astype(int)).dtype == np.int64
    assert wg.grad(lambda x: convolution(x, w.astype(np.float64)).sum())(x).dtype == np.float32
    z = x + 1j * np.arange(4)
    np.testing.assert_allclose(convolution(z, w), convolution(z.real, w) + 1j * convolution(z.imag, w))


@pytest.mark.parametrize(
    ("x", "w", "options", "message"),
    [
        ((3,), (3,), {}, "batch, channels"),
        ((1, 2, 5), (1, 3, 2), {}, "2 channels"),
        ((1, 4, 5), (3, 2, 2), {"groups": 2}, "multiple of 2"),
        ((1, 1, 2), (1, 1, 3), {}, "do not fit"),
        ((1, 1, 5), (1, 1, 3), {"stride": 0}, "stride=0"),
        ((1, 1, 5), (1, 1, 3), {"padding": "full"}, "padding='full'"),
        ((1, 1, 5), (1, 1, 3), {"padding": -1}, "padding=-1"),
    ],
)
def test_what_does_not_fit_is_told(x, w, options, message):
    with pytest.raises(ValueError, match=message):
        convolution(np.ones(x), np.ones(w), **options)
