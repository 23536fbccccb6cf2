"""Graphs of functions, and graphs by hand: `trace`, `symbol`, `gradients`, `function`; pickled, compared and hashed."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg
from wengert.core.tree import flatten
from wengert.modes import recording

X = np.array([0.5, -1.5, 2.0])
A = np.arange(6.0).reshape(2, 3) - 2.0


def same(got, want, rtol=1e-13):
    got, got_structure = flatten(got)
    want, want_structure = flatten(want)
    assert got_structure == want_structure
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype


# Tracing


@dataclasses.dataclass
class Point:
    x: object
    y: object


TRACED = {
    "numbers": (lambda x, y: np.log(x) + x * y, (2.0, 5)),
    "arrays": (lambda x, a: (a @ x, a.sum(axis=0) * x), (X, A)),
    "trees": (lambda p, q: {"sum": p.x + q["z"][0], "both": [p, None]}, (Point(X, 2.0), {"z": (X, None)})),
    "constants": (lambda x, flip, name: (-x if flip else x) * len(name), (X, True, "abc")),
    "scalars": (lambda x, y: x * y, (np.float32(2.0), np.int8(3))),
    "single": (lambda x: np.float32(2.0) * x, (X.astype(np.float32),)),
    "independent": (lambda x: (3, X, x), (X,)),
    "integers": (lambda x: (x // 2, x % 3, x << 1), (np.arange(5),)),
    "complex": (lambda z: (z * z.conj(), np.abs(z)), (X + 1j,)),
    "assignment": (lambda x: assigned(x), (X,)),
}


def assigned(x):
    y = np.zeros(4) + x.sum()
    y[1:] = x
    y[0] += 2.0 * x[2]
    z = x.copy()
    z[z < 0] = 0.0
    return y, z


@pytest.mark.parametrize("name", TRACED)
def test_a_traced_function_evaluates_as_itself(name):
    f, args = TRACED[name]
    graph = wg.trace(f, *args).validate()
    same(graph.evaluate(*args), f(*args))
    same(graph.optimize().validate().evaluate(*args), f(*args))


def test_keywords_and_specs():
    graph = wg.trace(lambda x, *, scale: x * scale, wg.Spec(3, "f4"), scale=wg.Spec((), np.float64))
    assert [(given.name, given.shape, given.dtype) for given in graph.inputs] == [
        ("x", (3,), np.float32),
        ("scale", (), np.float64),
    ]
    same(graph.evaluate(X.astype(np.float32), scale=np.float64(2.0)), X * 2.0)
    with pytest.raises(TypeError, match="This graph takes"):
        graph.evaluate(X)
    with pytest.raises(TypeError, match=r"Input x .* f32\[3\], and was given f64\[3\]"):
        graph.evaluate(X, scale=np.float64(2.0))
    with pytest.raises(TypeError, match=r"graph of a function.*np\.trace"):
        wg.trace(A)


def test_names():
    graph = wg.trace(lambda params, x, *rest, beta=0.0: params["w"][0] * x + rest[0] + beta, {"w": [X]}, X, X, beta=1.0)
    assert [given.name for given in graph.inputs] == ["params['w'][0]", "x", "x2", "beta"]

    def named(x):
        inner = np.sin(x)
        outer = inner * inner
        return outer + inner

    assert "inner" in str(wg.trace(named, X).python())
    assert [node.source.line for node in wg.trace(named, X).operations] == [
        named.__code__.co_firstlineno + k for k in (1, 2, 3)
    ]


TRANSFORMS = {
    "grad": (wg.grad(lambda x: (np.sin(x) * x).sum()), X),
    "hessian": (wg.hessian(lambda x: (np.sin(x) * x).prod()), X),
    "jacfwd": (wg.jacfwd(lambda x: A @ np.tanh(x)), X),
    "vmap of grad": (wg.vmap(wg.grad(lambda x: (x**3).sum())), A),
    "jvp": (lambda x: wg.jvp(np.exp, (x,), (x,)), X),
    "taylor": (lambda x: wg.taylor(lambda x: np.exp(np.sin(x)), x, 3), np.float64(0.3)),
    "checkpoint": (wg.grad(lambda x: wg.checkpoint(lambda x: np.sin(x).sum())(x)), X),
    "compiled": (wg.compile(lambda x: np.exp(x) * 2.0), X),
    "grad of compiled": (wg.grad(wg.compile(lambda x: (np.exp(x) * 2.0).sum())), X),
    "gradient of a trace": (lambda x: wg.grad(lambda y: wg.trace(lambda z: (z**2).sum(), y).evaluate(y))(x), X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_traced_and_graphs_are_transformed(name):
    f, x = TRANSFORMS[name]
    graph = wg.trace(f, x).validate()
    same(graph.evaluate(x), f(x))
    total = lambda f: lambda x: sum([np.sum(y * y) for y in flatten(f(x))[0]])
    same(wg.grad(total(graph.evaluate))(x), wg.grad(total(f))(x), rtol=1e-12)
    same(wg.vmap(graph.evaluate)(np.stack([x, x])), wg.vmap(f)(np.stack([x, x])))


def test_a_value_of_a_transform_that_has_ended_is_an_error():
    def f(x):
        kept = []
        wg.jvp(lambda y: (kept.append(y), y)[1], (x,), (1.0,))
        return kept[0]

    with pytest.raises(wg.GradientError, match=r"transform that has ended.*test_tracing.py"):
        wg.trace(f, 1.0)


# Symbols


def test_symbols_take_numpy():
    x, a = wg.symbol("x", 3), wg.symbol("a", (2, 3))
    assert (x.shape, x.dtype, x.ndim, x.size, len(a), repr(x)) == ((3,), np.float64, 1, 3, 2, "symbol(x: f64[3])")
    built = {
        "operators": (x * 2 + 1.0 / x - x**2, lambda x, a: x * 2 + 1.0 / x - x**2),
        "reflected": (2.0 - x + np.ones(3) * x, lambda x, a: 2.0 - x + np.ones(3) * x),
        "functions": (np.where(x > 0, np.sin(x), np.exp(x)), lambda x, a: np.where(x > 0, np.sin(x), np.exp(x))),
        "methods": (a.T.reshape(-1).max() + a.mean(axis=1), lambda x, a: a.T.reshape(-1).max() + a.mean(axis=1)),
        "products": (a @ x, lambda x, a: a @ x),
        "indexing": (a[0, ::2] + x[[0, 2]] * a[1, -1], lambda x, a: a[0, ::2] + x[[0, 2]] * a[1, -1]),
        "joining": (np.concatenate([x, a[0]]), lambda x, a: np.concatenate([x, a[0]])),
        "comparison": (x >= a, lambda x, a: x >= a),
        "iteration": (sum(row @ x for row in a), lambda x, a: sum(row @ x for row in a)),
        "several outputs": (np.split(a, 3, axis=1)[1], lambda x, a: np.split(a, 3, axis=1)[1]),
    }
    function = wg.function([x, a], {name: y for name, (y, _) in built.items()})
    for _ in range(2):
        same(function(X, A), {name: f(X, A) for name, (_, f) in built.items()})


def test_assignment_to_symbols():
    x = wg.symbol("x", 3)
    y = x * 1.0
    y[0] = 5.0
    y[1:] *= 2.0
    y += x
    assert x.node is not y.node
    same(wg.function([x], y)(X), np.array([5.0, 2 * X[1], 2 * X[2]]) + X)
    (slope,) = wg.gradients(y.sum(), [x])
    same(wg.function([x], slope)(X), np.array([1.0, 3.0, 3.0]))


def test_dtypes_of_symbols():
    x, n = wg.symbol("x", (), "f4"), wg.symbol("n", 2, int)
    assert (x * 2.0).dtype == np.float32
    assert (x * np.float64(2.0)).dtype == np.float64
    assert (n * 2).dtype == np.int64
    assert (n / 2).dtype == np.float64
    function = wg.function([x, n], (x * n, n // 2))
    same(function(1.5, [4.0, 6.0]), (np.array([6.0, 9.0]), np.array([2, 3])))  # converted to what the symbols are


def test_function_says_what_is_wrong():
    x, y = wg.symbol("x"), wg.symbol("y")
    with pytest.raises(ValueError, match=r"depend on y, not among the inputs.*test_tracing.py"):
        wg.function([x], x * y)
    with pytest.raises(TypeError, match=r"takes symbols made by wg.symbol.*test_tracing.py"):
        wg.function([x * 2.0], x)
    with pytest.raises(TypeError, match="takes symbols"):
        wg.function([3.0], x)
    with pytest.raises(TypeError, match=r"takes 1 arguments, and was given 2.*test_tracing.py"):
        wg.function([x], x)(1.0, 2.0)
    assert wg.function([x, y], [x, 3.0, {"y": y}])(1.0, 2.0) == [1.0, 3.0, {"y": 2.0}]


# Gradients of symbols


def test_gradients_of_several():
    x, y = wg.symbol("x", 3), wg.symbol("y")
    value = (np.sin(x) * y).sum() + y**3
    slopes = wg.gradients(value, [x, y])
    same(wg.function([x, y], slopes)(X, 2.0), [np.cos(X) * 2.0, np.sin(X).sum() + 12.0])
    single = wg.gradients(value, x)
    same(wg.function([x, y], single)(X, 2.0), np.cos(X) * 2.0)
    weighted = wg.gradients([x * x, y * x], [x, y], grad_ys=[np.array([1.0, 0.0, 2.0]), None])
    same(wg.function([x, y], weighted)(X, 2.0), [2 * X * [1.0, 0.0, 2.0] + 2.0, X.sum()])
    symbolic = wg.gradients(x * x, [x], grad_ys=y * np.ones(3))
    same(wg.function([x, y], symbolic)(X, 2.0), [4.0 * X])
    twice = wg.gradients([value, value], y)
    same(wg.function([x, y], twice)(X, 2.0), 2 * (np.sin(X).sum() + 12.0))


def test_gradients_of_gradients():
    x = wg.symbol("x")
    y = np.exp(np.sin(x)) * x
    points = np.float64(0.7)
    f = lambda x: np.exp(np.sin(x)) * x
    for _ in range(4):
        y, f = wg.gradients(y, x), wg.grad(f)
        same(wg.function([x], y)(points), f(points), rtol=1e-12)


def test_gradients_with_respect_to_what_lies_between():
    x = wg.symbol("x", 3)
    middle = np.sin(x)
    out = (middle * middle * x).sum()
    slope, whole = wg.gradients(out, [middle, x])
    same(wg.function([x], [slope, whole])(X), [2 * np.sin(X) * X, np.sin(X) ** 2 + 2 * np.sin(X) * np.cos(X) * X])


def test_gradients_that_are_zero_or_one():
    x, y = wg.symbol("x", 3), wg.symbol("y")
    independent, itself = wg.gradients([y * 2.0, x], [x, y])
    assert (independent.shape, itself.shape) == ((3,), ())
    same(wg.function([x, y], [independent, itself])(X, 1.0), [np.ones(3), np.float64(2.0)])
    (zero,) = wg.gradients(y * 2.0, [x])
    same(wg.function([x, y], zero)(X, 1.0), np.zeros(3))
    (through,) = wg.gradients(wg.stop_gradient(x) * x, [x])
    same(wg.function([x], through)(X), X)


def test_gradients_say_what_is_wrong():
    x, n = wg.symbol("x"), wg.symbol("n", (), int)
    with pytest.raises(TypeError, match=r"takes symbols.*ndarray.*test_tracing.py"):
        wg.gradients(x * 2.0, [X])
    with pytest.raises(wg.GradientError, match=r"int64.*test_tracing.py"):
        wg.gradients(x * n, [n])


def test_gradients_agree_with_every_other_way():
    def f(x, a):
        y = np.tanh(a @ x)
        parts = np.split(np.sort(y * y[::-1]), 2)
        return (parts[0] * parts[1]).sum() + np.max(a) * np.where(x > 0, x, x * x).prod()

    x, a = wg.symbol("x", 3), wg.symbol("a", (2, 3))
    by_symbols = wg.function([x, a], wg.gradients(f(x, a), [x, a]))(X, A * 0.1)
    same(tuple(by_symbols), wg.grad(f, argnums=(0, 1))(X, A * 0.1), rtol=1e-12)
    same(tuple(by_symbols), wg.compile(wg.grad(f, argnums=(0, 1)))(X, A * 0.1), rtol=1e-12)


# Graphs as data


def graphs():
    return {name: (wg.trace(f, *args), args) for name, (f, args) in TRACED.items()}


@pytest.mark.parametrize("name", TRACED)
def test_graphs_are_pickled_whole(name):
    graph, args = graphs()[name]
    for again in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert again == graph
        assert hash(again) == hash(graph)
        assert str(again) == str(graph)
        assert str(again.python()) == str(graph.python())
        assert [node.weak for node in again.nodes] == [node.weak for node in graph.nodes]
        assert [node.spec for node in again.nodes] == [node.spec for node in graph.nodes]
        same(again.validate().evaluate(*args), graph.evaluate(*args))
        same(wg.compile(again.evaluate)(*args), graph.evaluate(*args))


def test_numbers_of_python_stay_so_through_pickling():
    single = X.astype(np.float32)
    graph = wg.trace(lambda x, a: x * (a * 2.0 + 1), single, 3.0)
    again = pickle.loads(pickle.dumps(graph))
    assert again.evaluate(single, 3.0).dtype == np.float32
    assert again.evaluate(single, np.float64(3.0)).dtype == np.float32


def test_names_survive_pickling():
    def f(x):
        inner = np.sin(x)
        outer = inner * inner
        return outer + inner

    graph = wg.trace(f, X)
    assert "inner" in str(pickle.loads(pickle.dumps(graph)).python())
    assert pickle.loads(pickle.dumps(graph)).mathematics() == graph.mathematics()


def test_equality():
    base = wg.trace(lambda x: x * 2.0, X)
    assert base == wg.trace(lambda y: y * 2.0, X + 1.0)
    for other in (
        wg.trace(lambda x: x * 3.0, X),
        wg.trace(lambda x: 2.0 * x, X),
        wg.trace(lambda x: x * 2, X),
        wg.trace(lambda x: x * np.float64(2.0), X),
        wg.trace(lambda x: x + 2.0, X),
        wg.trace(lambda x: x * 2.0, X.astype(np.float32)),
        wg.trace(lambda x: x * 2.0, X[:2]),
        wg.trace(lambda x, y: x * 2.0, X, X),
    ):
        assert base != other
    assert wg.trace(lambda x: x * 0.0, X) != wg.trace(lambda x: x * -0.0, X)
    assert wg.trace(lambda x: x * np.zeros(3), X) != wg.trace(lambda x: x * -np.zeros(3), X)
    assert base != "a text"


HASHES = """
import json, numpy as np, wengert as wg
x, a = np.ones(3), np.arange(6.0).reshape(2, 3)
graphs = [
    wg.trace(lambda x, a: {"b": a @ x, "a": np.split(a, 3, axis=1)}, x, a),
    wg.trace(lambda x: x[[0, 2]].sum(axis=(0,), keepdims=True) + x[..., None, ::-1] * x[x.shape[0] - 1], x),
    wg.trace(wg.grad(lambda x: (np.where(x > 0, np.sin(x), x) * np.einsum("i,j->j", x, x)).sum()), x),
    wg.trace(lambda x: x.astype(np.float32) * np.arange(3, dtype="i2"), x),
]
print(json.dumps([g.fingerprint for g in graphs]))
"""


def test_hashes_are_the_same_in_every_process():
    found = []
    for seed in ("0", "1", "random"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", HASHES], capture_output=True, text=True, env=environment, check=True
        )
        found.append(json.loads(run.stdout))
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 4


@pytest.mark.parametrize("weight", [2, 2.0, np.float32(2.0), np.array(2.0)])
def test_weights_of_gradients_may_be_plain_numbers(weight):
    x = wg.symbol("x")
    (slope,) = wg.gradients(x**3, [x], grad_ys=weight)
    assert wg.function([x], slope)(3.0) == 54.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wg.scan(lambda s, u: (wg.sin(s) * u + x, s * x), x, np.array([1.0, 2.0, 3.0]))[1].sum(),
        lambda x: wg.while_loop(lambda s: s < 100.0, lambda s: s * s * x, x),
        lambda x: wg.cond(x > 0, wg.sin, wg.cos, x),
    ],
    ids=["scan", "while", "cond"],
)
def test_gradients_of_symbols_go_through_loops_and_choices(f):
    x = wg.symbol("x")
    slope = wg.gradients(f(x), x)
    curvature = wg.gradients(slope, x)
    found = wg.function([x], (slope, curvature))(1.7)
    np.testing.assert_allclose(found, [wg.grad(f)(1.7), wg.grad(wg.grad(f))(1.7)], rtol=1e-12)


def test_an_interrupt_between_the_function_and_the_end_of_its_block_leaves_no_trace_behind(monkeypatch):
    """Python looks for signals when it enters `__exit__`, so that an interrupt may skip all of it."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recording.override, "__exit__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            wg.trace(np.sin, np.ones(3))
    assert recording.current_trace() is None
    w = wg.tensor(np.ones(3), requires_grad=True)
    w.grad = None  # a trace would take it for a step of training
