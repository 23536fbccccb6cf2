import numpy as np
import pytest
from hypothesis import given, settings
from tests.graph.passes.programs import SPECIAL, assert_same_bits, names, programs

import wengert as wg
from wengert.core.definition import Definition
from wengert.core.primitive import Primitive
from wengert.graph.graph import Graph
from wengert.graph.ir import make_operation
from wengert.graph.passes import optimize
from wengert.graph.passes.fold import fold
from wengert.graph.passes.simplify import simplify
from wengert.transforms.tracing import trace

X = np.array(SPECIAL)
GONE = {
    "x * 1": lambda x: x * 1,
    "1.0 * x": lambda x: 1.0 * x,
    "x * ones": lambda x: x * np.ones(x.shape),
    "x / 1": lambda x: x / 1,
    "x - 0.0": lambda x: x - 0.0,
    "x + -0.0": lambda x: x + -0.0,
    "-0.0 + x": lambda x: -0.0 + x,
    "-(-x)": lambda x: np.negative(-x),
    "positive": lambda x: +x,
    "copy": lambda x: x.copy(),
    "x ** 1": lambda x: np.power(x, 1.0),
    "conj": lambda x: np.conj(x),
    "real": lambda x: np.real(x),
    "stop_gradient": wg.stop_gradient,
    "where true": lambda x: np.where(np.full(x.shape, True), x, 2.0),
    "where false": lambda x: np.where(np.array(False), 2.0, x),
    "where equal": lambda x: np.where(x > 0, x, x),
    "astype": lambda x: x.astype(np.float64),
    "broadcast_to": lambda x: np.broadcast_to(x, x.shape),
    "reshape": lambda x: x.reshape(x.shape),
    "maximum": lambda x: np.maximum(x, x),
    "max of nothing": lambda x: x.max(axis=()),
    "roll": lambda x: np.roll(x, 0, 0),
    "pad": lambda x: np.pad(x, 0),
    "concatenate": lambda x: np.concatenate([x]),
}


@pytest.mark.parametrize("name", GONE)
def test_what_changes_nothing_goes(name):
    graph = trace(GONE[name], X)
    after = simplify(graph)
    assert len(graph.operations) >= 1
    assert names(after) == []
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


CHEAPER = {
    "x * -1": (lambda x: x * -1.0, ["negative"]),
    "-1 * x": (lambda x: -1 * x, ["negative"]),
    "x / -1": (lambda x: x / -1, ["negative"]),
    "x / 4": (lambda x: x / 4, ["multiply"]),
    "-0.0 - x": (lambda x: -0.0 - x, ["negative"]),
    "x + -y": (lambda x: x + -np.sin(x), ["sin", "subtract"]),
    "-y + x": (lambda x: -np.sin(x) + x, ["sin", "subtract"]),
    "x - -y": (lambda x: x - -np.sin(x), ["sin", "add"]),
    "-x * -y": (lambda x: -x * -np.sin(x), ["sin", "multiply"]),
    "-x * 3.0": (lambda x: -x * 3.0, ["multiply"]),
    "3.0 / -x": (lambda x: 3.0 / -x, ["divide"]),
    "|-x|": (lambda x: np.abs(-x), ["absolute"]),
    "(-x)**2": (lambda x: np.square(-x), ["square"]),
    "not not": (lambda x: np.logical_not(np.logical_not(x > 0)), ["greater"]),
    "not equal": (lambda x: np.logical_not(x == 1.0), ["not_equal"]),
    "where not": (lambda x: np.where(np.logical_not(x > 0), x, 1.0), ["greater", "where"]),
    "and true": (lambda x: np.logical_and(x > 0, np.array(True)), ["greater"]),
    "or true": (lambda x: np.logical_or(x > 0, np.array(True)), ["broadcast_to"]),
    "3 * (2 * x)": (lambda x: 3.0 * (x * 2.0), ["multiply"]),
    "-5 * (4 * x)": (lambda x: (4.0 * x) * -5.0, ["multiply"]),
    "stack of one": (lambda x: np.stack([x], axis=1), ["expand_dims"]),
    "ones_like": (lambda x: np.ones_like(x) * np.sin(x), ["sin"]),
}


@pytest.mark.parametrize("name", CHEAPER)
def test_cheaper_operations_give_the_same_bits(name):
    f, expected = CHEAPER[name]
    graph = trace(f, X)
    after = simplify(graph)
    assert names(after) == expected
    assert names(graph) != expected
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


KEPT = {
    "sum along no axes": lambda x: x.sum(axis=()),
    "x + 0.0": lambda x: x + 0.0,
    "x * 0.0": lambda x: x * 0.0,
    "x - x": lambda x: x - x,
    "x / x": lambda x: x / x,
    "0.0 - x": lambda x: 0.0 - x,
    "x - -0.0": lambda x: x - -0.0,
    "x ** 1.5": lambda x: np.power(x, 1.5),
    "not less": lambda x: np.logical_not(x < 1.0),
    "2 * (3 * x)": lambda x: 2.0 * (3.0 * x),
    "0.1 * (2 * x)": lambda x: 0.1 * (2.0 * x),
    "3 * (0.5 * x)": lambda x: 3.0 * (0.5 * x),
    "x / 3": lambda x: x / 3.0,
    "x / 2**-1074": lambda x: x / 5e-324,
    "where unequal": lambda x: np.where(x > 0, x, 0.0),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_changes_some_number_stays(name):
    graph = trace(KEPT[name], X)
    assert simplify(graph) is graph


def test_dtypes_stay():
    graph = trace(lambda x: x * np.float64(1.0), np.ones(3, np.float32))
    assert simplify(graph) is graph
    assert graph.outputs[0].dtype == np.float64


def test_broadcasts_stay():
    graph = trace(lambda x: x * np.ones((2, 3)), np.ones(3))
    after = simplify(graph)
    assert names(after) == ["broadcast_to"]
    assert_same_bits(graph.evaluate(X[:3]), after.evaluate(X[:3]))


def test_complex_products_stay():
    z = np.array([complex(np.inf, 0.0), complex(0.0, np.nan), 1 - 0j])
    for f in (lambda z: z * 1.0, lambda z: z / 1.0, lambda z: z + -0.0, lambda z: z * -1.0):
        graph = trace(f, z)
        assert simplify(graph) is graph
    assert names(simplify(trace(lambda z: np.negative(-z), z))) == []
    assert names(simplify(trace(np.conj, z))) == ["conj"]


def test_integers_have_one_zero():
    n = np.arange(-2, 3)
    for f in (lambda n: n + 0, lambda n: n - 0, lambda n: n * 1):
        assert names(simplify(trace(f, n))) == []
    assert names(simplify(trace(lambda n: n / 1, n))) == ["multiply"]  # by 1.0, which makes a float of it


def test_negative_integers_wrap_before_they_are_promoted():
    n, x = np.array([0, 1, 255], np.uint8), np.array([0.5, 0.5, 0.5])
    graph = trace(lambda n, x: (x + -n, x - -n, -n * 3.0, (-n).astype(np.float64) * -x), n, x)
    assert_same_bits(graph.evaluate(n, x), simplify(graph).evaluate(n, x))


def test_numbers_of_low_precision_do_not_overflow():
    x = np.zeros(3, np.float16)
    graph = trace(lambda x: 60000.0 * (2.0 * x), x)
    assert_same_bits(graph.evaluate(x), simplify(graph).evaluate(x))


def test_narrower_and_back_stays():
    x = np.array([0.1, 1e300])
    assert len(simplify(trace(lambda x: x.astype(np.float32).astype(np.float64), x)).operations) == 2
    assert names(simplify(trace(lambda x: x.astype(np.float64).astype(np.float32), np.ones(2, np.float32)))) == []


def test_names_and_sources_are_kept():
    def f(x):
        twice = x * -1.0
        return np.sin(twice)

    before, after = trace(f, X), simplify(trace(f, X))
    assert [node.source.line for node in after.operations] == [node.source.line for node in before.operations]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_twice_is_exact_up_to_the_ends_of_the_range(dtype):
    info = np.finfo(dtype)
    ends = np.array(
        [info.max, info.max / 2, info.max / 12, info.tiny, info.smallest_subnormal, 3 * info.smallest_subnormal], dtype
    )
    x = np.concatenate([ends, -ends, np.random.default_rng(0).normal(size=1000).astype(dtype)])
    graph = trace(lambda x: 100.1 * (4.0 * x), x)
    after = simplify(graph)
    assert names(after) == ["multiply"]
    assert_same_bits(graph.evaluate(x), after.evaluate(x))


@settings(max_examples=150)
@given(programs())
def test_random_programs_keep_their_bits(program):
    x, y = X[:8].reshape(2, 4), X[-4:]
    graph = trace(program, x, y)
    assert_same_bits(graph.evaluate(x, y), simplify(graph).evaluate(x, y))
    assert_same_bits(graph.evaluate(x, y), simplify(fold(graph)).evaluate(x, y))


def test_an_operation_that_is_only_called_like_another_one_stays():
    own = Primitive(
        Definition(name="positive", impl=lambda x: x + 1.0, kind="elementwise", inputs=("x",), rules=(lambda t: t,))
    )
    graph = trace(lambda x: x, X)
    graph = Graph(graph.inputs, [make_operation(own, graph.inputs)])
    assert optimize(graph) is graph
    assert graph.mathematics() == "f = positive(x)"
    np.testing.assert_array_equal(graph.evaluate(X), X + 1.0)
