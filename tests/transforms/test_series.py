"""Taylor mode as users call it, and what it costs."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.core.array import Array
from wengert.core.levels import new_level
from wengert.modes.forward import Dual
from wengert.transforms.curvature import derivative
from wengert.transforms.series import jet, taylor


def rounds(x, sin=np.sin, exp=np.exp):
    for _ in range(3):
        x = sin(x) * exp(-x) + x
    return x


def nested_forward(f, n):
    """The n-th derivative by nesting forward mode."""

    def once(g):
        def derived(x):
            level = new_level()
            return g(Dual(x, np.float64(1.0), level)).tangent

        return derived

    for _ in range(n):
        f = once(f)
    return f


class Counted(Array):
    """A mode that only counts the operations that reach it."""

    __slots__ = ()
    operations = 0

    def __init__(self, value):
        self.value, self.level = value, 0

    @staticmethod
    def process(primitive, level, args, params):
        Counted.operations += 1
        return Counted(primitive.op(*[a.value if isinstance(a, Counted) else a for a in args], **params))


def operations(f, x=0.6):
    Counted.operations = 0
    f(Counted(np.float64(x)))
    return Counted.operations


FUNCTIONS = {
    "rounds": (rounds, lambda x: rounds(x, mpmath.sin, mpmath.exp)),
    "tanh": (np.tanh, mpmath.tanh),
    "log": (np.log, mpmath.log),
    "arcsin": (np.arcsin, mpmath.asin),
    "arctan": (np.arctan, mpmath.atan),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf("2.5")),
    "cube": (lambda x: x**3, lambda x: x**3),
    "x to the x": (lambda x: x**x, lambda x: x**x),
    "quotient": (lambda x: x / (1 + x * x), lambda x: x / (1 + x * x)),
    "softplus": (wg.softplus, lambda x: mpmath.log(1 + mpmath.exp(x))),
    "sinc": (np.sinc, lambda x: mpmath.sin(mpmath.pi * x) / (mpmath.pi * x)),
    "tan": (np.tan, mpmath.tan),
}


@pytest.mark.parametrize(("f", "exact"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_against_high_precision(f, exact):
    with mpmath.workdps(50):
        expected = [float(c) for c in mpmath.taylor(exact, mpmath.mpf(0.6), 10)]
    np.testing.assert_allclose([float(c) for c in taylor(f, 0.6, 10)], expected, rtol=1e-12, atol=1e-13)


def test_agrees_with_nested_forward_mode():
    for n in range(1, 9):
        np.testing.assert_allclose(derivative(rounds, n)(0.6), nested_forward(rounds, n)(np.float64(0.6)), rtol=1e-12)


def test_work_is_quadratic_in_the_order():
    taylor_work = [operations(derivative(rounds, n)) for n in range(1, 11)]
    assert set(np.diff(taylor_work, 2)[2:]) == {30}  # a parabola, once the order is that of the rules themselves
    nested_work = [operations(nested_forward(rounds, n)) for n in range(1, 6)]
    assert all(later > 2.5 * earlier for earlier, later in zip(nested_work, nested_work[1:], strict=False))


def test_at_a_zero():
    assert [float(c) for c in taylor(lambda x: x**3, 0.0, 4)] == [0, 0, 0, 1, 0]
    assert [float(c) for c in taylor(lambda x: np.exp(-(x**2)), 0.0, 4)] == [1, 0, -1, 0, 0.5]


def test_along_a_curve():
    value, terms = jet(lambda x, y: x * y, [2.0, 3.0], [[1.0, 5.0], [4.0]])
    assert (float(value), [float(t) for t in terms]) == (6.0, [2 * 4 + 3 * 1, 4 * 1 + 3 * 5])


def test_trees_arrays_and_constants():
    terms = taylor(lambda d: {"p": d["x"] * d["y"][0], "c": np.ones(2)}, {"x": np.array([1.0, 2.0]), "y": [3.0]}, 3)
    assert [t["p"].tolist() for t in terms] == [[3.0, 6.0], [4.0, 5.0], [1.0, 1.0], [0.0, 0.0]]
    assert [t["c"].tolist() for t in terms] == [[1, 1], [0, 0], [0, 0], [0, 0]]


def test_nesting():
    assert derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0) == 1.0
    np.testing.assert_allclose(derivative(derivative(np.exp, 2), 3)(0.3), math.exp(0.3), rtol=1e-13)
    x = wg.tensor(0.3, requires_grad=True)
    derivative(np.sin, 4)(x).backward()
    np.testing.assert_allclose(x.grad.item(), math.cos(0.3), rtol=1e-13)


def test_float32_stays():
    assert all(c.dtype == np.float32 for c in taylor(lambda x: np.sin(x) / x, np.float32(0.5), 3))


def test_bad_input():
    with pytest.raises(wg.GradientError, match=r"needs floating-point numbers, not int64, at .*test_series\.py"):
        taylor(np.sin, np.array([1, 2]), 2)
    with pytest.raises(ValueError, match="order of at least 1"):
        taylor(np.sin, 0.5, 0)
    with pytest.raises(ValueError, match=r"shape \(3,\), its argument \(2,\)"):
        jet(np.sin, [np.ones(2)], [[np.ones(3)]])
    with pytest.raises(ValueError, match="1 arguments and 2 series"):
        jet(np.sin, [1.0], [[1.0], [1.0]])
    with pytest.raises(ValueError, match="structure"):
        jet(lambda d: d["a"], [{"a": 1.0}], [[{"b": 1.0}]])


COMPLEX_POWERS = {
    "complex exponent": (lambda x: x ** (1.0 + 2.0j), 2.0),
    "complex base": (lambda x: x**1.5, 2.0 + 1.0j),
    "both complex": (lambda x: x ** (1.0 + 2.0j), 2.0 - 1.0j),
    "array of exponents": (lambda x: (x ** np.array([0.5 + 1.0j, 2.0, -1.0j])).sum(), 1.5 + 0.5j),
    "whole exponent of complex dtype": (lambda x: x ** (3.0 + 0.0j), 2.0 - 1.0j),
    "zero exponent of complex dtype": (lambda x: x ** (0.0 + 0.0j) + x, 2.0 - 1.0j),
    "complex base of a real exponent that varies": (lambda x: (1.0 + 2.0j) ** x, 1.5),
    "exponent that varies": (lambda x: x ** (x * 1j), 1.5 + 0.2j),
    "float_power": (lambda x: np.float_power(x, 1.0 + 2.0j), 2.0),
    "sqrt": (np.sqrt, 2.0 - 1.0j),
    "log": (np.log, 2.0 - 1.0j),
    "reciprocal": (np.reciprocal, 2.0 - 1.0j),
}


@pytest.mark.parametrize("name", COMPLEX_POWERS)
def test_series_of_complex_powers(name):
    """By Cauchy's integral over a small circle, which needs values alone."""
    f, x = COMPLEX_POWERS[name]
    radius, n = 0.3, 64
    circle = radius * np.exp(2j * np.pi * np.arange(n) / n)
    values = np.array([f(complex(x) + z) for z in circle])
    expected = [np.mean(values * (circle / radius) ** -k) / radius**k for k in range(5)]
    np.testing.assert_allclose(taylor(f, x, order=4), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("exponent", "expected"), [(2.0 + 0.0j, [0, 0, 1, 0]), (1.0 + 0.0j, [0, 1, 0, 0]), (0.0j, [1, 0, 0, 0])]
)
def test_series_of_whole_complex_powers_at_zero(exponent, expected):
    np.testing.assert_array_equal(taylor(lambda x: x**exponent, 0.0j, order=3), expected)


def test_coefficients_that_are_zero_have_derivatives():
    """Through quotients whose denominators may vanish: a coefficient of zero times what might be infinite is zero, and
    depends on it.
    """

    def second(c):
        return wg.taylor(lambda s: np.hypot(1.0 + c * s, 2.0) * np.sqrt(2.0 + c * s * s), 0.0, 2)[2]

    slope = (second(1e-5) - second(-1e-5)) / 2e-5
    np.testing.assert_allclose(wg.grad(second)(0.0), slope, rtol=1e-6)
    np.testing.assert_allclose(wg.jvp(second, (0.0,), (1.0,))[1], slope, rtol=1e-6)
