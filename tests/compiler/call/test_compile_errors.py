"""Errors while a function is compiled, and while it runs: each names the user's line."""

from __future__ import annotations

import gc
import math
import re
import sys
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.core.primitive import TABLE

X = np.array([0.5, -1.5, 2.0])


def here() -> int:
    return sys._getframe(1).f_lineno


# Errors


REFUSED = {
    "float": (lambda x: float(x[0]), "operation of wengert or NumPy"),
    "math": (lambda x: math.sin(x[0]), "operation of wengert or NumPy"),
    "int": (lambda x: int(x[0]), "static_argnums"),
    "complex": (lambda x: complex(x[0]), "static_argnums"),
    "asarray": (lambda x: np.asarray(x), "operation of wengert or NumPy"),
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


def without_source(text):
    """A function that Python made of a string, so that its statements cannot be read."""
    known = {"np": np}
    exec(text, known)
    return known["f"]


UNREADABLE = {
    "if": ("def f(x):\n    if x.sum() > 0:\n        return x\n    return -x", r"wg\.cond"),
    "while": ("def f(x):\n    while x[0] < 10.0:\n        x = x * 2.0\n    return x", r"wg\.while_loop"),
    "and": ("f = lambda x: (x[0] > 0) and x", r"wg\.where"),
    "assert": ("def f(x):\n    assert x[0]\n    return x", r"wg\.where"),
    "max": ("f = lambda x: max(x[0], x[1])", r"wg\.where"),
    "range": ("f = lambda x: [x for _ in range(x.astype(int)[0])]", "static_argnums"),
    "index": ("f = lambda x: [1, 2, 3][x.astype(int)[0]]", "static_argnums"),
    "array of values": ("f = lambda x: np.array([x[0], x[1]])", r"wg\.stack"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_without_source_what_needs_numbers_names_line_and_alternative(name):
    text, alternative = UNREADABLE[name]
    f = without_source(text)
    for function in (f, wg.grad(f)):
        with pytest.raises(wg.TrackedValueError, match=alternative) as caught:
            wg.compile(function)(X)
        assert re.search(r"at <string>:[12]\b", str(caught.value)), caught.value


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
del TABLE["picky"]  # other tests iterate over the table


def test_errors_of_numpy_code_pass_through_native_code():
    f = wg.compile(lambda x: picky(x * 2.0) * 2.0)
    for _ in range(2):
        assert np.array_equal(f(X), 1.0 / X)
        with pytest.raises(ArithmeticError, match="a zero"):
            f(np.zeros(3))


def test_compiled_functions_die_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        for f in (lambda x: np.sin(x).sum(), lambda x: np.sort(picky(x), kind="quicksort").sum()):
            compiled = wg.compile(f)
            compiled(X)
            wg.grad(compiled)(X)
            wg.jvp(compiled, (X,), (X,))
            wg.vmap(compiled)(np.stack([X, X]))
            wg.hessian(compiled)(X)
            kept = weakref.ref(compiled)
            natives = [weakref.ref(s.native.loaded) for (s,) in compiled.known.values()]
            del compiled
            assert kept() is None
            assert all(n() is None for n in natives)
    finally:
        gc.enable()
