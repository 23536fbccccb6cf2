"""jvp, vjp, linearize, linear_transpose: against each other, with trees and errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_table import ELEMENTWISE, OTHERS, SHAPES, live_arguments
from tests.test_table import sample as sample_of

import wengert as wg
from wengert.transforms.gradients import grad
from wengert.transforms.products import directional, jvp, linear_transpose, linearize, stop_gradient, vjp

RNG = np.random.default_rng(1)


def network(p, x):
    hidden = np.tanh(x @ p["w"] + p["b"])
    return {"out": hidden.sum(axis=0), "parts": [hidden[0], (p["b"], None)]}


def sample():
    return {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}, RNG.normal(size=(4, 3))


def dot(a, b):
    leaves = lambda t: wg.core.tree.flatten(t)[0]
    return sum(np.sum(x * y) for x, y in zip(leaves(a), leaves(b), strict=True))


class TestAgreement:
    def test_forward_backward_and_differences(self):
        primals, tangents = sample(), sample()
        value, tangent = jvp(network, primals, tangents)
        again, pullback = vjp(network, *primals)
        same, derivative = linearize(network, *primals)
        for v in (again, same):
            np.testing.assert_array_equal(v["out"], value["out"])
        cotangent = {"out": RNG.normal(size=2), "parts": [RNG.normal(size=2), (RNG.normal(size=2), None)]}
        gradients = pullback(cotangent)
        np.testing.assert_allclose(dot(gradients, tangents), dot(cotangent, tangent))
        np.testing.assert_allclose(dot(cotangent, derivative(*tangents)), dot(cotangent, tangent))
        h = 1e-6
        moved = lambda s: network(*wg.core.tree.map(lambda p, t: p + s * t, primals, tangents))
        np.testing.assert_allclose((moved(h)["out"] - moved(-h)["out"]) / (2 * h), tangent["out"], rtol=1e-6)

    def test_pullback_and_derivative_again_and_again(self):
        _, pullback = vjp(lambda x: np.sin(x) * x, np.ones(2))
        first = pullback(np.array([1.0, 0.0]))
        np.testing.assert_array_equal(pullback(np.array([2.0, 0.0]))[0], 2 * first[0])
        _, derivative = linearize(lambda x: np.sin(x) * x, np.ones(2))
        np.testing.assert_array_equal(derivative(np.full(2, 3.0)), 3 * derivative(np.ones(2)))

    def test_linearize_runs_once(self):
        runs = []
        _, derivative = linearize(lambda x: runs.append(1) or np.exp(x), 1.0)
        assert derivative(1.0) == derivative(2.0) / 2 == np.exp(1.0)
        assert len(runs) == 1

    def test_inputs_may_change_before_the_walk_back(self):
        x = np.array([1.0, 2.0])
        _, pullback = vjp(lambda x: x * x, x)
        _, derivative = linearize(lambda x: x * x, x)
        x[:] = 100.0
        np.testing.assert_array_equal(pullback(np.ones(2))[0], [2.0, 4.0])
        np.testing.assert_array_equal(derivative(np.ones(2)), [2.0, 4.0])

    def test_results_belong_to_the_caller(self):
        t = np.ones(2)
        a, b = vjp(lambda x, y: x + y, np.zeros(2), np.zeros(2))[1](t)
        a += 1.0
        np.testing.assert_array_equal(b, np.ones(2))
        np.testing.assert_array_equal(t, np.ones(2))

    @pytest.mark.parametrize(
        "f", [np.sin, np.conj, np.abs, np.real, lambda z: z * z.conj(), lambda z: z.imag * 1j + z.real * 2]
    )
    def test_complex(self, f):
        z, v = np.array([0.3 + 0.4j, -1 + 0.5j]), np.array([0.2 - 1j, 1.0 + 0.1j])
        h = 1e-6
        expected = (f(z + h * v) - f(z - h * v)) / (2 * h)
        value, tangent = jvp(f, (z,), (v,))
        np.testing.assert_allclose(tangent, expected, rtol=1e-6)
        np.testing.assert_allclose(linearize(f, z)[1](v), tangent)
        w = (
            (RNG.normal(size=2) + 1j * RNG.normal(size=2)).astype(value.dtype)
            if value.dtype.kind == "c"
            else RNG.normal(size=2)
        )
        (pulled,) = vjp(f, z)[1](w)
        np.testing.assert_allclose(np.vdot(pulled, v).real, np.vdot(w, tangent).real)
        t = wg.tensor(z, requires_grad=True)
        f(t).backward(w)
        np.testing.assert_allclose(pulled, t.grad.numpy())

    def test_complex_result_of_real_numbers(self):
        f = lambda x: np.exp(1j * x)
        np.testing.assert_allclose(linearize(f, 0.5)[1](2.0), jvp(f, (0.5,), (2.0,))[1])

    @pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_shapes_and_dtypes(self, shape, dtype):
        x = np.ones(shape, dtype)
        f = lambda x: x * 2 + np.ones((3,), np.float32)[:1].sum()
        for t in (jvp(f, (x,), (x,))[1], vjp(f, x)[1](x)[0], linearize(f, x)[1](x)):
            assert t.shape == shape
            assert t.dtype == dtype
            np.testing.assert_array_equal(t, 2 * x)

    def test_what_does_not_depend(self):
        f = lambda x: (3.0, x > 0, np.zeros(2))
        value, tangent = jvp(f, (1.0,), (1.0,))
        assert tangent[:2] == (0.0, 0.0)
        assert vjp(f, 1.0)[1]((1.0, 0.0, np.ones(2))) == (0.0,)
        assert linearize(f, 1.0)[1](1.0)[0] == 0.0

    def test_outputs_that_are_inputs_or_one_another(self):
        f = lambda x: (x, x)
        assert jvp(f, (2.0,), (3.0,)) == ((2.0, 2.0), (3.0, 3.0))
        assert vjp(f, 2.0)[1]((1.0, 10.0)) == (11.0,)
        assert linearize(f, 2.0)[1](3.0) == (3.0, 3.0)

    def test_aux_keywords_and_directional(self):
        f = lambda x, power=1: (x**power, {"x": x})
        assert jvp(f, (2.0,), (1.0,), has_aux=True, power=3) == (8.0, 12.0, {"x": 2.0})
        value, pullback, aux = vjp(f, 2.0, has_aux=True, power=3)
        assert (value, pullback(1.0), aux) == (8.0, (12.0,), {"x": 2.0})
        assert directional(lambda p: p["a"] * p["b"], {"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 1.0}) == 5.0

    def test_tensors(self):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        _, tangent = jvp(lambda x: x**3, (x,), (np.ones(2),))
        tangent.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [6.0, 12.0])
        assert isinstance(jvp(lambda x: 2.0 * x, (x,), (np.ones(2),))[1], wg.Tensor)
        assert isinstance(vjp(lambda x: 2.0 * x, x)[1](np.ones(2))[0], wg.Tensor)
        assert isinstance(linearize(lambda x: 2.0 * x, x)[1](np.ones(2)), wg.Tensor)

    def test_no_grad_around(self):
        with wg.no_grad():
            assert vjp(np.sin, 0.0)[1](1.0) == (1.0,)
            assert linearize(np.sin, 0.0)[1](1.0) == 1.0

    def test_untaken_branches(self):
        f = lambda x: wg.where(x > 0, np.sqrt(x), 0.0)
        x = np.array([4.0, 0.0])
        for t in (vjp(f, x)[1](np.ones(2))[0], linearize(f, x)[1](np.ones(2))):
            np.testing.assert_array_equal(t, [0.25, 0.0])

    def test_derivatives_of_a_pullback(self):
        def f(x):
            _, pullback = vjp(lambda y: x * y**2, 3.0)
            return pullback(x)[0]  # 6 x^2

        assert grad(f)(2.0) == 24.0
        assert jvp(f, (2.0,), (1.0,))[1] == 24.0
        assert grad(lambda x: linearize(lambda y: x * y**2, 3.0)[1](x))(2.0) == 24.0
        assert jvp(lambda x: linearize(lambda y: x * y**2, x)[1](x), (2.0,), (1.0,))[1] == 24.0


@pytest.mark.parametrize("primitive", ELEMENTWISE + OTHERS, ids=lambda p: p.name)
def test_the_products_agree_for_every_operation(primitive):
    if primitive.kind == "elementwise":
        points = [(sample_of(primitive, shapes), primitive.trial.params) for shapes in SHAPES.values()]
    else:
        points = [
            ([RNG.normal(size=a) if isinstance(a, tuple) else a for a in case.args], case.params)
            for case in primitive.trial.cases
        ]
    for args, params in points:
        live = [i for i in live_arguments(primitive, args) if np.asarray(args[i]).dtype.kind in "fc"]

        def f(*values, args=args, live=live, params=params):
            return primitive.op(*[values[live.index(i)] if i in live else a for i, a in enumerate(args)], **params)

        primals = [np.asarray(args[i]) for i in live]
        tangents = [RNG.normal(size=x.shape) for x in primals]
        value, tangent = jvp(f, primals, tangents)
        wg.core.tree.map(np.testing.assert_allclose, linearize(f, *primals)[1](*tangents), tangent)
        cotangent = wg.core.tree.map(lambda y: RNG.normal(size=y.shape), value)
        pulled, pushed = dot(vjp(f, *primals)[1](cotangent), tangents), dot(cotangent, tangent)
        np.testing.assert_allclose(pulled, np.real(pushed), atol=1e-12)  # the primals are real, whatever the value is


class TestLinearTranspose:
    def test_of_linear_functions(self):
        a = RNG.normal(size=(2, 3))
        (found,) = linear_transpose(lambda x: a @ x, np.zeros(3))(np.array([1.0, 2.0]))
        np.testing.assert_allclose(found, a.T @ [1.0, 2.0])
        (found,) = linear_transpose(lambda z: (1 + 2j) * z, 0j)(1.0 + 0j)
        assert found == 1 + 2j
        x, y = linear_transpose(lambda x, y: {"s": np.concatenate([x, y])[::-1] / 2}, np.zeros(1), np.zeros(2))(
            {"s": np.arange(3.0)}
        )
        np.testing.assert_array_equal(x, [1.0])
        np.testing.assert_array_equal(y, [0.5, 0.0])

    @pytest.mark.parametrize(
        ("f", "name"), [(np.sin, "sin"), (lambda x: x * x, "multiply"), (lambda x: 1 / (x + 1), "divide")]
    )
    def test_of_others(self, f, name):
        with pytest.raises(wg.GradientError, match=rf"{name} is not linear.*Use vjp"):
            linear_transpose(f, 1.0)
        with pytest.raises(wg.GradientError, match="constant"):
            linear_transpose(lambda x: x + 1, 1.0)

    def test_inside_a_gradient(self):
        assert grad(lambda a: linear_transpose(lambda x: a * a * x, 1.0)(5.0)[0])(3.0) == 30.0


class TestErrors:
    @pytest.mark.parametrize("wrong", [{"w": 1.0}, [1.0], (1.0, 1.0), None])
    def test_trees(self, wrong):
        with pytest.raises(TypeError, match=r"The tangent has the structure .*test_products"):
            jvp(lambda p: p["a"], ({"a": 1.0},), (wrong,))
        with pytest.raises(TypeError, match="The cotangent has the structure"):
            vjp(lambda x: {"a": x}, 1.0)[1](wrong)
        with pytest.raises(TypeError, match="`tangents` is a tuple"):
            jvp(np.sin, (1.0,), 1.0)
        with pytest.raises(TypeError, match="`primals` is a tuple"):
            jvp(np.sin, 1.0, (1.0,))

    def test_shapes_and_dtypes(self):
        with pytest.raises(ValueError, match=r"tangent\[0\] has shape \(2,\), the value \(3,\)"):
            jvp(np.sin, (np.ones(3),), (np.ones(2),))
        with pytest.raises(ValueError, match=r"cotangent\['a'\] has shape \(\)"):
            vjp(lambda x: {"a": x}, np.ones(3))[1]({"a": 1.0})
        with pytest.raises(TypeError, match=r"tangent\[0\] has dtype complex128, which cannot be cast to float64"):
            linearize(np.sin, 1.0)[1](1j)
        with pytest.raises(wg.GradientError, match="jvp: argument 1 has dtype int64"):
            jvp(lambda x, n: x**n, (1.0, 2), (1.0, 0))


def test_stop_gradient_keeps_values():
    assert stop_gradient(3.0) == 3.0
    assert stop_gradient([1, None, "a"]) == [1, None, "a"]
    x = wg.tensor(2.0, requires_grad=True)
    assert not stop_gradient(x).requires_grad
    assert grad(grad(lambda x: x**2 * stop_gradient(x)))(3.0) == 6.0


@pytest.mark.parametrize("wrap", [lambda f: f, wg.compile])
@pytest.mark.parametrize("transform", [wg.vjp, wg.linearize])
def test_results_may_be_overwritten_before_a_derivative_is_asked_for(transform, wrap):
    x = np.linspace(0.0, 1.0, 5)
    value, derivative = transform(wrap(np.exp), x)  # the rule of exp reads its result
    value[:] = 0.0
    found = derivative(np.ones(5))
    np.testing.assert_allclose(found[0] if transform is wg.vjp else found, np.exp(x))


def test_auxiliary_results_may_be_overwritten_before_a_derivative_is_asked_for():
    def f(x):
        y = np.exp(x)
        return y * 2.0, y

    x = np.linspace(0.0, 1.0, 5)
    _, pullback, aux = wg.vjp(f, x, has_aux=True)
    aux[:] = 0.0
    np.testing.assert_allclose(pullback(np.ones(5))[0], 2 * np.exp(x))
