"""Instructions that targets lack, written out: the same bits, on numbers of all sizes."""

from __future__ import annotations

import platform
from fractions import Fraction

import numpy as np
import pytest
from tests.export.native_calls import run_for

from wengert.export.targets import find_target

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the targets of these tests are levels of x86-64"
)

BARE = find_target("x86-64-linux")._replace(lacks=find_target("cortex-m0").lacks)
SCALAR = BARE._replace(vector_bytes=4)


def numbers(dtype: type) -> np.ndarray:
    """Random bits, numbers near integers, and special ones."""
    rng = np.random.default_rng(3)
    bits = np.dtype(dtype).itemsize * 8
    info = np.finfo(dtype)
    special = [0.0, np.inf, np.nan, 0.5, 1.5, 2.5, 1.0, 4.0, info.max, info.tiny, info.smallest_subnormal, 0.3]
    found: list[np.ndarray] = [
        rng.integers(0, 2 ** (bits - 1), size=20_000).astype(f"i{bits // 8}").view(dtype),
        rng.uniform(0, 10, size=5_000).astype(dtype),
        (rng.integers(1, 1000, size=1_000) ** 2).astype(dtype),
        np.array(special, dtype),
    ]
    whole = np.concatenate(found)
    return np.concatenate([whole, -whole])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["sqrt", "rint", "floor", "ceil", "trunc"])
@pytest.mark.parametrize("target", [BARE, SCALAR], ids=["vectors", "one lane"])
def test_roots_and_roundings_are_exact(name, dtype, target):
    x, function = numbers(dtype), getattr(np, name)
    with np.errstate(all="ignore"):
        expected = function(x)
        (found,) = run_for(target, lambda x: function(x), x)
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])


def test_fused_multiply_adds_are_rounded_once():
    """A product of matrices with two terms is one product and one fused multiply-add."""
    rng, n = np.random.default_rng(5), 1500
    a, b, c = [rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, size=n) for _ in range(3)]
    c[::2] = -(a * b)[::2] * (1 + rng.integers(-4, 5, size=n // 2) * 2.0**-52)  # so that it cancels
    left, right = np.stack([c, a], 1)[:, None, :].repeat(4, 1), np.stack([np.ones(n), b], 1)[:, :, None].repeat(4, 2)
    (found,) = run_for(BARE, lambda x, y: x @ y, left, right)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(found[:, 0, 0], exact)
    assert (a * b + c != exact).mean() > 0.3, "without it, many are rounded twice"


@pytest.mark.parametrize("function", [np.exp, np.log, np.sin, np.tanh, np.arctan, np.cbrt])
def test_vector_functions_have_the_same_bits_as_with_all_instructions(function):
    x = np.linspace(0.01, 30.0, 2001)
    (expected,) = run_for(find_target(None), lambda x: function(x), x)
    for target in (BARE, SCALAR):
        (found,) = run_for(target, lambda x: function(x), x)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_max_ulp(expected, function(x), 2)


def test_numbers_at_the_ends_of_the_range_stay_finite():
    big = np.array([[1e300, 1e300], [1e-300, 1e-300]])
    (found,) = run_for(BARE, lambda x, y: x @ y, big.repeat(2, 0), np.array([[1e5] * 4, [-1e5] * 4]))
    np.testing.assert_array_equal(found, 0.0)
