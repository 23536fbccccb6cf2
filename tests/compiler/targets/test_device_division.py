"""Quotients and roots on GPUs have the bits of IEEE arithmetic, and share the reciprocals of divisors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.compiler.targets.devices import assert_same_bits, on_gpu
from tests.compiler.targets.emulator import ptx_of

import wengert as wg
from wengert.compiler.program.prepare import prepare_for_device
from wengert.compiler.targets.device_division import call_divisions

DIGITS = {"f8": 53, "f4": 24}


def hardest_quotients(dtype: str, count: int, more: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Numerators and divisors whose quotients are as close to the middle of two floats as any.

    For an odd divisor b of p bits and a small odd t there is an m of p + 1 bits with b m = t modulo 2^(p + 1). Then
    a = (b m - t) / 2^(p + 1) is an integer of p bits, and a / b differs from m / 2^(p + 1) by t / (2^(p + 1) b).
    """
    digits, rng = DIGITS[dtype], np.random.default_rng(0)
    tops, belows = [], []
    for divisor in [*rng.integers(2 ** (digits - 1), 2**digits, count).tolist(), *more]:
        b, modulus = divisor | 1, 2 ** (digits + 1)
        for t in (1, -1, 3, -3):
            m = t * pow(b, -1, modulus) % modulus
            tops.append((b * m - t) // modulus)
            belows.append(b)
    return np.array(tops, dtype), np.array(belows, dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("lanes", [1, 4], ids=["one", "several"])
def test_hardest_quotients(dtype, lanes):
    x, y = hardest_quotients(dtype, 1000)
    x, y = (x, y) if lanes > 1 else (x[:-1], y[:-1])  # an odd number of elements has no lanes
    assert_same_bits(on_gpu(lambda x, y: x / y)(x, y), x / y, dtype)


NEAR_MIDDLES = (2**53 - 1, 2**53 - 3, 0x1FFFFFF8000001, 0x113DEFF6B41E35, 0x15555555555554, 0x12492492492490)
"""Significands whose reciprocals are close to the middle of two floats."""


def test_hardest_quotients_by_roots():
    """A root, or its double, may start from an inverse that is not the nearest float."""
    x, y = hardest_quotients("f8", 1000, [b for b in NEAR_MIDDLES if b % 2])
    x, y = np.concatenate([x, np.ones(6)]), np.concatenate([y, NEAR_MIDDLES])
    square = y * y
    square = np.where(np.sqrt(square) == y, square, np.nextafter(square, np.inf))
    np.testing.assert_array_equal(np.sqrt(square), y)
    f = lambda x, z: (x / np.sqrt(z), 1.0 / np.sqrt(z), x / (2.0 * np.sqrt(z)), np.sqrt(z))
    for found, expected in zip(on_gpu(f)(x, square), f(x, square), strict=True):
        assert_same_bits(found, expected, "f8")


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_every_pair_of_exponents_and_signs(dtype):
    """Quotients that are subnormal, infinite or NaN, zeros, and the significand whose reciprocal is the hardest."""
    info, rng = np.finfo(dtype), np.random.default_rng(1)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp, 7 if dtype == "f8" else 3)
    numbers = np.ldexp(1.0 + rng.random(len(exponents)), exponents).astype(dtype)
    special = [0.0, info.tiny, info.smallest_subnormal, info.max, np.inf, np.nan, 1.0, 2.0 - info.eps, 3.0]
    numbers = np.concatenate([numbers, np.array(special, dtype)])
    x, y = [z.ravel() for z in np.meshgrid(np.concatenate([numbers, -numbers]), numbers)]
    two = np.dtype(dtype).type(2.0)
    f = lambda x, y: (x / y, 1.0 / y, x / (two * y))
    for below in (y, -y):
        with np.errstate(all="ignore"):
            for found, expected in zip(on_gpu(f)(x, below), f(x, below), strict=True):
                assert_same_bits(found, expected, dtype)


def test_quotients_by_one_number_share_its_reciprocal():
    f = lambda x, y, z: (x / z, y / z, (x + y) / z)
    ptx = ptx_of(prepare_for_device(wg.trace(f, *[np.ones(1001)] * 3)))
    assert ptx.count("rcp.approx.ftz.f64") == 1
    assert ptx.count("div.rn.f64") == 3


def test_a_root_and_its_derivative_share_a_reciprocal():
    f = wg.grad(lambda x: (1.0 / np.sqrt(x)).sum())
    ptx = ptx_of(prepare_for_device(wg.trace(f, np.ones(1001))))
    assert ptx.count("div.rn.f64") > 1
    assert ptx.count("rsqrt.approx.ftz.f64") == 1
    assert ptx.count("rcp.approx.ftz.f64") == 0
    single = ptx_of(prepare_for_device(wg.trace(f, np.ones(1001, "f4"))))
    assert single.count("rcp.approx.ftz.f32") == 1


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_roots(dtype):
    """All exponents, and numbers next to squares and to those of the middles between floats."""
    info, rng, digits = np.finfo(dtype), np.random.default_rng(3), DIGITS[dtype]
    middles = (rng.integers(2 ** (digits - 1), 2**digits, 2000) * 2.0 + 1.0) ** 2
    near = np.concatenate([middles, np.arange(1, 2000) ** 2.0]).astype(dtype)
    count = info.maxexp - info.minexp + info.nmant
    numbers = np.ldexp(1.0 + rng.random(2 * count), np.arange(2 * count) % count + info.minexp - info.nmant)
    special = [0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, info.tiny, info.max]
    x = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, np.inf), numbers, special]).astype(dtype)
    with np.errstate(all="ignore"):
        for y in (x, x[: x.size // 4 * 4 - 1]):
            assert_same_bits(on_gpu(np.sqrt)(y), np.sqrt(y), dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_logarithms_of_all_exponents(dtype):
    info, rng = np.finfo(dtype), np.random.default_rng(2)
    special = [0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, info.tiny, info.max, 1.0, -info.tiny]
    with np.errstate(all="ignore"):
        numbers = np.ldexp(1.0 + rng.random(3000), np.arange(3000) % 2200 - 1100)
        x = np.concatenate([numbers, special]).astype(dtype)
        assert_same_bits(on_gpu(np.log)(x), wg.compile(np.log)(x), dtype)


def test_functions_divide_usual_numbers_without_a_branch():
    for f in (np.tanh, wg.special.erf):
        ptx = ptx_of(prepare_for_device(wg.trace(f, np.ones(1001))))
        assert ptx.count("rcp.approx.ftz.f64") == 1
        assert "div.rn" not in ptx
        assert "rcp.rn" not in ptx


def test_quotients_by_constants_are_instructions():
    lines = [
        "  %one = fptrunc <2 x double> splat (double 0x3FF0000000000000) to <2 x float>",
        "  %three = fptrunc double 0x4008000000000000 to float",
        "  %a = fdiv float %x, %three",
        "  %b = fdiv <2 x float> %one, %y",
    ]
    shared, calls = call_divisions("\n".join([*lines, ""]))
    assert "%a = fdiv float %x, 0x4008000000000000" in shared
    assert "%b = call <2 x float> @wengert.inverse.checked.v2f32(" in shared
    assert "%b.inverse = call <2 x float> @wengert.inverse.v2f32(<2 x float> %y)" in shared
    assert sum(calls.values()) == 2
