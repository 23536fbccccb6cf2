"""Functions of complex numbers: each part within a few ulp of the modulus of mpmath's result, and special values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np
import pytest

import wengert as wg

FUNCTIONS: dict[str, tuple[Callable, float]] = {
    "exp": (mpmath.exp, 3), "log": (mpmath.log, 2), "log2": (lambda z: mpmath.log(z) / mpmath.log(2), 3),
    "log10": (lambda z: mpmath.log(z) / mpmath.log(10), 3), "sqrt": (mpmath.sqrt, 3), "sin": (mpmath.sin, 4),
    "cos": (mpmath.cos, 4), "tan": (mpmath.tan, 6), "sinh": (mpmath.sinh, 4), "cosh": (mpmath.cosh, 4),
    "tanh": (mpmath.tanh, 6), "reciprocal": (lambda z: 1 / z, 4), "square": (lambda z: z * z, 2),
    "absolute": (abs, 1.5), "angle": (mpmath.arg, 2),
}  # fmt: skip
"""The truth, and the largest error in ulp of the modulus."""

PARTS = {
    "c16": (0.0, 1.5, 0.3, np.pi / 2, 30.0, 710.0, 1e-9, 1e-310, 5e-324, 1e200, 1.7e308, np.inf),
    "c8": (0.0, 1.5, 0.3, np.pi / 2, 30.0, 89.0, 1e-5, 1e-42, 1e-45, 1e25, 3.3e38, np.inf),
}


def points(dtype: str) -> np.ndarray:
    """Numbers of all sizes that functions of them bear, near the axes and near one."""
    rng = np.random.default_rng(0)
    part = lambda: rng.normal(size=120) * np.exp(rng.uniform(-12, 3, 120))
    near_one = np.exp(1j * rng.uniform(-4, 4, 60)) * (1 + rng.normal(size=60) * np.exp(rng.uniform(-30, -2, 60)))
    beside_one = 1 + np.exp(rng.uniform(-25, -1, 60)) * np.exp(1j * rng.uniform(-4, 4, 60))
    return np.concatenate([part() + 1j * part(), near_one, beside_one, part() + 0j, 1j * part()]).astype(dtype)


@pytest.mark.parametrize("dtype", PARTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, dtype):
    truth, bound = FUNCTIONS[name]
    x = points(dtype)
    found = np.asarray(wg.compile(lambda x: getattr(np, name)(x))(x))
    with mpmath.workdps(60):
        for z, y in zip(x.tolist(), found.tolist(), strict=True):
            right = truth(mpmath.mpc(z))
            ulp = float(np.spacing(found.real.dtype.type(abs(right))))
            y = complex(y)
            error = max(abs(y.real - mpmath.re(right)), abs(y.imag - mpmath.im(right))) / ulp
            assert error <= bound, (z, y, right)


@pytest.mark.parametrize("dtype", PARTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_numpys(name, dtype):
    parts = [*PARTS[dtype], *[-v for v in PARTS[dtype]], np.nan]
    x = np.array([complex(a, b) for a, b in product(parts, parts)], dtype)
    f = getattr(np, name)
    with np.errstate(all="ignore"):
        found, expected = np.asarray(wg.compile(lambda x: f(x))(x)), f(x)
        tolerance = 8 * np.spacing(np.abs(expected))
        for y, z in ((found.real, expected.real), (found.imag, expected.imag)):
            for test in (np.isnan, np.isposinf, np.isneginf):
                np.testing.assert_array_equal(test(y), test(z))
            zeros = (y == 0) & (z == 0)
            np.testing.assert_array_equal(np.signbit(y)[zeros], np.signbit(z)[zeros])
            assert not np.any(np.abs(y - z) > tolerance)


@pytest.mark.parametrize("dtype", PARTS)
@pytest.mark.parametrize("name", ["multiply", "divide", "add", "subtract", "equal", "not_equal"])
def test_special_pairs(name, dtype):
    parts = (0.0, -0.0, 1.5, -0.7, np.inf, -np.inf, np.nan)
    z = np.array([complex(a, b) for a, b in product(parts, parts)], dtype)
    f = getattr(np, name)
    with np.errstate(all="ignore"):
        found, expected = np.asarray(wg.compile(lambda x, y: f(x, y))(z[:, None], z)), f(z[:, None], z)
    assert found.dtype == expected.dtype
    for y, w in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_array_equal(np.signbit(y)[w == 0], np.signbit(w)[w == 0])
        np.testing.assert_allclose(y, w, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("n", [-99, -7, -1, 0, 1, 2, 3, 4, 5, 13, 99, 100, 0.5, -1.5, 1 + 2j])
@pytest.mark.parametrize("dtype", PARTS)
def test_powers(n, dtype):
    """Of integers below 100 by products, whether they are constants or not."""
    z = points(dtype)[:40]
    z = z / np.abs(z) * (1 + 0.01 * np.arange(40)).astype(z.real.dtype)
    z[:2] = 0, 1j
    with np.errstate(all="ignore"):
        expected = np.power(z.astype("c16"), n)
    for found in (wg.compile(lambda z: z**n)(z), wg.compile(lambda z, w: z**w)(z, np.full(40, n, dtype))):
        assert found.dtype == dtype
        bound = 4 * (1 + abs(n)) * np.finfo(dtype).eps
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        ordinary = np.isfinite(expected)
        assert np.all(np.abs(found - expected)[ordinary] <= bound * np.abs(expected)[ordinary])
