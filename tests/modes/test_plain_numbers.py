"""Integers, booleans and rounded values that depend on a differentiated value are plain numbers, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

X = np.array([1.2, 2.7, 1.9])
TABLE = np.array([10.0, 20.0, 30.0, 40.0])
NAMES = ["a", "bb", "ccc"]

FUNCTIONS = {
    "floor": (lambda x: (TABLE[np.floor(x).astype(int)] * x).sum(), [20.0, 30.0, 20.0]),
    "astype": (lambda x: (TABLE[x.astype(int)] * x).sum(), [20.0, 30.0, 20.0]),
    "argsort": (lambda x: (TABLE[np.argsort(x)] * x).sum(), [10.0, 30.0, 20.0]),
    "mask": (lambda x: TABLE[:3][x > 1.5].sum() * x.sum(), [50.0] * 3),
    "take": (lambda x: (np.take(TABLE, np.argsort(x)) * x).sum(), [10.0, 30.0, 20.0]),
    "int": (lambda x: TABLE[int(np.argmax(x))] * x.sum(), [20.0] * 3),
    "item of a list": (lambda x: len(NAMES[np.argmax(x)]) * x.sum(), [2.0] * 3),
    "range": (lambda x: sum(x[i] for i in range(np.argmax(x) + 1)), [1.0, 1.0, 0.0]),
    "float of a rounded number": (lambda x: float(np.round(x[1])) * x.sum(), [3.0] * 3),
    "slice": (lambda x: x[: np.argmax(x)].sum(), [1.0, 0.0, 0.0]),
    "shape": (lambda x: np.ones((np.argmax(x), 2)).sum() * x.sum(), [2.0] * 3),
    "repeats": (lambda x: np.repeat(x, np.argsort(x)).sum(), [0.0, 2.0, 1.0]),
    "asarray": (lambda x: np.asarray(np.floor(x))[1] * x.sum(), [2.0] * 3),
    "stop_gradient": (lambda x: float(wg.stop_gradient(x[0])) * x.sum(), [1.2] * 3),
    "format": (lambda x: float(f"{x[0]:.2f}") * x.sum(), [1.2] * 3),
    "format of one element": (lambda x: float(f"{x[:1].sum(keepdims=True):.2f}") * x.sum(), [1.2] * 3),
}


def on_the_tape(f):
    x = wg.tensor(X, requires_grad=True)
    f(x).backward()
    return x.grad


GRADIENTS = {
    "tape": on_the_tape,
    "grad": lambda f: wg.grad(f)(X),
    "grad of a tensor": lambda f: wg.grad(f)(wg.tensor(X)),
    "vjp": lambda f: wg.vjp(f, X)[1](1.0)[0],
    "linearize": lambda f: [wg.linearize(f, X)[1](e) for e in np.eye(3)],
    "jacfwd": lambda f: wg.jacfwd(f)(X),
    "jacrev": lambda f: wg.jacrev(f)(X),
    "Taylor": lambda f: [wg.jet(f, [X], [[e, 0.0 * e]])[1][0] for e in np.eye(3)],
    "checkpoint": lambda f: wg.grad(wg.checkpoint(f))(X),
    "checkpoint with a policy": lambda f: wg.grad(
        wg.checkpoint(f, policy=lambda name: name in ("multiply", "floor", "argsort"))
    )(X),
    "gradient of a gradient": lambda f: wg.grad(lambda x: wg.grad(f)(x) @ x)(X),
    "gradient of a tangent": lambda f: wg.grad(lambda x: wg.jvp(f, (x,), (x,))[1])(X),
}


@pytest.mark.parametrize("gradient", GRADIENTS.values(), ids=GRADIENTS)
@pytest.mark.parametrize(("f", "expected"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_in_every_mode_that_has_numbers(f, expected, gradient):
    np.testing.assert_allclose(gradient(f), expected, rtol=1e-14)


@pytest.mark.parametrize(("f", "expected"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_where_it_is_watched(f, expected):
    assert wg.explain(f, X) is not None
    assert wg.sparsity(lambda x: f(x) * x, X, scope="local").shape == (3, 3)


IN_NEED_OF_NUMBERS = ["floor", "mask", "int", "item of a list", "range", "float of a rounded number", "format"]


@pytest.mark.parametrize("name", IN_NEED_OF_NUMBERS)
@pytest.mark.parametrize(
    "transform", [wg.vmap, lambda f: wg.vmap(wg.grad(f)), lambda f: wg.grad(lambda x: wg.vmap(f)(x).sum())]
)
def test_a_batch_is_no_number(name, transform):
    with pytest.raises(wg.TrackedValueError, match=r"under vmap.*test_plain_numbers\.py"):
        transform(FUNCTIONS[name][0])(X[None])


@pytest.mark.parametrize("name", [name for name in IN_NEED_OF_NUMBERS if name not in ("floor", "int")])
@pytest.mark.parametrize(
    "transform", [wg.compile, lambda f: wg.compile(wg.grad(f)), lambda f: lambda x: wg.trace(wg.grad(f), x)]
)
def test_a_traced_value_has_no_numbers(name, transform):
    with pytest.raises(wg.TrackedValueError, match=r"(trace|not known).*test_plain_numbers\.py"):
        transform(FUNCTIONS[name][0])(X)


@pytest.mark.parametrize("name", ["floor", "int"])
def test_traced_integers_are_indices(name):
    f, expected = FUNCTIONS[name]
    np.testing.assert_allclose(wg.compile(f)(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), expected, rtol=1e-14)


@pytest.mark.parametrize("convert", [float, int, complex, np.asarray, np.float64])
@pytest.mark.parametrize(
    "derivative",
    [
        wg.grad,
        wg.jacfwd,
        wg.hessian,
        lambda f: lambda x: wg.taylor(f, x, 2),
        lambda f: wg.grad(wg.checkpoint(f, policy=bool)),
    ],
)
def test_a_derivative_is_not_lost_silently(derivative, convert):
    with pytest.raises(
        wg.TrackedValueError, match=r"lose its derivative, at .*test_plain_numbers\.py:\d+.*stop_gradient"
    ):
        derivative(lambda x: convert(x) * x)(1.5)


def test_what_an_outer_derivative_needs_is_not_lost_in_an_inner_one():
    """A value that is constant to the inner derivative, and not to the outer one."""
    with pytest.raises(wg.TrackedValueError):
        wg.grad(lambda x: wg.grad(lambda y: y * float(x))(1.0))(2.0)
    with pytest.raises(wg.TrackedValueError):
        wg.hessian(lambda x: float(x.detach()) * x)(2.0)
    assert wg.grad(lambda x: wg.grad(lambda y: y * float(np.floor(x)))(x))(2.5) == 0.0
