import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.graph.passes.programs import assert_close, assert_same_bits, names, programs

import wengert as wg
from wengert.core.spec import Spec
from wengert.graph.passes.reductions import shorten_reductions
from wengert.graph.passes.views import merge_views
from wengert.transforms.tracing import trace

X = np.random.default_rng(0).normal(size=(2, 3, 4))
ROW = X[0, 0]
SHORTER = {
    "sum of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).sum(axis=0), ["add", "multiply"]),
    "sum of partly broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).sum(axis=(0, 2)), ["sum", "multiply"]),
    "sum of all of a broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).sum(), ["sum", "multiply"]),
    "sum that stays broadcast": (
        lambda x: np.broadcast_to(x, (5, 6, 2, 3, 4)).sum(axis=1),
        ["add", "multiply", "broadcast_to"],
    ),
    "mean of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).mean(axis=(0, 1)), ["mean"]),
    "max of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).max(axis=(0, -1)), ["max"]),
    "min of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).min(axis=0, keepdims=True), ["reshape"]),
    "sum along one": (lambda x: x[:, None].sum(axis=1), ["getitem", "add", "reshape"]),
    "mean along one and more": (lambda x: x[:, None].mean(axis=(0, 1)), ["getitem", "mean", "reshape"]),
    "sum of sum": (lambda x: x.sum(axis=1).sum(axis=0), ["sum"]),
    "sum of sum with axes kept": (
        lambda x: x.sum(axis=1, keepdims=True).sum(axis=(0, 2), keepdims=True),
        ["sum", "reshape"],
    ),
    "mean of mean": (lambda x: x.mean(axis=2).mean(), ["mean"]),
    "max of max": (lambda x: x.max(axis=2, keepdims=True).max(axis=0), ["max", "reshape"]),
    "sum of reshape": (lambda x: x.reshape(24).sum(), ["sum"]),
    "sum of transpose": (lambda x: x.T.sum(axis=0), ["sum", "transpose"]),
    "sum of all of a transpose": (lambda x: x.T.sum(), ["sum"]),
    "sum of negatives": (lambda x: (-x).sum(axis=2), ["sum", "subtract"]),
}


@pytest.mark.parametrize("name", SHORTER)
def test_less_is_added(name):
    f, expected = SHORTER[name]
    graph = trace(f, X)
    after = shorten_reductions(graph)
    assert [n for n in names(after) if n != "reshape" or n in expected] == expected
    assert names(graph) != names(after)
    assert_close(graph.evaluate(X), after.evaluate(X))


KEPT = {
    "factor of a sum": lambda x: (3.0 * x).sum(axis=0),
    "divisor of a mean": lambda x: (x / 3.0).mean(axis=(0, 1)),
    "factor that may be infinite": lambda x: (x * x[0, 0]).sum(axis=1),
    "factor that may be zero": lambda x: (x / x[0, 0, 0]).sum(),
    "factor that varies along the sum": lambda x: (x * x[0, 0]).sum(axis=2),
    "divided by what varies": lambda x: (3.0 / x).sum(axis=0),
    "sum of max": lambda x: x.max(axis=0).sum(),
    "broadcast along other axes": lambda x: np.broadcast_to(x, (5, 2, 3, 4)).sum(axis=1),
    "max with a beginning": lambda x: np.broadcast_to(x, (5, 2, 3, 4)).max(axis=0, initial=0.0),
    "products of few numbers": lambda x: (x[0][:, :, None] * x[1].T[None]).sum(axis=1),
    "products of arrays of one shape": lambda x: (x * np.sin(x)).sum(),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_would_save_nothing_or_be_wrong_stays(name):
    graph = trace(KEPT[name], X)
    assert shorten_reductions(graph) is graph


def test_a_product_that_is_used_elsewhere_stays():
    def f(x):
        y = 3.0 * x
        return y, y.sum()

    graph = trace(f, X)
    assert shorten_reductions(graph) is graph


OVERFLOWS = {
    "halves": lambda x: (x / 2.0).sum(),
    "hundredths": lambda x: (0.01 * x).sum(axis=1),
    "mean": lambda x: (x / 2.0).mean(),
    "trapezoid": lambda x: np.trapezoid(x, dx=0.5),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_a_sum_overflows_where_it_did(name):
    x = np.array([[1e308, 1.2e308, 0.5e308], [1e308, -1.2e308, 1e308]])
    graph = trace(OVERFLOWS[name], x)
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_allclose(
            np.asarray(OVERFLOWS[name](x)), np.asarray(wg.compile(OVERFLOWS[name])(x)), rtol=1e-14
        )
        np.testing.assert_allclose(graph.evaluate(x), shorten_reductions(graph).evaluate(x), rtol=1e-14)


ZEROS = {
    "sum along one": lambda x: x[:, None].sum(axis=1),
    "mean along one": lambda x: x[:, None].mean(axis=1),
    "sum of a number": lambda x: x[0].sum(),
    "sum of broadcast": lambda x: np.broadcast_to(x, (5, 3)).sum(axis=0),
    "sum of negatives": lambda x: (-x[1:]).sum(),
    "sum of sum": lambda x: x[:, None].sum(axis=1).sum(),
}


@pytest.mark.parametrize("name", ZEROS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sum_is_never_negative_zero(name, dtype):
    x = np.array([-0.0, 0.0, -0.0], dtype)
    graph = trace(ZEROS[name], x)
    assert_same_bits(ZEROS[name](x), graph.evaluate(x))
    assert_same_bits(graph.evaluate(x), shorten_reductions(graph).evaluate(x))
    assert_same_bits(graph.evaluate(x), wg.compile(ZEROS[name])(x))


CONTRACTIONS = {
    "matrix product": (lambda x, y: (x[:, :, None] * y[None, :, :]).sum(axis=1), (20, 30), (30, 25), "AB,BC->AC"),
    "transposed": (lambda x, y: (x[:, None, :] * y[None, :, :]).sum(axis=-1), (20, 30), (25, 30), "AC,BC->AB"),
    "with axes kept": (lambda x, y: (x[:, :, None] * y).sum(axis=1, keepdims=True), (20, 30), (30, 25), "AB,BC->AC"),
    "with a factor": (
        lambda x, y: (3.0 * (x[:, :, None] * y[None, :, :])).sum(axis=1),
        (20, 30),
        (30, 25),
        "AB,BC->AC",
    ),
    "with a divisor": (lambda x, y: (x[:, :, None] * y[None, :, :] / 3.0).sum(axis=1), (20, 30), (30, 25), "AB,BC->AC"),
    "stack": (lambda x, y: (x[:, :, :, None] * y[:, None]).sum(axis=2), (3, 20, 30), (3, 30, 25), "ABC,ACD->ABD"),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_sums_of_products_are_contractions(name):
    f, x, y, subscripts = CONTRACTIONS[name]
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=x), rng.normal(size=y)
    graph = trace(f, x, y)
    after = shorten_reductions(shorten_reductions(merge_views(graph)))
    (found,) = [node for node in after.operations if node.primitive.name == "einsum"]
    assert found.params["subscripts"] == subscripts
    assert max(node.size for node in after.operations) < max(node.size for node in graph.operations)
    assert_close(graph.evaluate(x, y), after.evaluate(x, y))


def test_counts_of_booleans():
    graph = trace(lambda x: (np.broadcast_to(x > 0, (5, 2, 3, 4)).sum(axis=0), (x > 0)[None].sum(axis=0)), X)
    assert_same_bits(graph.evaluate(X), shorten_reductions(graph).evaluate(X))


def test_dtypes_stay():
    graph = trace(lambda x: np.broadcast_to(x, (50, 3)).sum(axis=0), Spec((3,), np.dtype(np.float32)))
    after = shorten_reductions(graph)
    assert names(after) == ["add", "multiply"]
    assert after.outputs[0].dtype == np.float32


def test_empty_axes():
    x = np.ones((0, 3))
    graph = trace(
        lambda x: (
            np.broadcast_to(x[:, :1], (0, 3)).sum(axis=1),
            x.sum(axis=0),
            np.broadcast_to(x, (2, 0, 3)).sum(axis=1),
        ),
        x,
    )
    assert_same_bits(graph.evaluate(x), shorten_reductions(graph).evaluate(x))


@settings(max_examples=200)
@given(programs(reducing=True))
def test_random_programs_on_integers_are_exact(program):
    x, y = np.array([[0.0, 1.0, -1.0, 2.0], [3.0, -2.0, 1.0, 1.0]]), np.array([1.0, -1.0, 2.0, 0.0])
    graph = trace(program, x, y)
    largest = trace(lambda x, y: [np.abs(v).max() for v in program(x, y) if v.size], x, y).evaluate(x, y)
    assume(all(n < 2**40 for n in largest))
    before = graph.evaluate(x, y)
    for after in (shorten_reductions(graph), shorten_reductions(merge_views(graph))):
        for u, v in zip(before, after.evaluate(x, y), strict=True):
            assert u.shape == v.shape
            np.testing.assert_array_equal(u, v)
