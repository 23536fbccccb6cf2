"""grad and value_and_grad: trees, dtypes, errors, and what they leave alone."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.modes import recording
from wengert.transforms.gradients import grad, value_and_grad
from wengert.transforms.products import linearize, stop_gradient, vjp

RNG = np.random.default_rng(0)


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    first: Any
    second: Any


def tape(f, x):
    t = wg.tensor(x, requires_grad=True)
    return wg.autograd.grad(f(t), t)[0].numpy()


class TestValues:
    @pytest.mark.parametrize("shape", [(), (3,), (2, 1), (0,), (2, 3)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
    def test_as_the_tape_and_as_differences(self, shape, dtype):
        x = RNG.uniform(0.5, 1.5, shape).astype(dtype)
        if np.dtype(dtype).kind == "c":
            x = (x + 1j * RNG.uniform(0.5, 1.5, shape)).astype(dtype)
        x = np.asarray(x)
        weights = np.ones((2, 3), np.float32) if shape != (0,) else np.ones(0, np.float32)
        f = lambda x: np.real(np.sin(x) * x * weights).sum()
        found = grad(f)(x)
        assert found.shape == shape
        assert found.dtype == dtype
        np.testing.assert_allclose(found, tape(f, x), rtol=1e-6)
        if np.dtype(dtype).itemsize >= 8 and dtype != np.complex64:
            np.testing.assert_allclose(found, numerical_gradient(f, [x], 0), rtol=1e-7)

    def test_numpy_in_numpy_out(self):
        value, slope = value_and_grad(lambda x: x * x)(3.0)
        assert isinstance(value, np.float64)
        assert isinstance(slope, np.float64)
        assert isinstance(grad(lambda x: x)(np.array(1.5)), np.float64)
        assert isinstance(value_and_grad(lambda x: x)(np.array(1.5))[0], np.float64)
        assert type(grad(lambda x: x.sum())(np.ones(3))) is np.ndarray

    def test_tensor_in_tensor_out(self):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        for f in (lambda x: (x**3).sum(), lambda x: 2.0 * x.sum(), lambda x: 1.0):
            assert isinstance(grad(f)(x), wg.Tensor)
        (grad(lambda x: (x**3).sum())(x) * np.array([1.0, 10.0])).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [6.0, 120.0])

    def test_trees(self):
        params = {
            "layers": [Layer(np.ones((2, 2)), np.zeros(2)), Layer(np.full((2, 1), 0.5), None)],
            "scale": (2.0,),
            "pair": Pair(1.0, 3.0),
        }

        def f(params):
            first, second = params["layers"]
            return (
                (np.tanh(np.ones(2) @ first.w + first.b) @ second.w).sum() * params["scale"][0] * params["pair"].second
            )

        found = grad(f)(params)
        assert isinstance(found["layers"][0], Layer)
        assert found["layers"][1].b is None
        assert found["pair"] == Pair(0.0, f(params) / 3)
        np.testing.assert_allclose(found["scale"][0], f(params) / 2)
        for name in ("w", "b"):
            replaced = lambda v, name=name: f(
                {**params, "layers": [Layer(**{**vars(params["layers"][0]), name: v}), params["layers"][1]]}
            )
            np.testing.assert_allclose(
                getattr(found["layers"][0], name), tape(replaced, getattr(params["layers"][0], name))
            )

    def test_argnums(self):
        f = lambda x, y, z: x * y**2 * z
        assert grad(f, 1)(2.0, 3.0, 4.0) == 48.0
        assert grad(f, -1)(2.0, 3.0, 4.0) == 18.0
        assert grad(f, (2, 0))(2.0, 3.0, 4.0) == (18.0, 36.0)
        assert grad(f, (0,))(2.0, 3.0, 4.0) == (36.0,)
        assert grad(lambda x, n: x**n)(2.0, 3) == 12.0

    def test_keywords_and_aux(self):
        def f(x, *, power):
            y = x**power
            return y.sum(), {"y": y, "power": power}

        (value, aux), slope = value_and_grad(f, has_aux=True)(np.array([1.0, 2.0]), power=3)
        assert value == 9.0
        assert type(aux["y"]) is np.ndarray
        assert aux["power"] == 3
        np.testing.assert_array_equal(slope, [3.0, 12.0])
        slope, aux = grad(f, has_aux=True)(np.array([1.0, 2.0]), power=2)
        np.testing.assert_array_equal(aux["y"], [1.0, 4.0])

    def test_holomorphic(self):
        z = 0.3 + 0.4j
        np.testing.assert_allclose(grad(np.sin, holomorphic=True)(z), np.cos(z))
        np.testing.assert_allclose(grad(grad(np.sin, holomorphic=True), holomorphic=True)(z), -np.sin(z))
        np.testing.assert_allclose(grad(abs)(z), z / abs(z))

    def test_second_order_of_a_real_function_of_complex_numbers(self):
        z = np.array([0.3 + 0.4j, 1.0 - 0.2j])
        f = lambda z: np.real(np.sin(z) * z.conj()).sum()
        slope = lambda z: np.real(grad(f)(z) * (1.0 + 2.0j)).sum()
        np.testing.assert_allclose(grad(slope)(z), numerical_gradient(slope, [z], 0), rtol=1e-7, atol=1e-9)

    def test_what_does_not_depend(self):
        assert grad(lambda x: 3.0)(1.0) == 0.0
        np.testing.assert_array_equal(grad(lambda x, y: x * 1.0, 1)(1.0, np.ones(2)), [0, 0])
        assert grad(lambda x: np.floor(x) * 1.0)(1.5) == 0.0
        assert grad(lambda x: stop_gradient({"x": x})["x"] * x)(3.0) == 3.0

    @pytest.mark.parametrize(
        "f",
        [
            lambda x: 3,
            lambda x: True,
            lambda x: x > 1.0,
            lambda x: int(np.floor(x)),
            np.argmax,
            lambda x: x.astype(int),
            np.int64,
        ],
    )
    def test_of_integers_and_booleans_there_is_none(self, f):
        for transform in (grad, lambda f: wg.compile(grad(f)), value_and_grad):
            with pytest.raises((wg.GradientError, wg.TrackedValueError), match=r"test_gradients\.py"):
                transform(f)(1.5)

    @pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1)])
    def test_an_array_of_one_element_is_one_number(self, shape):
        f = lambda x: (x**3).sum().reshape(shape)
        x = np.array([1.0, 2.0])
        for transform in (value_and_grad, lambda f: wg.compile(value_and_grad(f))):
            value, found = transform(f)(x)
            np.testing.assert_array_equal(value, np.full(shape, 9.0), strict=True)  # as the function returned it
            np.testing.assert_array_equal(found, [3.0, 12.0])
        np.testing.assert_array_equal(wg.hvp(f, x, np.ones(2)), [6.0, 12.0])
        np.testing.assert_allclose(
            wg.optimize.minimize(lambda x: ((x - 1.0) ** 2).sum().reshape(shape), x).x, [1.0, 1.0], atol=1e-6
        )
        with pytest.raises(wg.GradientError, match=r"shape \(2,\)"):
            grad(lambda x: x)(x)

    def test_outputs_that_are_inputs(self):
        assert grad(lambda x: x)(2.0) == 1.0
        assert grad(lambda x, y: y, (0, 1))(2.0, 3.0) == (0.0, 1.0)

    def test_results_belong_to_the_caller(self):
        a, b = grad(lambda x, y: (x + y).sum(), (0, 1))(np.ones(3), np.ones(3))
        a += 1.0
        np.testing.assert_array_equal(b, np.ones(3))


class TestErrors:
    def test_not_a_scalar(self):
        with pytest.raises(wg.GradientError, match=r"shape \(3,\).*test_gradients.py.*jacobian"):
            grad(lambda x: x * 2)(np.ones(3))
        with pytest.raises(wg.GradientError, match=r"returned tuple\(\*, \*\).*has_aux"):
            grad(lambda x: (x, x))(1.0)

    @pytest.mark.parametrize("x", [3, np.arange(3), np.True_, wg.tensor([1, 2])])
    def test_integers(self, x):
        dtype = np.asarray(x).dtype
        with pytest.raises(wg.GradientError, match=rf"argument 0 has dtype {dtype}.*astype"):
            grad(lambda x: x * 1.0)(x)
        with pytest.raises(wg.GradientError, match=rf"argument 1\['w'\]\[0\] has dtype {dtype}"):
            grad(lambda y, p: y, (0, 1))(1.0, {"w": [x]})
        with pytest.raises(wg.GradientError, match=rf"argument 0\.b has dtype {dtype}"):
            grad(lambda p: p.w)(Layer(1.0, x))

    def test_complex(self):
        with pytest.raises(wg.GradientError, match="holomorphic=True"):
            grad(np.sin)(1j)
        with pytest.raises(wg.GradientError, match="argument 0 has dtype float64"):
            grad(np.sin, holomorphic=True)(1.0)
        with pytest.raises(wg.GradientError, match="real result"):
            grad(abs, holomorphic=True)(1j)

    def test_others(self):
        with pytest.raises(TypeError, match="argnums=2, but .* 1 positional"):
            grad(np.sin, 2)(1.0)
        with pytest.raises(ValueError, match=r"argnums=\(0, -2\) names an argument twice"):
            grad(lambda x, y: x * y, (0, -2))(1.0, 2.0)
        with pytest.raises(TypeError, match="has_aux=True the function returns a pair"):
            grad(np.sin, has_aux=True)(1.0)
        with pytest.raises(wg.GradientError, match="bool"):
            grad(lambda x: x > 0)(1.0)


class TestSurroundings:
    def test_no_grad_around_does_not_switch_a_transform_off(self):
        x = wg.tensor(2.0, requires_grad=True)
        for context in (wg.no_grad, wg.inference_mode):
            with context():
                assert grad(lambda x: x**3)(2.0) == 12.0
                assert grad(grad(lambda x: x**3))(2.0) == 12.0
                value, slope = value_and_grad(lambda y: y**3 * x)(x)
            assert slope.item() == 24.0
            assert not value.requires_grad
            assert not slope.requires_grad

    def test_no_grad_inside_stops_gradients(self):
        def f(x):
            with wg.no_grad():
                constant = x * 2
            return constant * x

        assert grad(f)(3.0) == 6.0

    def test_an_exception_leaves_nothing_behind(self):
        def f(x):
            grad(np.sin)(x)
            raise KeyError("mine")

        with wg.no_grad():
            with pytest.raises(KeyError, match="mine"):
                grad(f)(1.0)
            assert not wg.is_grad_enabled()
        assert recording.active == 0
        assert grad(np.sin)(0.0) == 1.0

    def test_closures(self):
        w = wg.tensor(3.0, requires_grad=True)
        y = grad(lambda x: w * x**2)(5.0)
        assert y.item() == 30.0
        y.backward()
        assert w.grad.item() == 10.0

    def test_no_reference_cycles(self):
        gc.collect()
        gc.disable()
        try:
            grad(grad(lambda x: np.sin(x) * x))(1.0)
            vjp(np.sin, 1.0)[1](1.0)
            linearize(np.sin, 1.0)[1](1.0)
            assert gc.collect() == 0
        finally:
            gc.enable()

    def test_threads(self):
        results = {}

        def work(k):
            results[k] = {grad(lambda x: x * grad(lambda y: x + y)(1.0))(float(k)) for _ in range(100)}

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == dict.fromkeys(range(4), {1.0})


class TestElementwiseGrad:
    X = np.array([[-1.0, 0.5], [2.0, 3.0]])

    def test_each_element(self):
        np.testing.assert_allclose(wg.elementwise_grad(np.tanh)(self.X), 1 - np.tanh(self.X) ** 2)
        np.testing.assert_allclose(
            wg.elementwise_grad(wg.elementwise_grad(lambda x: x**3))(self.X), 6 * self.X, rtol=1e-14
        )

    def test_arguments(self):
        f = lambda x, y: x**2 * y
        found = wg.elementwise_grad(f, (0, 1))(self.X, 3.0)
        np.testing.assert_allclose(found[0], 6 * self.X)
        np.testing.assert_allclose(found[1], (self.X**2).sum())  # all results depend on it

    def test_compiled_with_a_branch(self):
        def f(x):
            if x.sum() > 0:
                return x**2
            return -x

        np.testing.assert_allclose(wg.compile(wg.elementwise_grad(f))(self.X), 2 * self.X)
        assert wg.elementwise_grad(f)(-1.0) == -1.0
