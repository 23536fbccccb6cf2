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
