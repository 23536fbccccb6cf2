"""Plain NumPy code on tensors, through NumPy's own protocols."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.special
import scipy.stats
from tests.oracle import check_derivatives

import wengert as wg
from wengert.core.array import FUNCTIONS, UFUNCS


def leaf(data):
    return wg.tensor(data, requires_grad=True)


X = np.array([[0.5, 1.5, -0.3], [1.9, 0.1, 0.7]])

ADD: Any = np.add  # the types of NumPy do not have its methods with all arguments by position
EXPRESSIONS = {
    "float64 scalar on the left": lambda x: np.float64(2) * x,
    "float32 scalar on the left": lambda x: np.float32(2) * x,
    "array @ tensor": lambda x: np.ones((4, 2)) @ x,
    "array - tensor": lambda x: np.ones(3) - x,
    "array ** tensor": lambda x: np.array([1.0, 2.0, 3.0]) ** x,
    "where": lambda x: np.where(x > 0.4, x, -x * x),
    "concatenate in a list": lambda x: np.concatenate([x, np.ones((1, 3)), x * x]),
    "stack": lambda x: np.stack([x, x**2], axis=-1),
    "linalg.norm": lambda x: np.linalg.norm(x, axis=1),
    "nested list of tensors": lambda x: np.maximum(x, [x[1] * 2, x[0] * 3]),
    "list operand": lambda x: x + [1.0, 2.0, 3.0],
    "list of values alone": lambda x: wg.multiply([x[0], x[1]], [[1.0], [2.0]]),
    "add.reduce": lambda x: np.add.reduce(x),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "multiply.outer": lambda x: np.multiply.outer(x[0], x),
    "subtract.outer with an array": lambda x: np.subtract.outer(np.ones(2), x),
    "mean of axes": lambda x: np.mean(x, axis=(0, 1)),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "sort": lambda x: np.sort(x, axis=None),
    "pad": lambda x: np.pad(x, 1, mode="reflect"),
    "dtype of a ufunc": lambda x: np.sin(x, dtype=np.float64),
    "fix": lambda x: np.fix(x) + x,
    "around": lambda x: np.around(x, 1) + x,
    "divmod": lambda x: np.divmod(x, 0.4)[1],
    "divmod of a number": lambda x: divmod(1.03, x)[1],
    "divmod of an array": lambda x: divmod(np.full(3, 1.03), x)[1],
    "transpose of a vector": lambda x: x[0].transpose(0),
    "axes one by one": lambda x: x.transpose(1, 0),
    "astype with a rule": lambda x: x.astype("float64", "K", "safe"),
    "sum, positional": lambda x: np.sum(x, 0, None, None, True),
    "max, positional": lambda x: np.max(x, 0, None, True),
    "std, positional": lambda x: x.std(0, None, None, 1),
    "median, positional": lambda x: np.median(x, 1, None, False, True),
    "argmax, positional": lambda x: x * np.argmax(x, 0, None),
    "cumsum, positional": lambda x: np.cumsum(x, 0, None, None),
    "clip, positional": lambda x: np.clip(x, 0.0, 1.0, None),
    "stack, positional": lambda x: np.stack([x, x], 0, None),
    "add.reduce, positional": lambda x: ADD.reduce(x, 0, None, None, True),
}


@pytest.mark.parametrize("f", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_numpy_expression(f):
    y = f(leaf(X))
    assert isinstance(y, wg.Tensor)
    assert y.requires_grad
    np.testing.assert_allclose(y.detach().numpy(), np.asarray(f(X)), rtol=1e-14)
    check_derivatives(f, [X], [0])


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (np.array2string, "np.array2string"),
        (np.min_scalar_type, "np.min_scalar_type"),
        (np.nextafter.reduce, "np.nextafter.reduce"),
        (np.add.reduceat, "np.add.reduceat"),
        (np.maximum.accumulate, "np.maximum.accumulate"),
    ],
)
def test_what_the_table_does_not_have_is_named(f, name):
    with pytest.raises(TypeError, match=rf"{name} is not in Wengert's table.*test_numpy\.py:\d+"):
        f(leaf(np.ones((2, 2))), [0]) if name.endswith("reduceat") else f(leaf(np.ones((2, 2))))


def test_writing_into_a_plain_array_is_an_error():
    a, x = np.ones(3), leaf(np.ones(3))
    with pytest.raises(TypeError, match=r"Write `a = a \+ x`"):
        a += x
    with pytest.raises(TypeError, match="plain ndarray"):
        np.sin(x, out=a)
    with pytest.raises(TypeError, match="out="):
        np.sum(x, out=a)
    with pytest.raises(TypeError, match="does not take where"):
        np.sin(x, where=a > 0)
    out = np.zeros(())
    for call in (
        lambda: x.sum(0, None, out), lambda: np.max(x, 0, out), lambda: x.argmin(0, out),
        lambda: np.prod(x, None, None, out),
        lambda: np.any(x, 0, out), lambda: np.median(x, 0, out), lambda: np.take(x, 0, None, out),
        lambda: x.round(1, out),
        lambda: np.cumsum(x, 0, None, a), lambda: np.clip(x, 0, 1, a), lambda: np.stack([x], 0, a),
        lambda: np.std(x, 0, None, out),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"`out=`, at .*test_numpy\.py:\d+"):
            call()


def test_astype_follows_the_casting_rule():
    x = leaf(X)
    with pytest.raises(TypeError, match="safe"):
        x.astype(np.float32, casting="safe")
    assert x.astype(np.float64, copy=False) is x
    assert x.astype(float) is not x


def test_aliases():
    x = wg.tensor([1.0, 2.0])
    for alias in ("mod", "pow"):
        np.testing.assert_array_equal(getattr(wg, alias)(x, 3.0).numpy(), getattr(np, alias)(x.numpy(), 3.0))
    for alias in ("radians", "degrees"):
        np.testing.assert_array_equal(getattr(wg, alias)(x).numpy(), getattr(np, alias)(x.numpy()))


def test_creation_functions_make_tensors_of_numbers():
    for make in (lambda: wg.zeros(2, dtype=object), lambda: wg.full(2, "a"), lambda: wg.ones(2, dtype="datetime64[s]")):
        with pytest.raises(TypeError, match="cannot be a tensor"):
            make()
    points, step = wg.linspace(0, 1, 5, retstep=True, requires_grad=True)
    assert points.requires_grad
    assert points.shape == (5,)
    assert step == 0.25


def test_metadata_functions():
    x = leaf(X)
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2
    assert np.size(x) == 6
    assert not np.iscomplexobj(x)
    assert np.isrealobj(x)
    assert np.result_type(x, np.float32) == np.float64
    assert np.allclose(x, X)
    assert np.array_equal(x, X)


@pytest.mark.parametrize(
    "function",
    [f for f in FUNCTIONS if getattr(np, f.__name__, None) is f and hasattr(wg, f.__name__)],
    ids=lambda f: f.__name__,
)
def test_signatures_follow_numpy(function):
    """The positional parameters that Wengert has are NumPy's, in NumPy's order.

    Where the array API standard has another name for one, NumPy's is accepted as well: `clip(x, a_min=0)` is `clip(x,
    min=0)`.
    """
    try:
        theirs = positional(function)
    except ValueError:
        return  # NumPy tells no signature of this built-in function
    ours = positional(FUNCTIONS[function])
    if FUNCTIONS[function].__module__ in ("wengert.ops.reduce", "wengert.ops.reductions.cumulative"):
        assert [p.name for p in ours] == [p.name for p in theirs]
    assert len(ours) <= len(theirs)
    keywords = [p.name for p in inspect.signature(FUNCTIONS[function]).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for mine, yours in zip(ours, theirs, strict=False):
        assert mine.name == yours.name or mine.kind is mine.POSITIONAL_ONLY or yours.name in keywords


def positional(function):
    parameters = inspect.signature(function).parameters.values()
    return [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@pytest.mark.parametrize(
    "ufunc",
    [u for u in UFUNCS if u.nin == 2 and u.nout == 1 and u.signature is None and u is not np.ldexp],
    ids=lambda u: u.__name__,
)
def test_binary_ufuncs_take_lists_and_numbers(ufunc):
    x = wg.tensor([1, 2]) if ufunc.types[0][0] in "?b" and "d" not in "".join(ufunc.types) else wg.tensor([1.0, 2.0])
    plain = x.numpy()
    np.testing.assert_array_equal(ufunc(x, [1, 2]).numpy(), ufunc(plain, [1, 2]))
    np.testing.assert_array_equal(ufunc([1, 2], x).numpy(), ufunc([1, 2], plain))
    np.testing.assert_array_equal(ufunc(1, x).numpy(), ufunc(1, plain))


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda x: scipy.linalg.expm(x), r"This was scipy\.linalg\.expm; use wg\.linalg\.expm instead"),
        (lambda x: scipy.special.softmax(x), r"use wg\.special\.softmax instead"),
        (lambda x: scipy.integrate.quad(lambda t: t * x[0, 0], 0.0, 1.0), r"use wg\.integrate\.quad instead"),
        (lambda x: scipy.stats.norm.logpdf(x), r"use what wg\.stats has instead"),
        (lambda x: np.asarray(x), "Use an operation of wengert or NumPy instead"),
    ],
)
def test_a_function_of_scipy_that_would_lose_a_derivative_names_ours(call, advice):
    with pytest.raises(wg.TrackedValueError, match=rf"test_numpy\.py:\d+\. {advice}|test_numpy\.py:\d+.*{advice}"):
        call(leaf(np.eye(2)))
