"""Loops for users: structures, lengths, checkpoints, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.compat.jax.lax


def traced_and_eager(f, *args):
    """The results of a function, run eagerly and by its graph."""
    return f(*args), wg.trace(f, *args).evaluate(*args)


class TestScan:
    def test_trees(self):
        def f(x):
            step = lambda s, row: ({"a": s["a"] * row[0], "b": (s["b"][0] + row[1],)}, [s["a"], {"c": row[1]}])
            return wg.scan(step, {"a": x, "b": (0.0,)}, (np.arange(3.0), np.ones(3)))

        for final, (first, second) in traced_and_eager(f, np.float64(2.0)):
            assert final["b"][0] == 3.0
            np.testing.assert_array_equal(first, [2.0, 0.0, 0.0])
            np.testing.assert_array_equal(second["c"], np.ones(3))

    def test_reverse(self):
        f = lambda x: wg.scan(lambda s, v: (s + v, s), 0.0, x, reverse=True)[1]
        for ys in traced_and_eager(f, np.arange(1.0, 4.0)):
            np.testing.assert_array_equal(ys, [5.0, 3.0, 0.0])

    def test_no_steps(self):
        f = lambda x: wg.scan(lambda s, v: (s * v, (s, v)), x, np.zeros((0, 2)))
        for final, (states, slices) in traced_and_eager(f, np.ones(2)):
            np.testing.assert_array_equal(final, np.ones(2))
            assert states.shape == slices.shape == (0, 2)
        np.testing.assert_array_equal(wg.grad(lambda x: f(x)[0].sum())(np.ones(2)), np.ones(2))

    def test_length_without_sequences(self):
        f = lambda x: wg.scan(lambda s, _: (s * 2.0, None), x, length=3)
        for final, ys in traced_and_eager(f, np.float64(1.0)):
            assert final == 8.0
            assert ys is None

    @pytest.mark.parametrize(
        ("arguments", "kind", "message"),
        [
            ({"xs": (np.ones(3), np.ones(4))}, ValueError, r"lengths \[3, 4\]"),
            ({"xs": np.ones(3), "length": 2}, ValueError, r"lengths \[2, 3\]"),
            ({}, ValueError, "without a length"),
            ({"length": -1}, ValueError, "length -1"),
            ({"xs": np.float64(1.0)}, ValueError, "number"),
            ({"length": 3, "checkpoint": 0}, ValueError, "checkpoint"),
            ({"length": 3, "checkpoint": "often"}, ValueError, "50 MB"),
        ],
    )
    def test_refused(self, arguments, kind, message):
        with pytest.raises(kind, match=message):
            wg.scan(lambda s, x: (s, None), 1.0, **arguments)

    @pytest.mark.parametrize(
        ("step", "message"),
        [
            (lambda s, x: ((s, s), None), "state"),
            (lambda s, x: (s + np.ones(2), None), r"from f64\[\] to f64\[2\]"),
            (lambda s, x: (s > 0, None), r"from f64\[\] to bool\[\]"),
        ],
    )
    def test_a_state_that_changes(self, step, message):
        with pytest.raises(TypeError, match=message):
            wg.trace(lambda x: wg.scan(step, x, np.ones(3))[0], np.float64(1.0))

    def test_assignment_to_a_captured_tensor(self):
        w = wg.tensor([1.0, 2.0])

        def step(s, x):
            w[0] = s
            return s + x, None

        with pytest.raises(wg.GradientError, match="captures"):
            wg.trace(lambda x: wg.scan(step, x, np.ones(3))[0], np.float64(1.0))


class TestCheckpoints:
    """The gradient of a scan that computes steps again is that of one that keeps everything, bit for bit."""

    KINDS = (1, 3, 4, 20, "binomial", "1.2 kB", "700 B", "1 MB")

    @staticmethod
    def loss(x, w, checkpoint, n=13, reverse=False):
        def step(s, k):
            s = np.tanh(w @ s + 0.1 * k) * w[0, 0] + 0.1 * s * s
            return s, s * k

        xs = np.linspace(0.0, 1.0, n)
        s, ys = wg.scan(step, x, xs, checkpoint=checkpoint, reverse=reverse)
        return np.sum(s) + np.sum(ys**2)

    X, W = np.array([0.3, -0.2, 0.5]), np.linspace(-0.6, 0.7, 9).reshape(3, 3)

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("checkpoint", KINDS)
    def test_same_bits(self, checkpoint, reverse):
        gradient = lambda checkpoint: wg.grad(lambda x, w: self.loss(x, w, checkpoint, reverse=reverse), argnums=(0, 1))
        for run in (lambda f: f, wg.compile):
            expected = run(gradient(None))(self.X, self.W)
            for a, b in zip(run(gradient(checkpoint))(self.X, self.W), expected, strict=True):
                np.testing.assert_array_equal(a, b)

    @pytest.mark.parametrize("checkpoint", [4, "binomial"])
    def test_second_order_and_forward_mode(self, checkpoint):
        f = lambda x, checkpoint=None: self.loss(x, self.W, checkpoint)
        g = lambda x: f(x, checkpoint)
        np.testing.assert_allclose(wg.hessian(g)(self.X), wg.hessian(f)(self.X), rtol=1e-12)
        twice = lambda f: wg.grad(lambda x: np.sum(wg.grad(f)(x) ** 2))
        np.testing.assert_allclose(wg.compile(twice(g))(self.X), twice(f)(self.X), rtol=1e-11)
        v = np.ones(3)
        np.testing.assert_allclose(wg.jvp(g, (self.X,), (v,))[1], wg.jvp(f, (self.X,), (v,))[1], rtol=1e-13)
        batch = np.stack([self.X, -self.X])
        np.testing.assert_allclose(wg.vmap(wg.grad(g))(batch), wg.vmap(wg.grad(f))(batch), rtol=1e-13)

    def test_what_the_graph_keeps(self):
        """The longest axis of any value in the gradient of 1 000 steps."""
        x = np.float64(0.5)

        def longest(checkpoint):
            f = lambda x: wg.scan(lambda s, _: (np.sin(s) + s, None), x, length=1000, checkpoint=checkpoint)[0]
            graph = wg.trace(wg.grad(f), x).optimize()
            return max(max(spec.shape, default=1) for node in graph.operations for spec in node.specs)

        assert longest(None) == 1000
        assert longest(50) == 20
        assert longest("binomial") < 20

    def test_too_small_a_limit(self):
        with pytest.raises(ValueError, match="at least"):
            wg.grad(lambda x: self.loss(x, self.W, "10 B"))(self.X)


class TestWhile:
    def test_a_condition_that_is_no_scalar(self):
        with pytest.raises(TypeError, match=r"shape \(2,\)"):
            wg.trace(lambda x: wg.while_loop(lambda s: s < 3.0, lambda s: s + 1.0, x), np.ones(2))

    def test_a_body_that_changes_the_structure(self):
        with pytest.raises(TypeError, match="state"):
            wg.trace(lambda x: wg.while_loop(lambda s: s < 3.0, lambda s: (s, s), x), np.float64(1.0))

    def test_no_steps(self):
        f = lambda x: wg.while_loop(lambda s: s < 0.0, lambda s: s * 2.0, x)
        assert wg.compile(f)(np.float64(3.0)) == 3.0
        assert wg.compile(wg.grad(f))(np.float64(3.0)) == 1.0

    def test_numbers_of_python(self):
        assert wg.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2.0), (0, 1.0))[1] == 32.0

    def test_many_steps(self):
        """What the backward pass keeps grows with the loop."""

        def f(x):
            return wg.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] + 0.001 * np.sin(s[1])), (0, x))[1]

        x = np.float64(0.7)
        np.testing.assert_allclose(wg.compile(wg.grad(f))(x), wg.grad(f)(x), rtol=1e-13)


class TestCounted:
    def test_traced_bounds(self):
        f = lambda x, n: wg.fori_loop(0, n, lambda i, s: s * x + i, 1.0)
        for n in (0, 1, 4):
            assert wg.compile(f)(np.float64(2.0), np.int64(n)) == f(np.float64(2.0), n)
        gradient = wg.compile(wg.grad(f))(np.float64(2.0), np.int64(4))
        np.testing.assert_allclose(gradient, wg.grad(f)(np.float64(2.0), 4), rtol=1e-14)

    def test_bounds_in_the_wrong_order(self):
        assert wg.fori_loop(3, 1, lambda i, s: s + 1.0, 0.0) == 0.0


class TestAssociative:
    @pytest.mark.parametrize("n", range(1, 12))
    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_against_cumulative_sums(self, n, reverse, axis):
        x = np.random.default_rng(n).normal(size=(n, n, n))
        turned = np.flip(x, axis) if reverse else x
        expected = np.cumsum(turned, axis)
        found = wg.associative_scan(np.add, x, reverse=reverse, axis=axis)
        np.testing.assert_allclose(found, np.flip(expected, axis) if reverse else expected, rtol=1e-12)

    def test_order_of_the_operands(self):
        matrices = np.random.default_rng(0).normal(size=(6, 2, 2))
        products = [matrices[0]]
        for m in matrices[1:]:
            products.append(products[-1] @ m)
        np.testing.assert_allclose(wg.associative_scan(np.matmul, matrices), np.stack(products), rtol=1e-12)

    def test_refused(self):
        with pytest.raises(ValueError, match=r"\[2, 3\]"):
            wg.associative_scan(lambda a, b: a, (np.ones(2), np.ones(3)))
        with pytest.raises(TypeError, match="returned"):
            wg.associative_scan(lambda a, b: (a, b), np.ones(4))


class Stop(Exception):
    """Ends a loop of very many steps."""


def test_a_known_range_is_not_allocated():
    n = 10**11  # as an array, the range has 745 GiB

    def stop(_, x):
        steps.append(x)
        if len(steps) == 3:
            raise Stop
        return x * 0.5

    eager = [
        lambda x: wg.fori_loop(0, n, stop, x),
        wg.grad(lambda x: wg.fori_loop(0, n, stop, x)),
        lambda x: wg.vmap(lambda y: wg.fori_loop(-n, n, stop, y))(np.ones(2) * x),
        lambda x: wg.scan(lambda s, _: (stop(0, s), None), x, length=n),
        lambda x: wg.scan(lambda s, _: (stop(0, s), None), x, length=n, reverse=True),
    ]
    for f in eager:
        steps = []
        with pytest.raises(Stop):
            f(1.0)
    body = lambda i, x: np.sin(x) + i
    loops = [
        lambda x: wg.fori_loop(0, n, body, x),
        lambda x: wengert.compat.jax.lax.fori_loop(0, n, body, x),
        lambda x: wg.checkpoint_loop(lambda x, i: body(i, x), x, n),
    ]
    for f in loops:
        for g in (f, wg.vmap(f), wg.grad(lambda x, f=f: f(x).sum())):
            assert wg.trace(g, np.ones(2)).stats().peak_memory is not None
    assert wg.fori_loop(3, 7, lambda i, total: total * 10 + i, 0) == 3456
    assert wg.fori_loop(7, 3, body, 2.0) == 2.0
    assert wg.checkpoint_loop(lambda total, i: total * 10 + i, 0, np.int64(4)) == 123


def test_functions_that_operations_hold_are_read():
    def fold(x):
        return x * x if x > 0 else np.sin(x)

    ruled = wg.custom_vjp(fold)
    ruled.defvjp(lambda x: (fold(x), x), lambda x, t: (t * (2.0 * x if x > 0 else np.cos(x)),))
    pushed = wg.custom_jvp(fold)
    pushed.defjvp(lambda x, t: (fold(x[0]), t[0] * (2.0 * x[0] if x[0] > 0 else np.cos(x[0]))))
    functions = [fold]
    held = [
        wg.checkpoint(fold),
        wg.checkpoint(fold, policy=lambda name: name == "sin"),
        lambda x: wg.checkpoint_sequential([fold, fold, fold], 2, x),
        ruled,
        pushed,
        lambda x: wg.cond(x > 0.5, functions[0], functions[0], x),
        lambda x: wg.switch(0, [fold, fold], x),
        lambda x: wg.map(functions[0], np.stack([x, -x])).sum(),
        lambda x: wg.scan(wg.checkpoint(lambda s, y: (s + fold(y * x), None)), x, np.array([1.0, -1.0]))[0],
    ]
    for f in held:
        for g in (f, wg.grad(f)):
            compiled = wg.compile(g, effort="fast")
            for x in (0.7, -0.7):
                np.testing.assert_allclose(compiled(x), g(x), rtol=1e-14)
