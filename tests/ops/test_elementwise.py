"""Choices between values: what the table test does not see."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import tape_gradients

import wengert as wg

BROKEN = np.array([1.5, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nan_to_num(dtype):
    x = BROKEN.astype(dtype)
    for options in ({}, {"nan": 7.0, "posinf": 8.0, "neginf": np.float64(9.0)}):
        found, expected = np.nan_to_num(wg.tensor(x), **options), np.nan_to_num(x, **options)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), expected)
    _, (gradient,) = tape_gradients(lambda x: np.nan_to_num(x).sum(), [x], [0])
    np.testing.assert_array_equal(gradient.numpy(), [1, 0, 0, 0])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_nan_to_num_looks_at_both_parts_of_a_complex_number(dtype):
    x = (BROKEN[:, None] + 1j * np.where(np.isinf(BROKEN), 2.0, BROKEN)).astype(dtype)
    x.imag[0] = np.inf
    found = np.nan_to_num(wg.tensor(x), nan=3.0)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), np.nan_to_num(x, nan=3.0))
    _, (gradient,) = tape_gradients(lambda x: (np.nan_to_num(x, posinf=1, neginf=1) * (1 - 2j)).real.sum(), [x], [0])
    np.testing.assert_array_equal(gradient.numpy(), np.isfinite(x.real) + 2j * np.isfinite(x.imag))


@pytest.mark.parametrize("x", [np.array([1, 2]), np.array([True, False])])
def test_nan_to_num_leaves_integers_alone(x):
    found = np.nan_to_num(wg.tensor(x))
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.numpy(), x)


def test_where_with_one_branch():
    x = wg.tensor([0.5, 2.0])
    for call in (lambda: np.where(x > 1, x), lambda: wg.where(x > 1, x), lambda: wg.where([True], None, 1.0)):
        with pytest.raises(ValueError, match="both"):
            call()


def test_where_without_branches_is_nonzero():
    for condition in ([True, False, True], np.array([1.0, 0.0, 2.0]), wg.tensor([1, 0, 1])):
        (places,) = wg.where(condition)
        assert places.tolist() == [0, 2]


@pytest.mark.parametrize("name", ["fmin", "fmax", "minimum", "maximum"])
@pytest.mark.parametrize("other", [np.array([True, False]), np.array([3, 0], np.uint8)])
def test_extremes_with_what_has_no_negative(name, other):
    x = np.array([0.5, 0.5])
    _, (gradient,) = tape_gradients(lambda x: getattr(np, name)(x, other).sum(), [x], [0])
    np.testing.assert_array_equal(gradient.numpy(), [1, 0] if "min" in name else [0, 1])
