"""Sparse matrices and linear operators as operands: against SciPy and dense matrices, in every mode."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from tests.fresh_python import run_python
from tests.oracle import check_derivatives

import wengert as wg

RNG = np.random.default_rng(0)
S = sp.random_array((6, 5), density=0.4, rng=RNG, format="csr")
DENSE = S.toarray()
SQUARE = sp.csr_array(sp.random_array((5, 5), density=0.3, rng=RNG) + 3 * sp.eye_array(5))
X, Y = RNG.normal(size=5), RNG.normal(size=6)
XS, YS = RNG.normal(size=(5, 3)), RNG.normal(size=(6, 3))
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]


class TestScipyMatrices:
    @pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
    @pytest.mark.parametrize("format", FORMATS)
    def test_products(self, format, kind):
        matrix = kind(S).asformat(format)
        for product, x, expected in (
            (lambda x: matrix @ x, X, DENSE @ X),
            (lambda x: matrix @ x, XS, DENSE @ XS),
            (lambda x: x @ matrix, Y, Y @ DENSE),
            (lambda x: x @ matrix, YS.T, YS.T @ DENSE),
            (lambda x: matrix.T @ x, YS, DENSE.T @ YS),
            (lambda x: matrix.dot(x), X, DENSE @ X),
        ):
            found = product(wg.tensor(x))
            assert isinstance(found, wg.Tensor)
            np.testing.assert_allclose(found.numpy(), expected, atol=1e-14)

    def test_duplicates_and_unsorted_columns(self):
        matrix = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
        np.testing.assert_array_equal((matrix @ wg.tensor([1.0, 10.0, 100.0])).numpy(), [502.0])
        assert matrix.nnz == 3  # it is not changed

    @pytest.mark.parametrize("x", [X, XS], ids=["vector", "matrix"])
    def test_derivatives(self, x):
        check_derivatives(lambda x: np.sin(S @ x), [x], [0])
        check_derivatives(lambda x: np.sin(x @ S.T), [x.T], [0])

    def test_transforms(self):
        f = lambda x: ((S @ x) ** 3).sum()
        np.testing.assert_allclose(wg.grad(f)(X), DENSE.T @ (3 * (DENSE @ X) ** 2))
        np.testing.assert_allclose(wg.hessian(f)(X), DENSE.T @ np.diag(6 * (DENSE @ X)) @ DENSE)
        np.testing.assert_allclose(wg.jvp(lambda x: S @ x, (X,), (X**2,))[1], DENSE @ X**2)
        np.testing.assert_allclose(wg.vmap(lambda x: S @ x)(XS.T), XS.T @ DENSE.T)
        np.testing.assert_allclose(wg.vmap(lambda x: S @ x)(np.stack([XS, 2 * XS]))[1], 2 * DENSE @ XS)
        np.testing.assert_allclose(wg.taylor(lambda t: S @ (X * t**2), 1.0, 2)[2], DENSE @ X)

    def test_patterns(self):
        np.testing.assert_array_equal(wg.sparsity(lambda x: S @ np.sin(x), X).toarray(), DENSE != 0)
        np.testing.assert_array_equal(wg.sparsity(lambda y: y @ S, Y).toarray(), DENSE.T != 0)
        matrix = wg.sparse(S)
        found = wg.sparsity(lambda data: matrix.with_data(data) @ X, matrix.data).toarray()
        np.testing.assert_array_equal(found.sum(1), (DENSE != 0).sum(1))

    def test_dtypes(self):
        assert (S.astype(np.float32) @ wg.tensor(X.astype(np.float32))).dtype == np.float32
        assert (S @ wg.tensor(X.astype(np.float32))).dtype == np.float64
        assert (sp.csr_array(DENSE > 0) @ wg.tensor(X)).dtype == np.float64
        z = X + 1j * X[::-1]
        np.testing.assert_allclose((S @ wg.tensor(z)).numpy(), DENSE @ z)
        check_derivatives(lambda z: S @ z**2, [z], [0])

    def test_errors(self):
        x = wg.tensor(X, requires_grad=True)
        with pytest.raises(ValueError, match=r"shape \(5, 6\) and an array of shape \(5,\), at .*test_sparse_matrix"):
            S.T @ x
        for operation in (lambda: x * S, lambda: x + S, lambda: x - wg.sparse(S)):
            with pytest.raises(TypeError, match="Sparse matrices are operands of @"):
                operation()


class TestSparseMatrix:
    def product(self, data, x, transposed=False):
        matrix = wg.sparse(S).with_data(data)
        return (matrix.T if transposed else matrix) @ x

    @pytest.mark.parametrize("x", [X, XS], ids=["vector", "matrix"])
    def test_derivatives(self, x):
        check_derivatives(lambda data, x: self.product(data, x) ** 2, [S.data, x], [0, 1])
        y = Y if x is X else YS
        check_derivatives(lambda data, y: self.product(data, y, True) ** 2, [S.data, y], [0, 1])

    def test_is_a_tree(self):
        matrix = wg.sparse(S)
        gradient = wg.grad(lambda m: ((m @ X) ** 2).sum())(matrix)
        assert isinstance(gradient, wg.SparseMatrix)
        np.testing.assert_allclose(gradient.toarray(), 2 * np.outer(DENSE @ X, X) * (DENSE != 0))
        stepped = wg.tree.map(lambda p, g: p - 0.1 * g, matrix, gradient)
        np.testing.assert_allclose(stepped.data, matrix.data - 0.1 * gradient.data)
        turned = wg.grad(lambda m: ((m @ Y) ** 2).sum())(matrix.T)
        assert turned.shape == (5, 6)
        np.testing.assert_allclose(turned.toarray(), 2 * np.outer(DENSE.T @ Y, Y) * (DENSE.T != 0))

    def test_on_the_tape(self):
        data = wg.tensor(S.data, requires_grad=True)
        ((wg.sparse(S).with_data(data) @ X) ** 2).sum().backward()
        rows, columns = DENSE.nonzero()
        np.testing.assert_allclose(data.grad.numpy(), (2 * np.outer(DENSE @ X, X))[rows, columns])

    @pytest.mark.parametrize("both", [True, False])
    def test_batches_of_elements(self, both):
        data = RNG.normal(size=(3, S.nnz))
        vectors = RNG.normal(size=(3, 5))
        f = lambda d, x: (self.product(d, np.sin(x)) ** 2).sum()
        axes = (0, 0) if both else (0, None)
        x = vectors if both else vectors[0]
        found = wg.vmap(wg.grad(f, (0, 1)), in_axes=axes)(data, x)
        for i in range(3):
            expected = wg.grad(f, (0, 1))(data[i], vectors[i] if both else x)
            np.testing.assert_allclose(found[0][i], expected[0], rtol=1e-12)
            np.testing.assert_allclose(found[1][i], expected[1], rtol=1e-12)

    def test_from_triplets(self):
        rows, columns = np.array([2, 0, 2, 1]), np.array([1, 0, 1, 2])
        values = np.array([1.0, 2.0, 3.0, 4.0])
        matrix = wg.sparse((values, (rows, columns)), (4, 3))
        np.testing.assert_array_equal(matrix.toarray(), sp.coo_array((values, (rows, columns)), (4, 3)).toarray())
        assert len(matrix.data) == 3
        weights = np.array([1.0, 10.0, 100.0])
        found = wg.grad(lambda v: (wg.sparse((v, (rows, columns))) @ weights).sum())(values)
        np.testing.assert_array_equal(found, weights[columns])
        unique = wg.sparse((values[1:], (rows[1:], columns[1:])))
        assert unique.shape == (3, 3)
        np.testing.assert_array_equal(unique.toarray()[rows[1:], columns[1:]], values[1:])

    def test_operators(self):
        matrix = wg.sparse(S)
        np.testing.assert_allclose(Y @ matrix, Y @ DENSE)
        np.testing.assert_allclose(X @ matrix.T, DENSE @ X)
        np.testing.assert_allclose((2.0 * matrix @ X, -matrix @ X), (2 * DENSE @ X, -DENSE @ X))
        np.testing.assert_array_equal(matrix.T.tocsr().toarray(), DENSE.T)
        assert repr(matrix) == f"<sparse matrix 6 x 5, {S.nnz} elements, float64>"
        assert wg.sparse(matrix) is matrix
        with pytest.raises(TypeError, match="times an array"):
            matrix * X

    def test_errors(self):
        with pytest.raises(ValueError, match=f"has {S.nnz} elements"):
            wg.sparse(S).with_data(np.ones(3))
        with pytest.raises(TypeError, match="takes a matrix of scipy.sparse"):
            wg.sparse(DENSE)
        with pytest.raises(ValueError, match="no element at one of the positions"):
            wg.sparse((np.ones(1), ([3], [0])), (2, 2))
        with pytest.raises(ValueError, match="Values, rows and columns of shapes"):
            wg.sparse((np.ones(2), ([3], [0])))


class TestCompiled:
    def test_is_native_and_has_the_same_bits(self):
        matrix = wg.sparse(S)
        for f, args in (
            (lambda x: S @ x, (X,)),
            (lambda x: S @ x, (XS,)),
            (lambda y: y @ S, (Y,)),
            (lambda y: S.T @ y, (YS,)),
            (lambda m, x: m @ x, (matrix, X)),
        ):
            compiled = wg.compile(f)
            np.testing.assert_array_equal(compiled(*args), np.asarray(f(*map(tracked, args))))
            assert not compiled.report(*args).fallbacks

    def test_gradients(self):
        f = lambda m, x: ((m @ np.sin(x)) ** 2).sum()
        compiled = wg.compile(wg.grad(f, (0, 1)))
        expected = wg.grad(f, (0, 1))(wg.sparse(S), X)
        found = compiled(wg.sparse(S), X)
        np.testing.assert_allclose(found[0].data, expected[0].data, rtol=1e-14)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)
        assert not compiled.report(wg.sparse(S), X).fallbacks
        stacked = wg.compile(wg.vmap(wg.grad(lambda x: ((S @ x) ** 2).sum())))(XS.T)
        np.testing.assert_allclose(stacked, XS.T @ (2 * DENSE.T @ DENSE), rtol=1e-12)

    def test_other_positions_are_another_program(self):
        f = wg.compile(lambda m, x: m @ x)
        for matrix in (S, sp.csr_array(np.roll(DENSE, 1, axis=1)), S):
            np.testing.assert_allclose(f(wg.sparse(matrix), X), matrix @ X)

    def test_empty(self):
        nothing = sp.csr_array((3, 5))
        np.testing.assert_array_equal(wg.compile(lambda x: nothing @ x)(X), np.zeros(3))
        np.testing.assert_array_equal(wg.grad(lambda x: (nothing @ x).sum())(X), np.zeros(5))


def tracked(x):
    return x if isinstance(x, wg.SparseMatrix) else wg.tensor(x)


class TestSystems:
    @pytest.mark.parametrize("format", ["csr", "csc", "coo"])
    def test_values(self, format):
        matrix = SQUARE.asformat(format)
        for b in (X, XS):
            np.testing.assert_allclose(wg.linalg.solve(matrix, b), np.linalg.solve(SQUARE.toarray(), b), rtol=1e-12)
            found = wg.linalg.solve(matrix.T, wg.tensor(b)).numpy()
            np.testing.assert_allclose(found, np.linalg.solve(SQUARE.toarray().T, b), rtol=1e-12)

    @pytest.mark.parametrize("transposed", [False, True])
    @pytest.mark.parametrize("b", [X, XS], ids=["vector", "matrix"])
    def test_derivatives(self, b, transposed):
        def solve(data, b):
            matrix = wg.sparse(SQUARE).with_data(data)
            return np.sin(wg.linalg.solve(matrix.T if transposed else matrix, b))

        check_derivatives(solve, [SQUARE.data, b], [0, 1])
        expected = wg.jvp(solve, (SQUARE.data, b), (SQUARE.data**2, b**2))[1]
        h = 1e-6
        differences = solve(SQUARE.data + h * SQUARE.data**2, b + h * b**2)
        differences -= solve(SQUARE.data - h * SQUARE.data**2, b - h * b**2)
        np.testing.assert_allclose(expected, differences / (2 * h), rtol=1e-6, atol=1e-9)

    def test_batches(self):
        np.testing.assert_allclose(
            wg.vmap(lambda b: wg.linalg.solve(SQUARE, b))(XS.T), np.linalg.solve(SQUARE.toarray(), XS).T, rtol=1e-12
        )
        data = SQUARE.data * np.array([[1.0], [2.0]])
        found = wg.vmap(lambda d: wg.linalg.solve(wg.sparse(SQUARE).with_data(d), X))(data)
        expected = np.linalg.solve(SQUARE.toarray(), X)
        np.testing.assert_allclose(found, [expected, expected / 2], rtol=1e-12)

    def test_compiled(self):
        f = lambda m, b: (wg.linalg.solve(m, np.sin(b)) ** 2).sum()
        matrix = wg.sparse(SQUARE)
        found, expected = wg.compile(wg.grad(f, (0, 1)))(matrix, X), wg.grad(f, (0, 1))(matrix, X)
        np.testing.assert_allclose(found[0].data, expected[0].data, rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)

    def test_elements_changed_in_place(self):
        matrix = sp.csr_array(SQUARE, copy=True)
        wg.linalg.solve(matrix, X)
        matrix.data *= 2
        np.testing.assert_allclose(wg.linalg.solve(matrix, X), np.linalg.solve(2 * SQUARE.toarray(), X), rtol=1e-12)

    def test_errors(self):
        with pytest.raises(np.linalg.LinAlgError, match=r"singular, at .*test_sparse_matrix.py"):
            wg.linalg.solve(sp.csr_array(np.diag([1.0, 0.0])), np.ones(2))
        with pytest.raises(ValueError, match=r"matrix of shape \(6, 5\)"):
            wg.linalg.solve(S, Y)


class TestLinearOperators:
    OPERATOR = aslinearoperator(DENSE)

    def test_products(self):
        operator = wg.linear_operator(self.OPERATOR)
        np.testing.assert_allclose(operator @ XS, DENSE @ XS)
        np.testing.assert_allclose((Y @ operator, (wg.tensor(Y) @ self.OPERATOR).numpy()), (Y @ DENSE, Y @ DENSE))
        np.testing.assert_allclose(wg.vmap(lambda x: operator @ x)(XS.T), XS.T @ DENSE.T)
        np.testing.assert_allclose((operator.T @ wg.tensor(Y)).numpy(), DENSE.T @ Y)
        assert wg.linear_operator(operator) is operator
        assert operator == operator.T.T
        assert operator != operator.T

    def test_derivatives(self):
        operator = wg.linear_operator(self.OPERATOR)
        check_derivatives(lambda x: np.sin(operator @ x), [X], [0])
        check_derivatives(lambda x: np.sin(x @ operator), [YS.T], [0])
        f = lambda x: ((operator @ x) ** 3).sum()
        np.testing.assert_allclose(wg.hessian(f)(X), DENSE.T @ np.diag(6 * (DENSE @ X)) @ DENSE, atol=1e-12)
        np.testing.assert_allclose(wg.compile(wg.grad(f))(X), wg.grad(f)(X), rtol=1e-12)

    def test_two_operators_in_one_program(self):
        one, other = wg.linear_operator(self.OPERATOR), wg.linear_operator(aslinearoperator(2 * DENSE))
        f = wg.compile(lambda x: (one @ x) * (other @ x))
        np.testing.assert_allclose(f(X), 2 * (DENSE @ X) ** 2)

    def test_errors(self):
        x = wg.tensor(X, requires_grad=True)
        with pytest.raises(wg.TrackedValueError, match=r"A @ x of a LinearOperator \(wg.linear_operator\(A\) @ x"):
            self.OPERATOR @ x
        with pytest.raises(ValueError, match="linear operator of shape"):
            wg.linear_operator(self.OPERATOR) @ wg.tensor(Y)
        one_way = wg.linear_operator(LinearOperator((5, 5), matvec=lambda x: x, dtype=float))
        with pytest.raises(NotImplementedError, match="Give the operator an rmatvec"):
            wg.grad(lambda x: (one_way @ x).sum())(X)
        with pytest.raises(TypeError, match="takes a LinearOperator"):
            wg.linear_operator(DENSE)


def test_scipy_is_not_imported():
    code = (
        "import sys, numpy as np, wengert as wg; x = wg.tensor(np.eye(2), requires_grad=True); x @ x; x @ np.eye(2); "
        "wg.sparse(([1.0], ([0], [0]))); print('scipy' in sys.modules)"
    )
    assert run_python(code).stdout == "False\n"
