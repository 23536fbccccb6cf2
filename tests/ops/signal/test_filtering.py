"""Convolution and correlation of whole arrays, against `scipy.signal`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from tests.oracle import check_derivatives

import wengert as wg

SHAPES = [((7,), (3,)), ((3,), (7,)), ((6,), (4,)), ((5, 6), (2, 3)), ((2, 3), (5, 6)), ((4, 4, 5), (2, 3, 2))]
MODES = ["full", "same", "valid"]


def numbers(shape, seed, dtype=float):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype is complex else 0.0)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("first", "second"), SHAPES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_any_number_of_axes(name, first, second, mode, dtype):
    a, b = numbers(first, 1, dtype), numbers(second, 2, dtype)
    expected = getattr(scipy.signal, name)(a, b, mode, method="direct")
    np.testing.assert_allclose(getattr(wg.signal, name)(a, b, mode), expected, atol=1e-12)


@pytest.mark.parametrize("fillvalue", [0, 2.0])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("second", [(2, 3), (3, 3), (5, 6), (7, 8)])
def test_boundaries(second, mode, boundary, fillvalue):
    a, b = numbers((5, 6), 3), numbers(second, 4)
    expected = scipy.signal.convolve2d(a, b, mode, boundary, fillvalue)
    np.testing.assert_allclose(wg.signal.convolve2d(a, b, mode, boundary, fillvalue), expected, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "f",
    [
        wg.signal.convolve,
        wg.signal.correlate,
        lambda a, b, mode: wg.signal.convolve2d(a, b, mode, "wrap"),
        lambda a, b, mode: wg.signal.convolve2d(a, b, mode, "symm"),
        lambda a, b, mode: wg.signal.convolve2d(a, b, mode, fillvalue=2.0),
    ],
    ids=["convolve", "correlate", "wrap", "symm", "fill"],
)
def test_derivatives(f, mode):
    check_derivatives(lambda a, b: f(a, b, mode), [numbers((4, 5), 5), numbers((2, 3), 6)], [0, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wg.signal.convolve(np.ones(3), np.ones((2, 2))), "equally many axes"),
        (lambda: wg.signal.convolve2d(np.ones(3), np.ones(3)), "takes matrices"),
        (lambda: wg.signal.correlate(np.ones(3), np.ones(0)), "empty"),
        (lambda: wg.signal.convolve(np.ones(3), np.ones(3), "some"), "The modes are"),
        (lambda: wg.signal.convolve2d(np.ones((3, 3)), np.ones((2, 2)), boundary="mirror"), "The boundaries are"),
        (lambda: wg.signal.convolve(np.ones((2, 5)), np.ones((3, 3)), "valid"), "must fit into the other"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=rf"{message}.*test_filtering\.py:\d+|test_filtering\.py:\d+.*{message}"):
        call()


def convolve_each(a, b, mode, axes, dot_axes):
    """The convolution along axes, by one of SciPy's for each pair of rows."""
    kept = [[i for i in range(x.ndim) if i not in (*c, *d)] for x, c, d in zip((a, b), axes, dot_axes, strict=True)]
    dots = [tuple(x.shape[i] for i in d) for x, d in zip((a, b), dot_axes, strict=True)]
    a = np.transpose(a, (*kept[0], *dot_axes[0], *axes[0]))
    b = np.transpose(b, (*kept[1], *dot_axes[1], *axes[1]))
    rows = [
        [
            sum(scipy.signal.convolve(a[i + d], b[j + d], mode, method="direct") for d in np.ndindex(*dots[0]))
            for j in np.ndindex(*b.shape[: len(kept[1])])
        ]
        for i in np.ndindex(*a.shape[: len(kept[0])])
    ]
    whole = np.array(rows)
    return whole.reshape(*a.shape[: len(kept[0])], *b.shape[: len(kept[1])], *whole.shape[2:])


ALONG = {
    "images": ((2, 3, 5, 6), (3, 4, 2, 3), ([2, 3], [2, 3]), ([1], [0])),
    "rows": ((5, 2), (3, 4), ([0], [0]), ((), ())),
    "longer second": ((3, 2), (5, 4), ([0], [-2]), ((), ())),
    "two sums": ((2, 3, 6), (4, 3, 2), ([-1], [0]), ([0, 1], [2, 1])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("first", "second", "axes", "dot_axes"), ALONG.values(), ids=ALONG)
def test_along_axes(first, second, axes, dot_axes, mode):
    a, b = numbers(first, 1), numbers(second, 2)
    positive = [[i % x.ndim for i in chosen] for x, chosen in zip((a, b), axes, strict=True)]
    convolve = lambda a, b: wg.signal.convolve(a, b, mode, axes=axes, dot_axes=dot_axes)
    np.testing.assert_allclose(convolve(a, b), convolve_each(a, b, mode, positive, dot_axes), atol=1e-12)
    if mode == "valid":
        check_derivatives(convolve, [a, b], [0, 1])


def test_axes_that_do_not_fit():
    with pytest.raises(ValueError, match="along dot_axes they have equal lengths"):
        wg.signal.convolve(np.ones((2, 5)), np.ones((3, 5)), axes=([1], [1]), dot_axes=([0], [0]))
