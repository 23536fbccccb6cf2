"""Pseudo-inverse, least squares and rank: values against NumPy, derivatives against differences of values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.checks import normal
from tests.ops.linear_algebra.test_spectral import real_and_complex, with_singular_values
from tests.oracle import check_derivatives, numerical_gradient

import wengert as wg
from wengert.ops.linear_algebra.gauge import GaugeWarning


@real_and_complex
@pytest.mark.parametrize(("m", "n"), [(4, 3), (3, 4), (3, 3)])
@pytest.mark.parametrize("name", ["pinv", "lstsq"])
def test_derivatives_among_matrices_of_the_same_rank(name, m, n, dtype):
    left, right, d_left, d_right = [normal(s, k, dtype) for k, s in enumerate([(m, 2), (2, n), (m, 2), (2, n)])]
    weight, b = normal((n, m), 5, dtype), normal((m, 2), 6, dtype)
    path = lambda tau: (left + tau * d_left) @ (right + tau * d_right)
    velocity = left @ d_right + d_left @ right
    functions = {
        "pinv": lambda a: wg.real((weight * np.linalg.pinv(a, 1e-10)).sum()),
        "lstsq": lambda a: wg.real((weight[:, :2] * np.linalg.lstsq(a, b, 1e-10)[0]).sum()),
    }
    f = functions[name]
    expected = numerical_gradient(lambda tau: float(f(path(tau))), [np.array(0.0)], 0)
    np.testing.assert_allclose(wg.jvp(f, (path(0.0),), (velocity,))[1], expected, rtol=1e-7)
    with pytest.warns(GaugeWarning, match="full rank"):
        gradient = wg.grad(f)(path(0.0))
    np.testing.assert_allclose(np.sum(np.conj(gradient) * velocity).real, expected, rtol=1e-7)


@pytest.mark.parametrize("options", [{}, {"rcond": 1e-10}, {"rtol": None}, {"rtol": 0.5}])
def test_cutoff_of_the_pseudo_inverse(options):
    a = with_singular_values([3.0, 2.0, 1.0], 4, 3)
    np.testing.assert_allclose(
        np.linalg.pinv(wg.tensor(a), **options).numpy(), np.linalg.pinv(a, **options), atol=1e-13
    )


@real_and_complex
@pytest.mark.parametrize("a_shape", [(4, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("columns", [(), (2,), (0,)])
def test_least_squares(a_shape, columns, dtype):
    a, b = normal(a_shape, 1, dtype), normal((a_shape[0], *columns), 2, dtype)
    found, expected = np.linalg.lstsq(wg.tensor(a), wg.tensor(b)), np.linalg.lstsq(a, b)
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-10)
        assert np.shape(y) == np.shape(z)
    assert found[1].dtype == found[3].dtype == np.float64
    check_derivatives(lambda a, b: np.linalg.lstsq(a, b)[0], [a, b], [0, 1])
    if a_shape == (4, 2):
        check_derivatives(lambda a, b: np.linalg.lstsq(a, b)[1], [a, b], [0, 1])


def test_least_squares_without_full_rank_leaves_out_what_remains():
    a, b, shapes = np.ones((4, 2)), np.arange(4.0), []

    def f(b):
        x, remains, rank, _ = np.linalg.lstsq(a, b)
        shapes.append(remains.shape)
        assert rank == 1
        return x.sum()

    gradient = wg.grad(f)(b)
    np.testing.assert_allclose(gradient, np.linalg.pinv(a).sum(0))
    f(wg.tensor(b))
    assert shapes == [(0,), (0,)] == [np.linalg.lstsq(a, b)[1].shape] * 2


@pytest.mark.parametrize(
    "a", [np.diag([2.0, 1.0, 0.0]), np.stack([np.eye(2), np.ones((2, 2))]), np.array([0.0, 2.0]), np.array(0.0)]
)
def test_rank(a):
    rank = np.linalg.matrix_rank(wg.tensor(a, requires_grad=True))
    np.testing.assert_array_equal(rank.numpy(), np.linalg.matrix_rank(a))
    assert not rank.requires_grad
    np.testing.assert_array_equal(
        np.linalg.matrix_rank(wg.tensor(a), tol=1.5).numpy(), np.linalg.matrix_rank(a, tol=1.5)
    )
    np.testing.assert_array_equal(
        np.linalg.matrix_rank(wg.tensor(a), rtol=0.7).numpy(), np.linalg.matrix_rank(a, rtol=0.7)
    )
