"""Contractions: values against NumPy, gradients against finite differences, at first and second order."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.ops.checks import arguments, check, gradients, normal

from wengert.modes.tensor import Tensor, tensor
from wengert.ops.contraction import products

MATMUL_SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((1, 1), (1, 1)),
    ((3,), (4, 3, 2)),
    ((4, 2, 3), (3,)),
    ((4, 2, 3), (3, 2)),
    ((2, 3), (4, 3, 2)),
    ((4, 2, 3), (4, 3, 2)),
    ((4, 2, 3), (1, 3, 2)),
    ((1, 2, 3), (4, 3, 2)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((2, 3), (5, 4, 3, 1)),
    ((5, 4, 1, 3), (3,)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0,), (0,)),
    ((0, 2, 3), (3, 2)),
    ((2, 3), (0, 3, 2)),
]
FUNCTIONS = [
    ("matmul", np.matmul, MATMUL_SHAPES),
    (
        "dot",
        np.dot,
        [
            ((), ()),
            ((), (2, 3)),
            ((3,), (3,)),
            ((2, 3), (3, 2)),
            ((2, 3), (3,)),
            ((2, 3), (4, 3, 2)),
            ((2, 2, 3), (4, 3, 2)),
            ((3,), (2, 3, 1)),
        ],
    ),
    (
        "inner",
        np.inner,
        [
            ((), (3,)),
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (2, 3)),
            ((2, 3), (4, 3)),
            ((2, 1, 3), (4, 2, 3)),
            ((2, 0), (3, 0)),
        ],
    ),
    ("vdot", np.vdot, [((), ()), ((3,), (3,)), ((2, 3), (3, 2)), ((0,), (0,))]),
    ("outer", np.outer, [((), ()), ((3,), (2,)), ((2, 2), (3,)), ((0,), (2,))]),
    ("vecdot", np.vecdot, [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)), ((2, 0), (0,))]),
    ("matvec", np.matvec, [((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3)), ((5, 1, 2, 3), (4, 3))]),
    ("vecmat", np.vecmat, [((3,), (3, 2)), ((4, 3), (3, 2)), ((3,), (4, 3, 2)), ((5, 1, 3), (4, 3, 2))]),
    ("cross", np.cross, [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,))]),
]
PAIRS = [
    pytest.param(name, function, *shapes, id=f"{name}-{shapes[0]}-{shapes[1]}")
    for name, function, list_ in FUNCTIONS
    for shapes in list_
]


@pytest.mark.parametrize(("name", "reference", "a", "b"), PAIRS)
def test_pair(name, reference, a, b):
    check(getattr(products, name), reference, arguments((a, b)))


@pytest.mark.parametrize(("name", "reference", "a", "b"), PAIRS)
def test_pair_on_plain_arrays(name, reference, a, b):
    a, b = arguments((a, b))
    got, expected = getattr(products, name)(a, b), reference(a, b)
    assert not isinstance(got, Tensor)
    assert (np.shape(got), got.dtype) == (np.shape(expected), expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "reference", "a", "b"), PAIRS)
def test_pair_through_numpy(name, reference, a, b):
    a, b = arguments((a, b))
    for x, y in ((tensor(a), b), (a, tensor(b)), (tensor(a), tensor(b))):
        out = reference(x, y)
        assert isinstance(out, Tensor)
        np.testing.assert_allclose(out.value, reference(a, b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), MATMUL_SHAPES)
def test_matmul_complex(a, b):
    check(products.matmul, np.matmul, arguments((a, b), np.complex128), orders=2 if np.prod(a) < 20 else 1)


@pytest.mark.parametrize("name", ["vdot", "vecdot", "vecmat", "dot", "inner", "outer", "cross"])
def test_pair_complex(name):
    shapes = ((3,), (3, 2)) if name == "vecmat" else ((3,), (3,))
    check(getattr(products, name), getattr(np, name), arguments(shapes, np.complex128))


@pytest.mark.parametrize(("name", "reference", "a", "b"), PAIRS)
def test_pair_keeps_float32(name, reference, a, b):
    arrays = arguments((a, b), np.float32)
    out = getattr(products, name)(*map(tensor, arrays))
    assert out.dtype == np.float32
    leaves = gradients(getattr(products, name), arrays, np.ones(out.shape, np.float32), create_graph=True)
    assert [leaf.grad.dtype for leaf in leaves] == [np.float32, np.float32]


def test_matmul_promotes_and_casts_back():
    x, y = tensor(normal((2, 3), 0, np.float32), requires_grad=True), tensor(normal((3, 2)), requires_grad=True)
    out = products.matmul(x, y)
    assert out.dtype == np.float64
    out.sum().backward()
    assert x.grad.dtype == np.float32
    assert y.grad.dtype == np.float64


def test_matmul_of_real_and_complex():
    check(products.matmul, np.matmul, [normal((2, 3)), normal((3, 2), 1, np.complex128)])
    check(products.matmul, np.matmul, [normal((2, 3), 1, np.complex128), normal((3,))])


def test_matmul_of_a_value_with_itself():
    check(lambda x: products.matmul(x, x), lambda x: x @ x, [normal((3, 3))])


def test_matmul_of_non_contiguous_operands():
    x, y = normal((3, 4)).T[::2], normal((6, 2))[::2]
    leaf = tensor(x, requires_grad=True)
    out = leaf @ y
    np.testing.assert_allclose(out.value, x @ y)
    out.sum().backward()
    np.testing.assert_allclose(leaf.grad.value, np.ones((2, 2)) @ y.T)


def test_matmul_operator_on_either_side_and_with_lists():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for out in (
        np.eye(2) @ x,
        x @ np.eye(2),
        np.matmul([[1.0, 0.0], [0.0, 1.0]], x),
        products.matmul(x, [[1.0, 0.0], [0.0, 1.0]]),
    ):
        np.testing.assert_array_equal(out.value, x.value)
        assert out.requires_grad


def test_the_tape_does_not_build_a_stack_of_outer_products():
    """A stack of 2000 vectors through one 50 x 50 matrix: the gradient of the matrix needs no 2000 x 50 x 50 array."""
    matrix, vectors = tensor(normal((50, 50)), requires_grad=True), tensor(normal((2000, 50, 1)), requires_grad=True)
    for out in (matrix @ vectors, vectors.reshape(2000, 1, 50) @ matrix):
        seed = np.ones(out.shape)
        tracemalloc.start()
        out.backward(seed)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8e6


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("matmul", (), (3,)),
        ("matmul", (3,), ()),
        ("matmul", (2, 3), (2, 3)),
        ("matmul", (2, 2, 3), (3, 3, 2)),
        ("dot", (2, 3), (2, 3)),
        ("inner", (2, 3), (2, 2)),
        ("vdot", (3,), (2,)),
        ("vecdot", (), (3,)),
        ("vecdot", (2,), (3,)),
        ("matvec", (3,), (3,)),
        ("vecmat", (3,), (3,)),
        ("tensordot", (2, 3), (3, 2)),
        ("cross", (), (3,)),
        ("cross", (4,), (3,)),
        ("cross", (2, 3), (4, 3)),
    ],
)
def test_shapes_that_do_not_fit(name, a, b):
    a, b = arguments((a, b))
    with pytest.raises(ValueError):  # noqa: PT011  # NumPy's words differ
        getattr(np, name)(a, b)
    for x, y in ((a, b), (tensor(a), b), (a, tensor(b))):
        with pytest.raises(ValueError):  # noqa: PT011  # NumPy's words differ
            getattr(products, name)(x, y)


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ((3, 2), (3, 2), {"axis": 0}),
        ((3, 2), (2, 3), {"axisa": 0}),
        ((2, 3), (3, 2), {"axisb": 0}),
        ((2, 3), (2, 3), {"axisc": 0}),
        ((4, 3, 2), (2, 3), {"axisa": 1, "axisc": 1}),
    ],
)
def test_cross_axes(a, b, axes):
    check(lambda x, y: products.cross(x, y, **axes), lambda x, y: np.cross(x, y, **axes), arguments((a, b)))


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize(("a", "b"), [((2,), (2,)), ((2,), (3,)), ((3,), (2,)), ((4, 2), (3,)), ((4, 2), (2,))])
def test_cross_in_the_plane(a, b):
    check(products.cross, np.cross, arguments((a, b)))


def test_cross_in_the_plane_warns_as_numpy_does():
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors"):
        products.cross(tensor([1.0, 2.0]), [1.0, 2.0])


def test_vecdot_along_another_axis():
    check(lambda x, y: products.vecdot(x, y, axis=0), lambda x, y: np.vecdot(x, y, axis=0), arguments(((3, 2), (3, 2))))


def test_lists_that_hold_values():
    x = tensor(2.0, requires_grad=True)
    out = products.dot([x, 1.0], [[1.0, 2.0], [3.0, x]])
    out.sum().backward()
    np.testing.assert_allclose(out.value, [5.0, 6.0])
    np.testing.assert_allclose(x.grad.value, 4.0)
