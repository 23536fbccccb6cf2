"""Numbers taken apart: NumPy's values, and derivatives of the parts that vary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_as_numpy, assert_same, calls, check_modes

import wengert as wg

X = np.random.default_rng(26).normal(size=(3, 4))
N = np.array([[2, 0, 1, 12], [0, 1, 2, 9], [1, 1, 0, 6]])
BYTES = N.astype("u1")
SINGLE = X.astype("f4")

VALUES: dict[str, list[tuple[Any, ...]]] = {
    "modf": [(3 * X,), (np.array([-2.0, np.inf, -0.0]),), (N,), (SINGLE,)],
    "frexp": [(9 * X,), (np.array([0.0, 1.0, -8.0]),), (N,), (SINGLE,)],
    "ldexp": [(X, N), (SINGLE, 3), (N, N[0]), (np.array(1e-300), np.array(2000)), (2.0, N)],
    "gcd": [(N, 6), (N, N[0])],
    "lcm": [(N, 6), (N, N[0])],
    "bitwise_count": [(N,), (-BYTES.astype(int),)],
    "spacing": [(X,), (SINGLE,)],
    "packbits": [(N,), (N, -1), (N, 0, "little"), (N > 1, 1), (N[:0], 0)],
    "unpackbits": [(BYTES,), (BYTES, 1, 9), (BYTES, 0, 40), (BYTES, 1, -3, "little")],
    "divmod": [(X, np.flip(X)), (X, 0.3)],
    "real_if_close": [(X + 1e-18j,), (X + 1j,), (X,), (X + 1e-3j, 0.1)],
    "sort_complex": [(X + 1j * X[::-1],), (X,), (N.astype(np.int8),), (N,)],
    "i0": [(X,), (SINGLE,)],
}


@calls(VALUES)
def test_values(name, args, kwargs):
    assert_as_numpy(name, args, kwargs)


SMOOTH = {
    "modf": lambda x: np.modf(3 * x)[0],
    "frexp": lambda x: np.frexp(9 * x)[0],
    "ldexp": lambda x: np.ldexp(x, N[0]),
    "divmod": lambda x: np.divmod(x, 0.3)[1],
    "sort_complex": lambda x: np.sort_complex(x.reshape(-1)),
    "i0": np.i0,
}


@pytest.mark.parametrize("f", SMOOTH.values(), ids=SMOOTH)
def test_derivatives(f):
    check_modes(f, [X])


def test_parts_make_the_whole_again():
    x = wg.tensor(9 * X, requires_grad=True)
    whole = np.ldexp(*np.frexp(x))
    assert_same(whole, 9 * X)
    whole.sum().backward()
    assert_same(x.grad, np.ones_like(X))
    with pytest.raises(TypeError, match=r"integer exponent.*test_bits\.py:\d+"):
        np.ldexp(x, wg.tensor(X))
    with pytest.raises(TypeError, match=r"for uint8.*test_bits\.py:\d+"):
        np.unpackbits(wg.tensor(N))
    with pytest.raises(ValueError, match=r"'bitorder'.*test_bits\.py:\d+"):
        np.packbits(wg.tensor(N), bitorder="middle")


def test_the_real_part_keeps_its_gradient():
    x = wg.tensor(X, requires_grad=True)
    close = np.real_if_close(x + 0j)
    assert close.dtype == np.float64
    close.sum().backward()
    assert_same(x.grad, np.ones_like(X))
