"""Sums of products by subscripts: NumPy's values, derivatives against differences of values."""

from __future__ import annotations

import itertools
import string

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.ops.checks import arguments, check, gradients, normal

from wengert.modes.tensor import tensor
from wengert.ops.contraction import einsum
from wengert.transforms.tracing import trace

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


@settings(max_examples=60)
@given(sums())
def test_random_einsum(example):
    subscripts, shapes = example
    assume(sum(int(np.prod(shape)) for shape in shapes) <= 40)
    check(lambda *xs: einsum.einsum(subscripts, *xs), lambda *xs: np.einsum(subscripts, *xs), arguments(shapes))


@settings(max_examples=60)
@given(sums(), st.sampled_from(string.ascii_lowercase[:4]), st.data())
def test_random_einsum_with_axes_of_length_one(example, label, data):
    subscripts, shapes = example
    terms = subscripts.split("->")[0].split(",")
    k = data.draw(st.integers(0, len(terms) - 1))
    shapes[k] = tuple(1 if c == label else n for c, n in zip(terms[k], shapes[k], strict=True))
    arrays = arguments(shapes)
    got = einsum.einsum(subscripts, *map(tensor, arrays))
    np.testing.assert_allclose(got.value, np.einsum(subscripts, *arrays), rtol=1e-12, atol=1e-12)


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
