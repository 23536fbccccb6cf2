"""Jacobians: values, passes, trees, errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.transforms import jacobians
from wengert.transforms.curvature import hessian
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
        for index in np.ndindex(outside):
            expected = numerical_gradient(lambda x, index=index: f(x)[index], [x], 0)
            np.testing.assert_allclose(found[index], expected, rtol=1e-7, atol=1e-8)

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
