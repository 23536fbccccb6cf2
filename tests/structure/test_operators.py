"""Operators against dense derivatives, alone and inside SciPy's methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, cg, eigsh, lsmr, minres, svds
from tests.fresh_python import run_python

import wengert as wg
from wengert.core.errors import GradientError
from wengert.structure.operators import (
    FlatTree,
    fisher_operator,
    gauss_newton_operator,
    hessian_operator,
    jacobian_operator,
)

RNG = np.random.default_rng(11)
INPUTS, TARGETS = RNG.standard_normal((20, 4)), RNG.standard_normal((20, 2))


def layers(*sizes):
    shapes = zip(sizes, sizes[1:], strict=False)
    return [{"w": RNG.standard_normal((a, b)) / np.sqrt(a), "b": 0.1 * RNG.standard_normal(b)} for a, b in shapes]


def outputs(params):
    h = INPUTS
    for i, layer in enumerate(params):
        h = h @ layer["w"] + layer["b"]
        h = np.tanh(h) if i < len(params) - 1 else h
    return h


def loss(params):
    return ((outputs(params) - TARGETS) ** 2).mean()


PARAMS = layers(4, 5, 2)
FLAT = FlatTree(PARAMS, "params")
POINT = FLAT.vector(PARAMS)
ON_VECTORS = lambda f: lambda v: f(FLAT.tree(v))
JACOBIAN = wg.jacobian(ON_VECTORS(lambda p: outputs(p).reshape(-1)))(POINT)
BOTH = pytest.mark.parametrize("compile", [False, True], ids=["recorded", "compiled"])


def check(operator, dense):
    """All products that SciPy may ask for."""
    assert isinstance(operator, LinearOperator)
    assert operator.shape == dense.shape
    assert operator.dtype == dense.dtype
    m, n = dense.shape
    v, u, many, others = (
        RNG.standard_normal(n),
        RNG.standard_normal(m),
        RNG.standard_normal((n, 3)),
        RNG.standard_normal((m, 3)),
    )
    for found, expected in [
        (operator @ v, dense @ v),
        (operator.T @ u, dense.T @ u),
        (operator.H @ u, dense.T @ u),
        (operator @ many, dense @ many),
        (operator.T @ others, dense.T @ others),
        (operator.rmatmat(others), dense.T @ others),
        (operator.matvec(v[:, None]), (dense @ v)[:, None]),
        ((2.0 * operator + operator) @ v, 3.0 * dense @ v),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


class TestProducts:
    @BOTH
    def test_jacobian(self, compile):
        check(jacobian_operator(outputs, PARAMS, compile), JACOBIAN)

    @BOTH
    def test_hessian(self, compile):
        check(hessian_operator(loss, PARAMS, compile), wg.hessian(ON_VECTORS(loss))(POINT))

    @BOTH
    def test_gauss_newton_of_least_squares(self, compile):
        check(gauss_newton_operator(outputs, PARAMS, compile=compile), JACOBIAN.T @ JACOBIAN)

    @BOTH
    def test_gauss_newton_with_a_loss_of_trees(self, compile):
        f = lambda p: {"first": p["a"] ** 2, "second": p["a"].sum() * p["b"]}
        of_value = lambda y: np.exp(y["first"]).sum() * y["second"] ** 2
        x = {"a": np.array([0.5, 1.0]), "b": 0.7}
        flat, out = FlatTree(x, "x"), FlatTree(f(x), "y")
        J = wg.jacobian(lambda v: out.vector(f(flat.tree(v))))(flat.vector(x))
        H = wg.hessian(lambda v: of_value(out.tree(v)))(out.vector(f(x)))
        check(gauss_newton_operator(f, x, of_value, compile), J.T @ H @ J)

    @BOTH
    @pytest.mark.parametrize("family", ["normal", "bernoulli", "poisson", "categorical", None])
    def test_fisher(self, family, compile):
        y = outputs(PARAMS)
        p = np.exp(y - y.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        sigmoid = 1 / (1 + np.exp(-y))
        information = {
            "normal": np.eye(40),
            None: np.eye(40),
            "bernoulli": np.diag((sigmoid * (1 - sigmoid)).reshape(-1)),
            "poisson": np.diag(np.exp(y).reshape(-1)),
            "categorical": np.zeros((40, 40)),
        }[family]
        if family == "categorical":
            for i, row in enumerate(p):
                information[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = np.diag(row) - np.outer(row, row)
        check(fisher_operator(outputs, PARAMS, family, compile), JACOBIAN.T @ information @ JACOBIAN)

    def test_at_another_point_nothing_is_compiled_again(self):
        first = hessian_operator(lambda x: (x**4).sum(), np.ones(3), compile=True)
        assert (first @ np.ones(3)).tolist() == [12.0] * 3
        programs = dict(first.products.native)
        second = first.at(np.array([1.0, 2.0, 3.0]))
        assert (second @ np.ones(3)).tolist() == [12.0, 48.0, 108.0]
        assert second.products.native == programs
        assert (first @ np.ones(3)).tolist() == [12.0] * 3

    def test_the_function_runs_only_when_the_operator_is_made(self):
        runs = []
        J = jacobian_operator(lambda x: [runs.append(1), x**2][1], np.ones(3))
        J @ np.ones(3), J.T @ np.ones(3)
        before = len(runs)
        for _ in range(5):
            J @ np.ones(3), J.T @ np.ones(3), J @ np.eye(3)
        assert len(runs) == before

    def test_trees_of_several_dtypes(self):
        x = {"a": np.ones(2, np.float32), "b": np.float64(2.0)}
        H = hessian_operator(lambda p: (p["a"] ** 3).sum() * p["b"], x)
        assert H.dtype == np.float64
        product = H.tree(H @ H.vector({"a": np.zeros(2), "b": 1.0}))
        assert product["a"].dtype == np.float32
        assert product["a"].tolist() == [3.0, 3.0]
        assert product["b"] == 0.0

    def test_float32_stays(self):
        H = hessian_operator(lambda x: (x**3).sum(), np.ones(2, np.float32))
        assert H.dtype == (H @ np.ones(2)).dtype == np.float32


class TestInsideSciPy:
    def test_cg_minres_and_lsmr(self):
        J = jacobian_operator(outputs, PARAMS)
        damped = gauss_newton_operator(outputs, PARAMS) + LinearOperator(
            (J.shape[1],) * 2, matvec=lambda v: 0.5 * v, dtype=float
        )
        b = RNG.standard_normal(J.shape[1])
        dense = JACOBIAN.T @ JACOBIAN + 0.5 * np.eye(len(b))
        for solve in (cg, minres):
            found, info = solve(damped, b, rtol=1e-12)
            assert info == 0
            np.testing.assert_allclose(found, np.linalg.solve(dense, b), rtol=1e-7, atol=1e-9)
        r = RNG.standard_normal(J.shape[0])
        found = lsmr(J, r, damp=np.sqrt(0.5), atol=1e-14, btol=1e-14)[0]
        np.testing.assert_allclose(found, np.linalg.solve(dense, JACOBIAN.T @ r), rtol=1e-7, atol=1e-9)

    @BOTH
    def test_the_top_eigenvalues_of_a_network(self, compile):
        dense = np.linalg.eigvalsh(wg.hessian(ON_VECTORS(loss))(POINT))
        found = eigsh(hessian_operator(loss, PARAMS, compile), 5, which="LA", return_eigenvectors=False)
        np.testing.assert_allclose(np.sort(found), dense[-5:], rtol=1e-6, atol=1e-9)

    def test_the_singular_values_of_a_jacobian(self):
        found = svds(jacobian_operator(outputs, PARAMS), 4, return_singular_vectors=False, random_state=0)
        np.testing.assert_allclose(np.sort(found), np.linalg.svd(JACOBIAN, compute_uv=False)[3::-1], rtol=1e-8)

    def test_a_million_parameters(self):
        n = 10**6
        f = lambda x: ((x[1:] - x[:-1]) ** 2).sum() + 0.5 * (x**2).sum() + 0.1 * (x**4).sum()
        x, b = np.linspace(-1.0, 1.0, n), np.ones(n)
        H = hessian_operator(f, x)
        found, info = cg(H, b, rtol=1e-10)
        assert info == 0
        product = (1.0 + 1.2 * x**2) * found
        difference = 2.0 * np.diff(found)
        product[1:] += difference
        product[:-1] -= difference
        np.testing.assert_allclose(product, b, atol=1e-8)


class TestErrors:
    def test_complex_and_empty_points(self):
        with pytest.raises(TypeError, match="must be real"):
            hessian_operator(lambda x: abs(x).sum(), np.ones(2) + 0j)
        with pytest.raises(ValueError, match="no arrays"):
            jacobian_operator(lambda x: 1.0, [])

    def test_an_unknown_family(self):
        with pytest.raises(ValueError, match="no family 'cauchy'"):
            fisher_operator(outputs, PARAMS, "cauchy")

    def test_trees_of_another_structure_or_shape(self):
        H = hessian_operator(loss, PARAMS)
        with pytest.raises(TypeError, match="structure"):
            H.vector(PARAMS[:1])
        with pytest.raises(ValueError, match="has shape"):
            FlatTree({"a": np.ones(3)}, "x").vector({"a": np.ones(2)})

    def test_a_function_that_is_not_scalar_has_no_hessian(self):
        with pytest.raises(GradientError, match="one number"):
            hessian_operator(lambda x: x**2, np.ones(2)) @ np.ones(2)


def test_trees_of_tracked_vectors():
    operator = hessian_operator(loss, PARAMS)
    np.testing.assert_allclose(
        wg.hessian(lambda v: loss(operator.tree(v)))(POINT), operator @ np.eye(POINT.size), atol=1e-12
    )


def test_vectors_of_trees_bring_neither_scipy_nor_llvm_along():
    code = "import sys, wengert.structure.flat_tree; print('scipy' in sys.modules, 'llvmlite' in sys.modules)"
    run = run_python(code)
    assert run.stdout.split() == ["False", "False"]
