"""Systems of equations, determinants and factors: values against NumPy and SciPy, derivatives against differences and
high precision.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
import sympy
from tests.ops.checks import normal
from tests.oracle import check_derivatives, random_weights, weighted
from tests.test_modes import directions, gradients, push_forward, taylor_coefficients
from tests.test_table import several

import wengert as wg
from wengert import linalg
from wengert.ops.linear_algebra import cholesky, factorizations, systems, triangular

SHAPES = [(3, 3), (1, 1), (2, 3, 3), (2, 1, 2, 2)]
DTYPES = [np.float64, np.complex128]


def invertible(shape, dtype=np.float64, seed=0):
    return (
        normal(shape, seed, dtype) + np.asarray(3 * np.eye(shape[-1]), dtype) * np.array([1, -1, 1, -1, 1])[: shape[-1]]
    )


def positive(shape, dtype=np.float64, seed=0):
    x = normal(shape, seed, dtype)
    return x @ x.conj().swapaxes(-1, -2) + np.asarray(2 * np.eye(shape[-1]), dtype)


def of_hermitian(f):
    """A function of a Hermitian matrix as a function of any: what stands in each triangle matters."""
    return lambda x, *rest: f(x @ triangular.adjoint(x) + np.asarray(2 * np.eye(x.shape[-1]), x.dtype), *rest)


def agree(found, expected, rtol=1e-12):
    assert len(several(found)) == len(several(expected))
    for y, z in zip(several(found), several(expected), strict=True):
        assert (y.shape, y.dtype) == (np.shape(z), np.asarray(z).dtype)
        np.testing.assert_allclose(y.detach().numpy() if isinstance(y, wg.Tensor) else y, z, rtol=rtol, atol=rtol)


def loss(f, args):
    """A real number that depends on every element of what f gives."""
    return weighted(f, random_weights(lambda *a: several(f(*a)), args))


def product_of_complete(a):
    q, r = factorizations.qr(a, "complete")
    basis = q[..., a.shape[-1] :]
    return q[..., : a.shape[-1]], r, basis @ triangular.adjoint(basis)


def lu_factors(a):
    return factorizations.lu(a)[1:]


M, S, W, T = invertible((3, 3)), invertible((2, 3, 3), seed=1), normal((3, 5), 2), normal((2, 4, 2), 3)
B = normal((3, 2), 4)
FUNCTIONS = {
    "solve a vector": (systems.solve, np.linalg.solve, (M, B[:, 0])),
    "solve a matrix": (systems.solve, np.linalg.solve, (M, B)),
    "solve stacks": (systems.solve, np.linalg.solve, (M, normal((2, 1, 3, 2), 5))),
    "solve stacks of matrices": (systems.solve, np.linalg.solve, (S[:, None], B)),
    "solve a vector by a stack": (systems.solve, np.linalg.solve, (S, B[:, 0])),
    "inv": (systems.inv, np.linalg.inv, (S,)),
    "det": (systems.det, np.linalg.det, (M,)),
    "det of a stack": (systems.det, np.linalg.det, (S,)),
    "logabsdet": (lambda a: systems.slogdet(a).logabsdet, lambda a: np.linalg.slogdet(a)[1], (M,)),
    "logabsdet of a stack": (lambda a: systems.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1], (S,)),
    "cholesky": (of_hermitian(cholesky.cholesky), of_hermitian(np.linalg.cholesky), (M,)),
    "cholesky, upper": (
        of_hermitian(lambda a: cholesky.cholesky(a, upper=True)),
        of_hermitian(lambda a: np.linalg.cholesky(a, upper=True)), (S,),
    ),
    "cho_solve": (
        of_hermitian(lambda a, b: cholesky.cho_solve((cholesky.cholesky(a), True), b)), of_hermitian(np.linalg.solve),
        (M, B),
    ),
    "cho_solve, upper": (
        of_hermitian(lambda a, b: cholesky.cho_solve((cholesky.cholesky(a, upper=True), False), b)),
        of_hermitian(np.linalg.solve),
        (S, B[:, 0]),
    ),
    "lu": (lu_factors, lambda a: scipy.linalg.lu(a)[1:], (M[::-1],)),
    "lu, wide": (lu_factors, lambda a: scipy.linalg.lu(a)[1:], (W,)),
    "lu, tall stack": (lu_factors, lambda a: scipy.linalg.lu(a)[1:], (T,)),
    "lu, permute_l": (lambda a: factorizations.lu(a, permute_l=True), lambda a: scipy.linalg.lu(a, permute_l=True),
    (S,)),
    "qr": (factorizations.qr, np.linalg.qr, (M,)),
    "qr, wide": (factorizations.qr, np.linalg.qr, (W,)),
    "qr, tall stack": (factorizations.qr, np.linalg.qr, (T,)),
    "qr, complete": (product_of_complete, product_of_complete, (T,)),
    "qr, complete and wide": (lambda a: factorizations.qr(a, "complete"), lambda a: np.linalg.qr(a, "complete"), (W,)),
    "R": (lambda a: factorizations.qr(a, "r"), lambda a: np.linalg.qr(a, "r"), (T,)),
    "matrix_power": (lambda a: linalg.matrix_power(a, -3), lambda a: np.linalg.matrix_power(a, -3), (S,)),
}  # fmt: skip
for _trans in (0, 1, 2, "C"):
    for _lower in (False, True):
        FUNCTIONS[f"solve_triangular {_trans} {_lower}"] = (
            lambda a, b, trans=_trans, lower=_lower: triangular.solve_triangular(a, b, trans, lower, trans == 1),
            lambda a, b, trans=_trans, lower=_lower: scipy.linalg.solve_triangular(a, b, trans, lower, trans == 1),
            (M, B[:, 0] if _lower else B),
        )  # fmt: skip

every = pytest.mark.parametrize(("f", "reference", "args"), FUNCTIONS.values(), ids=FUNCTIONS)


def as_complex(args):
    return tuple(a + 0.5j * normal(a.shape, 9 + i) for i, a in enumerate(args))


@every
def test_values_and_derivatives(f, reference, args):
    agree(f(*map(wg.tensor, args)), reference(*args))
    agree(f(*args), reference(*args))
    check_derivatives(lambda *a: several(f(*a)), args, range(len(args)))


@every
def test_complex(f, reference, args):
    args = as_complex(args)
    agree(f(*map(wg.tensor, args)), reference(*args))
    check_derivatives(lambda *a: several(f(*a)), args, range(len(args)))


@every
def test_float32(f, reference, args):
    args32 = [a.astype(np.float32) for a in args]
    tensors = [wg.tensor(a, requires_grad=True) for a in args32]
    outs = several(f(*tensors))
    agree(outs, [np.asarray(z, np.float32) for z in several(reference(*args))], rtol=2e-3)
    wg.autograd.backward(outs, [np.ones(out.shape, np.float32) for out in outs])
    assert {x.grad.dtype for x in tensors} == {np.dtype(np.float32)}


@every
@pytest.mark.parametrize("dtype", ["real", "complex"])
def test_modes_agree(f, reference, args, dtype):
    args = args if dtype == "real" else as_complex(args)
    g, live = loss(f, args), range(len(args))
    v, w = directions(args, live), directions(args, live, seed=3)
    slope = lambda *a: sum(wg.real((c * v[i]).sum()) for i, c in gradients(g, a, live).items())
    push = lambda *a: push_forward(g, a, v)[1]
    np.testing.assert_allclose(push(*args), slope(*args), rtol=1e-11, atol=1e-11)
    mixed = [push_forward(push, args, w)[1], push_forward(slope, args, w)[1]]
    mixed += [sum(wg.real((c * w[i]).sum()) for i, c in gradients(h, args, live).items()) for h in (push, slope)]
    np.testing.assert_allclose(mixed[1:], [mixed[0]] * 3, rtol=1e-9, atol=1e-9)
    terms = taylor_coefficients(g, args, {i: 0.1 * s for i, s in v.items()}, 5)
    line = lambda tau: g(*[a + 0.1 * tau * v[i] for i, a in enumerate(args)])
    np.testing.assert_allclose(np.polyval(terms[::-1], 0.05), line(0.05), rtol=1e-8)


@every
def test_batched(f, reference, args):
    stacks = [np.stack([a, a + 0.1 * normal(a.shape, 7), 1.5 * a]) for a in args]
    run = lambda *a: tuple(several(f(*a)))
    expected = [np.stack(rows) for rows in zip(*[run(*row) for row in zip(*stacks, strict=True)], strict=True)]
    agree(wg.vmap(run)(*stacks), tuple(expected), rtol=1e-10)
    g = wg.grad(loss(f, args), tuple(range(len(args))))
    expected = [np.stack(rows) for rows in zip(*[g(*row) for row in zip(*stacks, strict=True)], strict=True)]
    agree(wg.vmap(g)(*stacks), tuple(expected), rtol=1e-9)


@every
def test_compiled(f, reference, args):
    run = lambda *a: tuple(several(f(*a)))
    agree(wg.compile(run)(*args), reference(*args))
    g = wg.grad(loss(f, args), tuple(range(len(args))))
    agree(wg.compile(g)(*args), g(*args), rtol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "qr"])
def test_through_numpy(name, shape, dtype):
    x = positive(shape, dtype) if name == "cholesky" else invertible(shape, dtype)
    found, expected = getattr(np.linalg, name)(wg.tensor(x)), getattr(np.linalg, name)(x)
    agree(found, expected)
    if isinstance(expected, tuple):
        assert found._fields == expected._fields


def test_solve_through_numpy():
    for a, b in ((wg.tensor(M), B), (M, wg.tensor(B)), (wg.tensor(M), wg.tensor(B))):
        agree(np.linalg.solve(a, b), np.linalg.solve(M, B))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_empty(shape):
    x = np.zeros(shape)
    for name in ("inv", "det", "cholesky", "slogdet"):
        agree(getattr(np.linalg, name)(wg.tensor(x)), getattr(np.linalg, name)(x))
    agree(np.linalg.solve(wg.tensor(x), np.zeros((0, 3))), np.zeros((*shape[:-1], 3)))
    y = wg.tensor(x, requires_grad=True)
    np.linalg.det(y).sum().backward()
    assert y.grad.shape == shape


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "qr"])
def test_integers(name):
    x = np.array([[4, 1], [1, 3]])
    agree(getattr(np.linalg, name)(wg.tensor(x)), getattr(np.linalg, name)(x))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (3, 2), (2, 4, 3)])
def test_permutations_of_lu(shape):
    a = normal(shape, 8)
    agree(factorizations.lu(wg.tensor(a)), scipy.linalg.lu(a))
    np.testing.assert_array_equal(
        factorizations.lu(wg.tensor(a), p_indices=True)[0].numpy(), scipy.linalg.lu(a, p_indices=True)[0]
    )
    p, ell, u = factorizations.lu(wg.tensor(a))
    np.testing.assert_allclose((p @ ell @ u).numpy(), a, atol=1e-14)


def test_rows_that_tie_are_kept_in_order():
    a = np.array([[1.0, 2.0, 1.0], [-1.0, 1.0, 3.0], [1.0, -1.0, 2.0]])
    p, ell, u = factorizations.lu(wg.tensor(a))
    agree((p, ell, u), scipy.linalg.lu(a))


def test_elimination_in_an_order_that_is_not_the_pivots():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(factorizations._lu(x), [[1.0, 2.0], [3.0, -2.0]])


def rank(r, n, seed=0):
    return normal((n, r), seed) @ normal((r, n), seed + 1)


@pytest.mark.parametrize(
    "x", [np.diag([2.0, 3.0, 0.0]), rank(2, 3), rank(1, 3), np.zeros((3, 3)), rank(3, 3), np.array([[0.0]])]
)
def test_gradient_of_det_is_the_matrix_of_cofactors_at_every_rank(x):
    exact = np.array(sympy.Matrix(sympy.Matrix(x.tolist()).applyfunc(sympy.Rational)).adjugate().T.tolist(), float)
    np.testing.assert_allclose(wg.grad(systems.det)(x), exact, atol=1e-13)
    v = normal(x.shape, 4)
    np.testing.assert_allclose(push_forward(systems.det, [x], {0: v})[1], (exact * v).sum(), atol=1e-13)


def test_gradient_of_a_stack_with_a_singular_matrix_and_of_a_complex_one():
    x = np.stack([M, rank(2, 3)])
    expected = np.stack([wg.grad(systems.det)(y) for y in x])
    np.testing.assert_allclose(wg.grad(lambda x: systems.det(x).sum())(x), expected, atol=1e-13)
    singular = np.outer([1.0, 2j, 1 + 1j], [1.0, 0.5, -1j]) + np.diag([1.0, 0.0, 0.0])
    check_derivatives(systems.det, [singular], [0], orders=1)


def test_gradient_of_det_of_what_is_not_a_number():
    x = M.copy()
    x[0, 0] = np.nan
    with np.errstate(invalid="ignore"):
        assert np.isnan(wg.grad(systems.det)(x)).any()


def test_second_derivative_of_det_where_there_is_no_inverse():
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        wg.hessian(systems.det)(np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_direction_of_a_determinant(dtype):
    x = invertible((3, 3), dtype, seed=6)
    check_derivatives(lambda a: systems.slogdet(a).sign, [x], [0])
    agree(systems.slogdet(wg.tensor(x)), np.linalg.slogdet(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_slogdet_of_a_singular_matrix(dtype):
    x = np.zeros((2, 2), dtype)
    agree(systems.slogdet(wg.tensor(x)), np.linalg.slogdet(x))


@pytest.mark.parametrize("n", [4, 7])
def test_logdet_and_solve_of_a_hilbert_matrix_to_50_digits(n):
    x = scipy.linalg.hilbert(n)
    with mpmath.workdps(50):
        exact = mpmath.inverse(mpmath.matrix(x.tolist()))
        inverse = np.array(exact.tolist(), float)
    condition = np.linalg.cond(x)
    found = wg.grad(lambda a: systems.slogdet(a).logabsdet)(x)
    np.testing.assert_allclose(found, inverse.T, rtol=condition * 1e-15)
    b = normal((n,), 1)
    found = wg.grad(lambda b: systems.solve(x, b).sum())(b)
    np.testing.assert_allclose(found, inverse.sum(0), rtol=condition * 1e-15, atol=condition * 1e-15)


def test_coefficients_of_an_inverse():
    """(A + tB)^-1 is the sum of t^k (-A^-1 B)^k A^-1."""
    a, b = M, normal((3, 3), 5)
    inverse = np.linalg.inv(a)
    expected = [np.linalg.matrix_power(-inverse @ b, k) @ inverse for k in range(7)]
    for f in (systems.inv, lambda x: systems.solve(x, np.eye(3))):
        np.testing.assert_allclose(taylor_coefficients(f, [a], {0: b}, 6), expected, rtol=1e-11, atol=1e-12)


def test_jacobians_of_one_solution_in_each_argument():
    """Batches of tangents and of cotangents, beside a matrix that is no batch."""
    inverse, x = np.linalg.inv(M), np.linalg.solve(M, B[:, 0])
    for jacobian in (wg.jacrev, wg.jacfwd):
        by_a, by_b = jacobian(systems.solve, (0, 1))(M, B[:, 0])
        np.testing.assert_allclose(by_b, inverse, atol=1e-14)
        np.testing.assert_allclose(by_a, -np.einsum("ij,k->ijk", inverse, x), atol=1e-14)


def test_one_factorisation_serves_a_solution_and_its_derivatives(monkeypatch):
    runs = []
    getrf = triangular.lapack("getrf", "d")
    monkeypatch.setattr(systems, "lapack", lambda name, char: counted(name, char, runs))

    def counted(name, char, runs):
        runs.append(name)
        return getrf if name == "getrf" else triangular.lapack(name, char)

    a, b = wg.tensor(M, requires_grad=True), wg.tensor(B, requires_grad=True)
    y = systems.solve(a, b).sum()
    (g,) = wg.autograd.grad(y, [a], create_graph=True)
    g.sum().backward()
    assert runs.count("getrf") == 1
    assert runs.count("getrs") > 3


def test_cholesky_reads_one_triangle_and_its_derivative_is_there():
    x = positive((3, 3))
    spoiled = x + np.triu(np.full((3, 3), 100.0), 1)
    g = wg.grad(lambda a: cholesky.cholesky(a).sum())
    np.testing.assert_array_equal(g(spoiled), g(x))
    np.testing.assert_array_equal(np.triu(g(x), 1), 0)
    np.testing.assert_array_equal(np.tril(wg.grad(lambda a: cholesky.cholesky(a, upper=True).sum())(x), -1), 0)


def test_cholesky_of_a_matrix_that_is_symmetric_for_all_arguments():
    """By implicit differentiation of the equations: sum of the squares of L is the trace of A, with gradient the
    identity.
    """
    x = positive((4, 4))
    found = wg.grad(lambda a: (cholesky.cholesky((a + a.T) / 2) ** 2).sum())(x)
    np.testing.assert_allclose(found, np.eye(4), atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 2), (2, 3, 1), (3, 3), (2, 4)])
def test_complete_qr_is_orthogonal_to_second_order(shape, dtype):
    a, v = normal(shape, 0, dtype), normal(shape, 1, dtype)
    found = factorizations.qr(wg.tensor(a), "complete")
    agree(found, np.linalg.qr(a, "complete"))

    def identities(x):
        q, r = factorizations.qr(x, "complete")
        return triangular.adjoint(q) @ q, q @ r

    for k, expected in ((0, (0.0, 1.0)), (1, (0.0, 0.0))):
        for i, scale in enumerate(expected):
            terms = taylor_coefficients(lambda x, i=i: identities(x)[i], [a], {0: v}, 2)
            np.testing.assert_allclose(terms[k + 1], scale * v if scale else 0 * terms[k + 1], atol=1e-11)


@pytest.mark.parametrize(
    "a", [np.outer([1.0, 2.0, 3.0], [1.0, 2.0]), np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0]]), np.zeros((2, 2))]
)
def test_qr_of_dependent_columns_has_no_derivative(a):
    f = lambda a: sum(y.sum() for y in factorizations.qr(a))
    agree(factorizations.qr(wg.tensor(a)), np.linalg.qr(a))
    with pytest.raises(np.linalg.LinAlgError, match=r"linearly dependent.*test_factorizations\.py"):
        wg.grad(f)(a)
    with pytest.raises(np.linalg.LinAlgError, match="linearly dependent"):
        push_forward(f, [a], {0: np.ones(a.shape)})


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 2), (5, 3), (40, 20), (2000, 4)])
def test_qr_sees_dependent_columns_whatever_is_rounded(rows, columns):
    """And columns of very different lengths are not dependent."""
    for seed in range(20):
        a = normal((rows, columns), seed) * np.exp(3.0 * normal((columns,), seed + 100))
        f = lambda a: factorizations.qr(a)[1].sum()
        slopes = wg.grad(f)(a * 1e-20 ** np.arange(columns)) if columns < 6 else wg.grad(f)(a)
        assert np.isfinite(slopes).all()
        j = 1 + seed % (columns - 1)
        a[:, j] = a[:, :j] @ normal((j,), seed + 200)
        with pytest.raises(np.linalg.LinAlgError, match="linearly dependent"):
            wg.grad(f)(a)


def test_lu_of_a_singular_matrix():
    a = np.array([[4.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 1.5, 0.5]])
    check_derivatives(lu_factors, [a], [0])
    det = lambda a: np.prod(np.diagonal(factorizations.lu(a)[2]))
    np.testing.assert_allclose(wg.grad(det)(a), wg.grad(systems.det)(a), atol=1e-14)


def test_negative_powers_undo_positive_ones():
    f = lambda a: linalg.matrix_power(a, -2) @ linalg.matrix_power(a, 2)
    np.testing.assert_allclose(push_forward(f, [M], {0: normal((3, 3), 1)})[1], 0, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: np.linalg.solve(x[:2], np.ones(2)), np.linalg.LinAlgError, "solve needs square"),
        (lambda x: np.linalg.solve(x, np.ones(2)), ValueError, "do not match"),
        (lambda x: np.linalg.solve(x, 1.0), ValueError, "at least one axis"),
        (lambda x: np.linalg.solve(x * 0, np.ones(3)), np.linalg.LinAlgError, "Singular"),
        (lambda x: np.linalg.inv(x[0]), np.linalg.LinAlgError, "inv needs square"),
        (lambda x: np.linalg.inv(x * 0), np.linalg.LinAlgError, "Singular"),
        (lambda x: np.linalg.cholesky(-x @ x.T), np.linalg.LinAlgError, "not positive definite"),
        (lambda x: np.linalg.qr(x[0]), np.linalg.LinAlgError, "two axes"),
        (lambda x: np.linalg.qr(x, "raw"), ValueError, "mode"),
        (lambda x: triangular.solve_triangular(x * 0, np.ones(3)), np.linalg.LinAlgError, "zero at index 0"),
        (lambda x: triangular.solve_triangular(x, np.ones(3), 3), ValueError, "trans"),
        (lambda x: triangular.solve_triangular(x, np.full(3, np.nan)), ValueError, "infs or NaNs"),
        (lambda x: cholesky.cho_solve((x, True), np.full(3, np.inf)), ValueError, "infs or NaNs"),
        (lambda x: factorizations.lu(x[0]), ValueError, "two axes"),
        (lambda x: np.linalg.det(x.astype(np.float16)), TypeError, "float16"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(wg.tensor(M, requires_grad=True))
