"""Loops and choices as Python source: the source runs, and gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core.tree import flatten

X = np.array([0.1, -0.2, 0.3])


def recurrent(x, w):
    """States, constants, sequences and outputs."""
    return wg.scan(lambda h, u: (wg.tanh(h * w + u), h.sum()), x, np.arange(15.0).reshape(5, 3) / 9.0)


def squares(x):
    """A loop with a condition, which captures x."""
    return wg.while_loop(lambda s: s < 100.0, lambda s: s * s * x, x)


def nested(x):
    """A loop and a choice in a choice in a loop that begins at the end."""

    def step(states, u):
        a, b = states
        inner = lambda v: wg.fori_loop(0, 3, lambda i, v: v * 1.1 + u * i, v)
        a = wg.cond(a > b, inner, lambda v: wg.while_loop(lambda q: q < 5.0, lambda q: q + 1.0, v), a)
        return (b, a + u), {"product": a * b, "u": u}

    return wg.scan(step, (0.0, x), np.arange(4.0), reverse=True)


def total(x):
    """A number that depends on all results of `nested`."""
    (a, b), rows = nested(x)
    return a + 2.0 * b + rows["product"].sum()


def assigned(x):
    """A state that is assigned to."""

    def step(i, s):
        s[i] = s[i - 1] * 2.0 + x
        return s

    return wg.fori_loop(0, 3, step, np.ones(3) * x)


CASES = {
    "scan": (recurrent, (X, X + 1.0)),
    "scan of length 0": (lambda x: wg.scan(lambda s, _: (s + x, s), x, length=0), (X,)),
    "scan without sequences": (lambda x: wg.scan(lambda s, _: (s * x, s), x, length=3), (X,)),
    "scan with a state that stays": (lambda x: wg.scan(lambda s, u: (s, s + u), x, X), (2.0,)),
    "states that change places": (
        lambda x, y: wg.fori_loop(0, 3, lambda i, s: (s[1], s[0] + i), (x, y)),
        (1.0, 2.0),
    ),
    "gradient of a scan": (wg.grad(lambda x, w: recurrent(x, w)[1].sum(), (0, 1)), (X, X + 1.0)),
    "second derivative of a scan": (wg.hessian(lambda x: recurrent(x, x)[1].sum()), (X,)),
    "while": (squares, (1.5,)),
    "while without steps": (squares, (200.0,)),
    "while whose condition has lines": (
        lambda x: wg.while_loop(lambda s: (s * s + wg.sin(s * s)) * (s * s) < 100.0, lambda s: s + x, x),
        (1.5,),
    ),
    "gradient of a while": (wg.grad(squares), (1.5,)),
    "gradient of a while without steps": (wg.grad(squares), (200.0,)),
    "batch of a while": (wg.vmap(squares), (np.array([1.4, 2.0, 7.0]),)),
    "gradients of a batch of a while": (wg.vmap(wg.grad(squares)), (np.array([1.4, 2.0, 7.0]),)),
    "cond": (lambda x: wg.cond(x.sum() > 0, wg.sin, wg.cos, x), (X,)),
    "switch": (lambda x, i: wg.switch(i, [wg.sin, wg.cos, lambda x: x * 2.0], x), (X, 1)),
    "switch out of range": (lambda x, i: wg.switch(i, [wg.sin, wg.cos, lambda x: x * 2.0], x), (X, 7)),
    "switch with one branch": (lambda x, i: wg.switch(i, [wg.sin], x), (X, 0)),
    "gradient of a switch": (wg.grad(lambda x, i: wg.switch(i, [wg.sin, wg.cos], x).sum()), (X, 1)),
    "nested": (nested, (2.0,)),
    "gradient of nested": (wg.grad(total), (2.0,)),
    "second derivative of nested": (wg.grad(wg.grad(total)), (2.0,)),
    "batch of gradients of nested": (wg.vmap(wg.grad(total)), (np.array([2.0, 1.0, 7.0]),)),
    "float32": (
        lambda x: wg.scan(lambda s, u: (s * np.float32(0.5) + u, s), np.float32(1.0), x),
        (X.astype(np.float32),),
    ),
    "assignment": (assigned, (1.5,)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_source_gives_the_same_numbers(name):
    f, args = CASES[name]
    graph = wg.trace(f, *args)
    expected = graph.run(args)
    found = graph.python().function()(*args)
    found = found if len(expected) != 1 else (found,)
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_array_equal(y, z)
        assert np.asarray(y).dtype == np.asarray(z).dtype


@pytest.mark.parametrize("name", CASES)
def test_the_graph_is_sound_and_gives_the_same_numbers_as_the_function(name):
    f, args = CASES[name]
    graph = wg.trace(f, *args).validate()
    for y, z in zip(flatten(graph.evaluate(*args))[0], flatten(f(*args))[0], strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-12)


def test_a_loop_is_a_for_loop_in_the_users_names():
    def f(x, w):
        return wg.scan(lambda h, u: (wg.tanh(h * w + u), h), x, np.array([1.0, 2.0]))

    assert (
        str(wg.trace(f, 1.0, 2.0).python())
        == """import numpy as np


def f(x, w):
    c = np.float64(w)
    h = np.float64(x)
    ys = []
    for u in np.array([1.0, 2.0]):
        ys.append(h)
        h = np.tanh(h * c + u)
    ys = np.stack(ys)
    return (h, ys)
"""
    )


def test_a_condition_is_a_while_and_a_choice_an_if():
    source = str(wg.trace(squares, 2.0).python())
    assert "while s < 100.0:\n" in source
    source = str(wg.trace(lambda x: wg.cond(x.sum() > 0, wg.sin, wg.cos, x), X).python())
    assert "    if np.sum(x) > 0:\n        t = np.sin(x)\n    else:\n        t = np.cos(x)\n" in source
    source = str(wg.trace(lambda i: wg.switch(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0]), 1).python())
    assert "<= 0:\n" in source
    assert "    elif c == 1:\n" in source


def test_names_of_the_user_do_not_hide_what_the_source_calls():
    def f(zip, range):  # that is the point
        return wg.scan(lambda int, x: (int * x[0] + x[1], int), zip, (range, range))  # the same

    args = np.float64(2.0), X
    found = wg.trace(f, *args).python().function()(*args)
    np.testing.assert_array_equal(found[1], f(*args)[1])


def test_statements_of_python_come_back_as_statements():
    def f(x, xs):
        h = x
        for u in xs:
            if h > 0.5:
                v = h + u
                h = wg.tanh(v)
            else:
                h = h * 2.0
        while h < 9.0:
            h = h * h + 1.0
        return h

    args = 0.3, np.linspace(0.0, 1.0, 100)
    graph = wg.trace(f, *args)
    source = graph.python()
    lines = [line.strip() for line in source.splitlines()]
    assert any(line.startswith("for ") and line.endswith(" in xs:") for line in lines)
    assert "if h > 0.5:" in lines
    assert any(line.startswith("while ") and line.endswith(" < 9.0:") for line in lines)
    assert source.function()(*args) == graph.evaluate(*args) == f(*args)
