"""Assignments to tensors that a compiled function captures, written when the program has run."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import wengert as wg
from wengert.core.errors import GradientError

X = np.array([1.0, 2.0, -1.5])


V = np.array([0.5, -1.0, 2.0])


def leaves(tree):
    return [
        np.asarray(x.detach() if isinstance(x, wg.Tensor) else x)
        for x in (tree if isinstance(tree, tuple) else (tree,))
    ]


def accumulate(t, x):
    t[...] = t + x
    return (t * x).sum()


def count_calls(t, x):
    t += 1.0
    return x * t


def momentum(t, x):
    old = t * 1.0
    t *= 0.5
    t += x
    t[0] = old[1]
    return old, t - old


@pytest.mark.parametrize("f", [accumulate, count_calls, momentum])
def test_assignment_to_a_captured_tensor_works_as_in_eager_code(f):
    ours, theirs = wg.tensor(np.arange(3.0)), wg.tensor(np.arange(3.0))
    compiled = wg.compile(partial(f, ours))
    for scale in (1.0, -2.0, 0.5):
        for a, b in zip(leaves(compiled(scale * X)), leaves(f(theirs, scale * X)), strict=True):
            np.testing.assert_allclose(a, b)
        np.testing.assert_allclose(ours, theirs)
    assert ours._version == 3


def test_a_compiled_training_step_updates_its_parameters():
    w, b = wg.tensor(np.zeros(3), requires_grad=True), wg.tensor(0.0, requires_grad=True)
    data = np.random.default_rng(0).normal(size=(50, 3))
    target = data @ [1.0, -2.0, 0.5] + 0.3

    def loss(w, b, data, target):
        return ((data @ w + b - target) ** 2).mean()

    @wg.compile
    def step(data, target):
        value, (dw, db) = wg.value_and_grad(loss, argnums=(0, 1))(w, b, data, target)
        with wg.no_grad():
            w.__isub__(0.1 * dw)
            b.__isub__(0.1 * db)
        return value

    for _ in range(300):
        step(data, target)
    np.testing.assert_allclose(w.detach(), [1.0, -2.0, 0.5], rtol=1e-6)
    assert w.is_leaf
    assert w.requires_grad


def test_history_of_what_was_assigned():
    u, t = wg.tensor(np.full(3, 2.0), requires_grad=True), wg.tensor(np.zeros(3))

    @wg.compile
    def f(x):
        t[...] = u * x
        return t.sum()

    f(X)
    (t * 2.0).sum().backward()
    np.testing.assert_allclose(u.grad, 2.0 * X)


def test_a_leaf_is_assigned_to_without_a_tape_only():
    w, calls = wg.tensor(np.ones(3), requires_grad=True), wg.tensor(0.0)

    @wg.compile
    def f(x):
        calls.__iadd__(1.0)
        w[...] = w - x
        return x

    with pytest.raises(GradientError, match="leaf"):
        f(X)
    np.testing.assert_allclose(w.detach(), 1.0)
    assert calls == 0.0
    with wg.no_grad():
        f(X)
    np.testing.assert_allclose(w.detach(), 1.0 - X)


def update_average(t, x):
    t[...] = 0.9 * t + 0.1 * wg.stop_gradient(x)
    return (t * x).sum()


def test_assignment_without_a_derivative_inside_a_gradient():
    ours, theirs = wg.tensor(np.ones(3)), wg.tensor(np.ones(3))
    compiled, eager = wg.compile(wg.grad(partial(update_average, ours))), wg.grad(partial(update_average, theirs))
    around = wg.grad(wg.compile(partial(update_average, wg.tensor(np.ones(3)))))
    for _ in range(2):
        expected = eager(X)
        np.testing.assert_allclose(compiled(X), expected)
        np.testing.assert_allclose(around(X), expected)
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda x: wg.vmap(f)(np.stack([np.ones(3), V]) * x),
        lambda f: wg.grad(f),
        lambda f: wg.grad(wg.checkpoint(f)),
        lambda f: lambda x: wg.jvp(f, (x,), (V,)),
    ],
)
def test_assignments_that_are_not_defined_are_errors(transform):
    t = wg.tensor(np.zeros(3))
    with pytest.raises(GradientError, match="captures was assigned to inside"):
        wg.compile(transform(partial(accumulate, t)))(X)
    np.testing.assert_array_equal(t, 0.0)
    wg.compile(partial(accumulate, t))(X)  # the error left nothing behind
    np.testing.assert_array_equal(t, X)


def test_a_graph_does_not_assign():
    with pytest.raises(GradientError, match="wg.compile"):
        wg.trace(partial(accumulate, wg.tensor(np.zeros(3))), X)


def test_a_value_of_a_transform_that_a_compiled_function_changes():
    def f(x):
        y = x * 2.0
        before = wg.compile(lambda v: y * v)(V)
        wg.compile(lambda v: y.__imul__(v).sum())(V)
        return (before + y).sum()

    np.testing.assert_allclose(wg.grad(f)(X), 4.0 * V)


def test_nested_traces_and_captured_tensors():
    t = wg.tensor(np.ones(3))
    inner = wg.compile(lambda y: y * t)
    outer = wg.compile(lambda x: x + inner(np.ones(3)))
    assigning = wg.compile(lambda y: accumulate(t, y))

    def f(x):
        assigning(np.ones(3))
        return x + t

    np.testing.assert_allclose(outer(X), X + 1.0)
    with wg.no_grad():
        t += 1.0
    np.testing.assert_allclose(outer(X), X + 2.0)
    np.testing.assert_allclose(wg.compile(f)(X), X + 3.0)
    np.testing.assert_allclose(t, 3.0)


@pytest.mark.parametrize("n", [3, 100, 1000, 1001, 1 << 17])
def test_parameters_are_updated_in_their_own_buffers(n):
    w, v = wg.tensor(np.ones(n)), wg.tensor(np.zeros(n))

    def step(w, v, x):
        slope = 2.0 * (w - x)
        v[...] = 0.9 * v + slope
        w -= 0.1 * v
        return (slope * slope).sum()

    compiled = wg.compile(partial(step, w, v))
    theirs = wg.tensor(np.ones(n)), wg.tensor(np.zeros(n))
    x, addresses = np.linspace(0.0, 1.0, n), set()
    for _ in range(4):
        np.testing.assert_allclose(compiled(x), np.asarray(step(*theirs, x)), rtol=1e-12)
        np.testing.assert_array_equal(w, theirs[0])
        np.testing.assert_array_equal(v, theirs[1])
        addresses.add(w.numpy().ctypes.data)
    if n in (1000, 1 << 17):
        assert len(addresses) == 1


def test_what_others_hold_is_not_overwritten():
    w = wg.tensor(np.ones(1024))
    seen, detached = w.numpy(), w.detach()
    step = wg.compile(lambda x: w.__imul__(x).sum())
    assert step(2.0) == 2048.0
    np.testing.assert_array_equal(seen, 1.0)
    np.testing.assert_array_equal(detached, 1.0)
    np.testing.assert_array_equal(w, 2.0)
    old = wg.compile(lambda x: (w * 1.0, w.__imul__(x))[0])
    np.testing.assert_array_equal(old(3.0), 2.0)
    np.testing.assert_array_equal(w, 6.0)
    shifted = wg.compile(lambda x: w.__iadd__(np.roll(w, 1) * x).sum())
    w.data = np.arange(1024.0)
    expected = np.arange(1024.0) + np.roll(np.arange(1024.0), 1)
    shifted(1.0)
    np.testing.assert_array_equal(w, expected)


def test_after_an_error_a_tensor_is_what_it_was():
    w = wg.tensor(np.ones(1024))

    def f(i):
        w.__imul__(2.0)
        return w[i]

    compiled = wg.compile(f)
    compiled(np.array([3]))
    with pytest.raises(IndexError):
        compiled(np.array([5000]))
    np.testing.assert_array_equal(w, 2.0)


def test_a_tensor_that_is_assigned_to_and_never_read():
    t = wg.tensor(np.zeros(3))

    @wg.compile
    def f(x):
        t.data = x * 2.0
        return x.sum()

    for scale in (1.0, 2.0, 3.0):
        assert f(scale * X) == (scale * X).sum()
        np.testing.assert_array_equal(t, 2.0 * scale * X)


@pytest.mark.parametrize("n", [3, 1024])
def test_tensors_that_are_swapped(n):
    def swap(a, b, x):
        old = a * 1.0
        a[...] = b + x
        b[...] = old
        return a

    ours, theirs = [[wg.tensor(np.arange(float(n))), wg.tensor(np.zeros(n))] for _ in range(2)]
    compiled, results = wg.compile(partial(swap, *ours)), []
    for x in (1.0, 2.0, 3.0):
        results.append((compiled(x), np.asarray(swap(*theirs, x)).copy()))
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
    for found, expected in results:  # which later calls leave alone
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "transform", [wg.grad, lambda f: wg.vmap(f, in_axes=0), lambda f: lambda x: wg.jvp(f, (x,), (V,))]
)
def test_transforms_around_a_compiled_function_that_assigns(transform):
    t = wg.tensor(np.zeros(()))
    compiled = wg.compile(lambda x: (t.__iadd__(x.sum()), (x * 2.0).sum())[1])
    with pytest.raises(GradientError, match="assigns to a tensor"):
        transform(compiled)(X)
    assert type(t) is wg.Tensor
    assert t == 0.0
