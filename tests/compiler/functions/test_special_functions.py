"""erf, erfc, ndtr, lgamma, digamma on vectors: within an ulp of mpmath, with the limits of C and SciPy."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from benchmarks.reports.accuracy import DTYPES, NATIVE, arguments, errors, exact_values, kernel

NAMES = ("erf", "erfc", "ndtr", "lgamma", "digamma")
INF, NAN = math.inf, math.nan
BOUNDS = {("erf", "f32"): 0.96}
"""The largest errors in ulp, where they are not 0.9: erf of singles is computed without doubles."""


def check(name: str, kind: str, x: np.ndarray, bound: float = 0.9) -> None:
    bound = BOUNDS.get((name, kind), bound)
    found = errors(kernel(name, kind, NATIVE[kind])(x), exact_values(name, [x]))
    worst = int(np.argmax(found))
    assert found[worst] < bound, f"{found[worst]} ulp at {x[worst]}"


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy_over_the_whole_range(name: str, kind: str) -> None:
    check(name, kind, arguments(name, DTYPES[kind], 3_000)[0])


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_width_gives_the_same_bits(name: str, kind: str, lanes: int) -> None:
    x = arguments(name, DTYPES[kind], 1_000)[0][::3]
    np.testing.assert_array_equal(kernel(name, kind, lanes)(x), kernel(name, kind, NATIVE[kind])(x))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(
    ("name", "at", "values"),
    [
        ("erf", (0.0, -0.0, INF, -INF, NAN, 1e30, -1e30), (0.0, -0.0, 1.0, -1.0, NAN, 1.0, -1.0)),
        ("erfc", (0.0, -0.0, INF, -INF, NAN, 1e30, -1e30), (1.0, 1.0, 0.0, 2.0, NAN, 0.0, 2.0)),
        ("ndtr", (0.0, -0.0, INF, -INF, NAN, 1e30, -1e30), (0.5, 0.5, 1.0, 0.0, NAN, 1.0, 0.0)),
        (
            "lgamma",
            (0.0, -0.0, INF, -INF, NAN, 1.0, 2.0, -1.0, -7.0, -1e30),
            (INF, INF, INF, INF, NAN, 0.0, 0.0, INF, INF, INF),
        ),
        ("digamma", (0.0, -0.0, INF, -INF, NAN, -1.0, -7.0, -1e30), (-INF, INF, INF, NAN, NAN, NAN, NAN, NAN)),
    ],
)
def test_limits(name: str, at: tuple[float, ...], values: tuple[float, ...], kind: str) -> None:
    for lanes in (1, NATIVE[kind]):
        got = kernel(name, kind, lanes)(np.array(at))
        np.testing.assert_array_equal(got, values)
        if name != "lgamma":
            np.testing.assert_array_equal(
                np.signbit(got), np.where(np.isnan(values), np.signbit(got), np.signbit(values))
            )


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", ["erf", "lgamma", "digamma"])
def test_the_smallest_arguments(name: str, kind: str) -> None:
    info = np.finfo(DTYPES[kind])
    x = np.array([info.smallest_subnormal * k for k in (1, 2, 3, 1000)] + [info.tiny, info.tiny * 16]).astype(
        info.dtype
    )
    check(name, kind, np.concatenate([x, -x]))


def test_values_that_leave_the_floats() -> None:
    largest = 2.5599833278516383e305
    got = kernel("lgamma", "f64", NATIVE["f64"])(np.array([largest, np.nextafter(largest, INF)]))
    assert np.isfinite(got[0])
    assert got[1] == INF
    ends = np.array([26.543, 26.544, 27.22, 27.226, 27.2261, 27.3])
    check("erfc", "f64", ends)
    assert kernel("erfc", "f64", NATIVE["f64"])(ends)[-1] == 0.0


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 3e-16, 0.0])
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_close_to_the_zeros_of_negative_arguments(name: str, distance: float) -> None:
    """Where everything cancels; lgamma has two zeros in each interval from -3 down, digamma one in every interval."""
    zeros = []
    with mpmath.workprec(220):
        f = (lambda x: mpmath.log(abs(mpmath.gamma(x)))) if name == "lgamma" else lambda x: mpmath.psi(0, x)
        for k in range(3 if name == "lgamma" else 1, 9):
            ends = (
                [(-k + 1e-5, -k + 0.4), (-k + 0.6, -k + 1 - 1e-5)] if name == "lgamma" else [(-k + 1e-3, -k + 1 - 1e-3)]
            )
            zeros += [mpmath.findroot(f, pair, solver="anderson", tol=1e-30) for pair in ends]
        x = np.array([float(zero * (1 + sign * distance)) for zero in zeros for sign in (-1, 1)])
        assert len(zeros) == (12 if name == "lgamma" else 8)
    check(name, "f64", x, bound=1.05)


@pytest.mark.parametrize("kind", DTYPES)
def test_a_negative_lane_leaves_the_others_as_they_are(kind: str) -> None:
    x = np.linspace(0.05, 9.0, 6 * NATIVE[kind])
    y = x.copy()
    y[:: NATIVE[kind]] *= -1
    for name in ("lgamma", "digamma"):
        apply = kernel(name, kind, NATIVE[kind])
        np.testing.assert_array_equal(apply(y)[y > 0], apply(x)[y > 0])
