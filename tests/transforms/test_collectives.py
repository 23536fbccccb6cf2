"""Collectives: what the elements of a named batch compute together, in every mode, against sums over whole arrays.

Inside of `vmap`, the derivative of a collective is that of the sum of the results of all elements. So `vmap(grad(f))`
is compared with finite differences of the sum of `vmap(f)`.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, 1.5, 2.5, -1.0])
T = np.array([0.1, -0.2, 0.4, 1.0])
FUNCTIONS = {
    "psum": lambda x: np.sin(x) * wg.psum(x**2, "i"),
    "pmean": lambda x: (x - wg.pmean(x, "i")) ** 3,
    "pmax": lambda x: x * wg.pmax(x**3, "i"),
    "pmin": lambda x: x**2 * wg.pmin(np.sin(x), "i"),
    "axis_index": lambda x: x ** (1 + wg.axis_index("i")) * wg.psum(x, "i"),
    "twice": lambda x: wg.psum(x * wg.psum(np.exp(x), "i"), "i"),
    "scan": lambda x: wg.scan(lambda c, _: (np.cos(c) / (1 + wg.psum(c**2, "i")), None), x, np.zeros(3))[0],
    "cond": lambda x: wg.cond(wg.psum(x, "i") > 1, lambda x: x * wg.psum(x, "i"), lambda x: wg.pmax(x, "i") - x, x),
    "checkpoint": wg.checkpoint(lambda x: np.sin(x * wg.psum(x**2, "i"))),
    "compiled": wg.compile(lambda x: np.sin(x) * wg.psum(x**2, "i")),
}
EXPECTED = {
    "psum": lambda x: np.sin(x) * (x**2).sum(),
    "pmean": lambda x: (x - x.mean()) ** 3,
    "pmax": lambda x: x * (x**3).max(),
    "pmin": lambda x: x**2 * np.sin(x).min(),
    "axis_index": lambda x: x ** (1 + np.arange(4)) * x.sum(),
    "twice": lambda x: np.full(4, (x * np.exp(x).sum()).sum()),
    "cond": lambda x: x * x.sum(),
    "compiled": lambda x: np.sin(x) * (x**2).sum(),
    "checkpoint": lambda x: np.sin(x * (x**2).sum()),
}
each = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)


def batch(f, **options):
    return wg.vmap(f, axis_name="i", **options)


def differences(f, x, h=1e-6):
    """The gradient of the sum of f, by central differences."""
    return np.array([(np.sum(f(x + h * e)) - np.sum(f(x - h * e))) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("name", EXPECTED)
def test_value(name):
    np.testing.assert_allclose(batch(FUNCTIONS[name])(X), EXPECTED[name](X), rtol=1e-13)


class TestDerivatives:
    @each
    def test_inside(self, f):
        expected = differences(batch(f), X)
        np.testing.assert_allclose(batch(wg.grad(f))(X), expected, rtol=1e-6, atol=1e-8)

    @each
    def test_outside(self, f):
        found = wg.grad(lambda x: batch(f)(x).sum())(X)
        np.testing.assert_allclose(found, differences(batch(f), X), rtol=1e-6, atol=1e-8)

    @each
    def test_second_order_is_that_of_both_ways(self, f):
        g = wg.grad(f)
        expected = differences(batch(g), X, 1e-5)
        np.testing.assert_allclose(batch(wg.grad(g))(X), expected, rtol=1e-5, atol=1e-7)

    @each
    def test_forward(self, f):
        _, inside = batch(lambda x, t: wg.jvp(f, (x,), (t,)))(X, T)
        _, outside = wg.jvp(batch(f), (X,), (T,))
        expected = (batch(f)(X + 1e-6 * T) - batch(f)(X - 1e-6 * T)) / 2e-6
        np.testing.assert_allclose(inside, expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(outside, expected, rtol=1e-6, atol=1e-8)

    @each
    def test_compiled(self, f):
        for g in (batch(f), batch(wg.grad(f)), wg.grad(lambda x: batch(f)(x).sum())):
            np.testing.assert_allclose(wg.compile(g)(X), g(X), rtol=1e-12)

    def test_on_the_tape(self):
        x = wg.tensor(X, requires_grad=True)
        batch(FUNCTIONS["checkpoint"])(x).sum().backward()  # runs again, after vmap has returned
        np.testing.assert_allclose(x.grad.numpy(), differences(EXPECTED["checkpoint"], X), rtol=1e-6)

    def test_equal_elements_share(self):
        x = np.array([1.0, 3.0, 3.0])
        np.testing.assert_array_equal(wg.grad(lambda x: batch(lambda x: wg.pmax(x, "i"))(x)[0])(x), [0.0, 0.5, 0.5])
        np.testing.assert_array_equal(batch(wg.grad(lambda x: wg.pmax(x, "i")))(x), [0.0, 1.5, 1.5])

    def test_of_what_is_the_same_for_all(self):
        loss = lambda w, x: wg.psum((w * x) ** 2, "i")
        np.testing.assert_allclose(batch(wg.grad(loss), in_axes=(None, 0))(2.0, X), 4 * len(X) * X**2)
        step = lambda w, x: wg.psum(wg.grad(lambda w: (w * x) ** 2)(w), "i")
        assert batch(step, in_axes=(None, 0), out_axes=None)(2.0, X) == pytest.approx(4 * (X**2).sum())


class TestAxes:
    def test_result_is_the_same_for_all(self):
        assert batch(lambda x: wg.psum(x, "i"), out_axes=None)(X) == X.sum()

    def test_several(self):
        y = np.arange(6.0).reshape(2, 3) + 1
        f = lambda x: x / wg.psum(x, "i") + wg.psum(x, "j") + 2 * wg.psum(x, ("i", "j"))
        found = wg.vmap(batch(f), axis_name="j")(y)
        np.testing.assert_allclose(found, y / y.sum(1, keepdims=True) + y.sum(0) + 2 * y.sum())

    def test_innermost_of_one_name(self):
        y = np.arange(6.0).reshape(2, 3) + 1
        np.testing.assert_allclose(batch(batch(lambda x: x * wg.psum(x, "i")))(y), y * y.sum(1, keepdims=True))
        constant = batch(lambda a: batch(lambda b: b * wg.psum(a, "i"))(np.ones(2)))(X)
        np.testing.assert_allclose(constant, np.repeat(2 * X[:, None], 2, 1))

    def test_through_another_batch(self):
        found = batch(lambda x: wg.vmap(lambda y: wg.psum(x * y, "i"))(T))(X)
        np.testing.assert_allclose(found, np.broadcast_to(X.sum() * T, (4, 4)))

    def test_constants(self):
        assert batch(lambda x: x * 0 + wg.psum(1, "i"))(X).tolist() == [4.0] * 4
        assert batch(lambda x: x * 0 + wg.pmax(7.0, "i"))(X).tolist() == [7.0] * 4

    def test_trees(self):
        found = batch(lambda x: wg.pmean({"a": x, "b": (2 * x,)}, "i"), out_axes=None)(X)
        assert found == {"a": X.mean(), "b": (2 * X.mean(),)}

    def test_integers(self):
        assert batch(lambda x: wg.psum(x > 1, "i"))(X).tolist() == [2] * 4
        assert batch(lambda x: wg.pmin(x, "i"))(np.array([7, 3, 200], np.uint8)).tolist() == [3, 3, 3]
        assert batch(lambda x: wg.pmin(x, "i"))(np.array([True, False])).tolist() == [False, False]


class TestCompiledInside:
    """A function that was compiled for one length of the axis is compiled again for another."""

    def test_lengths(self):
        f = wg.compile(lambda x: x * wg.psum(1.0, "i"))
        for n in (3, 4, 3):
            assert batch(f)(np.ones(n)).tolist() == [float(n)] * n

    def test_of_what_is_the_same_for_all(self):
        f = wg.compile(lambda x: x * wg.psum(x, "i"))
        for n in (3, 4, 3):
            assert batch(lambda y: y * f(2.0))(np.ones(n)).tolist() == [4.0 * n] * n  # called at once
        with pytest.raises(NameError):
            f(2.0)

    def test_is_native(self):
        f = wg.compile(lambda x: wg.psum(x, "i") + wg.pmax(x, "i"))

        def run(y):
            assert not f.report(2.0).fallbacks
            return y * f(2.0)

        np.testing.assert_array_equal(batch(run)(X), 10.0 * X)


class TestErrors:
    def test_no_such_axis(self):
        with pytest.raises(NameError, match=r"no batch axis named 'k' here, only 'i', at .*test_collectives.py"):
            batch(lambda x: wg.psum(x, "k"))(X)
        with pytest.raises(NameError, match=r"no batch axis named 'i' here, at .*Name it where"):
            wg.axis_index("i")

    def test_it_ends_with_vmap(self):
        def stop(_):
            raise KeyError("here")

        with pytest.raises(KeyError, match="here"):
            batch(stop)(X)
        with pytest.raises(NameError):
            wg.psum(1.0, "i")

    def test_branches_of_some_elements(self):
        message = r"psum along 'i' in a branch or a step that only some elements of the axis run, at .*test_coll"
        with pytest.raises(ValueError, match=message):
            batch(lambda x: wg.cond(x > 1, lambda x: wg.psum(x, "i"), lambda x: x, x))(X)
        with pytest.raises(ValueError, match=message):
            batch(lambda x: wg.while_loop(lambda c: c < 9, lambda c: c + 1 + 0 * wg.psum(c, "i"), x))(X)

    def test_chunks(self):
        with pytest.raises(ValueError, match="elements of one chunk do not know the others"):
            batch(np.sin, chunk_size=2)

    def test_names(self):
        with pytest.raises(TypeError, match="name of an axis is a string, not 3"):
            wg.vmap(np.sin, axis_name=3)
        with pytest.raises(TypeError, match="name of an axis is a string, not 3"):
            batch(lambda x: wg.psum(x, (3,)))(X)

    def test_elements_one_after_the_other(self):
        with pytest.raises(NameError, match="run one after the other here"):
            batch(lambda a: wg.implicit.root(lambda y, a: y - wg.psum(a, "i"), np.zeros(()), a))(X)
        with pytest.raises(NameError, match="run one after the other here"):
            batch(lambda a: wg.integrate.quad(lambda t: a * wg.psum(np.cos(a * t), "i"), 0.0, 1.0)[0])(X)

    def test_threads_have_their_own(self):
        found = []

        def run():
            try:
                wg.psum(1.0, "i")
            except NameError:
                found.append("no axis")

        def start(x):
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            return x

        batch(start)(X)
        assert found == ["no axis"]
