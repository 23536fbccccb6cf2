"""Points, grids and windows: tensors with NumPy's numbers, differentiable where they depend on a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_same, check_modes

import wengert as wg

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "tri": [(3,), (2, 4, 1)],
    "bartlett": [(5,)],
    "blackman": [(5,)],
    "hamming": [(4,)],
    "hanning": [(1,)],
    "kaiser": [(5, 2.0)],
    "logspace": [(0, 2, 3)],
    "geomspace": [(1, 8, 4), (-1.0, -8.0, 4, False)],
    "indices": [((2, 3),), ((2, 3), float), ((2, 3), int, True)],
    "fromfunction": [(lambda i, j: i - j, (2, 3))],
    "array": [([[1, 2], [3, 4]],), ([1, 2], float)],
}


@pytest.mark.parametrize(("name", "args"), [(name, args) for name, tries in CALLS.items() for args in tries])
def test_tensors_with_the_numbers_of_numpy(name, args):
    made = getattr(wg, name)(*args)
    for part in made if isinstance(made, tuple) else (made,):
        assert isinstance(part, wg.Tensor)
    assert_same(made, getattr(np, name)(*args))


def spaced(function, *fixed, **options):
    return lambda *ends: function(*ends, *fixed, **options)


SMOOTH = {
    "geomspace": (spaced(np.geomspace, 4), [np.array([0.5, 2.0]), np.array([3.0, 1.0])]),
    "geomspace without its end": (
        spaced(np.geomspace, 4, False, axis=-1),
        [np.array([0.5, 2.0]), np.array([3.0, 1.0])],
    ),
    "logspace": (lambda a, b, c: np.logspace(a, b, 4, base=c), [np.array(0.2), np.array(1.0), np.array(2.5)]),
    "linspace": (spaced(np.linspace, 4), [np.array([0.5, 2.0]), np.array([3.0, 1.0])]),
}


@pytest.mark.parametrize(("f", "args"), SMOOTH.values(), ids=SMOOTH)
def test_derivatives(f, args):
    check_modes(f, args)


def test_kaiser_has_a_derivative_in_beta():
    beta = wg.tensor(2.3, requires_grad=True)
    window = wg.kaiser(5, beta)
    np.testing.assert_allclose(window.detach().numpy(), np.kaiser(5, 2.3), rtol=1e-13)
    window.sum().backward()
    np.testing.assert_allclose(
        beta.grad.item(), (np.kaiser(5, 2.3 + 1e-5) - np.kaiser(5, 2.3 - 1e-5)).sum() / 2e-5, rtol=1e-8
    )
    assert wg.kaiser(1, beta).tolist() == [1.0]


def test_values_inside_keep_their_history():
    x = wg.tensor([2.0, 3.0], requires_grad=True)
    table = wg.fromfunction(lambda i, j: i * x[0] + j * x[1], (2, 2))
    made = wg.array([[x[0], 1.0], [x[1], 2.0]])
    (table.sum() + made.sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0]
    copy = wg.array(x, ndmin=2)
    assert copy.shape == (1, 2)
    assert copy.requires_grad
