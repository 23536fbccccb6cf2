"""The reference interpreter: compiled code has its bits where both do the same arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.nests.evaluate import fused_multiply_add, lane_steps
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_plan import make_plan
from wengert.compiler.program.reference import run_by_reference
from wengert.core import machine
from wengert.core.tree import flatten

RNG = np.random.default_rng(36)
ROWS = RNG.integers(0, 23, 50)
SMALL = {"sum_pieces": 4, "sum_pieces_from_operations": 1, "scatter_pieces_from_operations": 1, "sum_bytes": 32}
PROGRAMS: dict[str, Callable] = {
    "elements": lambda x: (x * 2 - 1) / (x * x + 1),
    "a sum of everything": lambda x: np.sum(x),
    "a sum of products": lambda x: np.sum(x * x[::-1]),
    "sums of rows": lambda x: np.sum(x, axis=1),
    "sums of columns": lambda x: np.sum(x, axis=0),
    "the largest and the smallest": lambda x: (np.max(x, axis=1), np.min(x, axis=0), np.max(x)),
    "a quotient by the sums of rows": lambda x: np.abs(x) / np.sum(np.abs(x), axis=1, keepdims=True),
    "a stencil": lambda x: np.roll(x, 1, 0) + np.roll(x, -2, 1) + np.pad(x, 1)[2:, 1:-1],
    "moves": lambda x: np.concatenate([x[:3].T, 2 * x[5:8].T], axis=1),
    "rows at indices": lambda x: x[ROWS] - x[ROWS[::-1]],
    "additions at indices": lambda x: wg.zeros((23, 9)).at[ROWS].add(x[ROWS] * 3.0),
    "additions at indices of columns": lambda x: wg.zeros((23, 3)).at[:, ROWS[:9] % 3].add(x),
    "products of short rows": lambda x: np.sum(x[:, :4] * x[:, 4:8], axis=1),
}


def reference(f: Callable, *args: np.ndarray) -> list[np.ndarray]:
    plan = make_plan(prepare(wg.compile(f).trace(*args)), (), "")
    return run_by_reference(plan, args)


@pytest.mark.parametrize("record", [{}, SMALL, SMALL | {"threads": 3, "min_operations_per_thread": 1}], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_code_has_the_bits_of_the_reference(name: str, dtype: str, record: dict[str, int]):
    f, x = PROGRAMS[name], RNG.normal(size=(23, 9)).astype(dtype)
    with machine.using(**record):
        found = flatten(wg.compile(f)(x))[0]
        expected = reference(f, x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "f",
    [np.tanh, lambda x: np.linalg.inv(x[:9] + 9 * np.eye(9)), lambda x: x @ x.T],
    ids=["function", "inverse", "product"],
)
def test_other_arithmetic_agrees_within_rounding(f: Callable):
    x = RNG.normal(size=(23, 9))
    for a, b in zip(flatten(wg.compile(f)(x))[0], reference(f, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_are_added_without_being_rounded(dtype: type):
    x, y = [RNG.normal(size=2000).astype(dtype) * dtype(2) ** RNG.integers(-9, 9, 2000) for _ in range(2)]
    x, y = x.astype(dtype), y.astype(dtype)
    z: np.ndarray = np.where(RNG.random(2000) < 0.5, -(x * y), RNG.normal(size=2000)).astype(dtype)
    for a, b, c, found in zip(x, y, z, fused_multiply_add(x, y, z), strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        error = lambda n, exact=exact: abs(Fraction(float(n)) - exact)
        assert error(found) <= min(error(np.nextafter(found, dtype(s * np.inf))) for s in (1, -1))


def test_each_term_is_added_once():
    """Also where the last vector is moved back, and where a piece ends before the axis does."""
    for extent in range(1, 40):
        for lanes in (1, 2, 4, 8):
            for accumulators in (1, 3):
                stops = range(0, extent + lanes, lanes) if lanes <= extent else ()
                for stop in stops:
                    steps = list(lane_steps(range(min(stop, extent)), extent, lanes, accumulators))
                    assert sorted(i for _, _, i in steps) == list(range(min(stop, extent)))
                    assert all(k < accumulators and lane < lanes for k, lane, _ in steps)
