"""Compiled functions of trees, keyword arguments and constants: as eager code, and through the native entry."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from tests.compiler.entry.entry_programs import needs_support

import wengert as wg
from wengert.compiler.call.compiled import Compiled
from wengert.core.primitive import TABLE

X, Y = np.array([0.5, -1.5, 2.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def counted(f):
    """A function that counts how often it is traced, and its count."""
    calls = []

    def g(*args, **kwargs):
        calls.append(1)
        return f(*args, **kwargs)

    return g, calls


@contextlib.contextmanager
def only_native():
    """Calls that must not take the general path."""

    def general(self, args, kwargs):
        raise AssertionError("the general path was taken")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compiled, "general", general)
        yield


def same(a, b) -> bool:
    """Whether two trees have the same containers, keys in the same order, dtypes and numbers."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a is None or (np.shape(a) == np.shape(b) and a.dtype == b.dtype and np.allclose(a, b, rtol=1e-14))


def model(p, x):
    return {"out": p["w"] @ x + p["b"][0], "rest": [p["b"][1] * 2.0, None, (x,)]}


PARAMS = {"w": Y, "b": [np.array([1.0, -1.0]), np.float64(3.0)]}


@needs_support
def test_trees_in_and_out():
    f = wg.compile(model)
    for _ in range(2):  # the entry is made by the second call
        assert same(f(PARAMS, X), model(PARAMS, X))
    with only_native():
        for scale in (1.0, 2.0):
            given = {"w": scale * Y, "b": [np.array([1.0, -1.0]) * scale, np.float64(scale)]}
            assert same(f(given, X), model(given, X))


@needs_support
@pytest.mark.parametrize("make", [list, tuple, lambda p: dict(zip("abcd", p, strict=True))])
def test_gradients_have_the_tree_of_their_argument(make):
    def loss(p):
        a, b, c, d = p.values() if isinstance(p, dict) else p
        return (a * b + c * d).sum()

    a, b, c, d = (X + i for i in range(4))
    f = wg.compile(wg.value_and_grad(loss))
    for _ in range(2):
        f(make([d, c, b, a]))
    with only_native():
        value, gradients = f(make([a, b, c, d]))
    np.testing.assert_allclose(value, np.sum(a * b + c * d), rtol=1e-14)
    assert same(gradients, make([b, a, d, c]))


def test_every_structure_is_traced_once():
    g, calls = counted(lambda p: sum(np.sum(x) for x in (p.values() if isinstance(p, dict) else p) if x is not None))
    f = wg.compile(g)
    trees = [
        {"a": X, "b": 2.0},
        {"b": 2.0, "a": X},
        {"a": X, "c": 2.0},
        {"a": X},
        [X, 2.0],
        (X, 2.0),
        [X, 2.0, None],
        [X, None, 2.0],
        {"a": X, "b": 2},
        {"a": X.astype(np.float32), "b": 2.0},
        {"a": Y, "b": 2.0},
        {1: X, 2: 2.0},
        collections.OrderedDict(a=X, b=2.0),
        {},
        [],
    ]
    for _ in range(3):
        for tree in trees:
            leaves = [x for x in (tree.values() if isinstance(tree, dict) else tree) if x is not None]
            np.testing.assert_allclose(f(tree), sum(np.sum(x, dtype=float) for x in leaves), rtol=1e-6)
    assert len(calls) == len(trees)


class Point(NamedTuple):
    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass
class Record:
    x: np.ndarray
    y: np.ndarray


@pytest.mark.parametrize("kind", [Point, Record])
def test_other_containers(kind):
    f = wg.compile(lambda p, q: (kind(p.x * 2.0, p.y + q["a"]), [p.x]))
    for scale in (1.0, 3.0, 5.0):
        point, rest = f(kind(X, X * scale), {"a": X})
        assert type(point) is kind
        assert np.array_equal(point.x, X * 2.0)
        assert np.array_equal(point.y, X * scale + X)
        assert np.array_equal(rest[0], X)
    h = wg.compile(lambda p: kind(p["a"], p["b"]))
    for _ in range(3):
        assert type(h({"a": X, "b": Y})) is kind


class Sub(np.ndarray):
    pass


def test_other_leaves():
    """After the native entry has been used, and where the first call has such leaves."""
    for first in (X, wg.tensor(X), X.view(Sub), X[::-1].copy()[::-1]):
        f = wg.compile(lambda p: {"y": p["x"] * p["k"], "z": [p["x"].sum()]})
        f({"x": first, "k": 2.0})
        plain = f({"x": X, "k": 2.0})
        assert same(plain, {"y": X * 2.0, "z": [X.sum()]})
        for x in (X.view(Sub), np.stack([X, X], 1)[:, 0], X.astype(X.dtype.newbyteorder())):
            assert same(f({"x": x, "k": 2.0}), plain)
        tensor = f({"x": wg.tensor(X), "k": 2.0})
        assert isinstance(tensor["y"], wg.Tensor)
        assert isinstance(tensor["z"][0], wg.Tensor)
        leaf = wg.tensor(X, requires_grad=True)
        f({"x": leaf, "k": 3.0})["y"].sum().backward()
        assert np.array_equal(leaf.grad.numpy(), np.full(3, 3.0))
        assert same(f({"x": X, "k": 3}), {"y": X * 3, "z": [X.sum()]})
        np.testing.assert_allclose(wg.grad(lambda x, f=f: f({"x": x, "k": 2.0})["z"][0])(X), np.ones(3))
        with pytest.raises(TypeError, match="masked"):
            f({"x": np.ma.array(X), "k": 2.0})
        assert same(f({"x": X, "k": 2**70}), {"y": X * 2.0**70, "z": [X.sum()]})


@needs_support
def test_keyword_arguments():
    g, calls = counted(lambda x, scale=1.0, *, shift: x * scale + shift["s"])
    f = wg.compile(g)
    for _ in range(2):
        assert np.array_equal(f(X, shift={"s": X}), X + X)
        assert np.array_equal(f(X, 2.0, shift={"s": X}), X * 2.0 + X)
        assert np.array_equal(f(X, scale=2.0, shift={"s": X}), X * 2.0 + X)
        assert np.array_equal(f(x=X, shift={"s": X}), X + X)
    assert len(calls) == 4
    with only_native():
        assert np.array_equal(f(X, shift={"s": 3.0 * X}), X + 3.0 * X)
        assert np.array_equal(f(X, scale=-1.0, shift={"s": X}), X * 0.0)
    with pytest.raises(TypeError, match="shift"):
        f(X)
    with pytest.raises(TypeError, match="other"):
        f(X, shift={"s": X}, other=1.0)


@needs_support
def test_constants_choose_their_program():
    g, calls = counted(lambda x, kind, flip=False, n=1: ((-x if flip else x) if kind == "sign" else x * 2.0) * n)
    f = wg.compile(g, static_argnames="n")
    cases = [("sign", False, 1), ("sign", True, 1), ("".join(["do", "uble"]), True, 1), ("double", False, 1000)]
    for _ in range(3):
        for kind, flip, n in cases:
            expected = ((-X if flip else X) if kind == "sign" else X * 2.0) * n
            assert np.array_equal(f(X, kind, flip=flip, n=n), expected)
    assert len(calls) == len(cases)
    with only_native():
        for kind, flip, n in cases:
            f(X, "".join(list(kind)), flip=flip, n=n)
    assert np.array_equal(f(X, "sign", flip=1.0 > 0.5, n=1), -X)
    f(X, "sign", flip=np.True_, n=1.0)
    assert len(calls) == len(cases) + 1


def test_one_program_on_disk_for_several_constants():
    """The graphs are equal, and so is the machine code: each entry knows its own constants."""
    seen = []

    def f(x, p):
        seen.append(p["name"])
        return x * 2.0

    compiled = wg.compile(f)
    names = ["a", "b", True, None, "a", "b", True, None]
    for name in names:
        assert np.array_equal(compiled(X, {"name": name}), X * 2.0)
    assert seen == ["a", "b", True, None]


def test_captured_state_beside_trees():
    total = wg.tensor(np.zeros(3))

    def add(p):
        nonlocal total
        total += p["x"] * p["k"]
        return {"total": total * 1.0}

    f = wg.compile(add)
    for k in range(1, 6):
        out = f({"x": X, "k": float(k)})
        np.testing.assert_allclose(np.asarray(out["total"]), X * k * (k + 1) / 2, rtol=1e-14)
    np.testing.assert_allclose(total.numpy(), 15 * X, rtol=1e-14)


def test_training_steps_return_trees():
    w = wg.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @wg.compile
    def step(batch):
        loss = ((w * batch["x"]).sum() - batch["y"]) ** 2
        w.grad = None
        loss.backward()
        return {"loss": loss, "parts": [w.grad * 1.0]}

    for y in (1.0, 2.0, 3.0):
        out = step({"x": X, "y": y})
        residual = X @ [1.0, 2.0, 3.0] - y
        assert isinstance(out["loss"], wg.Tensor)
        np.testing.assert_allclose(out["loss"].item(), residual**2, rtol=1e-14)
        np.testing.assert_allclose(out["parts"][0].numpy(), 2 * residual * X, rtol=1e-14)


def test_errors_leave_arguments_as_they_were():
    def fail(x):
        if x[0] > 1.0:
            raise ZeroDivisionError("too large")
        return x + 1.0

    op = wg.primitive("fail_here", fail, lambda t: t, kind="general", spec=lambda x: x)
    del TABLE["fail_here"]
    f = wg.compile(lambda p: {"y": op(p["x"])})
    assert np.array_equal(f({"x": X})["y"], X + 1.0)
    given = {"x": X + 1.0}
    alive = weakref.ref(given["x"])
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="too large"):
            f(given)
    assert np.array_equal(f({"x": X})["y"], X + 1.0)
    del given
    gc.collect()
    assert alive() is None


def test_an_operation_empties_the_container():
    """What the program still reads stays until its end."""
    given = {}

    def clear(x):
        given.clear()
        return x + 1.0

    op = wg.primitive("clear_given", clear, lambda t: t, kind="general", spec=lambda x: x)
    del TABLE["clear_given"]
    f = wg.compile(lambda p: np.sin(op(np.cos(p["x"])) * p["x"]))
    x = np.linspace(0.0, 1.0, 10_000)
    expected = np.sin((np.cos(x) + 1.0) * x)
    for _ in range(3):
        given["x"] = x.copy()
        alive = weakref.ref(given["x"])
        np.testing.assert_allclose(f(given), expected, rtol=1e-13)
        assert not given
        assert alive() is None
