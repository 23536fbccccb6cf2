"""The source of a graph runs, and gives the same numbers as the graph: for every operation of the table and for whole
programs.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import by_operation, each
from tests.test_table import CONSTANT, ELEMENTWISE, OTHERS, SHAPES, case_arguments, op_of, sample, several

import wengert as wg
from wengert.core.errors import TrackedValueError
from wengert.core.kinds import elementwise
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.core.tree import flatten
from wengert.distributed.operation import DISTRIBUTED_SUM
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, make_operation
from wengert.transforms.tracing import gradients, symbol, trace


def check(f, *args) -> str:
    """The source of f, after it was run: on the same arguments it gave the same numbers, to the last bit."""
    graph = trace(f, *args)
    source = graph.python()
    with np.errstate(all="ignore"):
        outs = source.function()(*flatten(args)[0])
    expected = flatten(graph.evaluate(*args))[0]
    for found, right, node in zip(several(outs), expected, graph.outputs, strict=True):
        np.testing.assert_array_equal(found, right)
        assert np.asarray(found).dtype == node.dtype
        assert np.shape(found) == node.shape
    return source


def body(source: str) -> list[str]:
    return [line.strip() for line in source.splitlines() if line.startswith("    ")]


@pytest.mark.parametrize(
    "primitive",
    [p for p in (*ELEMENTWISE, *CONSTANT) if p.trial.domain and not p.trial.cases and p.definition.spec is None],
    ids=lambda p: p.name,
)
@each(
    ("shapes", "dtype"),
    [
        pytest.param(shapes, dtype, id=f"{name} {dtype.__name__}")
        for name, shapes in SHAPES.items()
        for dtype in (np.float64, np.float32, np.complex128)
    ],
)
def test_elementwise_operations(primitive, shapes, dtype):
    args = sample(primitive, shapes, dtype)
    try:
        op_of(primitive)(*args)
    except TypeError:
        return  # NumPy does not define it
    check(op_of(primitive), *args)


@by_operation(
    ("primitive", "case"),
    [pytest.param(p, c, id=f"{p.name}-{k}") for p in (*OTHERS, *CONSTANT) for k, c in enumerate(p.trial.cases)],
)
def test_other_operations(primitive, case):
    args = case_arguments(case)
    op = op_of(primitive, case.params)
    try:
        trace(op, *args)
    except TrackedValueError:
        return  # its shape depends on numbers
    if primitive is DISTRIBUTED_SUM:
        with pytest.raises(TypeError, match="its data are no part of the program"):
            check(op, *args)
        return
    check(op, *args)


def test_variables_have_the_names_that_the_user_gave_them():
    def f(x, w):
        y = np.sin(x) * w
        for _ in range(2):
            y = y * y + x
        return y.sum()

    assert body(check(f, np.arange(3.0), np.ones(3))) == [
        "y = np.sin(x) * w",
        "y = y * y + x",
        "y = y * y + x",
        "return np.sum(y)",
    ]


def test_a_name_that_is_still_needed_is_not_used_again():
    def f(x):
        y = np.sin(x)
        first = y
        y = np.cos(x)
        y = y * first
        return y + first

    assert body(check(f, np.arange(3.0))) == ["y = np.sin(x)", "y_1 = np.cos(x)", "y_1 = y_1 * y", "return y_1 + y"]


def test_an_input_may_be_overwritten_when_it_is_not_needed_any_more():
    def f(x):
        x = x + 1.0
        return x * x

    assert body(check(f, 2.0)) == ["x = x + 1.0", "return x * x"]


def test_what_an_inlined_value_reads_is_not_overwritten_before():
    def f(x):
        y = np.exp(x)
        late = [np.sin(y)]
        y = np.cos(x)
        y = np.tan(y)
        return late[0] - y

    check(f, np.arange(3.0))


def test_arguments_of_trees_become_identifiers():
    def f(params, *more, lambda_=1.0):
        return params["w"] @ params["b"][0] + more[0] * lambda_

    source = check(f, {"w": np.ones((2, 3)), "b": [np.arange(3.0)]}, 2.0)
    assert "def f(params_w, params_b_0, x1):" in source or "def f(params_b_0, params_w, x1):" in source


def test_names_that_python_keeps_for_itself():
    x, y, z = symbol("lambda"), symbol("np"), symbol("sum")
    source = Graph([s.node for s in (x, y, z)], [(x * y * np.exp(z)).node]).python()
    assert "def f(lambda_, np_, sum):" in source
    assert source.function()(2.0, 3.0, 0.0) == 6.0


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x, y: (x + y) * y, "(x + y) * y"),
        (lambda x, y: x + y * y, "x + y * y"),
        (lambda x, y: x - (y - x), "x - (y - x)"),
        (lambda x, y: x - y - x, "x - y - x"),
        (lambda x, y: x / (y * x), "x / (y * x)"),
        (lambda x, y: -(x**2), "-x ** 2"),
        (lambda x, y: (-x) ** 2, "(-x) ** 2"),
        (lambda x, y: x**-3.0, "x ** -3.0"),
        (lambda x, y: (x**3.0) ** y, "(x ** 3.0) ** y"),
        (lambda x, y: x ** (y**3.0), "x ** y ** 3.0"),
        (lambda x, y: -2.0 * x, "-2.0 * x"),
        (lambda x, y: (-2.0) ** x, "(-2.0) ** x"),
        (lambda x, y: -(x + y), "-(x + y)"),
        (lambda x, y: (x < y) == (y < x), "(x < y) == (y < x)"),
        (lambda x, y: ~(x < y) & (x > 0), "~(x < y) & (x > 0)"),
        (lambda x, y: (x * y)[1:], "(x * y)[1:]"),
        (lambda x, y: x[:, None] @ y[None, :], "x[:, None] @ y[None, :]"),
        (lambda x, y: np.where(x > y, x, np.nan), "np.where(x > y, x, np.nan)"),
        (lambda x, y: x * np.float64(2.0), "x * 2.0"),
        (lambda x, y: x.astype(np.float32) * np.float64(2.5), "x.astype(np.float32) * np.float64(2.5)"),
        (lambda x, y: x.max(), "np.max(x)"),
        (lambda x, y: np.outer(x, y).T.sum(axis=1, keepdims=True), None),
        (lambda x, y: wg.sigmoid(x), "wg.sigmoid(x)"),
    ],
)
def test_expressions_have_the_parentheses_that_they_need(f, text):
    found = body(check(f, np.array([1.0, 2.0, -0.5]), np.array([3.0, 0.5, 2.0])))
    assert text is None or found[-1] == f"return {text}"


CONSTANTS = {
    "python": 2.5,
    "negative": -1e-300,
    "infinite": float("inf"),
    "minus infinite": float("-inf"),
    "nan": float("nan"),
    "complex": 1.5 - 2j,
    "complex zero": complex(-0.0, -2.0),
    "complex infinity": complex(float("inf"), float("nan")),
    "scalar": np.float64(0.1),
    "single": np.float32(0.1),
    "half": np.float16(0.1),
    "truth": np.True_,
    "integer": np.int8(-3),
    "vector": np.array([1.0, -0.0, np.nan]),
    "integers": np.array([[1, 2, 3]]),
    "shorts": np.array([1, 2, 3], np.int16),
    "truths": np.array([True, False, True]),
    "ones": np.ones((5, 3)),
    "minus zeros": np.full((5, 3), -0.0),
    "nans": np.full((5, 3), np.nan, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "large": np.arange(30.0).reshape(10, 3),
    "long double": np.longdouble(1) / 3,
}


@pytest.mark.parametrize("value", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_are_exact(value):
    f = lambda x: np.where(np.array([[True], [False]]), x, value) if np.ndim(value) < 1 else x + value
    graph = trace(f, np.ones(3, np.float32))
    source = graph.python()
    found, expected = source.function()(np.ones(3, np.float32)), graph.evaluate(np.ones(3, np.float32))
    assert found.dtype == expected.dtype
    assert (
        found.tobytes() == expected.tobytes() or np.asarray(value).dtype == np.longdouble and (found == expected).all()
    )


def test_large_constants_are_parameters():
    table = np.linspace(0.0, 1.0, 50)
    source = trace(lambda x: x * table, np.ones(50)).python("scaled")
    assert "def scaled(x, *, c):" in source
    assert list(source.constants) == ["c"]
    np.testing.assert_array_equal(source.function()(np.full(50, 2.0)), 2.0 * table)


def test_operations_of_the_user():
    cube = elementwise("cube_for_source", lambda x: x * x * x, lambda t, x: t * (3.0 * x * x))
    try:
        source = check(lambda x: cube(x) + 1.0, np.arange(3.0))
        assert "cube_for_source = lookup('cube_for_source').op" in source
        assert body(source)[-1] == "return cube_for_source(x) + 1.0"
    finally:
        del TABLE["cube_for_source"]


def test_a_variable_that_is_called_like_an_operation():
    def f(x):
        mean = np.mean(x)
        divide_live = np.sqrt(x) - mean
        return divide_live * mean

    assert body(check(f, np.arange(3.0)))[:2] == ["mean = np.mean(x)", "divide_live = np.sqrt(x) - mean"]
    check(wg.grad(lambda x: f(x).sum()), np.arange(1.0, 4.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: ~(a < 1.5) & (x > a),
        lambda a, x: np.where(np.logical_not(a > 2), x, -x),
        lambda a, x: (a // 0.75) % 0.5 * x,
        lambda a, x: (1 / a - a) * x.astype(np.float32),
        lambda a, x: np.sin(a) * x,
    ],
)
def test_numbers_of_python(f):
    x = np.arange(3.0)
    graph = trace(f, 2.5, x)
    found = graph.python().function()(2.5, x)
    assert found.dtype == graph.outputs[0].dtype
    np.testing.assert_array_equal(found, f(2.5, x))


def test_captured_values_are_parameters():
    w = wg.tensor([1.0, 2.0], requires_grad=True)
    source = trace(lambda x: x * w, np.ones(2)).python()
    assert source.constants == {"c": w}
    assert (source.function()(np.ones(2)) * 3.0).requires_grad


def test_indexed_gradients():
    def f(x, i):
        y = x[1:, ::-1] * x[0]
        return np.sum(y[[0, 1, 1]] ** 2) + x[i, i].sum()

    source = check(wg.grad(f), np.arange(9.0).reshape(3, 3), np.array([0, 2, 2]))
    assert "np.add.at(" in source
    assert "= np.zeros((3, 3))" in source


def mlp(params, x):
    h = np.tanh(params["w1"] @ x + params["b"][:, None])
    z = params["w2"] @ h
    return -np.mean(z - wg.logsumexp(z, axis=0))


def test_programs():
    rng = np.random.default_rng(0)
    params = {"w1": rng.normal(size=(4, 3)), "w2": rng.normal(size=(2, 4)), "b": rng.normal(size=4)}
    x = rng.normal(size=(3, 5))
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    for f, args in (
        (mlp, (params, x)),
        (wg.grad(mlp), (params, x)),
        (wg.value_and_grad(mlp), (params, x)),
        (wg.hessian(rosenbrock), (rng.normal(size=4),)),
        (wg.vmap(wg.grad(rosenbrock)), (rng.normal(size=(3, 4)),)),
        (wg.jacfwd(lambda x: np.cumprod(x) / np.linalg.norm(x)), (rng.normal(size=4),)),
        (lambda x: np.split(np.sort(x), 2), (rng.normal(size=4),)),
        (lambda x: (x, x, 1.0), (rng.normal(size=4),)),
        (lambda x: np.std(x, axis=0) + np.median(x), (rng.normal(size=(4, 3)),)),
    ):
        check(f, *args)


UNARY = (
    np.sin,
    np.exp,
    np.negative,
    np.square,
    np.sqrt,
    np.absolute,
    lambda x: 2.0 - x,
    lambda x: x[::-1],
    lambda x: x.sum() * x,
)
BINARY = (
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.maximum,
    lambda x, y: np.where(x > y, x, y),
    lambda x, y: x**y,
)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40))
def test_random_programs(steps):
    def f(x, y):
        values = [x, y]
        for kind, i, j in steps:
            a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
            kept = UNARY[kind](a) if kind < len(UNARY) else BINARY[kind - len(UNARY)](a, b)
            values.append(kept)
        return kept, values[len(values) // 2]

    check(f, np.array([0.5, 1.25, -2.0]), np.array([0.3, 3.0, 0.7]))


def test_a_long_chain_is_many_lines():
    node = first = Input(Spec((), np.dtype(float)), name="x")
    for _ in range(10_000):
        node = make_operation(TABLE["sin"], [node])
    graph = Graph([first], [node])
    source = graph.python()
    assert max(map(len, source.splitlines())) < 140
    assert source.function()(1.0) == graph.evaluate(1.0)


def test_symbols_and_their_derivatives():
    x = symbol("x", 3)
    y = np.sin(x) * x
    (slope,) = gradients(y, [x])
    graph = Graph([x.node], [y.node, slope.node])
    for found, expected in zip(graph.python().function()(np.arange(3.0)), graph.evaluate(np.arange(3.0)), strict=True):
        np.testing.assert_array_equal(found, expected)
