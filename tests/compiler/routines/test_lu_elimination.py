"""Gaussian elimination in blocks: factors, pivots, blocks and tiles that are not full, and what has no pivot."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import has_wide_vectors
from wengert.core.primitive import TABLE, plain_impl

FACTORED = TABLE["factored"]
SIZES = [16, 31, 32, 33, 50, 64, 65, 95, 128, 141, 200]

pytestmark = pytest.mark.skipif(not has_wide_vectors(), reason="LAPACK factors matrices where vectors are short")


def draw(n, dtype=float):
    return np.random.default_rng(n).standard_normal((n, n)).astype(dtype)


def factor(x):
    """The factors from native code."""
    return wg.compile(FACTORED.op)(x)


def assert_factors(packed, x):
    """L U is the transpose of x with its rows exchanged, to the accuracy of elimination, and L has no large numbers."""
    n = x.shape[-1]
    columns = packed[:n].astype(float).T
    lower, upper = np.tril(columns, -1) + np.eye(n), np.triu(columns)
    exchanged = x.T.astype(float)
    for i, k in enumerate(packed[n].astype(int)):
        assert k >= i
        exchanged[[i, k]] = exchanged[[k, i]]
    assert abs(lower).max() <= 1.0
    bound = n * np.finfo(x.dtype).eps * (abs(lower) @ abs(upper))
    assert (abs(lower @ upper - exchanged) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_factors_have_the_product_and_the_pivots_of_lapack(n, dtype):
    x = draw(n, dtype)
    packed = factor(x)
    assert packed.dtype == dtype
    assert_factors(packed, x)
    np.testing.assert_array_equal(packed[n], plain_impl(FACTORED)(x)[n])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_that_are_solved_together_have_the_bits_of_those_that_are_solved_alone(dtype):
    x = draw(53, dtype)
    x[32:] = x[32]  # columns, as elimination sees them: of 21, eight and five are not a whole group
    solved = factor(x)[32:53, :32]
    assert (solved == solved[0]).all()


@pytest.mark.parametrize("row", [0, 31, 32, 63, 99])
def test_a_column_of_zeros_has_no_pivot_and_is_left_as_it_is(row):
    x = draw(100)
    x[row] = 0.0
    packed = factor(x)
    assert not packed[row].any()
    assert np.isfinite(packed).all()
    with pytest.raises(np.linalg.LinAlgError):
        wg.compile(np.linalg.solve)(x, np.ones(100))


def test_the_first_of_equal_elements_is_the_pivot():
    x = np.ones((64, 64)) + np.eye(64)
    x[0] = 1.0
    np.testing.assert_array_equal(factor(x)[64], plain_impl(FACTORED)(x)[64])


def test_nans_stay_in_the_solution():
    x = draw(80)
    x[40, 3] = np.nan
    assert np.isnan(wg.compile(np.linalg.solve)(x, np.ones(80))).any()
