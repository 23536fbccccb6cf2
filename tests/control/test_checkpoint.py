"""checkpoint: gradients, memory, captured tensors, policies, and checkpoint_sequential."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.control.passes import forward, gradients, reverse

import wengert as wg
from wengert.control.checkpoint import checkpoint, checkpoint_sequential
from wengert.control.iteration import checkpoint_loop
from wengert.core.definition import Definition
from wengert.core.levels import new_level
from wengert.core.primitive import Primitive
from wengert.modes.batch import Batched
from wengert.modes.tape import sort_reachable
from wengert.modes.tensor import Tensor


def kept(y):
    """Bytes that the tape holds for the backward pass."""
    arrays = {}
    for node in sort_reachable([y.node]):
        for s in node.saved:
            for a in s if isinstance(s, tuple) else (s,):
                if isinstance(a, np.ndarray):
                    arrays[id(a)] = a.nbytes
    return sum(arrays.values())


def block(x, w):
    for _ in range(5):
        x = np.tanh(x @ w) * np.exp(-x * x)
    return x


RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(6, 4)), RNG.normal(size=(4, 4))


class TestCheckpoint:
    def test_same_gradient_less_memory(self):
        for plain, again in zip(gradients(block, X, W), gradients(checkpoint(block), X, W), strict=True):
            np.testing.assert_array_equal(plain, again)
        x, w = wg.tensor(X, requires_grad=True), wg.tensor(W, requires_grad=True)
        assert kept(checkpoint(block)(x, w)) == X.nbytes + W.nbytes
        assert kept(block(x, w)) > 10 * X.nbytes

    def test_runs_once_forward_and_once_back(self):
        runs = []

        def f(x):
            runs.append(1)
            return x * x

        x = wg.tensor(3.0, requires_grad=True)
        y = checkpoint(f)(x)
        assert len(runs) == 1
        y.backward()
        assert (len(runs), x.grad.item()) == (2, 6.0)

    def test_every_nesting(self):
        f = lambda x: np.sin(x) * x * x
        x = np.array([0.3, 0.7])
        second = -np.sin(x) * x * x + 4 * x * np.cos(x) + 2 * np.sin(x)
        g = checkpoint(f)
        np.testing.assert_allclose(forward(g, x), forward(f, x))
        np.testing.assert_allclose(reverse(lambda v: reverse(g, v), x), second)
        np.testing.assert_allclose(forward(lambda v: reverse(g, v), x), second.sum())
        np.testing.assert_allclose(reverse(lambda v: forward(g, v), x), second)
        v = wg.tensor(x, requires_grad=True)
        (first,) = wg.autograd.grad(g(v).sum(), [v], create_graph=True)
        np.testing.assert_allclose(wg.autograd.grad(first.sum(), [v])[0].numpy(), second)
        np.testing.assert_array_equal(
            reverse(lambda u: checkpoint(lambda a: checkpoint(f)(a) * 1.0)(u), x), reverse(f, x)
        )
        level = new_level()
        np.testing.assert_allclose(reverse(lambda u: g(Batched(u, level)).value, x), reverse(f, x))

    def test_trees_keywords_and_constants(self):
        def f(p, *, scale, k=2):
            return {"y": p["w"] * scale + p["b"] ** k, "i": np.argmax(p["w"])}

        def run(f):
            w, b = wg.tensor([1.0, 2.0], requires_grad=True), wg.tensor(3.0, requires_grad=True)
            scale = np.array([2.0, 5.0])
            out = f({"w": w, "b": b}, scale=scale, k=3)
            scale[:] = 0.0
            assert int(out["i"]) == 1
            out["y"].sum().backward()
            return w.grad.numpy(), b.grad.numpy()

        for plain, again in zip(run(f), run(checkpoint(f)), strict=True):
            np.testing.assert_array_equal(plain, again)

    def test_arguments_changed_in_place(self):
        def f(x):
            x = x * 1.0
            x[0] = x[1] * x[1]
            return x

        def clobber(x):
            x *= 2.0
            return x * x

        x = wg.tensor([1.0, 2.0], requires_grad=True)
        checkpoint(f)(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [0.0, 5.0])
        y = x * 1.0
        z = checkpoint(clobber)(y)
        z.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [8.0, 21.0])

    def test_retain_graph_and_release(self):
        x = wg.tensor(2.0, requires_grad=True)
        y = checkpoint(lambda x: x**3)(x)
        y.backward(retain_graph=True)
        y.backward()
        assert x.grad.item() == 24.0
        with pytest.raises(wg.GradientError, match="released"):
            y.backward()

    def test_no_grad_and_plain_arrays(self):
        x = wg.tensor(2.0, requires_grad=True)
        with wg.no_grad():
            assert not checkpoint(np.sin)(x).requires_grad
        y = checkpoint(np.sin)(x)
        with wg.no_grad():
            y.backward()
        assert x.grad.item() == np.cos(2.0)
        assert type(checkpoint(np.sin)(np.ones(2))) is np.ndarray
        assert type(checkpoint(lambda x: np.fft.fft(x))(np.ones(2))) is np.ndarray

    def test_a_function_that_changes_its_mind(self):
        shapes = iter([2, 3])
        y = checkpoint(lambda x: x * np.ones(next(shapes)))(wg.tensor(1.0, requires_grad=True))
        with pytest.raises(wg.GradientError, match="ran again"):
            y.sum().backward()


def test_nothing_is_left_for_the_garbage_collector():
    x = wg.tensor([0.5, 0.7], requires_grad=True)
    w = wg.tensor(2.0, requires_grad=True)

    def run():
        checkpoint(lambda x: np.sin(x) * x)(x).sum().backward()
        checkpoint(lambda x: x * w)(x).sum().backward()
        checkpoint(lambda x: np.sin(x) * x, policy=lambda name: name == "sin")(x).sum().backward()
        checkpoint_loop(lambda s, k: s * 0.5, x, 20).sum().backward()

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        assert gc.collect() == 0
    finally:
        gc.enable()


class TestCapture:
    def test_gradients_of_captured_leaves(self):
        plain = gradients(block, X, W)
        for data in (wg.tensor(X, requires_grad=True), wg.tensor(X), X):
            w = wg.tensor(W, requires_grad=True)
            y = checkpoint(lambda x, w=w: block(x, w))(data)
            y.sum().backward()
            np.testing.assert_array_equal(w.grad.numpy(), plain[1])
            if isinstance(data, Tensor) and data.requires_grad:
                np.testing.assert_array_equal(data.grad.numpy(), plain[0])
                assert not data.grad.requires_grad
            assert not w.grad.requires_grad

    def test_captured_intermediate_values(self):
        a, x = wg.tensor(2.0, requires_grad=True), wg.tensor(3.0, requires_grad=True)
        w = a * a
        (g,) = wg.autograd.grad(checkpoint(lambda x: w * x * x)(x * a), [a])
        assert g.item() == 4 * 2.0**3 * 9.0
        assert x.grad is None

    def test_captured_by_a_transform(self):
        np.testing.assert_array_equal(
            reverse(lambda w: checkpoint(lambda x: block(x, w))(X), W), gradients(block, X, W)[1]
        )
        np.testing.assert_array_equal(reverse(lambda w: checkpoint(lambda x: w * x)(w), np.ones(2)), [2.0, 2.0])

    def test_returned_as_it_is(self):
        w = wg.tensor(2.0, requires_grad=True)
        a, b = checkpoint(lambda x: (w, x))(wg.tensor(3.0, requires_grad=True))
        (a * b).backward()
        assert w.grad.item() == 3.0

    def test_captured_by_a_loop(self):
        w, x = wg.tensor(2.0, requires_grad=True), wg.tensor(3.0, requires_grad=True)
        checkpoint_loop(lambda x, k: x * w, x, 3).backward()
        assert (x.grad.item(), w.grad.item()) == (8.0, 36.0)


class TestPolicy:
    @pytest.mark.parametrize("policy", [lambda name: name == "matmul", lambda name: True, lambda name: False])
    def test_same_gradient(self, policy):
        for plain, again in zip(gradients(block, X, W), gradients(checkpoint(block, policy), X, W), strict=True):
            np.testing.assert_array_equal(plain, again)

    def test_what_is_kept_does_not_run_again(self):
        runs = []
        square = Primitive(
            Definition(
                name="counted_square",
                impl=lambda x: runs.append(1) or x * x,
                kind="elementwise",
                inputs=("x",),
                rules=(lambda t, x: 2.0 * t * x,),
            )
        ).op
        x = wg.tensor(2.0, requires_grad=True)
        checkpoint(lambda x: np.sin(square(np.exp(x))), policy=lambda name: name == "counted_square")(x).backward()
        assert len(runs) == 1
        checkpoint(lambda x: np.sin(square(np.exp(x))))(x).backward()
        assert len(runs) == 3

    def test_second_order_and_several_outputs(self):
        f = lambda x: np.split(np.sin(x) * x, 2)[0]
        g = checkpoint(f, policy=lambda name: True)
        x = np.array([0.3, 0.7])
        np.testing.assert_array_equal(reverse(g, x), reverse(f, x))
        np.testing.assert_allclose(reverse(lambda v: reverse(g, v), x), reverse(lambda v: reverse(f, v), x))
        y = wg.tensor(x, requires_grad=True)
        z = g(y).sum()
        z.backward(retain_graph=True)
        z.backward()
        np.testing.assert_array_equal(y.grad.numpy(), 2 * reverse(f, x))


class TestSequential:
    @pytest.mark.parametrize("segments", [1, 2, 3, 7, 20])
    def test_same_gradient(self, segments):
        functions = [np.sin, np.exp, lambda x: x * x, np.tanh, lambda x: x + 1.0, np.sqrt, np.cos]

        def plain(x):
            for f in functions:
                x = f(x)
            return x

        x = np.linspace(0.1, 1.0, 5)
        np.testing.assert_array_equal(
            gradients(plain, x)[0], gradients(lambda x: checkpoint_sequential(functions, segments, x), x)[0]
        )

    def test_segments(self):
        with pytest.raises(ValueError, match="at least one"):
            checkpoint_sequential([np.sin], 0, 1.0)
