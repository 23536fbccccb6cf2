"""No reference cycles: with the collector off, arrays die with the last value that needs them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import Function, detect_anomaly, grad, once_differentiable, saved_tensors_hooks


class Buffer(np.ndarray):
    """An array that can be watched."""


def buffer():
    return np.ones(3).view(Buffer)


@pytest.fixture(autouse=True)
def _no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Everything(Function):
    """Saves its input, its output and something in between, in every way there is."""

    @staticmethod
    def forward(ctx, x):
        y = x * 2.0
        between = x + 1.0
        ctx.save_for_backward(x, y, between)
        ctx.between, ctx.y = between, y
        return y, x

    @staticmethod
    def backward(ctx, t, u):
        return 2.0 * t + u + 0.0 * (ctx.saved_tensors[0] + ctx.y)


def watched(run):
    """Run on a leaf whose array is watched; it must be gone afterwards."""
    array = buffer()
    x = wg.Tensor(array).requires_grad_()
    alive = weakref.ref(array)
    kept = run(x)
    del array, x
    return alive, kept


@pytest.mark.parametrize("create_graph", [False, True])
def test_function_leaves_nothing(create_graph):
    def run(x):
        y, z = Everything.apply(x)
        grad((y * z).sum(), x, create_graph=create_graph)

    alive, _ = watched(run)
    assert alive() is None


def test_forward_without_backward_leaves_nothing():
    alive, kept = watched(lambda x: Everything.apply(x))
    assert alive() is not None
    del kept
    assert alive() is None


def test_release_frees_what_was_saved():
    def run(x):
        y, _ = Everything.apply(x)
        y.sum().backward()
        return y

    alive, _y = watched(run)
    assert alive() is None


def test_context_does_not_keep_the_graph():
    contexts = []

    class Keeping(Everything):
        @staticmethod
        def forward(ctx, x):
            contexts.append(ctx)
            return Everything.forward(ctx, x)

    alive, kept = watched(lambda x: Keeping.apply(x))
    del kept
    assert alive() is None


def test_once_differentiable_leaves_nothing():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        @once_differentiable
        def backward(ctx, t):
            return t * 2.0

    def run(x):
        grad(Once.apply(x).sum(), x, create_graph=True)

    assert watched(run)[0]() is None


def test_hooks_and_contexts_leave_nothing():
    def run(x):
        with detect_anomaly(), saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x * x
            y.retain_grad()
            y.register_hook(lambda g: g)
            y.grad_fn.register_hook(lambda *grads: None)
            y.grad_fn.register_prehook(lambda grads: None)
            Everything.apply(y)[0].sum().backward(create_graph=False)

    assert watched(run)[0]() is None


def test_training_steps_do_not_grow():
    w = wg.tensor(np.ones(4), requires_grad=True)

    def step():
        y, z = Everything.apply(wg.sin(w) * 3.0)
        (y * z).sum().backward()
        with wg.no_grad():
            w[:] = w - 0.01 * w.grad
        w.grad = None

    for _ in range(10):
        step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(200):
        step()
    assert len(gc.get_objects()) <= before + 5


def test_a_long_chain_of_functions():
    class Shift(Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1.0

        @staticmethod
        def backward(ctx, t):
            return t

    x = wg.tensor(0.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = Shift.apply(y)
    y.backward()
    assert x.grad.item() == 1.0
    y = x
    for _ in range(20_000):
        y = Shift.apply(y)
    del y
