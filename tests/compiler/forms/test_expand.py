"""Expansions: an expanded program computes the same, in operations that have native code."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.forms.expand import expand
from wengert.compiler.forms.lowering import expansion
from wengert.core.infer import is_elementwise
from wengert.core.primitive import OUTPUT
from wengert.core.tree import flatten

RNG = np.random.default_rng(0)


def normal(*shape, dtype=np.float64):
    return (RNG.normal(size=shape) * 3).astype(dtype)


def names(graph):
    return {node.primitive.name for node in graph.operations}


def assert_expands(f, *args, away=(), rtol=1e-12):
    """The same specs and numbers, without the operations that were to be written out."""
    graph = wg.trace(f, *args)
    after = expand(graph)
    assert not names(after) & set(away)
    assert [node.spec for node in after.outputs] == [node.spec for node in graph.outputs]
    with np.errstate(all="ignore"):
        expected, found = flatten(f(*args))[0], flatten(after.evaluate(*args))[0]
    for y, z in zip(found, expected, strict=True):
        assert (np.shape(y), np.asarray(y).dtype) == (np.shape(z), np.asarray(z).dtype)
        np.testing.assert_allclose(y, z, rtol=rtol, atol=rtol)
    return after


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_reductions(axis, keepdims, dtype):
    x = normal(3, 4, 5).astype(dtype)
    rtol = 1e-5 if dtype is np.float32 else 1e-12
    after = assert_expands(lambda x: np.mean(x, axis=axis, keepdims=keepdims), x, away=["mean"], rtol=rtol)
    assert "sum" in names(after)
    assert_expands(lambda x: np.count_nonzero(x, axis=axis, keepdims=keepdims), x, away=["count_nonzero"])
    if dtype not in (np.int64, np.bool_):
        assert_expands(lambda x: wg.logsumexp(x, axis=axis, keepdims=keepdims), x, away=["logsumexp"], rtol=rtol)
        assert_expands(lambda x: np.max(x, axis=axis, keepdims=keepdims, initial=0.5), x, rtol=rtol)
        assert_expands(lambda x: np.min(x, axis=axis, keepdims=keepdims, initial=0.5), x, rtol=rtol)


@pytest.mark.parametrize("order", [1, 2, 3, 2.5, np.inf])
def test_norms(order):
    x = normal(4, 6)
    assert_expands(lambda x: np.linalg.norm(x, ord=order, axis=1), x, away=["norm"])
    assert_expands(lambda x: np.linalg.norm(x, ord=order, axis=0, keepdims=True), x, away=["norm"])
    assert_expands(lambda x: np.linalg.norm(x), x, away=["norm"])


def test_logsumexp_of_extremes():
    x = np.array(
        [[-np.inf, -np.inf], [np.inf, 1.0], [1000.0, 999.0], [-1000.0, -np.inf], [np.nan, 0.0], [np.inf, -np.inf]]
    )
    assert_expands(lambda x: wg.logsumexp(x, 1), x, away=["logsumexp"])
    np.testing.assert_array_equal(wg.compile(lambda x: wg.logsumexp(x, 1))(x), wg.logsumexp(x, 1))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
        ((4,), (5, 4, 2)), ((5, 2, 3), (3,)), ((6, 1, 2, 3), (5, 3, 4)), ((30, 20), (20, 10)),
        ((2, 30, 20), (20, 10)), ((2, 30, 20), (2, 20, 10)), ((30, 20), (3, 20, 10)),
        ((2, 1, 30, 20), (3, 20, 10)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((500, 3), (3, 2)),
        ((3, 500), (500, 2)), ((1, 1), (1, 1)),
    ],
    ids=str,
)  # fmt: skip
def test_matrix_products(a, b):
    for dtype in (np.float64, np.float32, np.int64):
        x, y = normal(*a, dtype=dtype), normal(*b, dtype=dtype)
        rtol = 1e-4 if dtype is np.float32 else 1e-11
        assert_expands(np.matmul, x, y, rtol=rtol)
        np.testing.assert_allclose(wg.compile(np.matmul)(x, y), x @ y, rtol=rtol, atol=rtol)
    mixed = normal(*a, dtype=np.float32), normal(*b)
    assert wg.compile(np.matmul)(*mixed).dtype == np.float64
    np.testing.assert_allclose(wg.compile(np.matmul)(*mixed), np.matmul(*mixed), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "subscripts",
    ["ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "ij,ij->ij", "ij,ij->i", "ij,ij->", "i,j->ij", "aij,ajk->aik",
     "aij,ajk->kia", "aij,aik->ajk", "ij,i->j", "aij,a->ij", "aij,bij->ab", "i,i->",
     "abij,abjk->baki", "...i,...i->..."],
)  # fmt: skip
def test_sums_of_products_by_labels(subscripts):
    extents = dict(zip("aijkb", (2, 3, 4, 5, 6), strict=True))
    for large in (1, 9):
        operands = [
            normal(
                *([2, 3] if "." in labels else []),
                *[extents[c] * (large if c in "ik" else 1) for c in labels.replace(".", "")],
            )
            for labels in subscripts.split("->")[0].split(",")
        ]
        f = lambda x, y: np.einsum(subscripts, x, y)
        assert_expands(f, *operands, away=["einsum"])
        np.testing.assert_allclose(wg.compile(f)(*operands), f(*operands), rtol=1e-11, atol=1e-11)


def test_cross_products():
    for a, b in (((3,), (3,)), ((4, 3), (3,)), ((4, 3), (4, 3)), ((2, 1, 3), (5, 3))):
        assert_expands(np.cross, normal(*a), normal(*b), away=["cross"])


def test_pieces_are_slices():
    x = normal(7, 4)
    after = assert_expands(lambda x: np.split(x, [2, 2, 5], axis=0), x, away=["split"])
    assert names(after) == {"getitem"}
    after = assert_expands(lambda x: wg.unstack(x, axis=1), x, away=["unstack"])
    assert OUTPUT not in {node.primitive for node in after.operations}
    after = assert_expands(lambda x: np.split(x, 2, axis=1)[1] * 2, x, away=["split"])
    assert names(after) == {"getitem", "multiply"}


def test_full_like():
    x = normal(2, 3)
    f = lambda x: (
        np.full_like(x, 3),
        np.full_like(x, 2.5, dtype=np.int64),
        np.full_like(x, 1, shape=(4,)),
        np.ones_like(x),
        np.zeros_like(x),
    )
    assert_expands(f, x, away=["full_like"])
    assert_expands(lambda x, y: np.full_like(x, y), x, np.arange(3), away=["full_like"])


def test_complex_numbers():
    x = normal(3, 4) + 1j * normal(3, 4)
    assert_expands(lambda x: (np.linalg.norm(x), np.linalg.norm(x, 3.0, axis=0)), x, away=["norm"])
    assert_expands(lambda x: (x @ x.T, x[0] @ x[1]), x, away=["matmul"])
    assert_expands(lambda x: np.einsum("ij,kj->ik", x, x), x, away=["einsum"])
    assert_expands(lambda x: np.mean(x, 0), x, away=["mean"])


def test_what_is_not_made_of_others_stays_itself():
    x = normal(3, 4)
    graph = wg.trace(lambda x: np.cumsum(np.sin(x), 0) + np.sort(x, 0), x)
    assert expand(graph).outputs == graph.outputs


@pytest.mark.parametrize("primitive", list(expansion), ids=lambda p: p.name)
def test_every_expansion_has_a_case_in_the_table(primitive):
    """So the table's cases, compiled, run through all of them; elementwise operations run on their domain."""
    assert primitive.trial.cases or is_elementwise(primitive) or primitive.trial.params


SMALL_PRODUCTS = {
    "ab,lbr->lar": ((2, 2), (16, 2, 40)),
    "ba,lbr->arl": ((3, 2), (16, 3, 40)),
    "lbr,b->lr": ((16, 2, 40), (2,)),
    "nj,ij->ni": ((600, 3), (3, 3)),
    "lar,lbr->ab": ((16, 2, 40), (16, 2, 40)),
    "lar,rlb->ba": ((16, 2, 40), (40, 16, 3)),
    "lr,lar->a": ((16, 40), (16, 2, 40)),
    "lr,rl->": ((16, 40), (40, 16)),
}


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("c16", "c16"), ("f8", "c16")], ids=str)
@pytest.mark.parametrize("subscripts", SMALL_PRODUCTS)
def test_einsum_with_a_small_matrix_is_sums_in_one_loop(subscripts, dtypes):
    rng = np.random.default_rng(0)
    x, y = [rng.integers(-5, 6, s).astype(d) for s, d in zip(SMALL_PRODUCTS[subscripts], dtypes, strict=True)]
    f = lambda x, y: np.einsum(subscripts, x, y)
    report = wg.compile(f).report(x, y)
    assert not report.routines
    assert not report.fallbacks
    assert len([step for step in report.kernels if "[16, 40]" in step or "[40, 16]" in step or "[600]" in step]) == 1
    np.testing.assert_array_equal(wg.compile(f)(x, y), f(x, y))
