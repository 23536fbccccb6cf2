"""vmap: axes in and out, trees, nesting, chunks, and what it says when something does not fit."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from wengert.transforms.gradients import grad
from wengert.transforms.products import jvp
from wengert.transforms.vmap import vmap

RNG = np.random.default_rng(2)
X, Y, W = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3))


@dataclass
class Layer:
    weight: np.ndarray
    bias: np.ndarray


class TestAxes:
    def test_all_along_the_first(self):
        np.testing.assert_allclose(vmap(np.dot)(X, Y), (X * Y).sum(1))

    @pytest.mark.parametrize("axis", [1, -1])
    def test_others(self, axis):
        np.testing.assert_allclose(vmap(np.dot, in_axes=(axis, 0))(X.T, Y), (X * Y).sum(1))
        np.testing.assert_allclose(vmap(np.sin, out_axes=axis)(X), np.sin(X).T)

    def test_middle(self):
        stack = RNG.normal(size=(2, 5, 3))
        found = vmap(lambda a: a @ W, in_axes=1, out_axes=-2)(stack)
        assert found.shape == (2, 5, 3)
        np.testing.assert_allclose(found, stack @ W)

    def test_none_keeps_an_argument_whole(self):
        np.testing.assert_allclose(vmap(np.matmul, in_axes=(None, 0))(W, X), X @ W.T)
        np.testing.assert_allclose(vmap(np.matmul, in_axes=(0, None))(X, W), X @ W)

    def test_lists_of_axes(self):
        np.testing.assert_allclose(vmap(np.matmul, in_axes=[0, None])(X, W), X @ W)

    def test_keywords_are_batched_along_the_first(self):
        np.testing.assert_array_equal(
            vmap(lambda x, shift: x + shift, in_axes=1)(X.T, shift=np.arange(4.0)), X + np.arange(4.0)[:, None]
        )

    def test_results_that_are_the_same_for_all(self):
        one, three, same = vmap(lambda x: (x, 3.0, W), out_axes=(0, 0, None))(X)
        np.testing.assert_array_equal(one, X)
        np.testing.assert_array_equal(three, [3.0] * 4)
        np.testing.assert_array_equal(same, W)
        assert vmap(lambda x: W)(X).shape == (4, 3, 3)

    def test_results_are_the_callers_own(self):
        for result in (vmap(lambda x: x)(X), vmap(lambda x: W)(X), vmap(lambda x: np.zeros((50, 100)))(X)):
            result[...] = 7.0
        assert not (X == 7.0).any()
        assert not (W == 7.0).any()


class TestTrees:
    def test_trees_of_axes(self):
        f = lambda p, x: {"y": p["w"] @ x + p["b"][0], "b": p["b"]}
        params = {"w": W, "b": [np.arange(4.0), np.ones((2, 4))]}
        found = vmap(f, in_axes=({"w": None, "b": [0, 1]}, 0), out_axes={"y": 1, "b": (0, -1)})(params, X)
        np.testing.assert_allclose(found["y"], (X @ W.T + np.arange(4.0)[:, None]).T)
        np.testing.assert_array_equal(found["b"][1], np.ones((2, 4)))

    def test_a_number_stands_for_all_below(self):
        f = lambda pair, x: pair[0] * pair[1]["a"] + x
        np.testing.assert_allclose(vmap(f, in_axes=(1, 0))((X.T, {"a": Y.T}), X), X * Y + X)

    def test_dataclasses(self):
        layer = Layer(W, RNG.normal(size=(4, 3)))
        found = vmap(
            lambda p, x: Layer(p.weight, p.weight @ x + p.bias), in_axes=(Layer(None, 0), 0), out_axes=Layer(None, 0)
        )(layer, X)
        np.testing.assert_allclose(found.bias, X @ W.T + layer.bias)
        np.testing.assert_array_equal(found.weight, W)

    def test_none_is_a_tree_without_leaves(self):
        np.testing.assert_array_equal(vmap(lambda x, bias: x if bias is None else x + bias)(X, None), X)


class TestNesting:
    def test_outer_product(self):
        x, y = np.arange(3.0), np.arange(4.0)
        multiply = vmap(vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))
        np.testing.assert_array_equal(multiply(x, y), np.outer(x, y))

    def test_three_deep_with_closures(self):
        def f(a):
            return vmap(lambda b: vmap(lambda c: a * b + c.sum())(X))(a * np.arange(2.0))

        expected = [[[a * (a * b) + row.sum() for row in X] for b in range(2)] for a in range(3)]
        np.testing.assert_allclose(vmap(f)(np.arange(3.0)), expected)

    def test_gradients_of_a_batch_and_batches_of_gradients(self):
        f = lambda w, x: np.tanh(w @ x).sum()
        each = vmap(grad(f), in_axes=(None, 0))(W, X)
        np.testing.assert_allclose(each, [grad(f)(W, x) for x in X])
        np.testing.assert_allclose(grad(lambda w: vmap(f, in_axes=(None, 0))(w, X).sum())(W), each.sum(0))

    def test_a_hessian_by_rows(self):
        f = lambda x: (np.sin(x) * np.exp(x[::-1])).sum()
        x = X[0]
        rows = vmap(lambda v: jvp(grad(f), (x,), (v,))[1])(np.eye(3))
        columns = vmap(lambda v: grad(lambda x: grad(f)(x) @ v)(x))(np.eye(3))
        np.testing.assert_allclose(rows, columns)
        np.testing.assert_allclose(rows, rows.T)

    def test_a_batch_in_a_gradient_in_a_batch(self):
        f = lambda a, x: vmap(lambda row: np.sin(a * row).sum() * a)(x).sum()
        found = vmap(grad(f), in_axes=(0, None))(np.arange(3.0), X)
        np.testing.assert_allclose(found, [np.sin(a * X).sum() + a * (X * np.cos(a * X)).sum() for a in range(3)])

    def test_tensors_in_tensors_out(self):
        x = wg.tensor(X, requires_grad=True)
        y = vmap(lambda row: (row**2).sum())(x)
        assert isinstance(y, wg.Tensor)
        y.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * X)

    def test_numpy_in_numpy_out(self):
        assert type(vmap(np.sum)(X)) is np.ndarray
        assert vmap(np.sum)(X.astype(np.float32)).dtype == np.float32

    def test_an_error_inside_leaves_nothing_behind(self):
        with pytest.raises(ZeroDivisionError):
            vmap(lambda x: 1 / 0)(X)
        np.testing.assert_array_equal(vmap(lambda x: x)(X), X)


class TestChunks:
    @pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, 100])
    def test_same_result(self, chunk_size):
        sizes = []

        def f(x, y):
            sizes.append(x.value.shape[0])
            return {"a": x * y, "b": 2.0, "same": W}

        found = vmap(f, in_axes=(0, 1), out_axes={"a": 1, "b": 0, "same": None}, chunk_size=chunk_size)(X, Y.T)
        np.testing.assert_array_equal(found["a"], (X * Y).T)
        np.testing.assert_array_equal(found["b"], [2.0] * 4)
        np.testing.assert_array_equal(found["same"], W)
        assert sum(sizes) == 4
        assert max(sizes) == min(chunk_size, 4)

    def test_gradient(self):
        f = lambda x: vmap(lambda row: np.sin(row).prod(), chunk_size=3)(x).sum()
        np.testing.assert_allclose(grad(f)(X), [grad(lambda row: np.sin(row).prod())(row) for row in X])

    @pytest.mark.parametrize("chunk_size", [0, -1, 2.5])
    def test_bad_size(self, chunk_size):
        with pytest.raises(ValueError, match="positive number of elements"):
            vmap(np.sin, chunk_size=chunk_size)


class TestTraps:
    """What goes wrong without care goes right in a batch as well, where some elements are at the bad point and others
    are not.
    """

    @pytest.mark.parametrize(
        ("f", "points", "slopes"),
        [
            (lambda x: wg.where(x > 0, np.sqrt(x), 0.0), [-1.0, 0.0, 4.0], [0.0, 0.0, 0.25]),
            (lambda x: wg.where(x > 0, np.log(x), x), [-1.0, 0.0, 4.0], [1.0, 1.0, 0.25]),
            (abs, [-1.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
            (wg.relu, [-1.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
            (lambda x: np.maximum(x, 2.0), [1.0, 2.0, 3.0], [0.0, 0.5, 1.0]),
            (lambda x: x**2, [-1.0, 0.0, 2.0], [-2.0, 0.0, 4.0]),
            (lambda x: x ** np.float64(0), [-1.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
            (lambda x: np.sinc(x), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ],
    )
    @pytest.mark.filterwarnings("ignore:(invalid value|divide by zero):RuntimeWarning")
    def test_points(self, f, points, slopes):
        points = np.array(points)
        np.testing.assert_allclose(vmap(grad(f))(points), slopes)
        np.testing.assert_allclose(grad(lambda x: vmap(f)(x).sum())(points), slopes)
        np.testing.assert_allclose(vmap(lambda x: jvp(f, (x,), (np.float64(1.0),))[1])(points), slopes)

    def test_rows(self):
        rows = np.array([[0.0, 0.0], [3.0, 4.0]])
        np.testing.assert_allclose(vmap(grad(np.linalg.norm))(rows), [[0, 0], [0.6, 0.8]])
        np.testing.assert_allclose(vmap(grad(np.max))(rows), [[0.5, 0.5], [0, 1]])
        np.testing.assert_allclose(vmap(grad(np.prod))(rows), [[0, 0], [4, 3]])
        large = np.array([[1000.0, 1000.0], [-np.inf, -np.inf], [0.0, -np.inf]])
        np.testing.assert_allclose(vmap(grad(wg.logsumexp))(large), [[0.5, 0.5], [0, 0], [1, 0]])

    def test_duplicate_indices(self):
        indices = np.array([[0, 0, 2], [1, 1, 1]])
        f = lambda x, i: x[i].sum()
        np.testing.assert_array_equal(vmap(grad(f))(np.ones((2, 3)), indices), [[2, 0, 1], [0, 3, 0]])
        np.testing.assert_array_equal(vmap(grad(f), in_axes=(None, 0))(np.ones(3), indices), [[2, 0, 1], [0, 3, 0]])

        def overwrite(v, i):
            y = wg.zeros(3)
            y[i] = v
            return (y * np.array([1.0, 10.0, 100.0])).sum()

        np.testing.assert_array_equal(vmap(grad(overwrite))(np.ones((2, 3)), indices), [[0, 1, 100], [0, 0, 10]])

    def test_from_two_threads(self):
        results = {}

        def work(k):
            results[k] = [
                vmap(lambda x: vmap(lambda y: x * y)(np.arange(3.0)))(np.full(2, float(k))).sum() for _ in range(100)
            ]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {k: [6.0 * k] * 100 for k in range(4)}


class TestErrors:
    def test_lengths_that_disagree(self):
        with pytest.raises(
            ValueError, match=r"argument 0 has 4 along axis 0, argument 1\['w'\] has 3 along axis 1, at .*test_vmap"
        ):
            vmap(lambda x, p: x, in_axes=(0, {"w": 1}))(X, {"w": X})
        with pytest.raises(ValueError, match=r"argument 0 has 4 along axis 0, argument 'y' has 3 along axis 0"):
            vmap(lambda x, y: x)(X, y=W)

    def test_nothing_to_batch(self):
        with pytest.raises(ValueError, match="no argument to batch over"):
            vmap(np.sin, in_axes=None)(X)
        with pytest.raises(ValueError, match="no argument to batch over"):
            vmap(lambda: 1.0)()

    def test_an_axis_that_is_not_there(self):
        with pytest.raises(ValueError, match=r"argument 0 of shape \(4, 3\) along axis 2"):
            vmap(np.sin, in_axes=2)(X)
        with pytest.raises(ValueError, match=r"argument 1 of shape \(\) along axis 0.*in_axes=None"):
            vmap(np.multiply)(X, 2.0)
        with pytest.raises(ValueError, match=r"result of shape \(3,\) has no axis 2 for the batch"):
            vmap(np.sin, out_axes=2)(X)

    @pytest.mark.parametrize("in_axes", [(0,), (0, 0, 0), ({"w": 0}, 0), "0", (0, 0.5), True])
    def test_axes_of_the_wrong_structure(self, in_axes):
        with pytest.raises(ValueError, match="in_axes has .* where the arguments are"):
            vmap(np.multiply, in_axes=in_axes)(X, Y)

    def test_out_axes_of_the_wrong_structure(self):
        with pytest.raises(ValueError, match="out_axes has .* where the results are"):
            vmap(lambda x: (x, x), out_axes=(0, 0, 0))(X)

    def test_a_result_that_differs(self):
        with pytest.raises(ValueError, match=r"result\['a'\] differs between the elements"):
            vmap(lambda x: {"a": x}, out_axes=None)(X)

    def test_a_result_that_is_no_array(self):
        with pytest.raises(TypeError, match="must be an array or a number"):
            vmap(lambda x: "text")(X)

    def test_a_branch_on_a_batched_value(self):
        with pytest.raises(TypeError, match=r"`if`.*batch of 4, at .*test_vmap.*wg\.where"):
            vmap(lambda x: x if x.sum() > 0 else -x)(X)
        np.testing.assert_array_equal(
            vmap(lambda x: wg.where(x.sum() > 0, x, -x))(X), np.where(X.sum(1, keepdims=True) > 0, X, -X)
        )


@pytest.mark.parametrize("call", [lambda g: g, wg.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x, k, w: np.sum(wg.vmap(lambda i: x[i])(k) * w), [0.0, 3.0, 0.0]),
        (lambda x, k, w: np.sum(wg.vmap(lambda i: x[i] * x[i + 1])(k) * w), [0.0, 2.1, 1.5]),
        (lambda x, k, w: np.sum(wg.vmap(lambda i: np.stack([x, x])[i, i])(k) * w), [0.0, 3.0, 0.0]),
    ],
    ids=["one", "neighbours", "diagonal"],
)
def test_examples_that_select_the_same_element_all_add_to_its_gradient(f, expected, call):
    x, k, w = np.array([0.3, 0.5, 0.7]), np.array([1, 1]), np.array([1.0, 2.0])
    np.testing.assert_allclose(call(wg.grad(f))(x, k, w), expected, rtol=1e-15)
