"""Conversions to integers and divisions with remainder in native code, as NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

NUMBERS = (
    *(0.0, -0.0, 0.5, -0.5, 0.9999999, 2.9, -2.9, 2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 1, 2.0**33, 2.0**52),
    *(2.0**62, 2.0**63, -(2.0**63), -(2.0**64), 3.4e38, -3.4e38, np.inf, -np.inf, np.nan),
)


@pytest.mark.parametrize("given", ["f8", "f4"])
@pytest.mark.parametrize("wanted", ["i8", "i4", "?"])
def test_floats_to_integers(given, wanted):
    for count in (1, 3, len(NUMBERS), 101):
        x = np.resize(np.array(NUMBERS, given), count)
        f = wg.compile(lambda x: x.astype(wanted))
        assert not f.report(x).fallbacks
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(f(x), x.astype(wanted))


def test_an_index_is_computed_where_it_is_used():
    x, table = np.linspace(0.0, 8.9, 5000), np.arange(10.0) ** 2
    f = wg.compile(lambda x, table: table[np.floor(x).astype(np.int64)] + np.minimum(x, 3.0))
    assert len(f.report(x, table).steps) == 1
    np.testing.assert_array_equal(f(x, table), table[np.floor(x).astype(np.int64)] + np.minimum(x, 3.0))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_remainders_of_large_quotients(dtype):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(4000) * 10.0 ** rng.uniform(-30, 30, 4000)).astype(dtype)
    y = (rng.standard_normal(4000) * 10.0 ** rng.uniform(-30, 30, 4000)).astype(dtype)
    for function in (np.remainder, np.fmod, np.floor_divide):
        found = wg.compile(lambda x, y, f=function: f(x, y))(x, y)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, function(x, y))


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_rounding_to_decimals(decimals):
    for x in (np.linspace(-99.0, 99.0, 1234), np.linspace(-9.0, 9.0, 777, dtype=np.float32), np.arange(-30, 30)):
        found = wg.compile(lambda x: np.round(x, decimals))(x)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, np.round(x, decimals))


INT32 = np.array([1, -2, 3, 2**31 - 1, -(2**31)], np.int32)
BESIDE_INT32 = {
    "add": lambda x, n: x + n,
    "of a product": lambda x, n: x - (n + 1),
    "maximum": lambda x, n: np.maximum(x, n),
    "bits": lambda x, n: x & n,
    "quotient": lambda x, n: x // n,
    "sum": lambda x, n: (x * n).sum(),
    "less": lambda x, n: x < n,
    "greater": lambda x, n: n >= x,
    "equal": lambda x, n: (x == n) | (n != x),
    "logical": lambda x, n: np.logical_and(x, n),
    "where": lambda x, n: np.where(x > 0, x, n),
    "division": lambda x, n: x / n,
    "assignment": lambda x, n: wg.asarray(x).at[1].set(n),
}


@pytest.mark.parametrize("size", [5, 3000])
@pytest.mark.parametrize("name", BESIDE_INT32)
def test_python_integers_beside_int32(name, size):
    """Those out of bounds are errors in arithmetic, and are compared as they are: as in NumPy."""
    f, x = BESIDE_INT32[name], np.resize(INT32, size)
    compiled = wg.compile(f)
    compiled(x, 3)  # one program for all numbers
    for n in (7, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**40, -(2**40) - 1):
        try:
            expected = f(x, n)
        except OverflowError:
            with pytest.raises(OverflowError, match="out of bounds for int32"):
                compiled(x, n)
        else:
            found = compiled(x, n)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
