"""Norms and the contractions of np.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.checks import arguments, check, normal
from tests.versions import needs_numpy

from wengert import linalg
from wengert.modes.tensor import Tensor, tensor
from wengert.ops.elementwise.choices import where

INF = np.inf
NORMS = [
    ((4,), {}),
    ((2, 3), {}),
    ((2, 3, 2), {}),
    ((), {}),
    ((2, 3), {"keepdims": True}),
    ((2, 3, 2), {"keepdims": True}),
    ((4,), {"ord": 2}),
    ((4,), {"ord": 1}),
    ((4,), {"ord": INF}),
    ((4,), {"ord": -INF}),
    ((4,), {"ord": 3}),
    ((4,), {"ord": 2.5}),
    ((4,), {"ord": 1.5}),
    ((4,), {"ord": -1}),
    ((4,), {"ord": -2}),
    ((4,), {"ord": 0.5}),
    ((2, 3), {"axis": 0}),
    ((2, 3), {"axis": -1, "keepdims": True}),
    ((2, 3), {"axis": (1,)}),
    ((2, 3), {"ord": 3, "axis": 0}),
    ((2, 3), {"ord": INF, "axis": 1}),
    ((2, 3), {"ord": 1, "axis": 1, "keepdims": True}),
    ((2, 3), {"ord": "fro"}),
    ((2, 3), {"ord": 1}),
    ((2, 3), {"ord": -1}),
    ((2, 3), {"ord": INF}),
    ((2, 3), {"ord": -INF}),
    ((2, 3), {"ord": INF, "keepdims": True}),
    ((2, 3, 4), {"axis": (0, 2)}),
    ((2, 3, 4), {"ord": "fro", "axis": (2, 0), "keepdims": True}),
    ((2, 3, 4), {"ord": 1, "axis": (0, 2)}),
    ((2, 3, 4), {"ord": 1, "axis": (2, 0)}),
    ((2, 3, 4), {"ord": -INF, "axis": (-1, 1), "keepdims": True}),
    ((0,), {}),
    pytest.param((0,), {"ord": INF}, marks=needs_numpy(2, 3)),
    pytest.param((3, 0), {"ord": 1}, marks=needs_numpy(2, 3)),
    ((3, 0), {"axis": 1}),
]


@pytest.mark.parametrize(("shape", "options"), NORMS)
def test_norm(shape, options):
    check(lambda x: linalg.norm(x, **options), lambda x: np.linalg.norm(x, **options), [normal(shape, 3)])


@pytest.mark.parametrize("ord", [2, 1, INF, -INF, 3, 1.5])
def test_norm_of_complex_vectors(ord):
    check(lambda x: np.linalg.norm(x, ord), lambda x: np.linalg.norm(x, ord), [normal((4,), 3, np.complex128)])


def test_norm_of_complex_matrices():
    check(
        lambda x: np.linalg.norm(x, axis=(0, 1)),
        lambda x: np.linalg.norm(x, axis=(0, 1)),
        [normal((2, 3, 2), 3, np.complex128)],
    )


@pytest.mark.parametrize("ord", [2, 1, INF, 3, 0.5, "fro"])
def test_norm_keeps_float32(ord):
    x = tensor(normal((2, 3) if ord == "fro" else (4,), 0, np.float32), requires_grad=True)
    out = linalg.norm(x, ord)
    out.backward(create_graph=True)
    assert out.dtype == x.grad.dtype == np.float32


def test_norm_of_order_zero_counts():
    x = tensor([0.0, 2.0, 0.0, 3.0], requires_grad=True)
    assert np.linalg.norm(x, 0).item() == 2.0


def test_norm_of_integers():
    assert np.linalg.norm(tensor([3, 4])).item() == 5.0


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 1.5, INF])
def test_norm_at_zero_has_derivative_zero(ord):
    x = tensor(np.zeros(3), requires_grad=True)
    linalg.norm(x, ord).backward()
    np.testing.assert_array_equal(x.grad.value, np.zeros(3))


def test_square_of_the_norm_at_zero():
    x = tensor(np.zeros(3), requires_grad=True)
    (linalg.norm(x) ** 2).backward(create_graph=True)
    gradient, x.grad = x.grad, None
    np.testing.assert_array_equal(gradient.value, np.zeros(3))
    gradient.sum().backward()
    assert np.isfinite(x.grad.value).all()


def test_masked_norms_of_differences():
    """Distances of all pairs, those of a point to itself masked: no NaN at first or second order."""
    points = tensor(normal((3, 2)), requires_grad=True)
    distances = linalg.norm(points.reshape(3, 1, 2) - points.reshape(1, 3, 2), axis=-1)
    where(np.eye(3) == 1, 0.0, distances).sum().backward(create_graph=True)
    first, points.grad = points.grad, None
    first[0].sum().backward()
    assert np.isfinite(first.value).all()
    assert np.isfinite(points.grad.value).all()


@pytest.mark.parametrize("ord", [3, 4, 2.5, 1.5])
def test_norm_with_some_zeros_at_second_order(ord):
    """The curvature along a component that is zero vanishes for p > 2, and is taken to be zero below."""
    x = tensor([0.0, 1.0, 2.0], requires_grad=True)
    linalg.norm(x, ord).backward(create_graph=True)
    first, x.grad = x.grad, None
    first[0].backward()
    np.testing.assert_array_equal(x.grad.value, np.zeros(3))


def test_two_norm_with_some_zeros_at_second_order():
    check(linalg.norm, np.linalg.norm, [np.array([0.0, 1.0, 0.0])])


def test_negative_order_where_a_component_is_zero():
    x = tensor([0.0, 1.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        linalg.norm(x, -1).backward()
    np.testing.assert_array_equal(x.grad.value, np.zeros(2))


@pytest.mark.parametrize("ord", [2, -2, "nuc"])
def test_norms_that_need_singular_values(ord):
    x = np.array([[2.0, 1.0], [0.5, 3.0]])
    np.testing.assert_allclose(np.linalg.norm(tensor(x), ord).numpy(), np.linalg.norm(x, ord))
    np.testing.assert_allclose(linalg.norm(x, ord), np.linalg.norm(x, ord))


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((3,), {"ord": "fro"}),
        ((2, 2), {"ord": 3}),
        ((2, 2), {"ord": "other"}),
        ((2, 2, 2), {"ord": 2}),
        ((2, 2), {"axis": (0, 0)}),
        ((2, 2), {"axis": 2}),
        ((2, 2), {"axis": (0, 1, 2)}),
    ],
)
def test_norms_that_numpy_refuses(shape, options):
    with pytest.raises(ValueError):  # noqa: PT011  # NumPy's words differ
        np.linalg.norm(np.ones(shape), **options)
    with pytest.raises(ValueError):  # noqa: PT011  # NumPy's words differ
        np.linalg.norm(tensor(np.ones(shape)), **options)


def test_norm_with_an_axis_that_is_no_number():
    with pytest.raises(TypeError, match="axis"):
        np.linalg.norm(tensor(np.ones(3)), axis="a")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axis": (0, 2)},
        {"axis": (2, 0), "keepdims": True},
        {"ord": 1},
        {"ord": INF, "axis": (0, 1)},
        {"ord": 3, "axis": 1},
    ],
)
def test_vector_norm(options):
    check(
        lambda x: linalg.vector_norm(x, **options),
        lambda x: np.linalg.vector_norm(x, **options),
        [normal((2, 3, 2), 3)],
    )


@pytest.mark.parametrize("options", [{}, {"keepdims": True}, {"ord": 1}, {"ord": -INF}])
def test_matrix_norm(options):
    check(
        lambda x: np.linalg.matrix_norm(x, **options),
        lambda x: np.linalg.matrix_norm(x, **options),
        [normal((2, 3, 2), 3)],
    )


VECDOT: Any = np.linalg.vecdot  # the types of NumPy do not have its axis


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (np.linalg.matmul, ((2, 3), (3, 2))),
        (np.linalg.outer, ((2,), (3,))),
        (np.linalg.cross, ((2, 3), (3,))),
        (lambda x, y: np.linalg.cross(x, y, axis=0), ((3, 2), (3, 2))),
        (lambda x, y: np.linalg.tensordot(x, y, axes=1), ((2, 3), (3, 2))),
        (np.linalg.vecdot, ((2, 3), (3,))),
        (lambda x, y: VECDOT(x, y, axis=0), ((3, 2), (3, 2))),
        (np.linalg.trace, ((2, 3, 3),)),
        (lambda x: np.linalg.trace(x, offset=1), ((2, 3, 3),)),
        (np.linalg.diagonal, ((2, 3, 3),)),
        (lambda x: np.linalg.diagonal(x, offset=-1), ((3, 2),)),
        (np.linalg.matrix_transpose, ((2, 3, 2),)),
        (lambda *xs: np.linalg.multi_dot(xs), ((2, 3), (3, 2))),
        (lambda *xs: np.linalg.multi_dot(xs), ((2, 3), (3, 2), (2, 4))),
        (lambda *xs: np.linalg.multi_dot(xs), ((3,), (3, 2), (2, 4), (4,))),
        (lambda *xs: np.linalg.multi_dot(xs), ((3,), (3,))),
        (lambda x: np.linalg.matrix_power(x, 0), ((3, 3),)),
        (lambda x: np.linalg.matrix_power(x, 1), ((3, 3),)),
        (lambda x: np.linalg.matrix_power(x, 2), ((3, 3),)),
        (lambda x: np.linalg.matrix_power(x, 5), ((2, 2, 2),)),
    ],
)
def test_np_linalg(function, shapes):
    check(function, function, arguments(shapes))


def test_plain_arrays_stay_plain():
    x = normal((3, 3))
    for function in (linalg.norm, linalg.vector_norm, linalg.matrix_norm, linalg.trace, linalg.diagonal):
        got = function(x)
        assert not isinstance(got, Tensor)
        np.testing.assert_allclose(got, getattr(np.linalg, function.__name__)(x))
    np.testing.assert_allclose(linalg.multi_dot([x, x, x]), x @ x @ x)
    np.testing.assert_allclose(linalg.matrix_power(x, -1), np.linalg.inv(x))


def test_bad_shapes():
    x = tensor(np.ones((2, 3)))
    with pytest.raises(ValueError, match="vectors"):
        np.linalg.outer(x, x)
    with pytest.raises(ValueError, match="3 components"):
        np.linalg.cross(x, x, axis=0)
    with pytest.raises(ValueError, match="at least two"):
        np.linalg.multi_dot([x])
    with pytest.raises(ValueError, match="do not match"):
        np.linalg.multi_dot([x, x])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.multi_dot([x, np.ones(3), x])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.matrix_power(x, 2)


def test_the_exponent_of_a_matrix_is_an_integer():
    with pytest.raises(TypeError, match=r"integer.*test_norms.py.*sqrtm"):
        np.linalg.matrix_power(tensor(np.eye(2)), 0.5)


def test_the_first_power_is_not_its_operand():
    x = tensor(np.eye(2))
    y = np.linalg.matrix_power(x, 1)
    y += 1
    np.testing.assert_array_equal(x.numpy(), np.eye(2))
