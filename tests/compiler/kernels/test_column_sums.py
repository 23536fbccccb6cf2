"""Sums of columns with long terms: rows are read as they are in memory, and blocks of sums are on the stack."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.kernels import column_sums
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.legality import refuse
from wengert.compiler.nests.policy import decide
from wengert.core import machine

RNG = np.random.default_rng(0)
SHAPES = [(40, 64), (40, 65), (100, 127), (50, 1000), (65, 2049), (5, 40, 130), (4, 50, 200)]


def long_term(x):
    """More operations for each element than a short body has."""
    y = x * x + 0.5 * x + 1.0
    return (y * y + x) / (1.0 + y) - y * (x - 3.0) + (x + 1.0) * (x - 2.0)


def in_blocks(nest, machine):
    """The lanes of the policy, and blocks of all columns where they are possible, which threads share."""
    found = [d for d in decide(nest, machine) if d.kind == "lanes"]
    lanes = find(found, "lanes")
    if lanes is not None:
        vectors = min(-(-nest.domain[lanes.axis] // lanes.amount), 32)
        for decision in (Decision("block", lanes.axis, vectors), Decision("threads", lanes.axis, lanes.amount)):
            found += [decision] if refuse(nest, decision, found) is None else []
    return found


def add_rows(terms: np.ndarray, axis: int) -> np.ndarray:
    """The sums along an axis, one row after the other."""
    total = np.zeros(np.delete(terms.shape, axis), terms.dtype)
    for row in np.moveaxis(terms, axis, 0):
        total = total + row
    return total


@pytest.fixture
def blocks(monkeypatch) -> list[int]:
    """The numbers of vectors of the blocks that are written."""
    found: list[int] = []
    write = column_sums.write_column_sums

    def record(loops, vectors, bounds):
        found.append(vectors)
        write(loops, vectors, bounds)

    monkeypatch.setattr("wengert.compiler.kernels.kernel.write_column_sums", record)
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_terms_are_added_in_the_order_of_rows(shape, dtype, blocks):
    x = RNG.normal(size=shape).astype(dtype)
    axis = len(shape) - 2
    found = wg.compile(lambda x: np.sum(long_term(x), axis), decide=in_blocks)(x)
    np.testing.assert_array_equal(found, add_rows(long_term(x), axis))
    assert blocks


@pytest.mark.parametrize("n", [64, 99, 515])
def test_sums_beside_stored_terms(n, blocks):
    x, w = RNG.normal(size=(50, n)), RNG.normal(size=n)

    def f(x, w):
        terms = long_term(x) * w
        return terms, terms.sum(0), (terms * x).sum(0), terms.max(0)

    for found, expected in zip(wg.compile(f, decide=in_blocks)(x, w), f(x, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert blocks


def test_what_belongs_to_a_column_stays_in_registers(blocks):
    """Rows of single numbers are near: a loop over them has all of a column, and its sum, in registers."""
    x, a = RNG.normal(size=200), RNG.normal(size=60)
    f = lambda x, a: np.sum(long_term(x * a[:, None]), 0)
    np.testing.assert_array_equal(wg.compile(f)(x, a), add_rows(long_term(x * a[:, None]), 0))
    assert not blocks


@pytest.mark.parametrize("n", [64, 515, 1500])
def test_booleans_are_folded_in_registers(n, blocks):
    x = RNG.normal(size=(40, n))
    f = lambda x: (np.sin(long_term(x)).max(0), (long_term(x) > 90).any(0), (long_term(x) < 90).all(0))
    for found, expected in zip(wg.compile(f, decide=in_blocks)(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not blocks


@pytest.mark.parametrize("dtype", ["i8", "i4", "f2"])
def test_sums_of_other_dtypes(dtype):
    x = RNG.integers(0, 2, (40, 300)).astype(dtype)
    f = lambda x: np.sum(x * x * x + x - x * 2 + x * (x + 1) - (x + 2) * (x + 3) + x * 4, 0, dtype)
    np.testing.assert_array_equal(wg.compile(f)(x), f(x))


@pytest.mark.parametrize("n", [64, 67])
def test_complex_sums(n, blocks):
    x = RNG.normal(size=(20, n)) + 1j * RNG.normal(size=(20, n))
    found = wg.compile(lambda x: np.sum(long_term(x), 0), decide=in_blocks)(x)
    np.testing.assert_allclose(found, np.sum(long_term(x), 0), rtol=1e-12)
    assert blocks


def test_nan_and_infinity_stay_in_their_columns():
    x = RNG.normal(size=(40, 100))
    x[3, 7], x[5, 99], x[39, 96] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = add_rows(long_term(x), 0)
    np.testing.assert_array_equal(wg.compile(lambda x: np.sum(long_term(x), 0))(x), expected)


def test_bodies_that_attract_each_other():
    """Sums of pairs along either axis, of rows that are unrolled: the forces and their gradient."""
    x, m = RNG.normal(size=(70, 3)), RNG.uniform(0.5, 1.5, 70)

    def energy(x):
        between = x[None] - x[:, None]
        squares = np.sum(between * between, axis=2) + 0.05
        return np.sum(np.sum((m / (squares * np.sqrt(squares)))[:, :, None] * between, axis=1) ** 2)

    value, slope = wg.compile(wg.value_and_grad(energy))(x)
    np.testing.assert_allclose(value, energy(x), rtol=1e-12)
    np.testing.assert_allclose(slope, wg.grad(energy)(x), rtol=1e-10)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_threads_share_blocks_of_columns(count, blocks):
    x = RNG.normal(size=(40, 1003))
    with machine.using(threads=count, min_operations_per_thread=1, min_operations_to_wake=1):
        f = wg.compile(lambda x: np.sum(long_term(x), 0), decide=in_blocks)
        for _ in range(10):
            np.testing.assert_array_equal(f(x), add_rows(long_term(x), 0))
    assert blocks
