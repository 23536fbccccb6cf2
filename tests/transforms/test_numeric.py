from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.transforms import numeric

METHODS = {"forward": 1e-6, "backward": 1e-6, "central": 1e-8, "complex_step": 1e-14, "richardson": 1e-10}
EVERY = pytest.mark.parametrize("method", METHODS)
X = np.array([[0.3, 1.2, -0.7], [2.0, 0.1, -1.5]])


@EVERY
def test_gradient_of_a_number(method):
    g, error = getattr(numeric, method)(lambda x: (np.sin(x) * np.exp(x)).sum(), X, with_error=True)
    expected = np.exp(X) * (np.sin(X) + np.cos(X))
    assert g.shape == error.shape == X.shape
    np.testing.assert_allclose(g, expected, rtol=METHODS[method], atol=METHODS[method])
    assert (np.abs(g - expected) <= 20 * error + 1e-14).all()
    assert error.max() < 1e3 * METHODS[method]


@EVERY
def test_jacobian_and_argnums(method):
    f = lambda a, x, k: (a @ x) ** k
    a, x = X, np.array([0.5, 0.2, 0.9])
    da, dx = getattr(numeric, method)(f, a, x, 3, argnums=(0, 1))
    slope = 3 * (a @ x) ** 2
    assert da.shape == (2, 2, 3)
    np.testing.assert_allclose(dx, slope[:, None] * a, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(da, slope[:, None, None] * np.eye(2)[:, :, None] * x, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(getattr(numeric, method)(f, a, x, 3, argnums=-2), dx)


@EVERY
def test_single_precision(method):
    g = getattr(numeric, method)(lambda x: (x * x * x).sum(), np.array([1.0, 2.0], np.float32))
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, [3.0, 12.0], rtol=5e-3)


@EVERY
def test_python_numbers_and_steps(method):
    assert np.isclose(getattr(numeric, method)(lambda x: x**2, 3.0), 6.0)
    assert np.isclose(getattr(numeric, method)(lambda x: x**2, 3.0, step=1e-3), 6.0, atol=2e-3)
    assert getattr(numeric, method)(lambda x: x * 1.0, np.zeros((0, 2))).shape == (0, 2, 0, 2)


@EVERY
def test_integers_raise(method):
    with pytest.raises(TypeError, match="Convert them to float"):
        getattr(numeric, method)(np.sin, 3)
    with pytest.raises(ValueError, match="out of range"):
        getattr(numeric, method)(np.sin, 3.0, argnums=1)


def test_input_is_not_changed():
    x = X.copy()
    numeric.central(lambda x: x.sum(), x)
    np.testing.assert_array_equal(x, X)


def test_large_numbers_get_larger_steps():
    assert np.isclose(numeric.central(lambda x: x**2, 1e8), 2e8, rtol=1e-8)


class TestComplexStep:
    def test_all_digits(self):
        f = lambda x: np.exp(x) / np.sqrt(np.sin(x) ** 3 + np.cos(x) ** 3)
        np.testing.assert_allclose(numeric.complex_step(f, 1.5), 4.05342789389862, rtol=1e-14)

    @pytest.mark.parametrize("f", [abs, lambda x: np.real(x) ** 2])
    def test_loses_the_imaginary_part(self, f):
        with pytest.raises(wg.GradientError, match="loses the imaginary part"):
            numeric.complex_step(f, 1.0)

    @pytest.mark.parametrize("f", [lambda x: x * np.conj(x), lambda x: x + np.real(x) ** 2])
    def test_not_analytic(self, f):
        with pytest.raises(wg.GradientError, match="not analytic"):
            numeric.complex_step(f, 1.0)

    def test_complex(self):
        with pytest.raises(TypeError, match="Use central"):
            numeric.complex_step(np.sin, 1.0 + 1j)
        with pytest.raises(TypeError, match="Use central"):
            numeric.complex_step(lambda x: np.exp(1j * x), 1.0)
        with pytest.raises(TypeError):
            numeric.complex_step(np.cbrt, 1.0)


class TestComplexNumbers:
    def test_steepest_ascent_of_a_real_function(self):
        z = np.array([1.0 + 2.0j, -0.5j])
        np.testing.assert_allclose(numeric.central(lambda z: (np.abs(z) ** 2).sum(), z), 2 * z, rtol=1e-8)

    def test_analytic_functions_only(self):
        np.testing.assert_allclose(numeric.central(np.exp, 0.3 + 0.2j), np.exp(0.3 + 0.2j), rtol=1e-8)
        with pytest.raises(wg.GradientError, match="not analytic"):
            numeric.central(np.conj, 0.3 + 0.2j)


def test_agrees_with_the_tape():
    x = wg.tensor(X, requires_grad=True)
    f = lambda x: (np.tanh(x) * x).sum()
    f(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), numeric.richardson(f, X), rtol=1e-9)
