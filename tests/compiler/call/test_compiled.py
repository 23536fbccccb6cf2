"""`wg.compile` and `wg.function` as users meet them: calls, methods, trees, results, the report, lifetimes."""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, -1.5, 2.0])


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Layer:
    w: object
    b: object

    def __call__(self, x):
        return x @ self.w + self.b


# The decorator


@wg.compile
def decorated(x):
    """Says what it does."""
    return x * 2.0


@wg.compile(static_argnums=1)
def powered(x, n):
    return x**n


def test_decorator_and_call():
    assert np.array_equal(decorated(X), 2.0 * X)
    assert np.array_equal(powered(X, 3), X**3)
    assert np.array_equal(wg.compile(lambda x: x + 1.0)(X), X + 1.0)
    assert (decorated.__name__, decorated.__doc__) == ("decorated", "Says what it does.")
    assert list(inspect.signature(powered).parameters) == ["x", "n"]
    assert repr(decorated) == "<compiled decorated>"
    assert wg.compile(decorated) is decorated
    with pytest.raises(TypeError, match=r"takes a function.*test_compiled.py"):
        wg.compile(3.0)


class Model:
    def __init__(self, scale):
        self.scale = scale

    @wg.compile
    def method(self, x):
        return x * self.scale

    @staticmethod
    @wg.compile
    def static(x):
        return x + 1.0

    @wg.compile(static_argnums=2)
    def repeated(self, x, n):
        for _ in range(n):
            x = x * self.scale
        return x


def test_methods():
    two, three = Model(2.0), Model(3.0)
    for _ in range(2):
        assert np.array_equal(two.method(X), 2 * X)
        assert np.array_equal(three.method(X), 3 * X)
    assert np.array_equal(Model.static(X), X + 1)
    assert np.array_equal(two.repeated(X, 3), 8 * X)
    assert np.array_equal(two.repeated(X, n=2), 4 * X)
    assert "kernel" in str(Model.method.report(two, X))


# Trees and signatures


def test_trees_in_and_out():
    def f(params, batch, *, flags):
        x, (y, nothing) = batch
        out = params["layer"](x) - y
        assert nothing is None
        return OrderedDict(loss=(out**2).sum(), parts=[out, Pair(x, (flags["scale"], None))], layer=params["layer"])

    layer = Layer(np.arange(6.0).reshape(3, 2), np.ones(2))
    compiled = wg.compile(f)
    args, flags = ({"layer": layer}, (X, (np.ones(2), None))), {"scale": 3.0}
    for _ in range(2):
        got, want = compiled(*args, flags=flags), f(*args, flags=flags)
        assert list(got) == ["loss", "parts", "layer"]
        assert type(got) is OrderedDict
        assert type(got["parts"][1]) is Pair
        assert type(got["layer"]) is Layer
        np.testing.assert_allclose(got["loss"], want["loss"], rtol=1e-14)
        assert np.array_equal(got["parts"][0], want["parts"][0])
        assert got["parts"][1].second == (3.0, None)
        assert np.array_equal(got["layer"].w, layer.w)


def test_wrong_number_of_arguments():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        powered(X)
    assert np.array_equal(powered(X, 2), X**2)


# What is returned


def test_results_are_the_callers_own():
    f = wg.compile(lambda x, y: (x, y, x, x * 2.0, {"again": y}))
    x, y = X.copy(), np.arange(4)
    for _ in range(2):
        a, b, c, d, rest = f(x, y)
        for got, want in ((a, X), (b, np.arange(4)), (c, X), (d, 2 * X), (rest["again"], np.arange(4))):
            assert np.array_equal(got, want)
            got[...] = 7  # changes nothing else
    assert np.array_equal(x, X)
    assert np.array_equal(y, np.arange(4))


def test_the_same_value_twice():
    def f(x):
        y = np.exp(x)
        return y, y, -y

    a, b, c = wg.compile(f)(X)
    assert np.array_equal(a, b)
    assert np.array_equal(-a, c)
    assert not np.shares_memory(a, b)


def test_constants_and_python_numbers():
    table = np.arange(3.0)
    f = wg.compile(lambda x: (3, 2.5, True, np.float32(1.5), table, len(x), x.shape[0] * 2.0))
    for _ in range(2):
        got = f(X)
        assert [np.asarray(y).dtype.kind for y in got] == list("ifbffif")
        assert got[:4] == (3, 2.5, True, 1.5)
        assert got[5:] == (3, 6.0)
        got[4][0] = 9.0
    assert table[0] == 0.0
    assert wg.compile(lambda x: None)(X) is None
    assert wg.compile(lambda x: ())(X) == ()
    assert wg.compile(lambda: 1.5)() == 1.5
    assert wg.compile(lambda: {"a": [np.ones(2) * 2.0]})()["a"][0].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("bad", ["text", object(), np.add], ids=["string", "object", "function"])
def test_results_that_are_no_numbers(bad):
    with pytest.raises(TypeError, match="Return arrays, numbers"):
        wg.compile(lambda x: (x, bad))(X)


# The report, and what is kept


def test_report():
    f = wg.compile(lambda a, x: np.sort(a, axis=0, kind="quicksort") @ np.exp(x) + np.sinc(x)[0])
    report = f.report(np.eye(3), X)
    assert report.kernels
    assert sorted(report.fallbacks) == ["argsort", "sinc"]
    assert report.seconds > 0
    assert report.code_bytes > 0
    assert report.operations_traced == 7
    assert "define i32 @wengert.run" in report.llvm
    assert not report.is_warm
    text = str(report)
    for part in ("kernels", "2 operations by NumPy", "memory:", "bytes", "compiled in", "ms", "NumPy: argsort"):
        assert part in text
    assert repr(report) == text


def test_report_and_trace_take_specs():
    f = wg.compile(lambda x: np.exp(x).sum(axis=0))
    for shape in (3, (4, 2), (5,)):
        (given,) = f.trace(wg.Spec(shape, float)).inputs
        assert given.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert f.report(wg.Spec(shape, "f4")).kernels
    assert len(f.known) == 6
    f(np.ones(3))
    assert len(f.known) == 6


def test_arguments_are_not_kept_alive():
    f = wg.compile(lambda x: (x * 2.0).sum())
    x = np.ones(1000)
    tensor = wg.tensor(np.ones(1000), requires_grad=True)
    f(x)
    f(tensor).backward()
    kept = weakref.ref(x), weakref.ref(tensor)
    del x, tensor
    assert [k() for k in kept] == [None, None]


def test_tensors_that_are_filled_inside_are_local():
    def filled(x):
        a = wg.zeros(3)
        for i in range(3):
            a[i] = x[i] * (i + 1.0)
        return a

    x = np.array([1.0, 2.0, 3.0])
    f = wg.compile(filled)
    assert f(x).tolist() == f(x).tolist() == [1.0, 4.0, 9.0]
    assert wg.compile(wg.grad(lambda x: filled(x).sum()))(x).tolist() == [1.0, 2.0, 3.0]


def test_captured_tensors_that_are_changed_inside():
    outer = wg.zeros(2)

    @wg.compile
    def f(x):
        outer[0] = x[0]
        return outer * 2.0

    assert f(np.array([3.0, 1.0])).tolist() == [6.0, 0.0]
    assert isinstance(outer, wg.Tensor)
    assert outer.tolist() == [3.0, 0.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x[[0, 1, 0], 1:]),
        lambda x: x[np.argsort(x[:, 0]), 1:] * 2.0,
        lambda x: np.sin(x[:, :1]) + x[:, 1:],
        lambda x: np.sum(x[[0, 1], 1:]) + np.sum(x * np.sum(x)),
    ],
    ids=["gather", "gather by values", "broadcasting", "beside others"],
)
def test_loops_without_a_turn(f):
    """No element has a neighbour where another axis is empty."""
    x, direction = np.arange(5.0).reshape(5, 1), np.ones((5, 1))
    push = lambda x: wg.jvp(f, (x,), (direction,))[1]
    for g in (f, push, wg.grad(lambda x: np.sum(f(x)))):
        np.testing.assert_allclose(wg.compile(g)(x), g(x))
