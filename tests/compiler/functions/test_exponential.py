"""Exponentials, logarithms, hyperbolic functions and powers on vectors: within an ulp of mpmath, NumPy's limits."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reports.accuracy import DTYPES, NATIVE, SURVEYED, arguments, errors, exact_values, kernel

import wengert as wg

# Where the bodies change from one formula to another, as far as the survey does not look there.
BOUNDARIES = {
    "exp": (-746.0, -708.0, -105.0, -87.0),
    "exp2": (-1077.0, -1021.0, -151.0, -125.0),
    "expm1": (-40.0, -20.0, 2.0**-54, 2.0**-25),
    "log": (2.0**-1022, 2.0**-126),
    "log2": (2.0**-1022, 2.0**-126),
    "log10": (2.0**-1022, 2.0**-126),
    "log1p": (2.0**-54, 2.0**-25),
    "sinh": (2.0**-28, 2.0**-13),
    "cosh": (2.0**-28, 2.0**-13),
    "tanh": (-20.0, -10.0, 0.75 * np.log(2.0), 2.0**-54),
    "arcsinh": (2.0**-28, 2.0**-13),
    "arccosh": (2.0**0.5,),
    "arctanh": (2.0**-28, 2.0**-13),
    "cbrt": (2.0**-1022, 2.0**-126),
    "sigmoid": (-746.0, -708.0, -105.0, -87.0, -40.0, -20.0),
    "softplus": (-746.0, -708.0, -105.0, -87.0, -40.0, -20.0),
    "power": (),
    "hypot": (),
    "logaddexp": (),
}
PAIRS = ("power", "hypot", "logaddexp")


def check(name: str, kind: str, *xs: np.ndarray) -> None:
    got, exact = kernel(name, kind, NATIVE[kind])(*xs), exact_values(name, xs)
    found = errors(got, exact)
    worst = int(np.argmax(found))
    assert found[worst] < 0.95, f"{found[worst]} ulp at {[x[worst] for x in xs]}: {got[worst]!r}"


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", BOUNDARIES)
def test_accuracy_over_the_whole_range(name: str, kind: str) -> None:
    check(name, kind, *arguments(name, DTYPES[kind], 2_000 if SURVEYED[name].bits > 1_000 else 6_000))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", [name for name, points in BOUNDARIES.items() if points])
def test_accuracy_around_the_boundaries_of_formulas(name: str, kind: str) -> None:
    rng, dtype = np.random.default_rng(3), DTYPES[kind]
    with np.errstate(under="ignore"):
        x = np.concatenate(
            [p * (1.0 + rng.normal(size=50) * 10.0 ** rng.uniform(-16.0, -1.0, 50)) for p in BOUNDARIES[name]]
        ).astype(dtype)
    check(name, kind, x[x != 0])


@pytest.mark.parametrize("kind", DTYPES)
def test_power_of_roots_and_of_subnormal_bases(kind: str) -> None:
    rng, dtype = np.random.default_rng(4), DTYPES[kind]
    tiny = float(np.finfo(dtype).tiny)
    x = np.concatenate(
        [p * (1.0 + 1e-6 * rng.normal(size=200)) for p in (0.5**0.5, 2.0**0.5, tiny)]
        + [tiny * rng.uniform(0.0, 1.0, 200)]
    )
    check("power", kind, x.astype(dtype), rng.uniform(-1.0, 1.0, x.size).astype(dtype))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("n", [-32, -7, -1, 2, 5, 6, 13, 31, 32])
def test_integer_powers_by_products(n: int, kind: str) -> None:
    dtype = DTYPES[kind]
    f = wg.compile(lambda x: x**n)
    assert "power" not in f.report(np.ones(3, dtype)).llvm  # no call of the function
    limit = float(np.log2(np.finfo(dtype).max)) / abs(n)
    x = np.exp2(np.random.default_rng(n % 64).uniform(-limit, limit, 3_000)).astype(dtype)
    x[::2] *= -1
    found = errors(f(x), exact_values("power", (x, np.full_like(x, n))))
    worst = int(np.argmax(found))
    assert found[worst] < 0.95, f"{found[worst]} ulp at {x[worst]}"


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("n", [-5, -4, 5, 8])
def test_integer_powers_of_special_values_are_numpys(n: int, kind: str) -> None:
    dtype = DTYPES[kind]
    some = np.array([0.0, 1.0, np.inf, np.nan, 1e30, 1e-30, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    some = np.concatenate([some, -some])
    with np.errstate(all="ignore"):
        wanted = some ** dtype.type(n)
    found = wg.compile(lambda x: x**n)(some)
    np.testing.assert_array_max_ulp(found[np.isfinite(wanted)], wanted[np.isfinite(wanted)], 1)
    np.testing.assert_array_equal(found[~np.isfinite(wanted)], wanted[~np.isfinite(wanted)])
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", BOUNDARIES)
def test_every_width_gives_the_same_bits(name: str, kind: str) -> None:
    xs = tuple(x[:501] for x in arguments(name, DTYPES[kind], 2_000))
    wanted = kernel(name, kind, NATIVE[kind])(*xs)
    for lanes in (1, 2):
        np.testing.assert_array_equal(kernel(name, kind, lanes)(*xs), wanted)


SPECIAL = (0.0, 1.0, 0.5, 2.0, 3.0, 1.5, np.inf, np.nan, 1e-20, 1e5, 1023.0, 2.0**53, 2.0**53 - 1, 2.0**24 - 1)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, x.dtype.type(1)) / (1 + e)


NUMPY = {"sigmoid": _sigmoid, "softplus": lambda x: np.logaddexp(x, np.zeros_like(x))}


@pytest.mark.parametrize("lanes", ["one", "native"])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", BOUNDARIES)
def test_special_values_are_numpys(name: str, kind: str, lanes: str) -> None:
    dtype = DTYPES[kind]
    info = np.finfo(dtype)
    some = np.array(
        [*SPECIAL, info.max, info.tiny, info.smallest_subnormal, info.tiny / 8, 1 - info.epsneg, 1 + info.eps], dtype
    )
    some = np.concatenate([some, -some])
    xs = [grid.ravel() for grid in np.meshgrid(some, some)] if name in PAIRS else [some]
    with np.errstate(all="ignore"):
        wanted = (SURVEYED[name].numpy or NUMPY[name])(*xs)
    got = kernel(name, kind, NATIVE[kind] if lanes == "native" else 1)(*xs)
    exact = ~np.isfinite(wanted) | (wanted == 0)
    assert wanted.dtype == dtype
    np.testing.assert_array_equal(got[exact], wanted[exact])
    np.testing.assert_array_equal(np.signbit(got), np.where(np.isnan(wanted), np.signbit(got), np.signbit(wanted)))
    # NumPy itself is off by up to 3 ulp in single precision, and by more where logaddexp cancels
    atol = info.eps if name == "logaddexp" else info.smallest_subnormal
    np.testing.assert_allclose(got[~exact], wanted[~exact], rtol=5 * float(info.eps), atol=float(atol))


@pytest.mark.parametrize("kind", DTYPES)
def test_exact_results_are_exact(kind: str) -> None:
    dtype = DTYPES[kind]
    info = np.finfo(dtype)

    def run(name: str, *xs: np.ndarray) -> np.ndarray:
        return kernel(name, kind, NATIVE[kind])(*xs)

    n = np.arange(info.minexp - info.nmant, info.maxexp).astype(np.float64)
    powers_of_two = np.ldexp(1.0, n.astype(int)).astype(dtype)
    np.testing.assert_array_equal(run("exp2", n), powers_of_two)
    np.testing.assert_array_equal(run("log2", powers_of_two), n)
    roots = np.arange(-200.0, 201.0)
    np.testing.assert_array_equal(run("cbrt", roots**3), roots)
    np.testing.assert_array_equal(run("hypot", 3 * roots, -4 * roots), 5 * np.abs(roots))
    base = np.arange(-20.0, 21.0)
    for exponent in range(5):
        np.testing.assert_array_equal(run("power", base, np.full(41, float(exponent))), base**exponent)
    anything = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -2.5])
    np.testing.assert_array_equal(run("power", anything, np.zeros(7)), 1.0)
    np.testing.assert_array_equal(run("power", np.ones(7), anything), 1.0)
