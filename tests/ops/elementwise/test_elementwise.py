"""Choices between values: what the table test does not see."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import tape_gradients
from tests.versions import needs_numpy

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
        (indices,) = wg.where(condition)
        assert indices.tolist() == [0, 2]


@pytest.mark.parametrize("name", ["fmin", "fmax", "minimum", "maximum"])
@pytest.mark.parametrize("other", [np.array([True, False]), np.array([3, 0], np.uint8)])
def test_extremes_with_what_has_no_negative(name, other):
    x = np.array([0.5, 0.5])
    _, (gradient,) = tape_gradients(lambda x: getattr(np, name)(x, other).sum(), [x], [0])
    np.testing.assert_array_equal(gradient.numpy(), [1, 0] if "min" in name else [0, 1])


def test_a_bound_that_no_integer_reaches_is_none():
    for dtype, low, high in (
        ("u1", -1, 1),
        ("i1", -1000, 1000),
        ("u8", -1, 2**70),
        ("i4", 0, 2**40),
        ("u1", 0, None),
        ("u1", None, 300),
    ):
        x = np.array([0, 1, 100], dtype)
        expected = np.clip(x, low, high)
        for found in (
            np.clip(wg.tensor(x), low, high).numpy(),
            wg.compile(lambda x, low=low, high=high: np.clip(x, low, high))(x),
        ):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(OverflowError):
        np.clip(wg.tensor(np.array([3], "u1")), 300, 400)


def test_zeros_between_two_bounds_keep_their_sign():
    x = np.array([0.0, -0.0, 2.0, np.nan])
    for low, high in ((0.0, 1.0), (-0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0)):
        np.testing.assert_array_equal(
            np.signbit(np.clip(wg.tensor(x), low, high).numpy()), np.signbit(np.clip(x, low, high))
        )


@needs_numpy(2, 4)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, 2.0])
def test_powers_of_booleans_have_the_dtype_of_numpy(exponent):
    x = np.array([True, False])
    for f in (lambda x: x**exponent, lambda x: np.power(x, exponent)):
        expected = f(x)
        for found in (f(wg.tensor(x)).numpy(), wg.compile(f)(x)):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3, 8, 17, 74, 1000])
def test_fmax_and_fmin_choose_the_second_of_equal_zeros_everywhere(dtype, n):
    x = np.resize(np.array([0.0, -0.0, np.nan, 1.0, np.nan], dtype), n)
    y = np.resize(np.array([-0.0, 0.0, -0.0, np.nan, np.nan], dtype), n)
    second = np.where(np.isnan(y), x, y)
    for f in (np.fmax, np.fmin):
        for found in (f(wg.tensor(x), wg.tensor(y)).numpy(), wg.compile(lambda x, y, f=f: f(x, y))(x, y)):
            np.testing.assert_array_equal(found, f(x, y))
            np.testing.assert_array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(second)[~np.isnan(found)])


SPECIAL = (0.0, -0.0, 1.0, -2.0, 1e-44, 3e38, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sign_of_special_complex_numbers(dtype):
    """One infinite part is the direction, tiny numbers have one: eager, differentiated and compiled as in NumPy."""
    z = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL]).astype(dtype)
    z = z[~(np.isinf(np.abs(z)) & np.isfinite(z.real) & np.isfinite(z.imag))]  # whose modulus overflows
    expected = np.sign(z)
    ulp = 2 * np.finfo(dtype).eps
    for found in (np.sign(wg.tensor(z, requires_grad=True)).detach().numpy(), wg.compile(np.sign)(z)):
        assert found.dtype == dtype
        np.testing.assert_allclose(found.real, expected.real, rtol=ulp, atol=0)
        np.testing.assert_allclose(found.imag, expected.imag, rtol=ulp, atol=0)
