"""The loops of kernels: lanes along rows that are read at indices, accumulators of sums over several axes, columns."""

from __future__ import annotations

import re

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import sum_lanes, vector_lanes
from wengert.core import machine


@pytest.mark.parametrize("width", [3, 16, 64, 65, 77, 130])
@pytest.mark.parametrize("axis", [None, 1])
def test_sums_of_rows_at_indices(width, axis):
    rng = np.random.default_rng(0)
    table, rows = rng.standard_normal((50, width)).astype(np.float32), rng.integers(-50, 50, 300)
    found = wg.compile(lambda t, i: np.sum(t[i] ** 2, axis))(table, rows)
    np.testing.assert_allclose(found, np.sum(table[rows].astype(float) ** 2, axis), rtol=1e-5)


def test_rows_at_indices_have_whole_vectors_and_several_accumulators():
    """An index is that of a whole row, so that its bytes do not limit the lanes; sums of one chain would wait."""
    lanes = sum_lanes(4)
    table, rows = np.ones((50, 4 * lanes), np.float32), np.arange(40)
    text = wg.compile(lambda t, i: np.sum(t[i] ** 2)).report(table, rows).llvm
    assert text.count(f"fmul <{lanes} x float>") >= machine.current.sum_accumulators
    assert f"<{lanes // 2} x float>, ptr" not in text


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lanes_that_were_counted_before_are_compared_in_whole_vectors(dtype):
    """Where a row does not fill its vectors, the last one is moved back: its lanes are as wide as the numbers."""
    lanes = sum_lanes(np.dtype(dtype).itemsize)
    for n in (64 * lanes + 1, 65 * lanes - 1, 65 * lanes):
        x = np.random.default_rng(n).standard_normal((20, n)).astype(dtype)
        f = wg.compile(lambda x: np.sum(np.exp(x), axis=1))
        np.testing.assert_allclose(f(x), np.sum(np.exp(x.astype(float)), axis=1), rtol=1e-5)
        found = re.findall(rf"icmp \w+ <{lanes} x i(\d+)> <", f.report(x).llvm)
        assert set(found) == ({str(8 * np.dtype(dtype).itemsize)} if n % lanes else set())


@pytest.mark.parametrize("n", [13, 37, 1003, 65_537])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_lanes_that_were_counted_twice_are_taken_back(n, dtype):
    """The body has no mask: accumulators go back to what they had before the last vector, in lanes counted before."""
    x = np.random.default_rng(0).integers(1, 3, n).astype(dtype)  # exact sums
    sums = wg.compile(lambda x: (np.sum(x), np.sum(x * x)))
    np.testing.assert_array_equal(sums(x), (np.sum(x), np.sum(x * x)))
    for rows in (x[:13].reshape(1, 13).repeat(40, 0), np.broadcast_to(x[: n // 13 * 13], (50, n // 13 * 13))):
        out, total, stored = wg.compile(lambda x: (np.sum(x * 2, -1), np.sum(x * 2), x * 2))(rows.copy())
        np.testing.assert_array_equal(out, np.sum(rows * 2, -1))
        np.testing.assert_array_equal(total, np.sum(rows * 2))
        np.testing.assert_array_equal(stored, rows * 2)


@pytest.mark.parametrize("f", [wg.linalg.inv, wg.linalg.det, lambda x: wg.linalg.eigh(x)[1]])
def test_two_vectors_of_matrices_run_at_once(f):
    """Instructions of one matrix wait for quotients and roots; two larger ones do not fit into the registers."""
    for n, at_once in ((3, 2), (4, 1)):
        x = np.eye(n) + np.zeros((100, n, n))
        text = wg.compile(f).report(x).llvm
        is_eigh = "sqrt" in text
        assert (f"fmul <{2 * vector_lanes(8)} x double>" in text) == (at_once == 2 or is_eigh)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "?"])
@pytest.mark.parametrize("columns", [5, 16, 40, 100, 129, 768])
@pytest.mark.parametrize("axis", [0, (0, 1)])
def test_sums_of_columns(columns, axis, dtype):
    x = np.random.default_rng(0).integers(-4, 5, (6, 7, columns)).astype(dtype)
    for fold in (np.sum, np.max) if dtype != "c8" else (np.sum,):
        known = fold(x, axis)
        np.testing.assert_array_equal(wg.compile(lambda x, fold=fold: fold(x, axis))(x), known)


def test_neighbouring_columns_are_added_up_at_once():
    """One vector of columns would be a part of each cache line, and each addition would wait for the one before it."""
    lanes = vector_lanes(8)
    text = lambda columns: wg.compile(lambda x, y: np.sum(x * y, 0)).report(*[np.ones((100, columns))] * 2).llvm
    for vectors, columns in ((8, 8), (8, 64), (2, 2)):
        assert f"load <{vectors * lanes} x double>" in text(columns * lanes)
    strided = wg.compile(lambda x: np.sum(x[:, ::2], 0)).report(np.ones((100, 100 * lanes))).llvm
    assert "fadd <" in strided


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [1, 3, 16, 77, 1000])
def test_extremes_of_zeros_and_nans(n, dtype):
    """The largest zero is 0.0, the smallest -0.0, and a NaN of either sign anywhere is the result."""
    rng = np.random.default_rng(n)
    extremes = lambda x: (np.max(x, -1), np.min(x, -1), np.max(x, 0), np.min(x, 0), np.max(x), np.min(x))
    compiled = wg.compile(extremes)
    ranked = lambda x: np.where(x == 0, np.where(np.signbit(x), -0.5, 0.5), x)  # zeros as numbers that differ
    for numbers in ([0.0, -0.0], [0.0, -0.0, 1.0], [0.0, -0.0, -1.0], [-0.0, -1.0], [0.0, 1.0]):
        x = rng.choice(np.array(numbers, dtype), (20, n))
        for out, known in zip(compiled(x), extremes(ranked(x)), strict=True):
            np.testing.assert_array_equal(ranked(np.asarray(out)), known)
    for sign in (1.0, -1.0):
        x = rng.standard_normal((20, n)).astype(dtype)
        x[rng.integers(20, size=5), rng.integers(n, size=5)] = np.copysign(np.array(np.nan, dtype), sign)
        for out, known in zip(compiled(x), extremes(x), strict=True):
            np.testing.assert_array_equal(out, known)


@pytest.mark.parametrize("width", [2, 3, 4])
def test_lanes_run_along_short_rows_of_complex_numbers(width):
    """Two complex numbers fill half a vector: lanes along other axes would be read one by one."""
    x = np.random.default_rng(0).standard_normal((256, 2, 2 * width)).view(complex)
    f = lambda x: np.stack([x[:, 0] - x[:, 1], x[:, 0] + x[:, 1]], axis=1)
    np.testing.assert_array_equal(wg.compile(f)(x), f(x))
    assert vector_lanes(8) < 4 or "x i64>" not in wg.compile(f).report(x).llvm
