"""Eigenvalues and eigenvectors of small symmetric matrices in native code: LAPACK's numbers, order and signs."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import wengert as wg

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
ORDERS = pytest.mark.parametrize("n", [1, 2, 3, 4, 7])


def symmetric(stack, n, dtype=np.float64, seed=0):
    x = np.random.default_rng(seed).standard_normal((*stack, n, n))
    return (x + x.swapaxes(-1, -2)).astype(dtype)


def from_spectrum(values, count, seed=0):
    """Matrices with these eigenvalues, in random bases."""
    n = len(values)
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((count, n, n)))[0]
    x = (q * np.array(values)) @ q.swapaxes(1, 2)
    return (x + x.swapaxes(1, 2)) / 2


def both(x, uplo="L"):
    return tuple(np.linalg.eigh(x, uplo))


def is_written_out(f, *args):
    report = f.report(*args)
    return not report.fallbacks and not any("syevd" in step for step in report.steps)


def check(f, x):
    """Values to a few roundings of the largest, vectors to as many by the smallest distance of two values."""
    found, expected = wg.compile(f)(x), f(x)
    eps, n = np.finfo(x.dtype).eps, x.shape[-1]
    size = np.abs(expected[0]).max(-1, initial=0)[..., None]
    assert (np.abs(found[0] - expected[0]) <= 10 * n * eps * size).all()
    distance = np.diff(expected[0].astype(float), axis=-1).min(-1, initial=1.0)[..., None, None]
    assert (np.abs(found[1] - expected[1]) * distance <= 30 * n * eps * np.maximum(size[..., None], 1.0)).all()
    assert [part.dtype for part in found] == [x.dtype] * 2


@DTYPES
@ORDERS
@pytest.mark.parametrize("stack", [(), (5,), (3, 30)], ids=str)
def test_values_and_signs_of_vectors_are_those_of_eager_code(n, stack, dtype):
    x = symmetric(stack, n, dtype)
    check(both, x)
    assert is_written_out(wg.compile(both), x)


@pytest.mark.parametrize("n", [3, 5])
def test_the_upper_triangle_is_read_alone(n):
    x = np.random.default_rng(1).standard_normal((40, n, n))
    check(lambda x: both(x, "U"), x)
    check(both, x)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_signs_of_many_matrices(n):
    """Definite ones, those with zeros on the diagonal, and others; no choice is left to rounding errors."""
    x = symmetric((2000,), n, seed=2)
    x[:500] = x[:500] @ x[:500]
    x[500:1000, np.arange(n), np.arange(n)] = 0.0
    check(both, x)


def test_matrices_that_consist_of_blocks():
    """The blocks of a matrix are swept in different directions, those of other lanes at other times."""
    rng = np.random.default_rng(3)
    x = np.zeros((300, 8, 8))
    for k, cut in enumerate(rng.integers(1, 8, 300)):
        x[k, :cut, :cut], x[k, cut:, cut:] = symmetric((), cut, seed=k), symmetric((), 8 - cut, seed=k + 1000)
    check(both, x)


@ORDERS
def test_diagonal_matrices_keep_the_order_of_equal_values(n):
    diagonals = np.random.default_rng(4).integers(-2, 3, (100, n)).astype(float)
    x = diagonals[:, None] * np.eye(n)
    for found, expected in zip(wg.compile(both)(x), both(x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("values", [(1.0, 1.0, 4.0), (0.0, 0.0, 0.0, 2.0, 2.0), (-1.0, 1e-14, 1.0), (1e-8, 1.0, 1e8)])
def test_the_decomposition_of_degenerate_matrices(values):
    x = from_spectrum(values, 50)
    w, v = wg.compile(both)(x)
    n, size = len(values), max(map(abs, values))
    np.testing.assert_allclose(w, np.tile(sorted(values), (50, 1)), atol=1e-14 * size)
    np.testing.assert_allclose(v.swapaxes(1, 2) @ v, np.tile(np.eye(n), (50, 1, 1)), atol=1e-14)
    np.testing.assert_allclose((v * w[:, None]) @ v.swapaxes(1, 2), x, atol=1e-14 * size)


@pytest.mark.parametrize("scale", [1e-308, 1e-200, 1e200, 1e307])
def test_squares_that_are_out_of_range(scale):
    x = symmetric((20,), 5, seed=5)
    (w, v), (found, vectors) = both(x), wg.compile(both)(x * scale)
    np.testing.assert_allclose(found / scale, w, rtol=1e-12)
    np.testing.assert_allclose(vectors, v, atol=1e-11)


@pytest.mark.parametrize("n", [3, 6])
def test_eigenvalues_beside_exact_ones(n):
    x = symmetric((6,), n, seed=6)
    w = wg.compile(np.linalg.eigvalsh)(x)
    with mpmath.workdps(40):
        exact = [mpmath.eigsy(mpmath.matrix(a.tolist()), eigvals_only=True) for a in x]
    expected = np.array([[float(e) for e in values] for values in exact])
    assert np.abs(w - expected).max() <= 4 * n * np.finfo(float).eps * np.abs(expected).max()


def invariant_loss(x):
    """The values, and the squares of the first components, which do not depend on signs."""
    w, v = np.linalg.eigh((x + x.swapaxes(-1, -2)) / 2.0)
    return (v[..., 0, :] ** 2 * np.exp(-w * w)).sum() + (w**3).sum()


@pytest.mark.parametrize("n", [2, 3, 6])
def test_gradients(n):
    x = symmetric((1000,), n, seed=7)
    g = wg.value_and_grad(invariant_loss)
    compiled = wg.compile(g)
    (value, gradient), (expected, exact) = compiled(x), g(x)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, exact, atol=1e-12 * np.abs(exact).max())
    assert is_written_out(compiled, x)


@pytest.mark.parametrize("n", [3, 6])
def test_gradients_of_degenerate_and_of_diagonal_matrices(n):
    """The sum of cubes treats equal eigenvalues alike, so its gradient is 3 A^2."""
    x = np.concatenate(
        [from_spectrum([1.0, 1.0, *range(2, n)], 30), np.tile(np.diag(np.arange(n) // 2 * 1.0), (30, 1, 1))]
    )
    f = wg.grad(lambda x: (np.linalg.eigvalsh((x + x.swapaxes(1, 2)) / 2.0) ** 3).sum())
    np.testing.assert_allclose(wg.compile(f)(x), 3.0 * x @ x, atol=1e-12 * n * n)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("stack", [(), (9,)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_matrices_that_are_not_finite_have_the_outcome_of_eager_code(n, stack, bad):
    f = wg.compile(both)
    for i, j in np.ndindex(n, n):
        x = symmetric(stack, n, seed=8)
        x[(*(k // 2 for k in stack), i, j)] = bad
        try:
            with np.errstate(all="ignore"):
                expected = both(x)
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                f(x)
            continue
        for found, part in zip(f(x), expected, strict=True):
            np.testing.assert_allclose(found, part, rtol=1e-10, atol=1e-10)


def test_a_failure_in_a_loop_ends_it():
    f = wg.compile(lambda x: wg.scan(lambda a, _: (a * 1e100, np.linalg.eigvalsh(a)), x, length=3)[1])
    x = symmetric((), 4)
    assert np.isfinite(f(x)).all()
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        f(x * 1e150)
