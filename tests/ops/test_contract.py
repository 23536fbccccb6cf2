"""Contractions: values against NumPy, gradients against finite differences, at first and second order."""

from __future__ import annotations

import itertools
import string
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracle import check_derivatives

from wengert.modes.tensor import Tensor, tensor
from wengert.ops.contraction import einsum, products
from wengert.transforms.tracing import trace

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

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("ba,ca", (2, 3), (4, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ji", (3,), (2,)),
    ("bij,bjk->bik", (4, 2, 3), (4, 3, 2)),
    ("bij,bjk->kbi", (4, 2, 3), (4, 3, 2)),
    ("bi,bi->b", (4, 3), (4, 3)),
    ("bi,bi->ib", (4, 3), (4, 3)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ijk,kl->", (2, 3, 2), (2, 2)),
    ("ij,kl->il", (2, 3), (2, 3)),
    ("ii,i->i", (3, 3), (3,)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),
    ("iii,i", (2, 2, 2), (2,)),
    ("...i,i", (2, 4, 3), (3,)),
    ("...ij,...jk", (5, 1, 2, 3), (4, 3, 2)),
    ("...ij,jk->k...", (2, 2, 3), (3, 2)),
    ("i...,i...->...", (3, 2), (3,)),
    ("i,...->...i", (3,), ()),
    (",", (), ()),
    (",ij->ji", (), (2, 3)),
    ("ij,jk", (2, 1), (3, 4)),
    ("ii,i", (1, 1), (3,)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij,jk->", (2, 3), (3, 0)),
    (" i j , j k -> k i ", (2, 3), (3, 4)),
    ("Ab,bC", (2, 3), (3, 4)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iji->j", (2, 3, 2)),
    ("ij->ji", (2, 3)),
    ("ji", (2, 3)),
    ("ij->", (2, 3)),
    ("i...->...", (2, 3, 2)),
    ("...", (2, 3)),
    ("", ()),
    ("ij->j", (0, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,jk,k", (2, 3), (3, 4), (4,)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("ij,ij,j->", (2, 3), (2, 3), (3,)),
    ("bi,bij,bj->b", (4, 3), (4, 3, 2), (4, 2)),
    ("ab,bc,cd,da->", (2, 3), (3, 2), (2, 3), (3, 2)),
    ("...i,...i,...->...", (2, 3), (3,), (2,)),
    ("i,j,k->kij", (2,), (3,), (2,)),
]


def normal(shape, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x, dtype)


def arguments(shapes, dtype=np.float64):
    return [normal(shape, i, dtype) for i, shape in enumerate(shapes)]


def gradients(function, arrays, weights, create_graph=False):
    leaves = [tensor(a, requires_grad=True) for a in arrays]
    function(*leaves).backward(weights, create_graph=create_graph)
    return leaves


def check(function, reference, arrays, orders=2):
    """The value against NumPy's, the derivatives against differences."""
    expected = np.asarray(reference(*arrays))
    out = function(*map(tensor, arrays))
    assert isinstance(out, Tensor)
    assert out.shape == expected.shape
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-12)
    check_derivatives(function, arrays, range(len(arrays)), orders)


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
        ((2, 3), (3, 4), 1),
        ((2, 3), (2, 3), 2),
        ((2,), (3,), 0),
        ((), (3,), 0),
        ((2, 3, 4), (4, 3, 2), ([0, 2], [2, 0])),
        ((2, 3, 4), (4, 3, 2), ([1, 0], [1, 2])),
        ((2, 3), (4, 3), (1, 1)),
        ((2, 3), (4, 3), (-1, -1)),
        ((2, 3), (3, 2), ((-2, -1), (-1, -2))),
        ((0, 3), (3, 2), 1),
        ((2, 0), (0, 2), 1),
    ],
)
def test_tensordot(a, b, axes):
    check(lambda x, y: einsum.tensordot(x, y, axes), lambda x, y: np.tensordot(x, y, axes), arguments((a, b)))


def test_tensordot_refuses_repeated_axes():
    with pytest.raises(ValueError, match="duplicate"):
        einsum.tensordot(tensor(np.ones((2, 2))), np.ones((2, 2)), ([0, 0], [0, 1]))


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in EINSUMS])
def test_einsum(subscripts, shapes):
    check(lambda *xs: einsum.einsum(subscripts, *xs), lambda *xs: np.einsum(subscripts, *xs), arguments(shapes))


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in EINSUMS])
def test_einsum_through_numpy_and_complex(subscripts, shapes):
    arrays = arguments(shapes, np.complex128)
    check(lambda *xs: np.einsum(subscripts, *xs), lambda *xs: np.einsum(subscripts, *xs), arrays, orders=1)
    np.testing.assert_allclose(einsum.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays))


def test_einsum_keeps_float32():
    leaves = gradients(
        lambda *xs: einsum.einsum("bi,ij,j->b", *xs),
        arguments(((4, 3), (3, 2), (2,)), np.float32),
        np.ones(4, np.float32),
        create_graph=True,
    )
    assert all(leaf.grad.dtype == np.float32 for leaf in leaves)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, a, b: f(a, [0, 1], b, [1, 2]),
        lambda f, a, b: f(a, [0, 1], b, [1, 2], [2, 0]),
        lambda f, a, b: f(a, [5, 3], b, [3, 4]),
        lambda f, a, b: f(a, [27, 2], b, [2, 26]),
        lambda f, a, b: f(a, [..., 0], b, [0, 1], [1, ...]),
        lambda f, a, b: f(a, (0, 1)),
    ],
)
def test_einsum_with_lists_of_labels(call):
    check(
        lambda a, b: call(einsum.einsum, a, b) + 0 * b.sum(),
        lambda a, b: call(np.einsum, a, b),
        arguments(((2, 3), (3, 4))),
    )


@pytest.mark.parametrize(
    "optimize",
    [False, True, "greedy", "optimal", ["einsum_path", (0, 1), (0, 1)], ["einsum_path", (0, 1, 2)], ("greedy", 1000)],
)
def test_einsum_in_any_order(optimize):
    arrays = arguments(((2, 3), (3, 4), (4, 2)))
    check(
        lambda *xs: einsum.einsum("ij,jk,kl->li", *xs, optimize=optimize),
        lambda *xs: np.einsum("ij,jk,kl->li", *xs),
        arrays,
    )


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk", ((2, 3), (4, 2))),
        ("ii->i", ((1, 3),)),
        ("ij->ii", ((2, 2),)),
        ("ij->ik", ((2, 2),)),
        ("i,j", ((2,),)),
        ("i", ((2, 2),)),
        ("ijk", ((2, 2),)),
        ("i1", ((2, 2),)),
        (".i", ((2,),)),
        ("...i->i", ((2, 3),)),
    ],
)
def test_einsum_refuses_what_numpy_refuses(subscripts, shapes):
    arrays = arguments(shapes)
    with pytest.raises(ValueError):  # noqa: PT011  # NumPy's words differ
        np.einsum(subscripts, *arrays)
    with pytest.raises(ValueError):  # noqa: PT011  # NumPy's words differ
        einsum.einsum(subscripts, *map(tensor, arrays))


def test_einsum_labels_out_of_range():
    with pytest.raises(ValueError, match="valid range"):
        einsum.einsum(tensor(np.ones(2)), [52])
    with pytest.raises(TypeError):
        einsum.einsum(tensor(np.ones(2)), ["a"])


def test_einsum_of_one_value_twice():
    check(lambda x: einsum.einsum("ij,ik->jk", x, x), lambda x: x.T @ x, [normal((3, 2))])


@st.composite
def sums(draw):
    """Subscripts of two or three operands with repeated, summed and kept labels, with shapes that fit."""
    labels = "abcd"
    lengths = {c: draw(st.integers(1, 3)) for c in labels}
    terms = draw(st.lists(st.text(labels, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    kept = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    written = ",".join(terms) + ("->" + "".join(kept) if draw(st.booleans()) else "")
    return written, [tuple(lengths[c] for c in term) for term in terms]


@settings(max_examples=60, deadline=None)
@given(sums())
def test_random_einsum(example):
    subscripts, shapes = example
    assume(sum(int(np.prod(shape)) for shape in shapes) <= 40)
    check(lambda *xs: einsum.einsum(subscripts, *xs), lambda *xs: np.einsum(subscripts, *xs), arguments(shapes))


@settings(max_examples=60, deadline=None)
@given(sums(), st.sampled_from(string.ascii_lowercase[:4]), st.data())
def test_random_einsum_with_axes_of_length_one(example, label, data):
    subscripts, shapes = example
    terms = subscripts.split("->")[0].split(",")
    k = data.draw(st.integers(0, len(terms) - 1))
    shapes[k] = tuple(1 if c == label else n for c, n in zip(terms[k], shapes[k], strict=True))
    arrays = arguments(shapes)
    got = einsum.einsum(subscripts, *map(tensor, arrays))
    np.testing.assert_allclose(got.value, np.einsum(subscripts, *arrays), rtol=1e-12, atol=1e-12)


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


@pytest.mark.parametrize("function", [lambda x: einsum.einsum("ij->ij", x), lambda x: einsum.einsum("...", x)])
def test_a_result_is_not_its_operand(function):
    x = tensor(np.ones((2, 2)))
    y = function(x)
    y += 1
    np.testing.assert_array_equal(x.numpy(), np.ones((2, 2)))


DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "i8", "u8", "f4", "f8", "c8", "c16"]
SUMS = {"ij,jk->ik": ((2, 3), (3, 2)), "i,i->i": ((3,), (3,)), "ij,k->k": ((2, 3), (2,)), "i,i->": ((3,), (3,))}


@pytest.mark.parametrize("subscripts", SUMS)
def test_einsum_promotes_as_numpy_does(subscripts):
    """Sums of booleans and of small integers stay what they are, and wrap around."""
    rng = np.random.default_rng(0)
    for dtypes in itertools.combinations_with_replacement(DTYPES, 2):
        x, y = (
            rng.integers(0, 2 if d == "?" else 100, shape).astype(d)
            for d, shape in zip(dtypes, SUMS[subscripts], strict=True)
        )
        f = lambda x, y: np.einsum(subscripts, x, y)
        expected = f(x, y)
        for found in (f(tensor(x), tensor(y)).numpy(), np.asarray(trace(f, x, y).evaluate(x, y))):
            assert found.dtype == expected.dtype, dtypes
            np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=str(dtypes))


@pytest.mark.parametrize(
    "dtypes", [("i2", "u2", "f4"), ("i1", "u1", "f4"), ("?", "i4", "u1"), ("?", "?", "?"), ("f4", "f8", "c8")]
)
def test_einsum_of_three_promotes_them_together(dtypes):
    arrays = [np.array([1, 0, 1]).astype(d) for d in dtypes]
    expected = np.einsum("i,i,j->j", *arrays)
    found = np.einsum("i,i,j->j", *map(tensor, arrays))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)
