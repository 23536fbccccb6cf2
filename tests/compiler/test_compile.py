"""`wg.compile` as users meet it: calls, trees, static arguments, captured values, errors, the report."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import math
import weakref
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import wengert as wg
from wengert.core.primitive import TABLE

X = np.array([0.5, -1.5, 2.0])
Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Layer:
    w: object
    b: object

    def __call__(self, x):
        return x @ self.w + self.b


def counted(f):
    """A function that counts how often it is traced, and its count."""
    calls = []

    def g(*args, **kwargs):
        calls.append(1)
        return f(*args, **kwargs)

    return g, calls


def here() -> int:
    return inspect.currentframe().f_back.f_lineno


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
    with pytest.raises(TypeError, match=r"takes a function.*test_compile.py"):
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


# Static arguments


@pytest.mark.parametrize(
    "static",
    [
        {"static_argnums": 1},
        {"static_argnums": -1},
        {"static_argnums": (1,)},
        {"static_argnames": "n"},
        {"static_argnames": ["n"]},
    ],
)
def test_static_by_place_and_name(static):
    def f(x, n=2):
        return sum([x * k for k in range(n)], start=x)

    g, calls = counted(f)
    g.__signature__ = inspect.signature(f)
    compiled = wg.compile(g, **static)
    for n in (1, 2, 4):
        assert np.array_equal(compiled(X, n), f(X, n))
        assert np.array_equal(compiled(X, n=n), f(X, n))
    assert np.array_equal(compiled(X), f(X))
    assert len(calls) == 7  # three numbers by place, three by name, one left out
    compiled(X, 4)
    assert len(calls) == 7


def test_static_values_that_are_equal_but_not_the_same():
    kinds = wg.compile(
        lambda x, n: x * (2.0 if type(n) is float else 3.0 if type(n) is bool else 1.0), static_argnums=1
    )
    assert [kinds(1.0, n) for n in (1, 1.0, True, 1)] == [1.0, 2.0, 3.0, 1.0]
    signed = wg.compile(lambda x, s: x * math.copysign(1.0, s), static_argnums=1)
    assert [signed(1.0, s) for s in (0.0, -0.0)] == [1.0, -1.0]
    nested = wg.compile(lambda x, t: x * (1.0 if isinstance(t[0], int) else 2.0), static_argnums=1)
    assert [nested(1.0, t) for t in ((1, 2), (1.0, 2.0))] == [1.0, 2.0]
    g, calls = counted(lambda x, s: x + s)
    missing = wg.compile(g, static_argnums=1)
    for _ in range(3):
        assert math.isnan(missing(1.0, float("nan")))
    assert len(calls) == 1


def test_static_arguments_may_be_anything_hashable():
    f = wg.compile(lambda x, op, axes: getattr(np, op)(x, axis=axes), static_argnames=("op", "axes"))
    x = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(f(x, op="sum", axes=(0,)), x.sum(0))
    assert np.array_equal(f(x, "max", 1), x.max(1))
    apply = wg.compile(lambda g, x: g(x), static_argnums=0)
    assert np.array_equal(apply(np.square, X), X**2)
    assert np.array_equal(apply(np.negative, X), -X)


def test_static_arguments_in_signatures_that_do_not_tell():
    f = wg.compile(lambda *args: args[0] * sum(args[1]), static_argnums=-1)
    assert np.array_equal(f(X, (1, 2)), 3 * X)
    g = wg.compile(lambda x, **options: x * options["scale"][0], static_argnames="scale")
    assert np.array_equal(g(X, scale=(3,)), 3 * X)


def test_static_arguments_that_cannot_be():
    with pytest.raises(ValueError, match=rf"no argument 2.*test_compile.py:{here() + 1}"):
        wg.compile(lambda x, n: x, static_argnums=2)
    with pytest.raises(ValueError, match="no argument 'm'"):
        wg.compile(lambda x, n: x, static_argnames="m")
    with pytest.raises(
        TypeError, match=rf"static argument .* hashable; this is a list, at .*test_compile.py:{here() + 1}"
    ):
        powered(X, [1, 2])
    with pytest.raises(TypeError, match="hashable; this is a ndarray"):
        powered(X, X)


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


def test_each_structure_shape_and_dtype_is_traced_once():
    g, calls = counted(lambda x, scale=1.0: np.sin(x) * scale)
    f = wg.compile(g)
    inputs = [
        X,
        X.astype(np.float32),
        np.ones((2, 3)),
        np.ones(0),
        np.float64(2.0),
        2.0,
        3,
        np.array([[1, 2]]),
        X.astype(">f8"),
    ]
    for _ in range(2):
        for x in inputs:
            got, want = f(x), np.sin(x) * 1.0
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert np.asarray(got).dtype == np.asarray(want).dtype.newbyteorder("=")
            assert np.shape(got) == np.shape(want)
    assert len(calls) == len(inputs)
    f(X, 2.0)
    f(X, scale=2.0)
    f(X, scale=np.ones(3))
    assert len(calls) == len(inputs) + 3


def test_python_numbers_give_way_to_arrays():
    single = X.astype(np.float32)
    f = wg.compile(lambda x, a: (x * a, a * 2.0, x + (a * 3 - 1)))
    for a in (2.0, 2):
        got, want = f(single, a), (single * a, a * 2.0, single + (a * 3 - 1))
        assert [np.asarray(y).dtype for y in got] == [np.asarray(y).dtype for y in want]
        for y, z in zip(got, want, strict=True):
            assert np.array_equal(y, z)
    assert f(single, np.float64(2.0))[0].dtype == np.float64


def test_large_integers():
    f = wg.compile(lambda x, n: x * n)
    for n in (1, 2**62, -(2**63) + 1, 2**63, 2**70, -(2**100), 3):
        assert np.array_equal(f(X, n), X * n)


def test_truth_values_and_texts_are_constants():
    g, calls = counted(lambda x, flip, kind: (-x if flip else x) + (1.0 if kind == "up" else 0.0))
    f = wg.compile(g)
    for _ in range(2):
        for flip in (True, False):
            for kind in ("up", "down"):
                assert np.array_equal(f(X, flip, kind), (-X if flip else X) + (kind == "up"))
    assert len(calls) == 4


@pytest.mark.parametrize("bad", [{1, 2}, bytearray(b"ab")], ids=["set", "bytearray"])
def test_arguments_that_cannot_be_told_apart(bad):
    with pytest.raises(
        TypeError, match=rf"hashable; this is a {type(bad).__name__}, at .*test_compile.py:{here() + 1}"
    ):
        wg.compile(lambda x, other: x)(X, bad)


@pytest.mark.parametrize(
    "bad", [np.array(["a"]), np.array([None, 1]), np.datetime64("2020-01-01")], ids=["text", "object", "date"]
)
def test_arrays_that_hold_no_numbers(bad):
    with pytest.raises(TypeError, match=rf"arrays of numbers.*test_compile.py:{here() + 1}"):
        wg.compile(lambda x: x)(bad)
    with pytest.raises(TypeError, match="Return arrays, numbers"):
        wg.compile(lambda x: (x, bad))(X)


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


@pytest.mark.parametrize("bad", ["text", object(), np.add], ids=["text", "object", "function"])
def test_results_that_are_no_numbers(bad):
    with pytest.raises(TypeError, match="Return arrays, numbers"):
        wg.compile(lambda x: (x, bad))(X)


# What is captured


def test_captured_arrays_keep_the_numbers_they_had():
    table = np.array([1.0, 2.0, 3.0])
    f = wg.compile(lambda x: x * table)
    assert np.array_equal(f(X), X * [1.0, 2.0, 3.0])
    table[:] = 10.0
    assert np.array_equal(f(X), X * [1.0, 2.0, 3.0])
    assert np.array_equal(f(X.astype(np.float32)), X * 10.0)  # traced anew


def test_an_array_that_changes_while_it_is_traced():
    def f(x):
        scratch = np.ones(3)
        y = x * scratch
        scratch *= 5.0
        return y, x * scratch

    a, b = wg.compile(f)(X)
    assert np.array_equal(a, X)
    assert np.array_equal(b, 5 * X)


def test_captured_tensors_receive_gradients_and_may_change():
    w = wg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = wg.tensor(0.5, requires_grad=True)
    g, calls = counted(lambda x: (np.sin(x * w) + b).sum())
    f = wg.compile(g)
    for step in range(3):
        expected = np.sin(X * w.detach().numpy()).sum() + 3 * b.item()
        y = f(X)
        np.testing.assert_allclose(y.item(), expected, rtol=1e-13)
        y.backward()
        np.testing.assert_allclose(w.grad.numpy(), X * np.cos(X * w.detach().numpy()), rtol=1e-13)
        assert b.grad.item() == 3.0
        with wg.no_grad():
            w -= 0.1 * (step + 1)
            b += 1.0
        w.grad = b.grad = None
    assert len(calls) == 1
    with wg.no_grad():
        assert not f(X).requires_grad


def test_captured_values_of_a_transform_are_not_kept():
    seen = []
    inner = wg.compile(lambda y: seen[-1] * y)

    def f(x):
        seen.append(x)
        return inner(3.0) * x

    for x in (2.0, 5.0):
        assert wg.grad(f)(x) == 6 * x
        np.testing.assert_allclose(wg.jvp(f, (x,), (1.0,))[1], 6 * x)
    assert not inner.known


# Errors


def branching(x):
    if x.sum() > 0:
        return x
    return -x


def looping(x):
    while x[0] < 10.0:
        x = x * 2.0
    return x


REFUSED = {
    "if": (branching, r"wg\.where"),
    "while": (looping, "fixed number of times"),
    "and": (lambda x: (x[0] > 0) and x, r"wg\.where"),
    "assert": (lambda x: x if not x[0] else -x, r"wg\.where"),
    "max": (lambda x: max(x[0], x[1]), r"wg\.where"),
    "float": (lambda x: float(x[0]), "operation of wengert or NumPy"),
    "math": (lambda x: math.sin(x[0]), "operation of wengert or NumPy"),
    "int": (lambda x: int(x[0]), "static_argnums"),
    "complex": (lambda x: complex(x[0]), "static_argnums"),
    "range": (lambda x: [x for _ in range(x.astype(int)[0])], "static_argnums"),
    "index": (lambda x: [1, 2, 3][x.astype(int)[0]], "static_argnums"),
    "asarray": (lambda x: np.asarray(x), "operation of wengert or NumPy"),
    "array of values": (lambda x: np.array([x[0], x[1]]), r"wg\.stack"),
    "item": (lambda x: x[0].item(), "static_argnums"),
    "tolist": (lambda x: x.tolist(), "static_argnums"),
    "format": (lambda x: f"{x[0]:.3f}", "static_argnums"),
    "mask": (lambda x: x[x > 0], r"wg\.where"),
    "nonzero": (lambda x: np.nonzero(x), r"wg\.where"),
    "argwhere": (lambda x: np.argwhere(x > 0), r"wg\.where"),
    "compress": (lambda x: np.compress(x > 0, x), r"wg\.where"),
}


def assert_names_a_line(error, f):
    """Of a function the line of its body, of a lambda its own."""
    first = f.__code__.co_firstlineno
    assert any(f"{__file__}:{line}{end}" in str(error) for line in (first, first + 1) for end in ". :"), error


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_numbers_names_line_and_alternative(name):
    f, alternative = REFUSED[name]
    with pytest.raises(wg.TrackedValueError, match=alternative) as caught:
        wg.compile(f)(X)
    assert_names_a_line(caught.value, f)
    with pytest.raises(wg.TrackedValueError) as caught:
        wg.compile(wg.grad(f))(X)
    assert_names_a_line(caught.value, f)


def test_unknown_functions_name_the_line():
    with pytest.raises(TypeError, match=rf"np.isnat is not in .* at {__file__}:{here() + 1}"):
        wg.compile(lambda x: np.isnat(x))(X)


def line_of(error) -> str:
    return str(error.value) + " ".join(getattr(error.value, "__notes__", ()))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.ones(4),
        lambda x: x @ np.ones((4, 2)),
        lambda x: x.reshape(2, 2),
        lambda x: np.concatenate([x, np.ones((2, 2))]),
    ],
    ids=["add", "matmul", "reshape", "concatenate"],
)
def test_mismatched_shapes_name_the_line(f):
    with pytest.raises(ValueError, match="shape|dimension") as caught:
        wg.compile(f)(X)
    assert f"{__file__}:{f.__code__.co_firstlineno}" in line_of(caught)


def test_index_out_of_bounds():
    with pytest.raises(IndexError, match="out of bounds") as caught:
        wg.compile(lambda x: x[5])(X)
    assert f"{__file__}:{here() - 1}" in line_of(caught)
    f = wg.compile(lambda x, i: x[i])
    for _ in range(2):
        assert f(X, 1) == X[1]
        assert np.array_equal(f(X, np.array([0, -1])), X[[0, -1]])
        for bad in (3, -4, np.array([0, 3]), np.array([-4, 0]), np.array([2**40, 0])):
            with pytest.raises(IndexError, match=rf"out of bounds.*{__file__}:{here() + 1}"):
                f(X, bad)


def test_an_exception_leaves_nothing_broken():
    def f(x, n):
        y = np.exp(x)
        if n:
            raise LookupError("of the user")
        return y

    compiled = wg.compile(f, static_argnums=1)
    for _ in range(2):
        with pytest.raises(LookupError, match="of the user"):
            compiled(X, 1)
        with pytest.raises(LookupError, match="of the user"):
            wg.grad(lambda x: compiled(x, 1).sum())(X)
        np.testing.assert_allclose(compiled(X, 0), np.exp(X), rtol=1e-15)
        np.testing.assert_allclose(wg.grad(lambda x: compiled(x, 0).sum())(X), np.exp(X), rtol=1e-15)


def _picky(x):
    if not x.all():
        raise ArithmeticError("a zero")
    return 1.0 / x


picky = wg.primitive("picky", _picky, lambda t, out: -t * out * out)
del TABLE["picky"]  # other tests walk the table


def test_errors_of_numpy_code_pass_through_native_code():
    f = wg.compile(lambda x: picky(x * 2.0) * 2.0)
    for _ in range(2):
        assert np.array_equal(f(X), 1.0 / X)
        with pytest.raises(ArithmeticError, match="a zero"):
            f(np.zeros(3))


# The report, and what is kept


def test_report():
    f = wg.compile(lambda a, x: np.sort(a, axis=0) @ np.exp(x) + picky(x)[0])
    report = f.report(np.eye(3), X)
    assert report.kernels
    assert sorted(report.fallbacks) == ["argsort", "picky"]
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


def test_compiled_functions_die_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        for f in (lambda x: np.sin(x).sum(), lambda x: np.sort(picky(x)).sum()):
            compiled = wg.compile(f)
            compiled(X)
            wg.grad(compiled)(X)
            wg.jvp(compiled, (X,), (X,))
            wg.vmap(compiled)(np.stack([X, X]))
            wg.hessian(compiled)(X)
            kept = weakref.ref(compiled)
            natives = [weakref.ref(s.native.loaded) for s in compiled.known.values()]
            del compiled
            assert kept() is None
            assert all(n() is None for n in natives)
    finally:
        gc.enable()


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


@pytest.mark.parametrize("dtype", ["f4", "c8", "u1", "f2"])
@pytest.mark.parametrize(
    "name", ["nextafter", "remainder", "fmod", "floor_divide", "equal", "arctan2", "copysign", "add", "maximum"]
)
def test_numbers_of_python_as_arguments_give_way_in_every_operation(name, dtype):
    """Also where NumPy runs the operation: 0.1 is that of float32 beside an array of float32."""
    ufunc = getattr(np, name)
    x = np.full(5, 0.1).astype(dtype)
    for f in (lambda x, y: ufunc(x, y), lambda x, y: ufunc(y, x)):
        for y in (0.1, 2.0, 3):
            with np.errstate(all="ignore"):
                try:
                    expected = f(x, y)
                except TypeError:
                    continue
                found = wg.compile(f)(x, y)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == "f2" else 1e-6)


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
