"""Trigonometric functions and their inverses on vectors: within an ulp of mpmath for any argument."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from benchmarks.reports.accuracy import DTYPES, NATIVE, SURVEYED, arguments, errors, exact_values, kernel

from wengert.compiler.functions.trigonometric import HUGE, PRECISIONS, TABLE, WORD
from wengert.compiler.functions.vector_functions import definitions
from wengert.compiler.simd.types import Type

NAMES = ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2")
PERIODIC = NAMES[:3]


def neighbours(x: np.ndarray, steps: int = 3) -> np.ndarray:
    """Floats, and those some steps to either side."""
    found = [x]
    for end in (-np.inf, np.inf):
        beside = x
        for _ in range(steps):
            beside = np.nextafter(beside, x.dtype.type(end))
            found.append(beside)
    return np.concatenate(found)


def check(name: str, kind: str, lanes: int, *xs: np.ndarray, bound: float = 0.9) -> None:
    found = errors(kernel(name, kind, lanes)(*xs), exact_values(name, xs))
    worst = int(np.argmax(found))
    assert found[worst] < bound, f"{found[worst]} ulp at {[x[worst] for x in xs]}"


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy_over_the_whole_range(name: str, kind: str) -> None:
    check(name, kind, NATIVE[kind], *arguments(name, DTYPES[kind], 4_000))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_width_gives_the_same_bits(name: str, kind: str, lanes: int) -> None:
    xs = tuple(x[:300] for x in arguments(name, DTYPES[kind], 1_000))
    np.testing.assert_array_equal(kernel(name, kind, lanes)(*xs), kernel(name, kind, NATIVE[kind])(*xs))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", PERIODIC)
def test_near_multiples_of_quarter_turns(name: str, kind: str) -> None:
    dtype = DTYPES[kind]
    with mpmath.workprec(1300):
        counts = [
            *range(1, 60),
            *(2**k + d for k in range(6, np.finfo(dtype).maxexp - 2, 12 if kind == "f64" else 4) for d in (0, 1)),
        ]
        turns = np.array([float(mpmath.pi * k / 4) for k in counts]).astype(dtype)
    check(name, kind, NATIVE[kind], neighbours(np.concatenate([turns, -turns[:20]])))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", PERIODIC)
def test_the_floats_nearest_to_multiples_of_quarter_turns(name: str, kind: str) -> None:
    """The closest of all lie as near as 2^-61 and 2^-30 to a multiple: convergents of 2^e 2/pi find them."""
    digits, exponents = (53, range(0, 970, 45)) if kind == "f64" else (24, range(0, 104, 4))
    worst = [m * 2.0**e for e in exponents for m in closest_multiples(digits, e)]
    x = np.array(worst).astype(DTYPES[kind])
    with mpmath.workprec(1300):
        rest = min(abs(v / (mpmath.pi / 2) - mpmath.nint(v / (mpmath.pi / 2))) for v in map(mpmath.mpf, worst))
        assert rest < 2.0 ** -(digits + 2)
    check(name, kind, NATIVE[kind], x)


def closest_multiples(digits: int, exponent: int) -> list[int]:
    """Denominators m of the convergents of 2^e 2/pi: m 2^e is close to a multiple of pi/2, below 2^digits."""
    with mpmath.workprec(2600):
        value = mpmath.ldexp(2 / mpmath.pi, exponent)
        value = Fraction(int(mpmath.ldexp(value, 1300)), 2**1300)
    before, q, found, rest = 0, 1, [], value - int(value)
    while rest and q < 2**digits:
        found.append(q)
        term = int(1 / rest)
        rest = 1 / rest - term
        before, q = q, term * q + before
    return found[-2:]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", PERIODIC)
def test_one_huge_lane_leaves_the_others_as_they_are(name: str, kind: str) -> None:
    limit = PRECISIONS[kind].limit
    x = np.tile(np.linspace(-3.0, 3.0, 4 * NATIVE[kind]), 2).astype(DTYPES[kind])
    alone = kernel(name, kind, NATIVE[kind])(x)
    y = x.copy()
    y[:: NATIVE[kind]] = limit * 1.25
    got = kernel(name, kind, NATIVE[kind])(y)
    small = y == x
    np.testing.assert_array_equal(got[small], alone[small])
    check(name, kind, NATIVE[kind], neighbours(np.array([limit, -limit, limit * 1.25]).astype(DTYPES[kind])))


def test_digits_of_two_over_pi() -> None:
    zeros, *words = TABLE
    with mpmath.workprec(1400):
        digits = int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, WORD * len(words))))
    assert zeros == 0
    assert sum(word << WORD * i for i, word in enumerate(reversed(words))) == digits


def test_the_function_of_huge_arguments_is_not_inlined_and_serves_all() -> None:
    texts, declarations = definitions({(name, Type(kind, 8)): 1 for name in PERIODIC for kind in DTYPES})
    assert len(texts) == 2 * len(PERIODIC)
    assert "noinline cold" in declarations[HUGE]
    assert all(f"call void {HUGE}(" in text for text in texts)


@pytest.mark.parametrize("lanes", ["one", "native"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_numpys(name: str, kind: str, lanes: str) -> None:
    info = np.finfo(DTYPES[kind])
    some = np.array(
        [
            0.0,
            0.5,
            1.0,
            1.0 + info.eps,
            1.0 - info.epsneg,
            2.0,
            1e10,
            np.inf,
            np.nan,
            info.max,
            info.tiny,
            info.tiny / 8,
        ]
    )
    some = np.append(some, info.smallest_subnormal).astype(info.dtype)
    some = np.concatenate([some, -some])
    xs = [grid.ravel() for grid in np.meshgrid(some, some)] if name == "arctan2" else [some]
    wide = [x.astype(np.float64) for x in xs]
    reference = SURVEYED[name].numpy
    assert reference is not None
    with np.errstate(all="ignore"):
        wanted = reference(*(xs if name == "arctan2" else wide)).astype(info.dtype)
    got = kernel(name, kind, NATIVE[kind] if lanes == "native" else 1)(*xs)
    special = np.isnan(wanted) | (wanted == 0)
    np.testing.assert_array_equal(got[special], wanted[special])
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(wanted)]), np.signbit(wanted[~np.isnan(wanted)]))
    rest = slice(None) if kind == "f64" else np.isfinite(got)
    np.testing.assert_allclose(got[rest], wanted[rest], rtol=3 * float(info.eps), atol=float(info.smallest_subnormal))


@pytest.mark.parametrize("kind", DTYPES)
def test_angles_of_quotients_that_overflow_and_underflow(kind: str) -> None:
    """Both small, both large, or of such different sizes that the quotient is subnormal."""
    dtype = DTYPES[kind]
    info, rng = np.finfo(dtype), np.random.default_rng(2)
    low, high = info.minexp - info.nmant, info.maxexp
    exponents = np.array(
        [(a, b) for a in (low, low + 30, -10, high - 30, high - 1) for b in (low, low + 30, -10, high - 30, high - 1)]
    )
    y, x = (np.ldexp(rng.uniform(1.0, 2.0, (30, 25)), e).ravel() for e in exponents.T)
    quotient = np.exp2(rng.uniform(low, info.minexp + 2, 500))
    wide = np.exp2(rng.uniform(low / 2, high / 2, 500))
    y, x = np.concatenate([y, wide * quotient]).astype(dtype), np.concatenate([x, wide]).astype(dtype)
    keep = (y != 0) & (x != 0)
    check("arctan2", kind, NATIVE[kind], y[keep], x[keep], bound=1.01)
    check("arctan2", kind, NATIVE[kind], -y[keep], -x[keep])
