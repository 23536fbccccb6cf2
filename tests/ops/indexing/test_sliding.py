"""Windows that slide along axes, against NumPy's views."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import check_derivatives

import wengert as wg

X = np.random.default_rng(0).normal(size=(4, 5))
CASES = [
    (2, 0), ((2, 3), None), ((2, 3), (1, 0)), ((2, 2), (1, 1)), (4, -2), (1, 1), (np.int64(3), -1),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_windows(shape, axis):
    numpy_view = np.lib.stride_tricks.sliding_window_view
    expected = numpy_view(X, shape, axis)
    for found in (wg.sliding_window_view(X, shape, axis), numpy_view(wg.tensor(X), shape, axis)):
        np.testing.assert_array_equal(np.asarray(found), expected)
    np.testing.assert_array_equal(wg.compile(lambda x: wg.sliding_window_view(x, shape, axis))(X), expected)
    check_derivatives(lambda x: wg.sliding_window_view(x, shape, axis) ** 2, [X], [0])


def test_batches():
    np.testing.assert_array_equal(
        wg.vmap(lambda x: wg.sliding_window_view(x, 2))(X), np.lib.stride_tricks.sliding_window_view(X, 2, 1)
    )


def test_errors():
    x = wg.tensor(X)
    with pytest.raises(ValueError, match="window of length 9 along an axis of length 4"):
        wg.sliding_window_view(x, 9, 0)
    with pytest.raises(ValueError, match="one length for each"):
        wg.sliding_window_view(x, 2)
    with pytest.raises(ValueError, match="cannot be written to"):
        wg.sliding_window_view(x, 2, 0, writeable=True)
