"""Reductions: NumPy's values and dtypes where they are easy to miss, and derivatives where formulas break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
from tests.oracle import check_derivatives, tape_gradients

import wengert as wg

X = np.array([[0.5, 1.5, -0.3], [1.9, 0.1, 0.7]])
CUBE = np.random.default_rng(2).normal(size=(2, 3, 4))
MASK = np.array([True, False, True])


def gradient(f, x):
    return tape_gradients(f, [np.asarray(x)], [0])[1][0].numpy()


def test_weights_follow_the_order_of_the_axes():
    weights = np.random.default_rng(3).uniform(0.5, 1.5, size=(4, 2))
    f = lambda x, w: np.average(x, axis=(2, 0), weights=w)
    np.testing.assert_allclose(f(wg.tensor(CUBE), weights).numpy(), f(CUBE, weights))
    check_derivatives(f, [CUBE, weights], [0, 1], orders=1)
    mean, total = np.average(
        wg.tensor(CUBE, dtype=np.float32), axis=(2, 0), weights=weights.astype(np.float32), returned=True
    )
    assert mean.dtype == total.dtype == np.float32
    np.testing.assert_allclose(total, np.full(3, weights.sum()), rtol=1e-6)


@pytest.mark.parametrize(
    ("error", "axis", "weights"),
    [(ZeroDivisionError, 1, [1.0, -1.0, 0.0]), (TypeError, None, [1.0, 2.0, 3.0]), (ValueError, 1, [1.0, 2.0])],
)
def test_weights_that_do_not_do(error, axis, weights):
    for x in (X, wg.tensor(X)):
        with pytest.raises(error):
            np.average(x, axis, weights)


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_median_of_nan_and_of_nothing():
    x = np.array([[1.0, np.nan, 3.0, 2.0], [4.0, 1.0, 2.0, np.inf]])
    for axis in (None, 0, 1, (1, 0), [0, 1]):
        np.testing.assert_array_equal(np.median(wg.tensor(x), axis=axis).numpy(), np.median(x, axis=axis))
    np.testing.assert_array_equal(gradient(lambda x: np.median(x, axis=1).sum(), x), [[0, 1, 0, 0], [0.5, 0, 0.5, 0]])
    for shape, axis in (((0,), None), ((0, 3), 0), ((0, 3), 1), ((2, 0), (0, 1))):
        expected = np.median(np.zeros(shape), axis=axis, keepdims=True)
        np.testing.assert_array_equal(np.median(wg.tensor(np.zeros(shape)), axis=axis, keepdims=True).numpy(), expected)


def test_std_of_equal_numbers_has_no_slope():
    for x in ([2.0, 2.0, 2.0], [0.1, 0.1, 0.1], [1j, 1j]):
        np.testing.assert_allclose(gradient(np.std, x), np.zeros(len(x)), atol=1e-12)
    x = np.array([[1.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(gradient(lambda x: np.std(x, axis=1).sum(), x), [[0, 0], [-0.5, 0.5]])
    check_derivatives(lambda x: np.std(x, axis=1, ddof=1), [X], [0])


@pytest.mark.parametrize("dtype", [np.int32, bool])
def test_logsumexp_of_integers(dtype):
    x = np.array([[1, 0, 1]], dtype)
    out = wg.logsumexp(wg.tensor(x), axis=1)
    assert out.dtype == np.float64
    np.testing.assert_allclose(out.numpy(), np.log(np.exp(x.astype(float)).sum(1)))


def test_logsumexp_of_infinities():
    np.testing.assert_array_equal(gradient(wg.logsumexp, [1.0, np.inf, 2.0])[[0, 2]], [0, 0])
    np.testing.assert_array_equal(gradient(wg.logsumexp, [-np.inf, -np.inf]), [0, 0])
    np.testing.assert_array_equal(gradient(wg.logsumexp, [-np.inf, 3.0]), [0, 1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int32, np.uint8, bool])
@pytest.mark.parametrize(
    "name", ["sum", "prod", "nansum", "nanmean", "average", "median", "ptp", "max", "std", "cumprod"]
)
def test_dtypes_are_numpys(name, dtype):
    x = np.array([[1, 0, 1], [1, 1, 0]]).astype(dtype)
    f = getattr(np, name)
    for axis in (None, 1):
        try:
            expected = f(x, axis=axis)
        except TypeError:
            with pytest.raises(TypeError):
                f(wg.tensor(x), axis=axis)
            continue
        found = f(wg.tensor(x), axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3)


ADD: Any = np.add  # the types of NumPy do not have its methods with all arguments by position
BEGUN = {
    "sum": lambda x: np.sum(x, 1, initial=2.5),
    "sum, where": lambda x: np.sum(x, 0, where=MASK, initial=2),
    "prod": lambda x: np.prod(x, 1, initial=2.5),
    "prod, where": lambda x: np.prod(x, where=MASK),
    "max": lambda x: np.max(x, 1, initial=1.7),
    "max, where": lambda x: np.max(x, initial=-1.0, where=MASK),
    "max of nothing": lambda x: np.max(x[:0], 0, initial=-1.0) + x[0],
    "min": lambda x: np.min(x, 1, initial=0.05),
    "min, where": lambda x: np.min(x, 1, None, True, 5.0, MASK),
    "mean, where": lambda x: np.mean(x, 1, where=MASK),
    "mean, where, keepdims": lambda x: np.mean(x, keepdims=True, where=[[True], [False]]),
    "nansum, where": lambda x: np.nansum(x, 1, where=MASK, initial=1.0),
    "nanmean, where": lambda x: np.nanmean(np.where(x > 1.8, np.nan, x), 1, where=MASK),
    "add.reduce": lambda x: ADD.reduce(x, 0, None, None, True, 1.5, MASK),
    "maximum.reduce": lambda x: np.maximum.reduce(x, initial=0.6),
    "any": lambda x: x + np.any(x > 1.0, 1, None, True, where=MASK),
    "all": lambda x: x + np.all(x > 0.0, 1, where=[True, True, False], keepdims=True),
}


@pytest.mark.parametrize("f", BEGUN.values(), ids=BEGUN)
def test_initial_and_where(f):
    np.testing.assert_allclose(f(wg.tensor(X)).numpy(), f(X))
    assert f(wg.tensor(X, dtype=np.float32)).dtype == np.float32
    check_derivatives(f, [X], [0])


def test_initial_is_cast_and_may_be_live():
    assert np.sum(wg.tensor([1, 2]), initial=1.5).item() == np.sum([1, 2], initial=1.5)
    assert np.sum(wg.tensor([1.0], dtype=np.float32), initial=np.float64(1.5)).dtype == np.float32
    check_derivatives(lambda x, y: wg.prod(x, initial=y), [X, np.array(2.0)], [0, 1])


def test_where_needs_a_beginning_and_fits():
    for x in (X, wg.tensor(X)):
        with pytest.raises(ValueError, match="initial"):
            np.max(x, where=MASK)
        with pytest.raises(ValueError, match="more dimensions"):
            np.sum(x, where=np.ones((2, 2, 3), bool))
        with pytest.raises(TypeError, match="integer"):
            np.sum(x, axis=[0, 1])
    with pytest.raises(TypeError, match="where"):
        np.std(wg.tensor(X), where=MASK)


LOGSUMEXP = [
    np.array([1 + 3j, 2 + 4j]),
    np.array([10j, 10j]),
    np.array([-1000 + 3j, -1000 + 3.2j]),
    np.array([1000 - 40j, 999 + 2j]),
    np.array([[1 + 1j, -np.inf + 0j], [2 - 7j, 0j]]),
    np.array([1.0, 1j * np.pi]),
    np.array([1 + 3j, 2 + 4j], np.complex64),
]


@pytest.mark.parametrize("x", LOGSUMEXP, ids=str)
def test_logsumexp_of_complex_numbers_is_on_the_principal_branch(x):
    expected = scipy.special.logsumexp(x)
    compiled = wg.compile(wg.logsumexp)(x)
    for found in (
        wg.logsumexp(x),
        wg.logsumexp(wg.tensor(x)).numpy(),
        compiled,
        wg.special.logsumexp(wg.tensor(x), b=1.0).numpy(),
    ):
        assert found.dtype == x.dtype
        assert -np.pi < found.imag <= np.pi
        np.testing.assert_allclose(found, expected, rtol=1e-5 if x.dtype == np.complex64 else 1e-14)
    np.testing.assert_allclose(wg.vmap(wg.logsumexp)(np.stack([x, x])), [expected] * 2, rtol=1e-5)
    if np.isfinite(x).all() and x.dtype == complex:
        check_derivatives(wg.logsumexp, [x], [0])


SINGLE_NUMBERS = {
    "sum": lambda x: np.sum(x, axis=0),
    "max": lambda x: np.max(x, axis=-1),
    "prod": lambda x: np.prod(x, axis=0),
    "any": lambda x: np.any(x, axis=0),
    "argmax": lambda x: np.argmax(x, axis=0),
    "argmin of kept axes": lambda x: np.argmin(x, axis=-1, keepdims=True),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "cumulative_sum": lambda x: np.cumulative_sum(x),
    "take": lambda x: np.take(x, 0, axis=0),
    "take several": lambda x: np.take(x, [0, 0], axis=-1),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "compress": lambda x: np.compress([True], x, axis=0),
    "squeeze": lambda x: np.squeeze(x, axis=0),
    "ptp": lambda x: np.ptp(x, axis=0),
    "nansum": lambda x: np.nansum(x, axis=0),
    "count_nonzero": lambda x: np.count_nonzero(x, axis=0),
}


@pytest.mark.parametrize("name", SINGLE_NUMBERS)
def test_a_single_number_has_one_axis_as_in_numpy(name):
    f, x = SINGLE_NUMBERS[name], np.array(3.0)
    expected = np.asarray(f(x))
    for found in (f(wg.tensor(x)), wg.compile(f)(x)):
        found = np.asarray(found.numpy() if isinstance(found, wg.Tensor) else found)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(np.exceptions.AxisError):
        np.take(wg.tensor(x), 0, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 7, 74, 1000])
def test_zero_is_larger_than_negative_zero_in_every_order(dtype, n):
    """NumPy's choice depends on the length, the layout and the processor."""
    rng = np.random.default_rng(n)
    x = np.where(rng.uniform(size=(3, n)) < 0.5, dtype(0.0), dtype(-0.0))
    x[:, :2] = [0.0, -0.0]
    f = lambda x: [
        x.max(),
        x.min(),
        x.max(axis=1),
        x.min(axis=1),
        x.max(axis=0),
        x.min(axis=0),
        np.max(x, initial=-1.0),
    ]
    has_plus, has_minus = (~np.signbit(x)), np.signbit(x)
    expected = [False, True, [False] * 3, [True] * 3, ~has_plus.any(axis=0), has_minus.any(axis=0), False]
    for found in (f(wg.tensor(x)), wg.compile(f)(x)):
        for zeros, sign in zip(found, expected, strict=True):
            np.testing.assert_array_equal(
                np.signbit(np.asarray(zeros.numpy() if isinstance(zeros, wg.Tensor) else zeros)), sign
            )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((500, 3), (0,)), ((40, 30, 3), (1,)), ((40, 30, 3), (0, 1)), ((40, 30, 3), (0,)), ((2, 3, 500, 2, 3), (1, 2)),
        ((900, 3), (1,)), ((30, 40, 7), (2,)), ((30, 40, 8), (2,)), ((2, 600, 2, 40), (1,)), ((3, 0, 600), (1,)),
    ],
)  # fmt: skip
def test_sums_of_short_rows_have_the_bits_of_numpy(shape, axis, dtype):
    """Which adds rows to each other, and fewer than eight numbers, one after the other."""
    rng = np.random.default_rng(4)
    x = (rng.normal(size=shape) * rng.uniform(size=shape) ** 9).astype(dtype)
    x[rng.uniform(size=shape) < 0.3] = -0.0
    for keepdims in (False, True):
        found, expected = np.sum(wg.tensor(x), axis=axis, keepdims=keepdims).numpy(), x.sum(axis, keepdims=keepdims)
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()


def test_sums_of_short_rows_raise_as_numpy_does():
    x = np.ones((40, 30, 3))
    x[1, 1, 1], x[1, 2, 1] = np.inf, -np.inf
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        np.sum(wg.tensor(x), axis=1)
    x[1, 1, 1] = np.nan
    np.testing.assert_array_equal(np.sum(wg.tensor(x), axis=1).numpy(), x.sum(1))
