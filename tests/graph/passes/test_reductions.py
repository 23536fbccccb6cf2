import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.graph.passes.programs import assert_close, assert_same_bits, names, programs

from wengert.core.spec import Spec
from wengert.graph.passes.reductions import reductions
from wengert.graph.passes.views import views
from wengert.transforms.tracing import trace

X = np.random.default_rng(0).normal(size=(2, 3, 4))
ROW = X[0, 0]
SHORTER = {
    "sum of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).sum(axis=0), ["multiply"]),
    "sum of partly broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).sum(axis=(0, 2)), ["sum", "multiply"]),
    "sum of all of a broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).sum(), ["sum", "multiply"]),
    "sum that stays broadcast": (lambda x: np.broadcast_to(x, (5, 6, 2, 3, 4)).sum(axis=1), ["multiply", "broadcast_to"]),
    "mean of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).mean(axis=(0, 1)), ["mean"]),
    "max of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).max(axis=(0, -1)), ["max"]),
    "min of broadcast": (lambda x: np.broadcast_to(x, (50, 2, 3, 4)).min(axis=0, keepdims=True), ["reshape"]),
    "sum along one": (lambda x: x[:, None].sum(axis=1), ["getitem", "reshape"]),
    "mean along one and more": (lambda x: x[:, None].mean(axis=(0, 1)), ["getitem", "mean", "reshape"]),
    "sum of sum": (lambda x: x.sum(axis=1).sum(axis=0), ["sum"]),
    "sum of sum with axes kept": (lambda x: x.sum(axis=1, keepdims=True).sum(axis=(0, 2), keepdims=True), ["sum", "reshape"]),
    "mean of mean": (lambda x: x.mean(axis=2).mean(), ["mean"]),
    "max of max": (lambda x: x.max(axis=2, keepdims=True).max(axis=0), ["max", "reshape"]),
    "sum of reshape": (lambda x: x.reshape(24).sum(), ["sum"]),
    "sum of transpose": (lambda x: x.T.sum(axis=0), ["sum", "transpose"]),
    "sum of all of a transpose": (lambda x: x.T.sum(), ["sum"]),
    "factor of a sum": (lambda x: (3.0 * x).sum(axis=0), ["sum", "multiply"]),
    "divisor of a mean": (lambda x: (x / 3.0).mean(axis=(0, 1)), ["mean", "divide"]),
    "sum of negatives": (lambda x: (-x).sum(axis=2), ["sum", "negative"]),
}


@pytest.mark.parametrize("name", SHORTER)
def test_less_is_added(name):
    f, expected = SHORTER[name]
    graph = trace(f, X)
    after = reductions(graph)
    assert [n for n in names(after) if n != "reshape" or n in expected] == expected
    assert names(graph) != names(after)
    assert_close(graph.evaluate(X), after.evaluate(X))


KEPT = {
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
    assert reductions(graph) is graph


def test_a_product_that_is_used_elsewhere_stays():
    def f(x):
        y = 3.0 * x
        return y, y.sum()

    graph = trace(f, X)
    assert reductions(graph) is graph


def test_the_factor_is_multiplied_once():
    graph = trace(lambda x: (3.0 * x).sum(), X)
    assert [node.size for node in graph.operations] == [24, 1]
    assert [node.size for node in reductions(graph).operations] == [1, 1]


CONTRACTIONS = {
    "matrix product": (lambda x, y: (x[:, :, None] * y[None, :, :]).sum(axis=1), (20, 30), (30, 25), "AB,BC->AC"),
    "transposed": (lambda x, y: (x[:, None, :] * y[None, :, :]).sum(axis=-1), (20, 30), (25, 30), "AC,BC->AB"),
    "with axes kept": (lambda x, y: (x[:, :, None] * y).sum(axis=1, keepdims=True), (20, 30), (30, 25), "AB,BC->AC"),
    "stack": (lambda x, y: (x[:, :, :, None] * y[:, None]).sum(axis=2), (3, 20, 30), (3, 30, 25), "ABC,ACD->ABD"),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_sums_of_products_are_contractions(name):
    f, x, y, subscripts = CONTRACTIONS[name]
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=x), rng.normal(size=y)
    graph = trace(f, x, y)
    after = reductions(views(graph))
    (found,) = [node for node in after.operations if node.primitive.name == "einsum"]
    assert found.params["subscripts"] == subscripts
    assert max(node.size for node in after.operations) < max(node.size for node in graph.operations)
    assert_close(graph.evaluate(x, y), after.evaluate(x, y))


def test_counts_of_truth_values():
    graph = trace(lambda x: (np.broadcast_to(x > 0, (5, 2, 3, 4)).sum(axis=0), (x > 0)[None].sum(axis=0)), X)
    assert_same_bits(graph.evaluate(X), reductions(graph).evaluate(X))


def test_dtypes_stay():
    graph = trace(lambda x: np.broadcast_to(x, (50, 3)).sum(axis=0), Spec((3,), np.dtype(np.float32)))
    after = reductions(graph)
    assert names(after) == ["multiply"]
    assert after.outputs[0].dtype == np.float32


def test_empty_axes():
    x = np.ones((0, 3))
    graph = trace(lambda x: (np.broadcast_to(x[:, :1], (0, 3)).sum(axis=1), x.sum(axis=0), np.broadcast_to(x, (2, 0, 3)).sum(axis=1)), x)
    assert_same_bits(graph.evaluate(x), reductions(graph).evaluate(x))


@settings(max_examples=200, deadline=None)
@given(programs(reducing=True))
def test_random_programs_on_integers_are_exact(program):
    x, y = np.array([[0.0, 1.0, -1.0, 2.0], [3.0, -2.0, 1.0, 1.0]]), np.array([1.0, -1.0, 2.0, 0.0])
    graph = trace(program, x, y)
    largest = trace(lambda x, y: [np.abs(v).max() for v in program(x, y) if v.size], x, y).evaluate(x, y)
    assume(all(n < 2**40 for n in largest))
    before = graph.evaluate(x, y)
    for after in (reductions(graph), reductions(views(graph))):
        for u, v in zip(before, after.evaluate(x, y), strict=True):
            assert u.shape == v.shape
            np.testing.assert_array_equal(u, v)
