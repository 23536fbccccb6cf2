"""Code that is written for the Array API standard is differentiable: gradients pass through every function of the
namespace.
"""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from tests.standard.calls import FUNCTIONS, function_of, run, translated
from tests.standard.elementwise import UNARY
from tests.standard.examples import EXAMPLES

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

STEP = 1e-6
NO_DERIVATIVE = {
    **dict.fromkeys(("empty_like", "full_like", "ones_like", "zeros_like"), "only the shape matters"),
    **dict.fromkeys(("result_type", "from_dlpack"), "no function of the numbers, or not of tracked ones"),
    **dict.fromkeys(("ceil", "floor", "floor_divide", "round", "sign", "trunc"), "steps, which no gradient passes"),
    "nextafter": "the next number is not a function of real numbers",
    "argmax": "indices", "argmin": "indices", "argsort": "indices", "nonzero": "indices", "searchsorted": "indices",
    "linalg.eigh": "eigenvectors have a gauge", "linalg.qr": "a square matrix: tested with the table",
    "linalg.svd": "factors have a gauge",
}  # fmt: skip


def weighted(out) -> object:
    """One number that depends on all floating-point numbers of a result."""
    parts = out if isinstance(out, tuple | list) else [out]
    total = 0.0
    for part in parts:
        if wg.isdtype(part.dtype, ("real floating", "complex floating")):
            numbers = wg.real(part) + 0.5 * wg.imag(part) if wg.isdtype(part.dtype, "complex floating") else part
            weights = wg.reshape(wg.cos(wg.arange(numbers.size, dtype=wg.float64)), numbers.shape)
            total = total + wg.sum(numbers * weights)
    return total


def differentiable(name: str) -> bool:
    """Whether the first argument of the example is an array of floats, and so is a result."""
    first = EXAMPLES[name][0]
    array = first[0] if isinstance(first, list) else first
    if name in NO_DERIVATIVE or not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        out = run(strict, name, *EXAMPLES[name])
    parts = out if isinstance(out, tuple | list) else [out]
    return any(hasattr(part, "dtype") and np.asarray(part).dtype.kind in "fc" for part in parts)


SMOOTH = [name for name in FUNCTIONS if differentiable(name)]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_pass(name):
    """The slope along a direction, by the gradient and by central differences."""
    first, *rest = EXAMPLES[name]
    array = np.abs(first) + 1.2 if name == "acosh" else np.asarray(first[0] if isinstance(first, list) else first)
    if name in ("log", "log2", "log10", "sqrt", "pow"):
        array = np.abs(array)
    others = translated(rest, wg)

    def value(x):
        argument = [x, *translated(first[1:], wg)] if isinstance(first, list) else x
        return weighted(function_of(x.__array_namespace__(), name)(argument, *others))

    direction = np.sin(np.arange(1.0, 1.0 + array.size)).reshape(array.shape)
    x = wg.tensor(array, requires_grad=True)
    total = value(x)
    total.backward()
    slope = 0.0 if x.grad is None else float(np.sum(np.asarray(x.grad) * direction))
    ahead, behind = (float(value(wg.asarray(array + sign * STEP * direction))) for sign in (1, -1))
    tolerance = 1e-1 if name == "astype" else 1e-6
    assert slope == pytest.approx((ahead - behind) / (2 * STEP), rel=tolerance, abs=tolerance)


def test_all_smooth_functions_are_among_them():
    assert len(SMOOTH) > 90
    assert set(UNARY) & set(SMOOTH) >= {"abs", "acos", "exp", "log1p", "reciprocal", "square", "tanh"}


def rosenbrock(x):
    """Written with nothing but the standard."""
    xp = x.__array_namespace__()
    return xp.sum(100.0 * xp.pow(x[1:] - xp.square(x[:-1]), 2.0) + xp.square(1.0 - x[:-1]))


def test_a_function_of_the_standard():
    x = wg.asarray([0.5, -0.3, 0.8])
    expected = [
        -400 * 0.5 * (-0.3 - 0.25) - 2 * 0.5,
        200 * (-0.3 - 0.25) + 120 * (0.8 - 0.09) - 2 * 1.3,
        200 * (0.8 - 0.09),
    ]
    np.testing.assert_allclose(np.asarray(wg.grad(rosenbrock)(x)), expected)
    assert wg.hessian(rosenbrock)(x).shape == (3, 3)
