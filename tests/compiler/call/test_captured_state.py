"""Tensors that a compiled function captures are read at each call."""

from __future__ import annotations

import copy
import threading
from functools import partial

import numpy as np
import pytest

import wengert as wg
from wengert.core.errors import GradientError, TrackedValueError

X = np.array([1.0, 2.0, -1.5])


V = np.array([0.5, -1.0, 2.0])


def total(t, x):
    return (t * x * x).sum()


TRANSFORMS = {
    "f": lambda f: f,
    "grad": wg.grad,
    "value_and_grad": wg.value_and_grad,
    "hessian": wg.hessian,
    "hvp": lambda f: lambda x: wg.hvp(f, x, V),
    "jacrev": lambda f: wg.jacrev(wg.grad(f)),
    "jacfwd": lambda f: wg.jacfwd(wg.grad(f)),
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (V,)),
    "vjp": lambda f: lambda x: wg.vjp(f, x)[1](1.0),
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([np.ones(3), V]) * x),
    "checkpoint": lambda f: wg.grad(wg.checkpoint(f)),
    "grad of compiled": lambda f: wg.grad(wg.compile(f)),
    "taylor": lambda f: lambda x: wg.taylor(lambda s: f(x * s), 1.0, 2)[2],
}


USES = {
    "t": lambda t, x: total(t, x),
    "2 t": lambda t, x: total(2.0 * t, x),  # computed from captured tensors alone
    "t[1:]": lambda t, x: (t[1:] * x[1:] ** 2).sum(),
    "sum(t)": lambda t, x: (np.exp(np.sum(t)) * x * x).sum(),
    "detached": lambda t, x: total(t.detach(), x),
    "in a list": lambda t, x: (wg.stack([t, t * t]) * x * x).sum(),
    "returned": lambda t, x: (x + t)[0] * t[1] * x[1],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("name", "requires_grad"),
    [
        *[(name, False) for name in TRANSFORMS],
        *[(name, True) for name in TRANSFORMS if name != "checkpoint"],
    ],  # which refuses it, eagerly
)
def test_a_compiled_derivative_reads_captured_tensors_at_each_call(name, requires_grad, use):
    t = wg.tensor(np.full(3, 3.0), requires_grad=requires_grad)
    f = partial(USES[use], t)
    eager, compiled = TRANSFORMS[name](f), wg.compile(TRANSFORMS[name](f))
    for change in (0.0, -2.0, 0.5):
        with wg.no_grad():
            t += change
        for ours, expected in zip(leaves(compiled(X)), leaves(eager(X)), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-13)


def leaves(tree):
    return [
        np.asarray(x.detach() if isinstance(x, wg.Tensor) else x)
        for x in (tree if isinstance(tree, tuple) else (tree,))
    ]


@pytest.mark.parametrize("make", [wg.sparse_hessian, lambda f, **kwargs: wg.sparse_jacobian(wg.grad(f), **kwargs)])
def test_compiled_sparse_derivatives_read_captured_tensors_at_each_call(make):
    t = wg.tensor(np.full(3, 3.0))
    H = make(partial(total, t), compile=True)
    assert np.allclose(H(X).toarray(), 6.0 * np.eye(3))
    with wg.no_grad():
        t -= 2.0
    assert np.allclose(H(X).toarray(), 2.0 * np.eye(3))


def test_operators_read_captured_tensors_at_each_call():
    t = wg.tensor(np.full(3, 3.0))
    operators = [
        wg.hessian_operator(partial(total, t), X, compile=True),
        wg.jacobian_operator(lambda x: t * x * x / X, X, compile=True),
        wg.gauss_newton_operator(lambda x: t * x, X, lambda y: (y * y / t).sum(), compile=True),
    ]
    with wg.no_grad():
        t -= 2.0
    for operator in operators:
        np.testing.assert_allclose(operator @ V, 2.0 * V)


def test_the_gradient_with_respect_to_a_captured_tensor_follows_its_changes():
    t = wg.tensor(np.full(3, 3.0), requires_grad=True)
    f = wg.compile(lambda x: (np.sin(2.0 * t) * x).sum())
    for value in (3.0, 1.0):
        t.data = np.full(3, value)
        t.grad = None
        f(X).backward()
        np.testing.assert_allclose(t.grad, 2.0 * np.cos(2.0 * value) * X)


def test_a_tensor_made_and_changed_inside():
    def f(x):
        buffer = wg.zeros(3)
        y = (buffer * x).sum()
        buffer[0] = 5.0
        buffer += 1.0
        return y + (buffer * x).sum()

    for g in (f, wg.grad(f)):
        np.testing.assert_allclose(wg.compile(g)(X), np.asarray(g(X)))


def test_what_is_made_of_constants_has_numbers_in_a_trace():
    names = ["a", "b", "c"]

    def f(x):
        steps = wg.arange(3)
        assert bool(steps.sum() > 2)
        assert names[steps[1]] == "b"
        assert steps.tolist() == [0, 1, 2]
        return x * float(steps[2]) + int(wg.tensor(3)) + steps.numpy()[1]

    np.testing.assert_allclose(wg.compile(f)(X), 2.0 * X + 4.0)


def test_numbers_of_a_captured_tensor_are_not_known_in_a_trace():
    t = wg.tensor(np.ones(3))
    for f in (
        lambda x: x * float(t[0]),
        lambda x: x * t.sum().item(),
        lambda x: x + t.numpy(),
    ):
        with pytest.raises(TrackedValueError):
            wg.compile(f)(X)


def test_a_trace_leaves_tensors_alone_for_other_threads():
    t = wg.tensor(np.ones(3))
    inside, done, seen = threading.Event(), threading.Event(), []

    def f(x):
        t[...] = t + x
        inside.set()
        assert done.wait(10.0)
        return t.sum()

    def look():
        inside.wait(10.0)
        seen.append(np.asarray(t * 2.0))
        done.set()

    other = threading.Thread(target=look)
    other.start()
    wg.compile(f)(X)
    other.join()
    np.testing.assert_array_equal(seen[0], 2.0)
    np.testing.assert_allclose(t, 1.0 + X)


def test_no_grad_inside_a_compiled_function():
    def f(x):
        with wg.no_grad():
            y = x * x
        return (y * x).sum()

    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), X * X)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), X * X)
    np.testing.assert_allclose(wg.jvp(wg.compile(f), (X,), (V,))[1], (X * X * V).sum())
    compiled = wg.compile(lambda x: (x * x).sum())
    with wg.no_grad():
        compiled(X)  # traced here, it is differentiable all the same
    np.testing.assert_allclose(wg.grad(compiled)(X), 2.0 * X)


def test_tensors_that_require_gradients_may_be_made_inside():
    def f(x):
        w = wg.tensor(np.ones(3), requires_grad=True)
        (w * x).sum().backward()
        return w.grad

    np.testing.assert_array_equal(wg.compile(f)(X), X)


def test_arguments_have_no_gradients():
    with pytest.raises(AttributeError, match=r"wg\.grad"):
        wg.compile(lambda x: (x * x).sum().backward())(X)


# Found by attacking it.


def test_detach_stops_gradients_in_a_compiled_function():
    f = lambda x: (x * x.detach()).sum()
    x, expected = wg.tensor(X, requires_grad=True), X
    wg.compile(f)(x).backward()
    np.testing.assert_allclose(x.grad, expected)
    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), expected)
    t = wg.tensor(np.full(3, 3.0), requires_grad=True)
    wg.compile(lambda x: (t.detach() * x * t).sum())(X).backward()
    np.testing.assert_allclose(t.grad, 3.0 * X)


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: wg.jvp(lambda v: v**3, (x,), (x,))[1],
        lambda x: wg.vjp(lambda v: v**3, x)[0],
        lambda x: wg.hvp(lambda v: (v**3).sum(), x, x),
        wg.compile(lambda x: x * x),
    ],
)
def test_no_grad_stops_what_transforms_and_compiled_functions_give(inner):
    def f(x):
        with wg.no_grad():
            y = inner(x)
        return (y * x).sum()

    for transform in (wg.grad, wg.hessian, lambda f: lambda x: wg.jvp(f, (x,), (V,))[1]):
        expected = transform(f)(X)
        np.testing.assert_allclose(transform(wg.compile(f))(X), expected, atol=1e-14)
        np.testing.assert_allclose(wg.compile(transform(f))(X), expected, atol=1e-14)


def test_numbers_changed_under_no_grad_keep_their_derivative():
    def f(x):
        y = x * 2.0
        with wg.no_grad():
            y += 1.0
        return (y * y).sum()

    expected = wg.grad(f)(X)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), expected)
    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), expected)
    assert wg.compile(f)(X) == f(wg.tensor(X))
    with pytest.raises(TrackedValueError, match="no_grad"):
        wg.jvp(f, (X,), (V,))


def test_what_a_program_cannot_know_of_a_tensor():
    w = wg.tensor(np.ones(3), requires_grad=True)
    for f in (lambda x: x * copy.copy(w), lambda x: (w.requires_grad_(False), x)[1]):
        with pytest.raises(GradientError, match="captured tensor"):
            wg.compile(f)(X)
    assert w.requires_grad


def test_symbolic_gradients_know_what_a_tensor_was():
    t = wg.tensor(np.ones(3))

    def f(x):
        y = (t * x * x).sum()
        t[...] = t + 1.0
        return wg.gradients(y, x)

    np.testing.assert_allclose(wg.compile(f)(X), 2.0 * X)


def test_values_of_a_trace_that_has_ended():
    kept = []
    wg.compile(lambda x: (kept.append(x * 2.0), x)[1])(X)
    for use in (lambda: kept[0] + 1.0, lambda: wg.compile(lambda x: x + kept[0])(X)):
        with pytest.raises(TrackedValueError, match="after the trace had ended"):
            use()


def test_captured_tensors_in_another_order_of_bytes():
    t = wg.tensor(np.arange(3.0).astype(">f8"))
    np.testing.assert_allclose(wg.compile(lambda x: t * x)(X), np.arange(3.0) * X)


class Named(wg.Tensor):
    """A tensor of another class, without fields of its own."""

    __slots__ = ()


class WithSource(wg.Tensor):
    """A tensor that knows where its numbers are from."""

    __slots__ = ("source",)


@pytest.mark.parametrize("kind", [wg.Tensor, Named, WithSource])
def test_classes_derived_from_tensors_take_the_native_entry_unless_they_have_fields(kind):
    w = kind(np.ones(3))

    @wg.compile
    def step(x):
        with wg.no_grad():
            w.__iadd__(x)
        return w.sum()

    for _ in range(2):
        step(X)
    if kind is WithSource:
        assert step.fast(X) is NotImplemented
    else:
        step.general = None  # it is not needed any more
    step(X)
    np.testing.assert_array_equal(w.value, 1.0 + 3.0 * X)
    assert type(w) is kind
