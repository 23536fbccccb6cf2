"""Signatures of compiled calls: static arguments, constants, and what is traced once."""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, -1.5, 2.0])


def counted(f):
    """A function that counts how often it is traced, and its count."""
    calls = []

    def g(*args, **kwargs):
        calls.append(1)
        return f(*args, **kwargs)

    return g, calls


def here() -> int:
    return sys._getframe(1).f_lineno


@wg.compile(static_argnums=1)
def powered(x, n):
    return x**n


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
def test_static_by_position_and_name(static):
    def f(x, n=2):
        return sum([x * k for k in range(n)], start=x)

    g, calls = counted(f)
    g.__signature__ = inspect.signature(f)
    compiled = wg.compile(g, **static)
    for n in (1, 2, 4):
        assert np.array_equal(compiled(X, n), f(X, n))
        assert np.array_equal(compiled(X, n=n), f(X, n))
    assert np.array_equal(compiled(X), f(X))
    assert len(calls) == 7  # three numbers by position, three by name, one left out
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


def test_static_arguments_of_functions_without_a_signature():
    f = wg.compile(lambda *args: args[0] * sum(args[1]), static_argnums=-1)
    assert np.array_equal(f(X, (1, 2)), 3 * X)
    g = wg.compile(lambda x, **options: x * options["scale"][0], static_argnames="scale")
    assert np.array_equal(g(X, scale=(3,)), 3 * X)


def test_static_arguments_that_are_errors():
    with pytest.raises(ValueError, match=rf"no argument 2.*test_call_signature.py:{here() + 1}"):
        wg.compile(lambda x, n: x, static_argnums=2)
    with pytest.raises(ValueError, match="no argument 'm'"):
        wg.compile(lambda x, n: x, static_argnames="m")
    line = rf"at .*test_call_signature.py:{here() + 2}"
    with pytest.raises(TypeError, match=rf"static argument .* hashable; this is a list, {line}"):
        powered(X, [1, 2])
    with pytest.raises(TypeError, match="hashable; this is a ndarray"):
        powered(X, X)


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


def test_the_dtype_of_python_numbers_follows_arrays():
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


def test_booleans_and_strings_are_constants():
    g, calls = counted(lambda x, flip, kind: (-x if flip else x) + (1.0 if kind == "up" else 0.0))
    f = wg.compile(g)
    for _ in range(2):
        for flip in (True, False):
            for kind in ("up", "down"):
                assert np.array_equal(f(X, flip, kind), (-X if flip else X) + (kind == "up"))
    assert len(calls) == 4


@pytest.mark.parametrize("bad", [{1, 2}, bytearray(b"ab")], ids=["set", "bytearray"])
def test_arguments_that_are_not_hashable(bad):
    line = rf"at .*test_call_signature.py:{here() + 2}"
    with pytest.raises(TypeError, match=rf"hashable; this is a {type(bad).__name__}, {line}"):
        wg.compile(lambda x, other: x)(X, bad)


@pytest.mark.parametrize(
    "bad", [np.array(["a"]), np.array([None, 1]), np.datetime64("2020-01-01")], ids=["string", "object", "date"]
)
def test_arrays_without_numbers(bad):
    with pytest.raises(TypeError, match=rf"arrays of numbers.*test_call_signature.py:{here() + 1}"):
        wg.compile(lambda x: x)(bad)
    with pytest.raises(TypeError, match="Return arrays, numbers"):
        wg.compile(lambda x: (x, bad))(X)


# What is captured


def test_captured_arrays_keep_the_numbers_they_had():
    table = np.array([1.0, 2.0, 3.0])
    f = wg.compile(lambda x: x * table)
    assert np.array_equal(f(X), X * [1.0, 2.0, 3.0])
    table[:] = 10.0
    assert np.array_equal(f(X), X * [1.0, 2.0, 3.0])
    assert np.array_equal(f(X.astype(np.float32)), X * 10.0)  # traced again


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


@pytest.mark.parametrize("dtype", ["f4", "c8", "u1", "f2"])
@pytest.mark.parametrize(
    "name", ["nextafter", "remainder", "fmod", "floor_divide", "equal", "arctan2", "copysign", "add", "maximum"]
)
def test_the_dtype_of_python_arguments_follows_arrays_in_every_operation(name, dtype):
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
