"""Functions of small matrices in native code: accuracy, pivots, failures, gradients, and what they fuse with."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import wengert as wg

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
STACKS = pytest.mark.parametrize("stack", [(), (5,), (70,), (3, 30)], ids=str)
linalg = wg.linalg


def positive(x):
    return x @ x.swapaxes(-1, -2) + np.eye(x.shape[-1], dtype=x.dtype)


FUNCTIONS = {
    "inv": linalg.inv,
    "det": linalg.det,
    "logdet": lambda x: linalg.slogdet(x).logabsdet,
    "sign": lambda x: linalg.slogdet(x).sign,
    "solve": lambda x: linalg.solve(x, np.cos(x[..., :2])),
    "transposed": lambda x: linalg.solve(x.swapaxes(-1, -2), np.cos(x[..., :1])),
    "cholesky": lambda x: linalg.cholesky(positive(x)),
    "triangular": lambda x: linalg.solve_triangular(x, np.cos(x), lower=True),
    "upper": lambda x: linalg.solve_triangular(x, np.cos(x[..., :2]), trans=1),
    "unit": lambda x: linalg.solve_triangular(x, np.cos(x[..., :1]), unit_diagonal=True),
}


def matrices(stack, n, dtype, seed=0):
    """Matrices that need pivots, and are not far from singular."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((*stack, n, n)) + 0.5
    x[..., np.arange(n), np.arange(n)] += np.where(rng.random((*stack, n)) < 0.5, 4.0, 0.5)
    return x.astype(dtype)


def leaves(tree):
    return wg.tree.flatten(tree)[0]


def calls_numpy(f, *args):
    return any("NumPy" in step for step in f.report(*args).steps)


@DTYPES
@STACKS
@pytest.mark.parametrize("n", [1, 2, 3, 6, 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_eager_code(name, n, stack, dtype):
    f, x = FUNCTIONS[name], matrices(stack, n, dtype)
    value = f(x)
    weights = np.random.default_rng(1).standard_normal(value.shape).astype(dtype)
    both = lambda x: (f(x), wg.grad(lambda x: (f(x) * weights).sum())(x))
    compiled = wg.compile(both)
    expected = both(x.astype(np.float64)) if name != "sign" else both(x)
    size = 1.0 if name in ("cholesky", "sign") else np.linalg.cond(x.astype(np.float64)).max()
    if name in ("triangular", "upper"):
        triangle = np.tril(x) if name == "triangular" else np.triu(x)
        size = np.linalg.cond(triangle.astype(np.float64)).max()
    for found, exact in zip(compiled(x), expected, strict=True):
        assert found.dtype == dtype
        tolerance = 100 * n * size**2 * np.finfo(dtype).eps
        if tolerance < 0.1:
            np.testing.assert_allclose(found, exact, rtol=tolerance, atol=tolerance * np.abs(exact).max())
    assert not calls_numpy(compiled, x)


@DTYPES
@pytest.mark.parametrize("n", [3, 6, 8])
def test_residuals_of_ill_conditioned_systems_are_as_small_as_lapacks(n, dtype):
    """Elimination with pivots is backward stable: it solves a system whose matrix differs by some roundings."""
    rng = np.random.default_rng(2)
    u, v = np.linalg.qr(rng.standard_normal((2, 200, n, n)))[0]
    sizes = np.geomspace(1.0, np.finfo(dtype).eps ** 0.9, n)
    a = ((u * sizes) @ v).astype(dtype)
    b = rng.standard_normal((200, n, 1)).astype(dtype)
    x = wg.compile(linalg.solve)(a, b)
    backward = lambda x: (
        np.linalg.norm(a.astype(float) @ x - b, axis=(1, 2))
        / (np.linalg.norm(a, axis=(1, 2)) * np.linalg.norm(x, axis=(1, 2)) + np.linalg.norm(b, axis=(1, 2)))
    )
    assert backward(x).max() <= max(4 * backward(np.linalg.solve(a, b)).max(), 4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_determinants_and_inverses_of_hilbert_matrices(n):
    """Beside exact numbers: errors of the size of the condition number times a rounding."""
    with mpmath.workdps(60):
        hilbert = mpmath.hilbert(n)
        a = np.array(hilbert.tolist(), dtype=float)
        exact = mpmath.matrix(a.tolist())
        determinant, inverse = mpmath.det(exact), np.array((exact**-1).tolist(), dtype=float)
    tolerance = 10 * n * np.linalg.cond(a) * np.finfo(float).eps
    assert abs(wg.compile(linalg.det)(a) / float(determinant) - 1) <= tolerance
    assert np.abs(wg.compile(linalg.inv)(a) - inverse).max() <= tolerance * np.abs(inverse).max()


def test_rows_are_exchanged_in_each_lane_by_itself():
    orders = np.random.default_rng(3).permuted(np.tile(np.arange(5), (100, 1)), axis=1)
    x = np.eye(5)[orders]
    np.testing.assert_array_equal(wg.compile(linalg.inv)(x), x.swapaxes(1, 2))
    np.testing.assert_array_equal(wg.compile(linalg.det)(x), np.linalg.det(x).round())


@pytest.mark.parametrize(
    "pivots",
    [(1e200, 1e200, 1e-300), (1e-200, 1e-200, 1e300), (1e-310, 2.0, 3.0), (0.0, 1e308, 1e308), (1e200, -1e200)],
)
def test_determinants_overflow_only_in_the_end(pivots):
    x = np.triu(np.diag(pivots) + np.triu(np.ones((len(pivots),) * 2), 1))
    exact = math.prod(map(Fraction, pivots))
    expected = float(exact) if abs(exact) < 2**1024 else math.copysign(math.inf, math.prod(map(np.sign, pivots)))
    np.testing.assert_allclose(wg.compile(linalg.det)(x), expected, rtol=1e-15, atol=2e-323)


def test_the_determinant_of_a_singular_matrix_is_zero_and_its_gradient_is_the_matrix_of_cofactors():
    rng = np.random.default_rng(4)
    for n, rank in [(3, 2), (5, 4), (6, 4), (4, 0)]:
        x = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n))
        x = np.stack([x, np.roll(np.eye(n), 1, 0), np.diag(np.arange(n) * 1.0)])
        f = wg.value_and_grad(lambda x: linalg.det(x).sum())
        value, gradient = wg.compile(f)(x)
        expected = f(x)
        np.testing.assert_allclose(value, expected[0], atol=1e-12)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-12 * max(np.abs(expected[1]).max(), 1))
    sign, log = wg.compile(linalg.slogdet)(np.zeros((2, 3, 3)))
    assert not sign.any()
    assert (log == -np.inf).all()


@pytest.mark.parametrize("stack", [(), (9,), (100,)], ids=str)
@pytest.mark.parametrize("name", ["inv", "solve", "cholesky", "triangular"])
def test_failures_raise_the_error_of_eager_code(name, stack):
    x = np.broadcast_to(3.0 * np.eye(3), (*stack, 3, 3)).copy()
    f = {
        "inv": linalg.inv,
        "solve": lambda x: linalg.solve(x, np.ones((3, 1))),
        "cholesky": linalg.cholesky,
        "triangular": lambda x: linalg.solve_triangular(x, np.ones((3, 1)), lower=True, check_finite=False),
    }[name]
    compiled = wg.compile(lambda x: f(x) * 2.0)
    compiled(x)
    x[(*(n - 2 for n in stack), 1, 1)] = 0.0
    errors = []
    for g in (f, compiled):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            g(x)
        errors.append(str(caught.value).split(",")[0].rstrip("."))
    assert errors[0] == errors[1]
    x[...] = np.nan
    np.testing.assert_array_equal(np.isnan(compiled(x)), np.isnan(f(x)))


def test_a_failure_in_a_loop_ends_it():
    def f(x):
        return wg.scan(lambda a, _: (a - np.eye(3), linalg.inv(a)), x, length=5)[1].sum()

    assert np.isfinite(wg.compile(f)(9.5 * np.eye(3)))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        wg.compile(f)(3.0 * np.eye(3))


def test_a_failure_is_raised_before_numpy_sees_what_became_of_it():
    f = wg.compile(lambda x: linalg.svd(linalg.inv(x) @ np.ones((3, 20))).S)
    f(np.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        f(np.zeros((3, 3)))


@DTYPES
@pytest.mark.parametrize("n", [3, 10])
def test_many_right_hand_sides_are_one_loop(n, dtype):
    rng = np.random.default_rng(5)
    a = (rng.standard_normal((n, n)) + 4 * np.eye(n)).astype(dtype)
    points, mean = rng.standard_normal((500, n)).astype(dtype), rng.standard_normal(n).astype(dtype)

    def f(a, mean):
        white = linalg.solve_triangular(linalg.cholesky(positive(a)), (points - mean).T, lower=True)
        return (white * white * np.arange(500, dtype=dtype)).sum() + white.max(0).sum() + (white[:, 3:7] ** 3).sum()

    g = wg.value_and_grad(f, argnums=(0, 1))
    compiled = wg.compile(g)
    eps = np.finfo(dtype).eps
    for found, exact in zip(leaves(compiled(a, mean)), leaves(g(a, mean)), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e4 * eps, atol=1e4 * eps * np.abs(exact).max())
    assert not calls_numpy(compiled, a, mean)


def test_solves_of_wide_stacks():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((7, 4, 4)), rng.standard_normal((7, 4, 33))
    for f in (linalg.solve, lambda a, b: linalg.solve(a[0], b), lambda a, b: linalg.solve(a, b[2]).sum(1)):
        np.testing.assert_allclose(wg.compile(f)(a, b), f(a, b), rtol=1e-9)


def test_a_kalman_filter_has_no_detour():
    rng = np.random.default_rng(7)
    seen_by, seen = np.eye(4) + 0.1 * rng.standard_normal((4, 4)), rng.standard_normal((20, 4))

    def f(transition, noise):
        def step(state, y):
            x, p = state
            x, p = transition @ x, transition @ p @ transition.T + noise * np.eye(4)
            s = seen_by @ p @ seen_by.T + np.eye(4)
            residual = y - seen_by @ x
            gain = np.linalg.solve(s, seen_by @ p).T
            surprise = residual @ np.linalg.solve(s, residual) + np.linalg.slogdet(s)[1]
            return (x + gain @ residual, p - gain @ seen_by @ p), surprise

        return wg.scan(step, (np.zeros(4), np.eye(4)), seen)[1].sum()

    g = wg.value_and_grad(f, argnums=(0, 1))
    arguments = 0.9 * np.eye(4), 0.3
    compiled = wg.compile(g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found, exact in zip(leaves(compiled(*arguments)), leaves(g(*arguments)), strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)
    assert not calls_numpy(compiled, *arguments)


def test_matrices_beyond_the_limit_are_solved_too():
    x = matrices((3,), 13, np.float64)
    for f in FUNCTIONS.values():
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-7, atol=1e-7 * np.abs(f(x)).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_results_are_written_in_pieces_of_rows(n, dtype):
    """Negated inverses of permutations have each element where it belongs, exactly."""
    for count in (1, 7, 8, 19, 64):
        orders = np.random.default_rng(count).permuted(np.tile(np.arange(n), (count, 1)), axis=1)
        matrices = np.eye(n, dtype=dtype)[orders]
        np.testing.assert_array_equal(wg.compile(lambda x: -np.linalg.inv(x))(matrices), -np.swapaxes(matrices, 1, 2))
