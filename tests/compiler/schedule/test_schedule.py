"""Which values are computed in one loop: with their later uses, and apart from those that share no memory."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def loops(f, *args) -> list[str]:
    """The loops of a program over more than one element."""
    report = wg.compile(f).report(*args)
    return [step for step in report.steps if "loop over" in step and "loop over []" not in step]


def moments(p, g, m, v, t):
    """An update with two moments, whose scale is computed from a number."""
    mean, variance = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    scale = np.sqrt(variance) / np.sqrt(1.0 - np.exp(t)) + 1e-8
    return mean, variance, p - mean / scale


def test_values_are_computed_where_they_are_used():
    """The moments do not need the number that the result waits for, and are computed with it nevertheless."""
    rng = np.random.default_rng(0)
    p, g, m, v = rng.random((4, 40, 50))
    (loop,) = loops(moments, p, g, m, v, -1.0)
    assert loop.count("f64[40,50]") == 3
    for new, expected in zip(wg.compile(moments)(p, g, m, v, -1.0), moments(p, g, m, v, -1.0), strict=True):
        np.testing.assert_allclose(new, expected, rtol=1e-14)


def test_early_uses_keep_their_loop():
    """A value that a reduction needs first is computed there."""

    def f(x):
        y = np.exp(np.sin(x))
        return y / y.sum(), y

    x = np.random.default_rng(0).random((40, 50))
    assert len(loops(f, x)) == 2
    np.testing.assert_allclose(wg.compile(f)(x)[0], f(x)[0], rtol=1e-13)


def test_many_large_arrays_have_their_own_loops():
    def scale(*arrays):
        return tuple([2.0 * x for x in arrays])

    large, small = [np.ones((40, 50))] * 12, [np.ones(100)] * 12
    assert len(loops(scale, *large)) == 2  # of sixteen arrays at most
    assert len(loops(scale, *small)) == 1


def test_what_shares_an_array_has_one_loop():
    def scale(shared, *arrays):
        return tuple([shared * x for x in arrays])

    assert len(loops(scale, np.ones((40, 50)), *[np.ones((40, 50))] * 20)) == 1


def test_updates_with_numbers_are_made_in_place():
    """The loop over all elements is flat although numbers are read from another array."""
    p, numbers = wg.tensor(np.ones((16, 16))), wg.tensor(np.array([0.5, 2.0]))

    @wg.compile
    def update(g):
        p[...] = numbers[1] * p - numbers[0] * g

    update(np.ones((16, 16)))
    (signature,) = [s for variants in update.known.values() for s in variants]
    assert len(signature.native.build.program.in_place) == 1
    address = p.value.ctypes.data
    update(np.ones((16, 16)))
    assert p.value.ctypes.data == address
    np.testing.assert_allclose(p.numpy(), 2.0 * 1.5 - 0.5)


def test_what_is_read_at_computed_indices_is_stored_before():
    def f(x):
        y = np.sqrt(1.1 + 0.9 * np.tanh(wg.stack([x, x * 2])))
        slopes = wg.jacfwd(lambda u: np.sum(u) * np.sin(u))(y[np.array([0, 1])])
        return np.sum(slopes * np.array([[1.0, 2.0], [3.0, 4.0]]))

    assert np.isclose(wg.compile(wg.grad(f))(-0.9), wg.grad(f)(-0.9), rtol=1e-12)


@pytest.mark.parametrize("n", [16, 70, 128])
def test_pairs_are_one_loop(n):
    """Rows of three numbers for each pair are unrolled: few rows of many numbers are many rows of few.

    What is stored of a pair, one number each, does not speak against it: lanes are neighbours.
    """
    x, m = np.random.default_rng(0).normal(size=(n, 3)), np.ones(n)

    def forces(x):
        between = x[None] - x[:, None]
        squares = np.sum(between * between, axis=2) + 0.05
        roots = np.sqrt(squares)
        weights = m / (squares * roots)
        return np.sum(weights[:, :, None] * between, axis=1), squares, roots, weights

    found = wg.compile(forces)
    of_pairs = [step for step in found.report(x).steps if f"[{n}, {n}" in step]
    assert len(of_pairs) == 1
    assert f"loop over [{n}, {n}] ->" in of_pairs[0]
    for y, expected in zip(found(x), forces(x), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
