"""Functions of matrices: values against SciPy, derivatives against mpmath, each other and what is known of them.

The rules themselves are checked in every mode by the table tests.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.linalg
from tests.ops.checks import normal
from tests.oracle import check_derivatives
from tests.test_modes import taylor_coefficients

import wengert as wg
from wengert.linalg import expm, logm, sqrtm
from wengert.ops.linear_algebra.matrix_functions import _schur

FUNCTIONS = {"expm": (expm, mpmath.expm), "sqrtm": (sqrtm, mpmath.sqrtm), "logm": (logm, mpmath.logm)}
every = pytest.mark.parametrize("name", FUNCTIONS)


def positive(shape, seed=0, dtype=np.float64):
    """Matrices with all eigenvalues in the right half plane."""
    return np.asarray(normal(shape, seed, dtype) + 4 * np.eye(shape[-1]), dtype)


def by_mpmath(name, x, e):
    """The derivative at x along e to 50 digits, from the function of a matrix of blocks."""
    n = x.shape[-1]
    with mpmath.workdps(50):
        blocks = mpmath.matrix(np.block([[x, e], [np.zeros_like(x), x]]).tolist())
        found = FUNCTIONS[name][1](blocks)
        return np.array([[complex(found[i, n + j]) for j in range(n)] for i in range(n)])


@every
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 1, 3, 3), (0, 0), (2, 0, 0), (0, 2, 2)])
def test_values_and_dtypes(name, shape, dtype):
    f, x = FUNCTIONS[name][0], positive(shape, dtype=np.complex128 if dtype[0] == "c" else np.float64).astype(dtype)
    expected = np.empty(shape, dtype)
    for index in np.ndindex(shape[:-2]) if x.size else ():
        expected[index] = getattr(scipy.linalg, name)(x[index].astype(np.result_type(dtype, np.float64)))
    for found in (f(x), f(wg.tensor(x)).numpy(), wg.compile(f)(x)):
        assert (found.shape, found.dtype) == (shape, expected.dtype)
        rtol = 2e-5 if dtype in ("f4", "c8") else 1e-12
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    leaf = wg.tensor(x, requires_grad=True)
    wg.real(f(leaf)).sum().backward()
    assert (leaf.grad.shape, leaf.grad.dtype) == (shape, x.dtype)


@every
def test_integers_and_lists(name):
    f, x = FUNCTIONS[name][0], [[4, 1], [1, 3]]
    np.testing.assert_allclose(f(x), getattr(scipy.linalg, name)(np.array(x, float)), rtol=1e-13)
    assert f(wg.tensor(np.array(x))).dtype == np.float64


@every
@pytest.mark.parametrize("shape", [(2,), (), (2, 3)])
def test_what_is_not_square(name, shape):
    with pytest.raises(np.linalg.LinAlgError, match=rf"{name} needs square matrices.*test_matrix_functions.py"):
        FUNCTIONS[name][0](wg.tensor(np.ones(shape)))


@every
@pytest.mark.parametrize("size", [1.0, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivative_to_50_digits(name, size, dtype):
    """However large the tangent is."""
    x, e = positive((3, 3), 1, dtype), size * normal((3, 3), 2, dtype)
    f, exact = FUNCTIONS[name][0], by_mpmath(name, x, e)
    found = wg.jvp(f, (x,), (e,))[1]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-13 * np.abs(exact).max())
    (pulled,) = wg.vjp(f, x.T.copy())[1](np.conj(e))  # the transpose of L(x, .) is L(x^T, .)
    np.testing.assert_allclose(pulled, np.conj(exact), rtol=1e-12, atol=1e-13 * np.abs(exact).max())


HARD = {
    "expm of zero": np.zeros((3, 3)),
    "expm of small numbers": 1e-10 * normal((3, 3), 3),
    "expm of large numbers": 30 * normal((3, 3), 4),
    "expm of what is not normal": np.array([[1.0, 1e4, 0.0], [0.0, -1.0, 3.0], [0.0, 0.0, 2.0]]),
    "expm of one": np.eye(3),
    "logm of small numbers": 1e-15 * positive((3, 3), 5),
    "logm of numbers of all sizes": np.diag([1e-8, 1.0, 1e8]),
    "logm of one": np.eye(3),
    "logm without a basis of eigenvectors": np.array([[1.0, 5.0, 0.0], [0.0, 1.0, 5.0], [0.0, 0.0, 1.0]]),
    "logm of a rotation": np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]),
    "sqrtm of small numbers": 1e-15 * positive((3, 3), 5),
    "sqrtm of one": np.eye(3),
    "sqrtm of a rotation": np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]),
}


@pytest.mark.parametrize("what", HARD)
def test_derivative_where_formulas_with_eigenvectors_break_or_lose_digits(what):
    name, x, e = what.split()[0], HARD[what], normal((3, 3), 6)
    exact = by_mpmath(name, x, e)
    np.testing.assert_allclose(
        wg.jvp(FUNCTIONS[name][0], (x,), (e,))[1], exact.real, rtol=1e-10, atol=1e-11 * np.abs(exact).max()
    )


@pytest.mark.parametrize("size", [1.0, 200.0])
def test_exponential_of_large_matrices(size):
    """There, moderate ones are differentiated by another function than others."""
    x, e = size * normal((60, 60), 7) / 60, normal((60, 60), 8)
    n = x.shape[0]
    blocks = scipy.linalg.expm(np.block([[x, e], [np.zeros_like(x), x]]))
    found = wg.jvp(expm, (x,), (e,))[1]
    np.testing.assert_allclose(found, blocks[:n, n:], rtol=1e-9, atol=1e-11 * np.abs(blocks).max())
    for dtype in (np.float32, np.complex64):
        assert wg.jvp(expm, (x.astype(dtype),), (e.astype(dtype),))[1].dtype == dtype


def test_commuting_matrices_have_the_derivatives_of_numbers():
    """Along the identity, f(x + t) has the derivatives f', f'', f''' as functions of x."""
    x, one = positive((3, 3), 9), np.eye(3)
    inverse = np.linalg.inv(x)
    np.testing.assert_allclose(
        taylor_coefficients(logm, [x], {0: one}, 4)[1:],
        [
            inverse,
            -inverse @ inverse / 2,
            np.linalg.matrix_power(inverse, 3) / 3,
            -np.linalg.matrix_power(inverse, 4) / 4,
        ],
        rtol=1e-10,
        atol=1e-14,
    )
    exponential = scipy.linalg.expm(x)
    terms = taylor_coefficients(expm, [x], {0: one}, 5)
    np.testing.assert_allclose(terms, [exponential / math.factorial(k) for k in range(6)], rtol=1e-11)
    root = scipy.linalg.sqrtm(x)
    terms = taylor_coefficients(sqrtm, [x], {0: one}, 2)
    np.testing.assert_allclose(
        terms, [root, np.linalg.inv(root) / 2, -np.linalg.inv(root @ x) / 8], rtol=1e-11, atol=1e-14
    )


def test_each_is_the_inverse_of_another():
    x, e = positive((2, 3, 3), 10), normal((2, 3, 3), 11)
    for round_trip in (lambda a: expm(logm(a)), lambda a: logm(expm(a / 4)) * 4, lambda a: sqrtm(a) @ sqrtm(a)):
        value, tangent = wg.jvp(round_trip, (x,), (e,))
        np.testing.assert_allclose(value, x, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(tangent, e, rtol=1e-10, atol=1e-10)


def test_gradient_of_a_trace_and_of_a_determinant():
    x = normal((4, 4), 12)
    np.testing.assert_allclose(wg.grad(lambda a: np.trace(expm(a)))(x), scipy.linalg.expm(x).T, rtol=1e-12)
    y = positive((4, 4), 12)
    np.testing.assert_allclose(wg.grad(lambda a: np.trace(logm(a)))(y), np.linalg.inv(y).T, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        wg.grad(lambda a: np.linalg.det(sqrtm(a)) ** 2)(y), np.linalg.det(y) * np.linalg.inv(y).T, rtol=1e-11
    )


@every
def test_vmap_and_jacobians(name):
    f, stack = FUNCTIONS[name][0], positive((3, 2, 2), 13)
    np.testing.assert_allclose(wg.vmap(f)(stack), f(stack), rtol=1e-12)
    by_rows, by_columns = wg.jacrev(f)(stack[0]), wg.jacfwd(f)(stack[0])
    np.testing.assert_allclose(by_rows, by_columns, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(wg.vmap(wg.jacrev(f))(stack)[0], by_rows, rtol=1e-11, atol=1e-12)


@every
def test_third_derivatives(name):
    f, x = FUNCTIONS[name][0], positive((2, 2), 14)
    v = 0.3 * normal((2, 2), 15)
    along = lambda g: lambda a: wg.jvp(g, (a,), (v,))[1]
    third = along(along(along(f)))(x)
    np.testing.assert_allclose(third, 6 * taylor_coefficients(f, [x], {0: v}, 3)[3], rtol=1e-9, atol=1e-11)
    pulled = wg.grad(lambda a: along(along(f))(a).sum())(x)
    np.testing.assert_allclose((pulled * v).sum(), third.sum(), rtol=1e-9)


NEGATIVE = np.array([[1.0, 2.0, 0.0], [0.5, -3.0, 1.0], [2.0, 0.0, -1.0]])
"""With two eigenvalues on the negative axis."""


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_real_matrices_whose_result_is_complex(name):
    f = FUNCTIONS[name][0]
    for x in (NEGATIVE, -np.eye(2), np.array([[-4.0]])):
        for run in (f, lambda a: wg.grad(lambda a: f(a).sum())(a), wg.compile(f)):
            with pytest.raises(
                np.linalg.LinAlgError, match=rf"{name} of a real matrix.*test_matrix_functions.py.*astype\(complex\)"
            ):
                run(x)
    np.testing.assert_allclose(
        f(NEGATIVE.astype(complex)), getattr(scipy.linalg, name)(NEGATIVE), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_derivatives_on_the_negative_axis_stay_on_one_branch(name):
    """As a function of a real matrix, which keeps single eigenvalues on the axis."""
    f = FUNCTIONS[name][0]
    check_derivatives(lambda a: f(a.astype(complex)), [NEGATIVE], [0])


def test_equal_inputs_have_equal_results():
    """SciPy's own logarithm draws random numbers, and its last digits differ from call to call."""
    x, e = positive((6, 6), 19), normal((6, 6), 20)
    state = np.random.get_state()[1].copy()
    runs = {np.concatenate(wg.jvp(logm, (x,), (e,))).tobytes() for _ in range(50)}
    assert len(runs) == 1
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_schur_form_of_blocks():
    y, e = NEGATIVE.astype(complex), normal((3, 3), 16)
    upper = np.block([[y, e], [np.zeros_like(y), y]])
    twice = np.block([[upper, np.zeros_like(upper)], [normal((6, 6), 17), upper]])
    for x in (NEGATIVE, y, upper, upper.T, twice, twice.T, np.triu(y)):
        t, u = _schur(x)
        np.testing.assert_array_equal(t, np.triu(t))
        np.testing.assert_allclose(u @ u.conj().T, np.eye(len(x)), atol=1e-14)
        np.testing.assert_allclose(u @ t @ u.conj().T, x, atol=1e-13)
    eigenvalues = _schur(twice)[0].diagonal()
    np.testing.assert_array_equal(eigenvalues, np.tile(eigenvalues[:3], 4))


def test_singular_matrices():
    pull, push = wg.grad(lambda a: sqrtm(a).sum()), lambda a: wg.jvp(sqrtm, (a,), (a,))
    for x in (np.diag([1.0, 0.0]), np.ones((2, 2)), np.zeros((2, 2))):
        np.testing.assert_allclose(sqrtm(x) @ sqrtm(x), x, atol=1e-15)
        for derivative in (pull, push, wg.compile(pull)):
            with pytest.raises(
                np.linalg.LinAlgError, match=r"derivative of sqrtm does not exist.*singular.*test_matrix_functions.py"
            ):
                derivative(x)
        with pytest.raises(np.linalg.LinAlgError, match=r"logm of a singular matrix.*test_matrix_functions.py"):
            logm(x)
    with pytest.raises(np.linalg.LinAlgError, match=r"no square root.*test_matrix_functions.py"):
        sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("rank", [0, 1, 2, 4])
@pytest.mark.parametrize("n", [4, 5, 8])
def test_roots_of_singular_matrices_are_real_whatever_is_rounded(n, rank, dtype):
    """Eigenvalues that are zero are computed as small numbers of any sign, or as pairs.

    Which ones depends on the machine.
    """
    for seed in range(20):
        a = np.round(4 * normal((n, rank), seed))  # of integers, so that the product has exactly this rank
        x = (a @ a.T).astype(dtype)
        root = sqrtm(x)
        assert root.dtype == dtype
        np.testing.assert_allclose(root @ root, x, atol=200 * np.finfo(dtype).eps * (np.abs(x).max() + 1))
    with pytest.raises(np.linalg.LinAlgError, match="no square root"):
        sqrtm(np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 0.0, 1.0]], dtype))


def test_small_eigenvalues_are_not_taken_for_zero():
    x = np.diag([1.0, 1e-17, 1e-30])
    np.testing.assert_array_equal(sqrtm(x), np.sqrt(x))


@every
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_cotangents_that_are_not_finite_stay_visible(name, special):
    x, t = positive((2, 2), 18), np.array([[special, 0.0], [0.0, 1.0]])
    with np.errstate(invalid="ignore"):
        (found,) = wg.vjp(FUNCTIONS[name][0], x)[1](t)
    assert not np.isfinite(found).any()
    (zero,) = wg.vjp(FUNCTIONS[name][0], x)[1](np.zeros((2, 2)))
    np.testing.assert_array_equal(zero, 0)


def test_exponential_of_what_is_not_a_number():
    x = np.array([[np.nan, 1.0], [1.0, 0.0]])
    assert np.isnan(expm(x)).all()
    assert np.isnan(wg.grad(lambda a: expm(a).sum())(x)).all()
