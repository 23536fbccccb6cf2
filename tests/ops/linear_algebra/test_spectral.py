"""Eigenvalues and singular values, especially where they coincide.

The table tests check each of them where values are distinct, in every mode and in NumPy's own gauge.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.checks import normal
from tests.oracle import check_derivatives, numerical_gradient

import wengert as wg
from wengert import linalg
from wengert.core.array import FUNCTIONS
from wengert.ops.linear_algebra import least_squares, spectral
from wengert.ops.linear_algebra.gauge import GaugeWarning


def unitary(n, seed=1, dtype=float):
    return np.linalg.qr(normal((n, n), seed, dtype))[0]


def with_eigenvalues(values, seed=1, dtype=float):
    q = unitary(len(values), seed, dtype)
    return (q * np.asarray(values, float)) @ q.conj().T


def with_singular_values(values, m, n, seed=1, dtype=float):
    k = len(values)
    return (unitary(m, seed, dtype)[:, :k] * np.asarray(values, float)) @ unitary(n, seed + 1, dtype)[:, :k].conj().T


def both_modes(f, x, rtol=1e-7):
    """The gradient in reverse mode, after a comparison with differences of values and with forward mode."""
    found = wg.grad(f)(x)
    expected = numerical_gradient(lambda x: float(f(x)), [x], 0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    for seed in range(3):
        v = normal(x.shape, seed + 20, x.dtype)
        slope = wg.jvp(f, (x,), (v,))[1]
        np.testing.assert_allclose(slope, np.sum(np.conj(found) * v).real, rtol=1e-10, atol=1e-10)
    return found


# Values, shapes and dtypes as in NumPy


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (1, 1), (0, 0), (2, 0, 3, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_eigenvalues_as_in_numpy(shape, dtype):
    a = (4 * normal(shape, 2, complex if dtype is np.complex128 else float)).astype(dtype)
    x = wg.tensor(a)
    for UPLO in "LU":
        found, expected = np.linalg.eigh(x, UPLO), np.linalg.eigh(a, UPLO)
        for y, z in zip(found, expected, strict=True):
            assert (y.shape, y.dtype) == (z.shape, z.dtype)
            np.testing.assert_array_equal(y.numpy(), z)
        np.testing.assert_allclose(np.linalg.eigvalsh(x, UPLO).numpy(), found.eigenvalues.numpy(), rtol=1e-5)
    w, v = np.linalg.eig(x)
    assert w.dtype.kind == v.dtype.kind == "c"
    np.testing.assert_array_equal(w.numpy(), np.linalg.eig(a).eigenvalues)
    np.testing.assert_array_equal(v.numpy(), np.linalg.eig(a).eigenvectors)
    np.testing.assert_array_equal(np.linalg.eigvals(x).numpy(), w.numpy())


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 5), (0, 3), (3, 0), (1, 1), (2, 9), (9, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values_as_in_numpy(shape, dtype, full):
    a = (4 * normal(shape, 2, complex if dtype is np.complex128 else float)).astype(dtype)
    found, expected = np.linalg.svd(wg.tensor(a), full), np.linalg.svd(a, full)
    assert found._fields == expected._fields
    for y, z in zip(found, expected, strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_array_equal(y.numpy(), z)
    for values in (np.linalg.svdvals(wg.tensor(a)), np.linalg.svd(wg.tensor(a), compute_uv=False)):
        np.testing.assert_allclose(values.numpy(), np.linalg.svdvals(a), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [float, complex])
def test_singular_values_of_a_triangle(dtype):
    a = normal((3, 3), 3, dtype)
    whole = np.tril(a, -1) + np.tril(a, -1).conj().T + np.diag(a.diagonal().real)
    u, s, vh = np.linalg.svd(wg.tensor(a), hermitian=True)
    np.testing.assert_allclose(((u * s) @ vh).numpy(), whole, atol=1e-13)
    np.testing.assert_allclose(
        np.linalg.svd(wg.tensor(a), compute_uv=False, hermitian=True).numpy(), np.linalg.svd(a, hermitian=True)[1]
    )
    np.testing.assert_allclose(np.linalg.pinv(wg.tensor(a), hermitian=True).numpy(), np.linalg.pinv(a, hermitian=True))


@pytest.mark.parametrize(
    "name", ["eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals", "pinv", "lstsq", "matrix_rank", "cond"]
)
def test_each_function_of_numpy_runs_on_values(name):
    module = spectral if hasattr(spectral, name) else least_squares
    assert FUNCTIONS[getattr(np.linalg, name)] is getattr(module, name)


def test_lists_are_taken():
    np.testing.assert_array_equal(spectral.eigvalsh([[1, 0], [0, 2]]), [1.0, 2.0])
    np.testing.assert_array_equal(spectral.svdvals([[1, 0], [0, 2]]), [2.0, 1.0])
    assert spectral.eigvals([[1, 0], [0, 2]]).dtype == np.complex128


@pytest.mark.parametrize("function", [spectral.eigh, spectral.eig, spectral.eigvals, least_squares.cond])
def test_errors_name_the_line(function):
    options = {"p": 1} if function is least_squares.cond else {}
    with pytest.raises(np.linalg.LinAlgError, match=r"square matrices, and got shape \(2, 3\), at .*test_spectral.py"):
        function(wg.tensor(np.ones((2, 3))), **options)


def test_other_errors():
    x = wg.tensor(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="two axes"):
        spectral.svd(x[0])
    with pytest.raises(ValueError, match="UPLO"):
        spectral.eigh(x[:, :2], "X")
    with pytest.raises(ValueError, match="both"):
        least_squares.pinv(x, 1e-3, rtol=1e-3)
    with pytest.raises(np.linalg.LinAlgError, match="lstsq needs"):
        least_squares.lstsq(x, np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match="empty"):
        least_squares.cond(wg.tensor(np.ones((0, 0))))


# Which triangle


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_the_gradient_is_in_the_triangle_that_is_read(UPLO, dtype):
    a = with_eigenvalues([1.0, 2.0, 4.0], dtype=dtype)
    other = np.triu if UPLO == "L" else np.tril
    gradient = both_modes(lambda a: np.linalg.eigvalsh(a, UPLO)[2], a)
    np.testing.assert_array_equal(other(gradient, 1 if UPLO == "L" else -1), 0)
    v = np.linalg.eigh(a, UPLO).eigenvectors[:, 2]
    np.testing.assert_allclose((gradient + gradient.conj().T) / 2, np.outer(v, v.conj()), atol=1e-12)
    assert not np.any(
        wg.jvp(lambda a: np.linalg.eigh(a, UPLO)[1], (a,), (other(np.ones((3, 3)), 1 if UPLO == "L" else -1),))[1]
    )


def test_a_symmetric_gradient():
    a = with_eigenvalues([1.0, 2.0, 4.0])
    gradient = wg.grad(lambda a: (np.linalg.eigvalsh((a + a.T) / 2) ** 3).sum())(a)
    np.testing.assert_allclose(gradient, 3 * a @ a, atol=1e-12)


# Coinciding values

SPECTRA = [[1.0, 1.0, 1.0], [2.0, 2.0, 5.0], [1.0, 3.0, 3.0, 3.0], [1.0, 1.0, 4.0, 4.0]]
every_spectrum = pytest.mark.parametrize("spectrum", SPECTRA, ids=str)
real_and_complex = pytest.mark.parametrize("dtype", [float, complex])


@real_and_complex
@every_spectrum
def test_symmetric_functions_of_equal_eigenvalues(spectrum, dtype):
    a = with_eigenvalues(spectrum, dtype=dtype)
    triangle = np.tril(2 * np.ones_like(a, float), -1) + np.eye(len(a))
    gradient = both_modes(lambda a: (np.linalg.eigvalsh(a) ** 2).sum(), a)
    np.testing.assert_allclose(gradient, 2 * a * triangle, atol=1e-12)
    gradient = both_modes(lambda a: np.log(np.linalg.eigvalsh(a)).sum(), a)
    np.testing.assert_allclose(gradient, np.linalg.inv(a) * triangle, atol=1e-12)
    a = with_eigenvalues(spectrum)
    np.testing.assert_allclose(wg.grad(lambda a: wg.real((np.linalg.eigvals(a) ** 2).sum()))(a), 2 * a, atol=1e-12)


@real_and_complex
@pytest.mark.parametrize(
    ("spectrum", "group"),
    [([2.0, 2.0, 5.0], [0, 1]), ([1.0, 3.0, 3.0, 3.0], [1, 2, 3]), ([1.0, 1.0, 4.0, 4.0], [2, 3])],
)
def test_projectors_on_eigenspaces(spectrum, group, dtype):
    weight = normal((len(spectrum),) * 2, 7, dtype)

    def f(a):
        v = np.linalg.eigh(a).eigenvectors[:, group]
        return wg.real((weight * (v @ np.conj(v.T))).sum())

    both_modes(f, with_eigenvalues(spectrum, dtype=dtype))


def test_exactly_equal_eigenvalues_of_a_stack():
    a = np.stack([np.eye(3), 2.0 * np.eye(3), np.diag([1.0, 2.0, 2.0])])
    gradient = both_modes(lambda a: (np.linalg.eigvalsh(a) ** 3).sum(), a)
    np.testing.assert_allclose(gradient, 3 * a @ a, atol=1e-12)


def exponential_by_eigh(a):
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.T


@pytest.mark.parametrize("f", [linalg.eigvalsh, linalg.svdvals, lambda a: linalg.eigh(a).eigenvectors])
def test_a_stack_of_no_matrices(f):
    assert wg.grad(lambda a: f(a).sum())(np.ones((0, 3, 3))).shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("f", "a"),
    [
        (lambda a: np.linalg.eigvalsh(a)[0], np.eye(3)),
        (lambda a: np.linalg.eigh(a).eigenvectors[0, 0], with_eigenvalues([2.0, 2.0, 5.0])),
        (lambda a: wg.real(np.linalg.eigvals(a)[0]), np.eye(3)),
        (lambda a: np.linalg.svdvals(a)[0], unitary(3)),
        (lambda a: np.linalg.svd(a).U[1, 0], unitary(3)),
        (lambda a: exponential_by_eigh(a)[0, 1], with_eigenvalues([2.0, 2.0, 5.0])),
    ],
    ids=["eigenvalue", "eigenvector", "eigenvalue in general", "singular value", "singular vector", "matrix function"],
)
def test_what_depends_on_the_gauge_says_so(f, a):
    with pytest.warns(GaugeWarning, match=r"test_spectral.py.*coinciding"):
        wg.grad(f)(a)


def test_many_equal_eigenvalues():
    """Of a size where rounding makes them differ by many units in the last place."""
    a, weight = with_eigenvalues([1.0] * 30 + [3.0] * 30), normal((60, 60), 4)
    v = np.linalg.eigh(a).eigenvectors

    def f(a):
        low = np.linalg.eigh((a + a.T) / 2).eigenvectors[:, :30]
        return (weight * (low @ low.T)).sum()

    low, high, symmetric = v[:, :30], v[:, 30:], weight + weight.T
    expected = low @ (low.T @ symmetric @ high / (1.0 - 3.0)) @ high.T
    np.testing.assert_allclose(wg.grad(f)(a), (expected + expected.T) / 2, atol=1e-11)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: (np.linalg.eigvalsh(a) ** 2).sum(),
        lambda a: (np.linalg.svdvals(a) ** 2).sum(),
        lambda a: abs(np.linalg.eigvals(a)).sum(),
    ],
)
@pytest.mark.parametrize(
    "second", [lambda f: wg.jacfwd(wg.grad(f)), lambda f: wg.jacrev(wg.grad(f)), lambda f: wg.jacfwd(wg.jacfwd(f))]
)
def test_second_derivatives_that_are_lost_say_so(second, f):
    with pytest.warns(GaugeWarning):
        second(f)(np.eye(3))


def test_second_derivatives_that_are_not_lost():
    np.testing.assert_allclose(wg.jacfwd(wg.grad(lambda a: np.linalg.eigvalsh(a).sum()))(np.eye(3)), 0, atol=1e-12)


def test_coinciding_values_in_batches_do_not_warn():
    a = np.stack([np.eye(3), with_eigenvalues([2.0, 2.0, 5.0])])
    f = lambda a: (np.linalg.eigvalsh((a + a.T) / 2) ** 2).sum()
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(a), 2 * a, atol=1e-12)


@real_and_complex
@pytest.mark.parametrize(("m", "n"), [(3, 3), (4, 3), (3, 5)])
@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [3.0, 1.0, 1.0]], ids=str)
def test_symmetric_functions_of_equal_singular_values(m, n, values, dtype):
    a = with_singular_values(values, m, n, dtype=dtype)
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(both_modes(lambda a: linalg.norm(a, "nuc"), a), u @ vh, atol=1e-12)
    np.testing.assert_allclose(both_modes(lambda a: np.linalg.svdvals(a).sum(), a), u @ vh, atol=1e-12)
    np.testing.assert_allclose(both_modes(lambda a: (np.linalg.svdvals(a) ** 2).sum(), a), 2 * a, atol=1e-12)

    def polar(a):
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return wg.real((normal((m, n), 9, dtype) * (u @ vh)).sum())

    slope = wg.jvp(polar, (a,), (a,))[1]  # the unitary factor stays as it is while its matrix is stretched
    np.testing.assert_allclose(slope, 0, atol=1e-12)


@real_and_complex
@pytest.mark.parametrize(("m", "n"), [(3, 3), (4, 3), (3, 5)])
def test_the_unitary_factor_at_equal_singular_values(m, n, dtype):
    weight = normal((m, n), 9, dtype)

    def polar(a):
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return wg.real((weight * (u @ vh)).sum())

    both_modes(polar, with_singular_values([2.0, 2.0, 2.0], m, n, dtype=dtype))


@real_and_complex
def test_matrices_without_full_rank(dtype):
    a = with_singular_values([3.0, 1.0], 4, 3, dtype=dtype)
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(wg.grad(lambda a: linalg.norm(a, "nuc"))(a), u[:, :2] @ vh[:2], atol=1e-12)
    np.testing.assert_allclose(both_modes(lambda a: (np.linalg.svdvals(a) ** 2).sum(), a), 2 * a, atol=1e-12)
    with pytest.warns(GaugeWarning, match="that are 0"):
        wg.grad(lambda a: np.linalg.svdvals(a).sum())(a)
    for ord in (2, -2, "nuc"):
        np.testing.assert_array_equal(wg.grad(lambda a, ord=ord: linalg.norm(a, ord))(np.zeros((2, 3))), 0)


# NumPy's gauge, where it has one; full matrices; gauges that nothing holds


@real_and_complex
@pytest.mark.parametrize(
    "f", [np.linalg.eigh, lambda a: np.linalg.eigh(a, "U"), np.linalg.eig, lambda a: np.linalg.svd(a)]
)
def test_vectors_follow_those_of_numpy(f, dtype):
    a = normal((2, 3, 3), 12, dtype) + np.diag([1.0, 5.0, 9.0])
    check_derivatives(f, [a], [0])
    v = normal(a.shape, 13, dtype)
    for slope, earlier, later in zip(wg.jvp(f, (a,), (v,))[1], f(a - 1e-5 * v), f(a + 1e-5 * v), strict=True):
        np.testing.assert_allclose(slope, (later - earlier) / 2e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 1), (2, 3, 2)])
def test_full_matrices(shape):
    check_derivatives(lambda a: np.linalg.svd(a), [4 * normal(shape, 4)], [0])


@real_and_complex
@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (2, 9), (3, 1)])
def test_projectors_on_what_completes_a_basis(shape, dtype):
    m, n = shape
    left, right = normal((m, m), 5, dtype), normal((n, n), 6, dtype)

    def f(a):
        u, _, vh = np.linalg.svd(a)
        u, vh = (u[:, 1:], vh[:1]) if m > n else (u[:, :1], vh[1:])
        return wg.real((left * (u @ np.conj(u.T))).sum() + (right * (np.conj(vh.T) @ vh)).sum())

    check_derivatives(f, [normal(shape, 8, dtype)], [0])
    both_modes(f, normal(shape, 8, dtype))


def test_vectors_without_a_component_that_is_held_real():
    """NumPy's vectors for wide complex matrices; the absolute values are the same in any gauge."""
    check_derivatives(
        lambda a: [np.abs(x) for x in np.linalg.svd(a, full_matrices=False)], [normal((2, 9), 3, complex)], [0]
    )


# Pseudo-inverse and least squares


# Norms and condition numbers


@pytest.mark.parametrize("ord", [2, -2, "nuc"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 4), None), ((4, 3), (1, 0)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (-1, 1))]
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_by_singular_values(ord, shape, axis, keepdims):
    a = normal(shape, 3)
    f = lambda a: linalg.norm(a, ord, axis, keepdims)
    np.testing.assert_allclose(f(wg.tensor(a)).numpy(), np.linalg.norm(a, ord, axis, keepdims))
    check_derivatives(f, [a], [0])
    check_derivatives(f, [normal(shape, 4, complex)], [0])


@pytest.mark.parametrize("p", [None, 2, -2, "fro", 1, -1, np.inf, -np.inf, "nuc"])
def test_condition_numbers(p):
    a = normal((2, 3, 3), 5)
    np.testing.assert_allclose(np.linalg.cond(wg.tensor(a), p).numpy(), np.linalg.cond(a, p))
    check_derivatives(lambda a: np.linalg.cond(a, p), [a], [0], rtol=1e-6)


def test_condition_numbers_of_rectangles():
    check_derivatives(np.linalg.cond, [normal((4, 3), 5)], [0])


# In other modes


def test_batches_and_compiled_code():
    a, b = normal((5, 3, 3), 1), normal((5, 3, 2), 2)

    def f(a, b):
        w, v = np.linalg.eigh(a)
        u, s, vh = np.linalg.svd(a)
        x, remains, _, _ = np.linalg.lstsq(a[:, :2], b)
        return (
            w,
            v @ v.T,
            (u * s) @ vh,
            np.linalg.pinv(a),
            x,
            remains,
            np.linalg.norm(a, "nuc"),
            np.abs(np.linalg.eigvals(a)).sum(),
        )

    expected = [np.stack(parts) for parts in zip(*[f(*pair) for pair in zip(a, b, strict=True)], strict=True)]
    for found in (wg.vmap(f)(a, b), wg.vmap(wg.compile(f))(a, b), wg.compile(wg.vmap(f))(a, b)):
        for y, z in zip(found, expected, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-11)


def test_hessians_agree_in_every_mix_of_modes():
    a = normal((3, 3), 6)
    f = lambda a: np.linalg.svdvals(a)[0] * np.linalg.eigvalsh(a)[1] + np.linalg.pinv(a)[0, 1]
    forward, reverse = wg.jacfwd(wg.jacfwd(f))(a), wg.jacrev(wg.jacrev(f))(a)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(wg.hessian(wg.compile(f))(a), reverse, rtol=1e-9, atol=1e-9)


def test_coinciding_values_compiled():
    a = with_eigenvalues([2.0, 2.0, 5.0])
    g = wg.grad(lambda a: (np.linalg.eigvalsh(a) ** 2).sum() + linalg.norm(a, "nuc"))
    np.testing.assert_allclose(wg.compile(g)(a), g(a), atol=1e-12)
