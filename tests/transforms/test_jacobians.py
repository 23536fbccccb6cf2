"""Jacobians, Hessians and derivatives of higher order: values, passes, trees, errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.transforms import jacobians
from wengert.transforms.curvature import derivative, hessian, hessian_diag, hvp, laplacian, vhp
from wengert.transforms.gradients import grad
from wengert.transforms.jacobians import jacfwd, jacobian, jacrev

RNG = np.random.default_rng(2)
A = RNG.normal(size=(1000, 3))


@pytest.fixture
def passes(monkeypatch):
    """The number of passes of each Jacobian, whether they run one by one or together."""
    counts = []
    original = jacobians.run_each

    def counting(run, rows, chunk_size=None):
        counts.append(len(rows[0]))
        return original(run, rows, chunk_size)

    monkeypatch.setattr(jacobians, "run_each", counting)
    return counts


class TestPasses:
    @pytest.mark.parametrize(
        ("f", "n", "mode"), [(lambda x: np.sin(A @ x), 3, "forward"), (lambda x: np.sin(x @ A), 1000, "reverse")]
    )
    def test_the_fewer(self, passes, f, n, mode):
        x = RNG.normal(size=n)
        found = jacobian(f)(x)
        assert passes == [3]
        plan = jacobian(f).explain(x)
        assert plan.mode == mode
        assert plan.passes == 3
        assert "3" in plan.why
        other = {"forward": jacrev, "reverse": jacfwd}[mode](f)(x)
        assert passes == [3, 1000]
        np.testing.assert_allclose(found, other)

    def test_reverse_records_once(self):
        runs = []
        jacrev(lambda x: runs.append(1) or np.sin(x))(np.ones(5))
        assert len(runs) == 1


class TestJacobian:
    @pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
    @pytest.mark.parametrize(
        ("inside", "outside"),
        [((), ()), ((), (3,)), ((2, 2), ()), ((2, 3), (3, 2)), ((0,), (2,)), ((2,), (0,)), ((1, 2), (3, 2))],
    )
    def test_shapes(self, mode, inside, outside):
        weights = RNG.normal(size=outside)
        f = lambda x: np.sin(x).sum() * weights + (x**2).sum() ** 2
        x = np.asarray(RNG.normal(size=inside))
        found = jacobian(f, mode=mode)(x)
        assert found.shape == outside + inside
        for place in np.ndindex(outside):
            expected = numerical_gradient(lambda x, place=place: f(x)[place], [x], 0)
            np.testing.assert_allclose(found[place], expected, rtol=1e-7, atol=1e-8)

    @pytest.mark.parametrize("mode", ["forward", "reverse"])
    def test_trees(self, mode):
        f = lambda p, y: {"a": p["u"] * y, "b": [p["v"].sum() * p["u"][0], None]}
        p, y = {"u": np.array([1.0, 2.0]), "v": np.ones((2, 1), np.float32)}, np.array([3.0, 4.0])
        found = jacobian(f, (0, 1), mode)(p, y)
        np.testing.assert_array_equal(found["a"][0]["u"], np.diag(y))
        np.testing.assert_array_equal(found["a"][1], np.diag(p["u"]))
        assert found["a"][0]["v"].shape == (2, 2, 1)
        assert not found["a"][0]["v"].any()
        np.testing.assert_array_equal(found["b"][0][0]["v"], np.ones((2, 1)))
        assert found["b"][1] is None

    def test_float32_stays(self):
        x = np.ones(2, np.float32)
        for mode in ("forward", "reverse"):
            assert jacobian(lambda x: np.sin(x) * 2, mode=mode)(x).dtype == np.float32

    def test_complex(self):
        z = np.array([0.3 + 0.1j, 1j])
        for mode in ("auto", "forward", "reverse"):
            np.testing.assert_allclose(
                jacobian(lambda z: z**2 * z[0], mode=mode, holomorphic=True)(z)[1], [z[1] ** 2, 2 * z[1] * z[0]]
            )
        f = lambda x: np.exp(1j * x.sum())
        np.testing.assert_allclose(jacobian(f)(np.ones(2)), [1j * np.exp(2j)] * 2)
        assert "complex" in jacobian(f).explain(np.ones(2)).why
        with pytest.raises(wg.GradientError, match="mode='forward'"):
            jacrev(f)(np.ones(2))
        with pytest.raises(wg.GradientError, match="argument 0 has dtype complex128.*holomorphic=True"):
            jacobian(np.sin)(z)

    def test_errors(self):
        with pytest.raises(ValueError, match="mode='both'"):
            jacobian(np.sin, mode="both")
        with pytest.raises(ValueError, match="chunk_size=0"):
            jacobian(np.sin, chunk_size=0)
        with pytest.raises(wg.GradientError, match="argument 0 has dtype int64"):
            jacobian(np.sin)(np.arange(3))

    def test_tensors(self):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        for mode in ("forward", "reverse"):
            x.grad = None
            jacobian(lambda x: x**3, mode=mode)(x).sum().backward()
            np.testing.assert_array_equal(x.grad.numpy(), [6.0, 12.0])
            assert isinstance(jacobian(lambda x: 2.0 * x, mode=mode)(x), wg.Tensor)

    def test_nothing_in_or_out(self):
        assert jacobian(lambda p: 1.0)({}) == {}
        assert jacobian(lambda x: {})(np.ones(3)) == {}

    def test_results_are_writeable(self):
        for mode in ("forward", "reverse"):
            found = jacobian(lambda x: x, mode=mode)(np.ones(2))
            found += 1.0

    def test_nested(self):
        f = lambda x: np.sin(x) * x[0]
        x = np.array([0.5, 1.5])
        every = [outer(inner(f))(x) for outer in (jacfwd, jacrev) for inner in (jacfwd, jacrev)]
        for found in every[1:]:
            np.testing.assert_allclose(found, every[0], atol=1e-15)
        np.testing.assert_allclose(hessian(f)(x), every[0])


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
