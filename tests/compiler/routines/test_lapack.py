"""Linear algebra in compiled functions: LAPACK called from native code, on single matrices and stacks."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.linalg import lu, solve_triangular

RNG_SEED = 3


def any_matrix(stack, n, dtype):
    rng = np.random.default_rng(RNG_SEED)
    x = rng.standard_normal((*stack, n, n))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal((*stack, n, n))
    return (x / np.sqrt(n) + np.diag(np.linspace(1.0, 3.0, n))).astype(dtype)


def positive_matrix(stack, n, dtype):
    x = any_matrix(stack, n, dtype)
    return (x @ x.conj().swapaxes(-1, -2) + np.diag(np.linspace(1.0, 4.0, n))).astype(dtype)


def some_columns(x):
    return x[..., :, : max(1, x.shape[-1] // 2)]


def beside(u, s):
    return u * s[..., None, :]


def both(found):
    q, r = found
    return q @ r**2


def all_three(found):
    u, s, vh = found
    return beside(u, s) @ vh**2


OPERATIONS = {
    "cholesky": (positive_matrix, np.linalg.cholesky),
    "cholesky upper": (positive_matrix, lambda x: np.linalg.cholesky(x, upper=True)),
    "solve": (any_matrix, lambda x: np.linalg.solve(x, some_columns(x) ** 2)),
    "solve a transpose": (any_matrix, lambda x: np.linalg.solve(x.swapaxes(-1, -2), x[..., :, :1] ** 2)),
    "solve twice": (any_matrix, lambda x: np.linalg.solve(x, np.linalg.solve(x, x**2))),
    "inv": (any_matrix, np.linalg.inv),
    "det": (any_matrix, np.linalg.det),
    "slogdet": (any_matrix, lambda x: np.linalg.slogdet(x).logabsdet),
    "qr": (any_matrix, lambda x: sum(np.linalg.qr(x))),
    "qr of tall matrices": (any_matrix, lambda x: both(np.linalg.qr(some_columns(x)))),
    "qr of wide matrices": (any_matrix, lambda x: both(np.linalg.qr(x[..., : x.shape[-1] // 2 + 1, :]))),
    "eigh": (positive_matrix, lambda x: beside(*reversed(np.linalg.eigh(x)))),
    "eigh of the upper triangle": (positive_matrix, lambda x: np.linalg.eigh(x, UPLO="U").eigenvalues),
    "svd": (any_matrix, lambda x: all_three(np.linalg.svd(x))),
    "thin svd": (any_matrix, lambda x: all_three(np.linalg.svd(some_columns(x), False))),
    "svdvals": (any_matrix, lambda x: np.linalg.svd(x, compute_uv=False)),
    "lu": (any_matrix, lambda x: (lambda p, lower, upper: lower + upper)(*lu(x))),
    "pinv": (any_matrix, lambda x: np.linalg.pinv(some_columns(x))),
    "triangular": (any_matrix, lambda x: solve_triangular(x, some_columns(x), lower=True)),
    "triangular, transposed": (any_matrix, lambda x: solve_triangular(x, x[..., :1], trans=1)),
    "triangular, unit diagonal": (any_matrix, lambda x: solve_triangular(x / 4, x, unit_diagonal=True)),
}
TOLERANCE = {"f8": 1e-10, "c16": 1e-10, "f4": 2e-3, "c8": 2e-3}
CASES = [
    *[("f8", stack, n) for stack, n in [((), 1), ((2, 3), 2), ((3,), 9), ((), 33), ((), 100)]],
    *[(dtype, (3,), 9) for dtype in ("f4", "c16", "c8")],
    ("c16", (), 16),
]


def assert_close(actual, expected, dtype):
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[dtype] * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(("dtype", "stack", "n"), CASES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_gradients(name, dtype, stack, n):
    make, f = OPERATIONS[name]
    x = make(stack, n, dtype)
    expected = f(x)
    weights = np.random.default_rng(0).standard_normal(np.shape(expected)).astype(np.finfo(dtype).dtype)

    def loss(x):
        out = f(x)
        total = (out * weights).sum()
        return total.real if out.dtype.kind == "c" else total

    compiled, gradient = wg.compile(f), wg.compile(wg.grad(loss))
    assert_close(compiled(x), expected, dtype)
    if n > 1 or "triangular" not in name:
        assert_close(gradient(x), wg.grad(loss)(x), dtype)
    if n > 1:
        assert not compiled.report(x).fallbacks
        assert not gradient.report(x).fallbacks


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_signs_ranks_and_least_squares(dtype):
    x = any_matrix((2,), 12, dtype)
    for f in (
        lambda x: np.linalg.slogdet(x).sign,
        lambda x: np.linalg.matrix_rank(x[..., :5] @ x[..., :5, :]),
        lambda x: np.linalg.lstsq(x[0, :, :4], x[1, :, :2])[0],
        lambda x: np.linalg.lstsq(x[0, :4], x[1, :4, 0], rcond=0.3)[0],
        lambda x: np.linalg.qr(x[..., :5], mode="complete")[0],
    ):
        expected = f(x)
        assert_close(np.asarray(wg.compile(f)(x)), np.asarray(expected), dtype)


@pytest.mark.parametrize(
    "shapes", [((4, 1), (1, 3)), ((), (2,)), ((3,), ()), ((2, 1, 3), (4, 1)), ((1,), (5,))], ids=str
)
@pytest.mark.parametrize("n", [3, 14])
def test_stacks_that_are_broadcast(shapes, n):
    x, y = any_matrix(shapes[0], n, "f8"), any_matrix(shapes[1], n, "f8")[..., :2]
    for f in (np.linalg.solve, lambda x, y: solve_triangular(x, y, lower=True)):
        compiled = wg.compile(f)
        assert_close(compiled(x, y), f(x, y), "f8")
        loss = lambda x, y, f=f: (f(x, y) ** 2).sum()
        for actual, expected in zip(wg.compile(wg.grad(loss, (0, 1)))(x, y), wg.grad(loss, (0, 1))(x, y), strict=True):
            assert_close(actual, expected, "f8")
        assert not compiled.report(x, y).fallbacks


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.inv,
        np.linalg.cholesky,
        lambda x: np.linalg.solve(x, x[..., :1]),
        lambda x: np.linalg.solve(x.swapaxes(-1, -2), x[..., :2]),
        lambda x: solve_triangular(x, x[..., :1], lower=True),
        lambda x: solve_triangular(x.swapaxes(-1, -2), x, lower=False),
    ],
)
@pytest.mark.parametrize("stack", [(), (3,)])
@pytest.mark.parametrize("n", [2, 12])
def test_singular_matrices_raise_the_errors_of_eager_code(f, stack, n):
    x = np.zeros((*stack, n, n))
    x[...] = np.eye(n)
    x[(*(-1,) * len(stack), n // 2, n // 2)] = 0.0
    compiled = wg.compile(f)
    compiled(x + np.eye(n))
    with pytest.raises(np.linalg.LinAlgError) as eager:
        f(wg.tensor(x))
    with pytest.raises(np.linalg.LinAlgError) as native:
        compiled(x)
    assert str(native.value).startswith(str(eager.value).split(", at")[0].split("\n")[0])
    np.testing.assert_allclose(compiled(x + np.eye(n)), f(x + np.eye(n)), atol=1e-12)


@pytest.mark.parametrize("n", [2, 12])
def test_determinants_of_singular_matrices(n):
    x = np.stack([np.ones((n, n)), np.eye(n), np.diag(np.arange(n) - 0.5)])
    for f in (np.linalg.det, lambda x: np.linalg.slogdet(x).sign, lambda x: np.linalg.slogdet(x).logabsdet):
        np.testing.assert_allclose(wg.compile(f)(x), f(x), atol=1e-12)
    gradient = wg.grad(lambda x: np.linalg.det(x).sum())
    np.testing.assert_allclose(wg.compile(gradient)(x), gradient(x), atol=1e-12)


@pytest.mark.parametrize("n", [2, 12])
@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "solve", "qr", "slogdet"])
def test_nan(name, n):
    make, f = OPERATIONS[name]
    x = make((2,), n, "f8")
    x[0, 1, 0] = np.nan
    try:
        with np.errstate(invalid="ignore"):
            expected = f(x)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            wg.compile(f)(x)
        return
    actual = wg.compile(f)(x)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    np.testing.assert_allclose(actual, expected, atol=1e-10)


@pytest.mark.parametrize("name", ["cholesky", "solve", "inv", "eigh", "svd", "det"])
def test_in_a_loop(name):
    make, f = OPERATIONS[name]
    x = make((), 12, "f8")

    def total(x):
        def step(carry, k):
            return carry + (f(x + k * np.eye(12)) ** 2).sum(), carry

        return wg.scan(step, 0.0, np.arange(3.0))[0]

    compiled = wg.compile(wg.value_and_grad(total))
    for actual, expected in zip(compiled(x), wg.value_and_grad(total)(x), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    assert not compiled.report(x).fallbacks


def test_an_error_in_a_loop():
    def total(x):
        return wg.scan(lambda c, k: (c + np.linalg.inv(x - k * np.eye(12)).sum(), c), 0.0, np.arange(3.0))[0]

    compiled = wg.compile(total)
    assert np.isfinite(compiled(np.eye(12) / 2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        compiled(2.0 * np.eye(12))


def test_a_large_stack_is_solved_in_parts():
    x, y = any_matrix((700,), 24, "f8"), any_matrix((700,), 24, "f8")[..., :3]
    out = wg.compile(np.linalg.solve)(x, y)
    alone = wg.compile(np.linalg.solve)
    assert_close(out, np.linalg.solve(x, y), "f8")
    np.testing.assert_array_equal(out[:5], alone(x[:5], y[:5]))
    x[611] = 1.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        wg.compile(np.linalg.solve)(x, y)


def test_systems_with_one_matrix_share_its_factors():
    x = any_matrix((3,), 16, "f8")
    compiled = wg.compile(wg.value_and_grad(lambda x: np.linalg.slogdet(x).logabsdet.sum() + np.linalg.inv(x).sum()))
    compiled(x)
    assert sum(step.startswith("getrf") for step in compiled.report(x).steps) == 1


@pytest.mark.parametrize("n", [13, 31, 32, 33, 65, 300])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_the_derivative_of_cholesky_in_blocks(n, stack):
    x, weights = positive_matrix(stack, n, "f8"), any_matrix(stack, n, "f8")
    loss = lambda x: (np.linalg.cholesky(x) * weights).sum()
    compiled = wg.compile(wg.grad(loss))
    assert_close(compiled(x), wg.grad(loss)(x), "f8")
    assert any(step.startswith("cholesky_pull") for step in compiled.report(x).steps)


def test_second_derivatives_of_cholesky():
    x, direction = positive_matrix((), 14, "f8"), any_matrix((), 14, "f8")
    gradient = wg.grad(lambda x: (np.linalg.cholesky(x) ** 3).sum())
    along = lambda x: wg.jvp(gradient, (x,), (direction,))[1]
    step = 1e-6
    difference = (gradient(x + step * direction) - gradient(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(along(x), difference, rtol=1e-6, atol=1e-6 * np.abs(difference).max())
    assert_close(wg.compile(along)(x), along(x), "f8")
    back = wg.grad(lambda x: (gradient(x) * direction).sum())
    np.testing.assert_allclose(back(x), along(x), rtol=1e-6, atol=1e-7 * np.abs(difference).max())


@pytest.mark.parametrize("dtypes", ["fd", "fF", "fD", "dF", "Fd"])
@pytest.mark.parametrize("n", [3, 20])
def test_a_real_matrix_with_complex_right_hand_sides_keeps_their_imaginary_parts(n, dtypes):
    """Single precision is computed in double, which is complex where the operand is."""
    rng = np.random.default_rng(3)
    a = (rng.normal(size=(n, n)) + n * np.eye(n)).astype(dtypes[0])
    b = (rng.normal(size=(n, 2)) + (1j * rng.normal(size=(n, 2)) if dtypes[1] in "FD" else 0.0)).astype(dtypes[1])
    for f in (
        lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
        lambda a, b: np.linalg.solve(a, b),
        lambda a, b: wg.linalg.solve_triangular(a, b, lower=True),
    ):
        found, expected = wg.compile(f)(a, b), f(wg.tensor(a), b).numpy()
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
