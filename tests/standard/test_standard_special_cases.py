"""Special cases of elementwise functions: infinities, NaN and signed zeros, as the Array API standard and NumPy have
them.

The tables say what the standard says; the grids compare with NumPy, bit for bit but for the payload of NaN, on all
combinations of special and ordinary numbers, which covers the cases of the standard that are not in the tables. Left
out of the tables is where NumPy differs from the standard: `floor_divide` of and by infinities, and some complex
infinities of `expm1` and `tanh`.
"""

from __future__ import annotations

import cmath
import itertools

import numpy as np
import pytest
from tests.standard.calls import COMPLEX, DTYPES, REAL_FLOATS, accepts, run, same_numbers, sample
from tests.standard.elementwise import BINARY, IN_PLACE, OPERATORS, UNARY, written

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

inf, nan, pi = np.inf, np.nan, np.pi
NUMBERS = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5, 1e30, -1e30, 1e-40, 100.5]
GRID = np.array(NUMBERS)
PLANE = np.array([complex(a, b) for a in NUMBERS for b in NUMBERS])

ONE = {
    "abs": [(nan, nan), (-0.0, 0.0), (-inf, inf)],
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)],
    "atanh": [(nan, nan), (-1.5, nan), (1.5, nan), (-1.0, -inf), (1.0, inf), (0.0, 0.0), (-0.0, -0.0)],
    "ceil": [(inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (nan, nan), (-0.5, -0.0), (3.0, 3.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (nan, nan), (0.5, 0.0)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "reciprocal": [(nan, nan), (inf, 0.0), (-inf, -0.0), (0.0, inf), (-0.0, -inf)],
    "round": [
        (inf, inf),
        (-inf, -inf),
        (0.0, 0.0),
        (-0.0, -0.0),
        (nan, nan),
        (0.5, 0.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-0.5, -0.0),
    ],
    "sign": [(nan, nan), (-3.0, -1.0), (3.0, 1.0), (0.0, 0.0), (inf, 1.0), (-inf, -1.0)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "square": [(nan, nan), (inf, inf), (-inf, inf), (-0.0, 0.0)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (nan, nan), (0.5, 0.0), (-0.5, -0.0)],
}

TWO = {
    "add": [(nan, 1.0, nan), (inf, -inf, nan), (inf, inf, inf), (inf, 1.0, inf), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0),
    (2.0, -2.0, 0.0)],
    "atan2": [
        (nan, 1.0, nan), (1.0, 0.0, pi / 2), (1.0, -0.0, pi / 2), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, pi),
        (0.0, -1.0, pi),
        (-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, -1.0, -pi), (-1.0, 0.0, -pi / 2),
        (1.0, inf, 0.0),
        (1.0, -inf, pi), (-1.0, inf, -0.0), (-1.0, -inf, -pi), (inf, 1.0, pi / 2), (-inf, 1.0, -pi / 2),
        (inf, inf, pi / 4),
        (inf, -inf, 3 * pi / 4), (-inf, inf, -pi / 4), (-inf, -inf, -3 * pi / 4),
    ],
    "copysign": [(1.0, -0.0, -1.0), (-1.0, 0.0, 1.0), (nan, 1.0, nan), (inf, -2.0, -inf), (0.0, -1.0, -0.0)],
    "divide": [
        (nan, 1.0, nan), (inf, -inf, nan), (0.0, -0.0, nan), (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0),
        (2.0, 0.0, inf),
        (2.0, -0.0, -inf), (-2.0, 0.0, -inf), (inf, 2.0, inf), (-inf, 2.0, -inf), (2.0, inf, 0.0), (2.0, -inf, -0.0),
        (-2.0, inf, -0.0),
    ],
    "floor_divide": [
        (nan, 1.0, nan), (inf, inf, nan), (0.0, 0.0, nan), (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (2.0, 0.0, inf),
        (2.0, inf, 0.0),
    ],
    "hypot": [(inf, nan, inf), (nan, -inf, inf), (1.0, nan, nan), (nan, nan, nan), (0.0, -0.0, 0.0)],
    "logaddexp": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (1.0, inf, inf)],
    "maximum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, -inf, inf)],
    "minimum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, -inf, -inf)],
    "multiply": [(nan, 1.0, nan), (inf, 0.0, nan), (-0.0, -inf, nan), (inf, -inf, -inf), (inf, -2.0, -inf),
    (-0.0, 2.0, -0.0)],
    "nextafter": [(nan, 1.0, nan), (1.0, nan, nan), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0)],
    "pow": [
        (1.0, nan, 1.0), (2.0, nan, nan), (nan, 0.0, 1.0), (nan, -0.0, 1.0), (nan, 1.0, nan), (2.0, inf, inf),
        (2.0, -inf, 0.0),
        (1.0, inf, 1.0), (-1.0, inf, 1.0), (0.5, inf, 0.0), (0.5, -inf, inf), (inf, 2.0, inf), (inf, -2.0, 0.0),
        (-inf, 3.0, -inf),
        (-inf, 2.0, inf), (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, inf), (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, -3.0, -inf), (-0.0, -2.0, inf), (-2.0, 0.5, nan),
    ],
    "remainder": [
        (nan, 1.0, nan), (inf, 2.0, nan), (0.0, 0.0, nan), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (0.0, -2.0, -0.0),
        (2.0, 0.0, nan),
        (2.0, inf, 2.0),
    ],
    "subtract": [(nan, 1.0, nan), (inf, inf, nan), (-inf, inf, -inf), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)],
}  # fmt: skip

COMPLEX_CASES = {
    "abs": [(complex(inf, nan), inf), (complex(nan, -inf), inf), (complex(nan, 1), nan), (complex(-0.0, 3), 3.0)],
    "acos": [
        (0j, complex(pi / 2, -0.0)),
        (complex(1, inf), complex(pi / 2, -inf)),
        (complex(nan, nan), complex(nan, nan)),
    ],
    "asinh": [(0j, 0j), (complex(1, inf), complex(inf, pi / 2)), (complex(inf, inf), complex(inf, pi / 4))],
    "atanh": [(0j, 0j), (complex(1, 0), complex(inf, 0)), (complex(inf, nan), complex(0, nan))],
    "cosh": [(0j, complex(1, 0)), (complex(inf, 0.0), complex(inf, 0.0)), (complex(nan, nan), complex(nan, nan))],
    "exp": [
        (0j, complex(1, 0)),
        (complex(1, inf), complex(nan, nan)),
        (complex(inf, 0.0), complex(inf, 0.0)),
        (complex(-inf, 1), 0j),
    ],
    "log": [(complex(-0.0, 0.0), complex(-inf, pi)), (0j, complex(-inf, 0)), (complex(inf, inf), complex(inf, pi / 4))],
    "sqrt": [
        (0j, 0j),
        (complex(-0.0, 0.0), 0j),
        (complex(nan, inf), complex(inf, inf)),
        (complex(inf, 1), complex(inf, 0)),
    ],
    "tanh": [(0j, 0j), (complex(inf, inf), complex(1, 0)), (complex(nan, nan), complex(nan, nan))],
}
SIGNS_UNSPECIFIED = {("tanh", complex(inf, inf))}


def close(out, expected) -> bool:
    """Equal but for rounding; NaN equals NaN, and zeros have signs."""
    if isinstance(expected, complex):
        return close(out.real, expected.real) and close(out.imag, expected.imag)
    if np.isnan(expected) or np.isinf(expected):
        return bool(np.isnan(out)) if np.isnan(expected) else out == expected
    return abs(out - expected) <= 1e-6 and (expected != 0 or np.signbit(out) == np.signbit(expected))


@pytest.mark.parametrize("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", ONE)
def test_cases_of_one_operand(name, dtype):
    for x, expected in ONE[name]:
        out = getattr(wg, name)(wg.asarray(x, dtype=getattr(wg, dtype)))
        assert close(float(out), expected), f"{name}({x}) is {out}, not {expected}"


@pytest.mark.parametrize("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", TWO)
def test_cases_of_two_operands(name, dtype):
    """As a function, and as an operator and in place where there is one."""
    for x1, x2, expected in TWO[name]:
        first, second = (wg.asarray(x, dtype=getattr(wg, dtype)) for x in (x1, x2))
        results = [getattr(wg, name)(first, second)]
        if name in OPERATORS:
            results += [written(OPERATORS[name])(first, second), IN_PLACE[name](wg.asarray(first, copy=True), second)]
        for out in results:
            assert close(float(out), expected), f"{name}({x1}, {x2}) is {out}, not {expected}"


@pytest.mark.parametrize("name", COMPLEX_CASES)
def test_complex_cases(name):
    for x, expected in COMPLEX_CASES[name]:
        out = complex(getattr(wg, name)(wg.asarray(x, dtype=wg.complex128)))
        if (name, x) in SIGNS_UNSPECIFIED:
            out, expected = complex(abs(out.real), abs(out.imag)), complex(expected)
        assert close(out if isinstance(expected, complex) else out.real, expected), (
            f"{name}({x}) is {out}, not {expected}"
        )


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_is_as_in_numpy(name):
    for dtype in DTYPES:
        if dtype in (*REAL_FLOATS, *COMPLEX) and accepts(name, sample(dtype)):
            x = (PLANE if dtype in COMPLEX else GRID).astype(dtype)
            same_numbers(run(wg, name, x), getattr(np, name)(x), exact=True)


@pytest.mark.parametrize("name", [name for name in BINARY if accepts(name, sample("float64"), sample("float64"))])
@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_two_operands_are_as_in_numpy(name, dtype):
    x1, x2 = np.array(list(itertools.product(NUMBERS, NUMBERS)), dtype).T
    expected = getattr(np, name)(x1, x2)
    same_numbers(run(wg, name, x1, x2), expected, exact=True)
    if name in OPERATORS:
        same_numbers(
            written(OPERATORS[name])(wg.asarray(x1), wg.asarray(x2)), written(OPERATORS[name])(x1, x2), exact=True
        )
        same_numbers(
            IN_PLACE[name](wg.asarray(x1, copy=True), wg.asarray(x2)), IN_PLACE[name](x1.copy(), x2), exact=True
        )
        for scalar in (nan, inf, -inf, 0.0, -0.0, 2.0, 0.5, 3, -2):
            same_numbers(
                written(OPERATORS[name])(wg.asarray(x1), scalar), written(OPERATORS[name])(x1, scalar), exact=True
            )
            same_numbers(
                written(OPERATORS[name])(scalar, wg.asarray(x1)), written(OPERATORS[name])(scalar, x1), exact=True
            )


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "equal", "not_equal", "pow"])
def test_two_complex_operands_are_as_in_numpy(name):
    x1, x2 = np.array(list(itertools.product(PLANE[::7], PLANE[::11]))).T
    same_numbers(run(wg, name, x1, x2), getattr(np, name)(x1, x2), exact=True)


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "sqrt"])
def test_branch_cuts(name):
    """Continuous with the side that the sign of the zero part names, as in Python's cmath."""
    for x in (
        complex(2, 0.0),
        complex(2, -0.0),
        complex(-2, 0.0),
        complex(-2, -0.0),
        complex(0.0, 2),
        complex(-0.0, 2),
        complex(0.0, -2),
    ):
        out = complex(getattr(wg, name)(wg.asarray(x)))
        assert cmath.isclose(out, getattr(cmath, name)(x), rel_tol=1e-14), f"{name}({x})"


@pytest.mark.parametrize("dtype", REAL_FLOATS)
@pytest.mark.parametrize("name", ["max", "min", "mean", "sum", "prod", "std", "var"])
def test_nan_propagates_through_reductions(name, dtype):
    x = wg.asarray([1.0, nan, 2.0], dtype=getattr(wg, dtype))
    assert wg.isnan(getattr(wg, name)(x))


@pytest.mark.parametrize(
    ("name", "expected"), [("sum", 0.0), ("prod", 1.0), ("all", True), ("any", False), ("mean", nan)]
)
def test_reductions_of_nothing(name, expected):
    out = getattr(wg, name)(wg.zeros((0,), dtype=wg.bool if name in ("all", "any") else wg.float64))
    assert close(float(out), float(expected))
