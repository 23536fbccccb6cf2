"""Hessians, their products, and derivatives of higher order."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.transforms.curvature import derivative, hessian, hessian_diag, hvp, laplacian, vhp
from wengert.transforms.gradients import grad

RNG = np.random.default_rng(2)
A = RNG.normal(size=(1000, 3))


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


class TestSecondOrder:
    x = RNG.normal(size=4)

    def expected(self):
        return np.stack([numerical_gradient(lambda x, i=i: grad(rosenbrock)(x)[i], [self.x], 0) for i in range(4)])

    def test_hessian_and_products(self):
        h, v = self.expected(), RNG.normal(size=4)
        np.testing.assert_allclose(hessian(rosenbrock)(self.x), h, atol=1e-6)
        np.testing.assert_allclose(hvp(rosenbrock, self.x, v), h @ v, atol=1e-6)
        np.testing.assert_allclose(vhp(rosenbrock, self.x, v), v @ h, atol=1e-6)
        np.testing.assert_allclose(hessian_diag(rosenbrock)(self.x), np.diag(h), atol=1e-6)
        np.testing.assert_allclose(laplacian(rosenbrock)(self.x), np.trace(h), atol=1e-6)

    def test_trees(self):
        f = lambda p: p["a"] ** 2 * p["b"].sum()
        p = {"a": 2.0, "b": np.ones(2)}
        found = hessian(f)(p)
        assert found["a"]["a"] == 4.0
        np.testing.assert_array_equal(found["a"]["b"], [4.0, 4.0])
        np.testing.assert_array_equal(found["b"]["b"], np.zeros((2, 2)))
        assert hessian_diag(f)(p)["a"] == 4.0
        assert laplacian(f)(p) == 4.0
        assert hvp(f, p, {"a": 1.0, "b": np.zeros(2)})["a"] == 4.0
        assert vhp(f, p, {"a": 1.0, "b": np.zeros(2)})["a"] == 4.0

    def test_argnums(self):
        assert hessian(lambda x, y: x * y**2, (0, 1))(2.0, 3.0) == ((0.0, 6.0), (6.0, 4.0))
        assert hessian_diag(lambda x, y: x * y**2, (0, 1))(2.0, 3.0) == (0.0, 4.0)
        assert laplacian(lambda x, y, power: x * y**power, 1)(2.0, 3.0, power=2) == 4.0

    def test_several_outputs(self):
        f = lambda x: np.stack([x[0] ** 3, x[0] * x[1] ** 2])
        x = np.array([2.0, 3.0])
        np.testing.assert_array_equal(hessian_diag(f)(x), [[12.0, 0.0], [0.0, 4.0]])
        np.testing.assert_array_equal(laplacian(f)(x), [12.0, 4.0])
        assert isinstance(laplacian(f)(wg.tensor(x)), wg.Tensor)

    def test_errors(self):
        with pytest.raises(wg.GradientError, match="real numbers"):
            laplacian(abs)(1j)
        with pytest.raises(ValueError, match="shape"):
            hvp(rosenbrock, self.x, np.ones(3))


class TestDerivative:
    def test_orders(self):
        x = np.linspace(-1, 1, 5)
        for n, expected in enumerate([np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin]):
            np.testing.assert_allclose(derivative(np.sin, n)(x), expected(x), atol=1e-15)
            np.testing.assert_allclose(derivative(np.sin, n)(0.3), expected(0.3))

    def test_curves_and_other_arguments(self):
        found = derivative(lambda t, r, *, phase: {"p": np.stack([r * np.cos(t + phase), r * np.sin(t + phase)])}, 2)(
            0.0, 2.0, phase=0.0
        )
        np.testing.assert_allclose(found["p"], [-2.0, 0.0], atol=1e-15)

    def test_in_a_gradient(self):
        np.testing.assert_allclose(grad(lambda a: derivative(lambda x: np.exp(a * x), 2)(0.0))(3.0), 6.0)

    def test_errors(self):
        with pytest.raises(wg.GradientError, match=r"shape \(3,\) to \(\)"):
            derivative(lambda x: x.sum())(np.ones(3))
        with pytest.raises(ValueError, match="n=-1"):
            derivative(np.sin, -1)
        with pytest.raises(wg.GradientError, match="int64"):
            derivative(np.sin)(1)
