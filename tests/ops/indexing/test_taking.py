"""Taking and putting elements: NumPy's values, derivatives against differences of values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.indexing.gradients import check, names

from wengert.core.array import Array
from wengert.core.errors import TrackedValueError
from wengert.modes.tensor import Tensor, tensor
from wengert.ops.elementwise import arithmetic
from wengert.ops.indexing import taking as tk

rng = np.random.default_rng(0)


X = rng.standard_normal((4, 3, 5))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [0, [1, 0, 1], [[2, -1]], [], np.array([True, False])], ids=names)
def test_take(indices, axis):
    if isinstance(indices, list) and not indices:
        indices = np.array([], int)
    expected = np.take(X, indices, axis)
    out = np.take(tensor(X), indices, axis=axis)
    np.testing.assert_array_equal(out.numpy(), expected, strict=True)
    np.testing.assert_array_equal(tk.take(X.tolist(), indices, axis), expected)
    check(lambda x: tk.take(x, indices, axis), X[:, :, :3])


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_take_modes(mode):
    indices = [-7, 0, 9, 2, 4]
    np.testing.assert_array_equal(
        np.take(tensor(X), indices, axis=0, mode=mode).numpy(), np.take(X, indices, axis=0, mode=mode)
    )
    check(lambda x: tk.take(x, indices, 0, mode=mode), X[..., 0])
    with pytest.raises(IndexError):
        np.take(tensor(X), indices, axis=0)
    with pytest.raises(ValueError, match="mode must be"):
        tk.take(X, indices, mode="other")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_along_axis(axis):
    order = np.argsort(X, axis)
    values = rng.standard_normal(order.shape)
    expected = np.take_along_axis(X, order, axis)
    np.testing.assert_array_equal(np.take_along_axis(tensor(X), order, axis).numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(tensor(X), tensor(order), axis).numpy(), expected)
    check(lambda x: tk.take_along_axis(x, order, axis), X)
    changed = X.copy()
    np.put_along_axis(changed, order, values, axis)
    x = tensor(X)
    assert np.put_along_axis(x, order, values, axis) is None
    np.testing.assert_array_equal(x.numpy(), changed)

    def f(v):
        y = tensor(X)
        tk.put_along_axis(y, order, v, axis)
        return y if isinstance(v, Array) else y.numpy()

    check(f, values)


def test_take_along_axis_repeats_broadcasts_and_complains():
    i = np.array([[0, 0, 2]])
    np.testing.assert_array_equal(tk.take_along_axis(X[..., 0], i, 1), np.take_along_axis(X[..., 0], i, 1))
    check(lambda x: tk.take_along_axis(x, i, 1), X[..., 0])
    with pytest.raises(IndexError):
        tk.take_along_axis(X, np.zeros((1, 1, 1)), 0)
    with pytest.raises(ValueError, match="same number of dimensions"):
        tk.take_along_axis(X, np.array([0]), 0)


def test_selections():
    x = tensor(X, requires_grad=True)
    np.testing.assert_array_equal(
        np.compress([True, False, True], x, axis=1).value, np.compress([True, False, True], X, axis=1)
    )
    np.testing.assert_array_equal(np.extract(X > 0, x).value, np.extract(X > 0, X))
    for got, expected in zip(np.nonzero(x), np.nonzero(X), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    np.testing.assert_array_equal(np.argwhere(tensor(X > 0)).numpy(), np.argwhere(X > 0))
    np.testing.assert_array_equal(np.flatnonzero(tensor(X > 0)).numpy(), np.flatnonzero(X > 0))
    with pytest.raises(ValueError, match="0d"):
        tk.nonzero(tensor(1.0))
    check(lambda x: tk.extract(X > 0, x), X)


def test_select_and_piecewise():
    x = X[..., 0]
    conditions = [x < -0.5, x < 0.5]
    expected = np.select(conditions, [x, 2 * x], 7.0)
    np.testing.assert_array_equal(np.select(conditions, [tensor(x), 2 * x], 7.0).numpy(), expected)
    check(lambda x: tk.select(conditions, [x, arithmetic.multiply(x, 2.0)], 7.0), x)
    functions = [-1.0, np.square, lambda x: arithmetic.multiply(x, 3.0)]
    np.testing.assert_array_equal(
        np.piecewise(tensor(x), conditions, functions).numpy(), np.piecewise(x, conditions, functions)
    )
    np.testing.assert_array_equal(tk.piecewise(x[0], x[0] < 0, [0.0, 1.0]), np.piecewise(x[0], x[0] < 0, [0.0, 1.0]))
    check(lambda x: tk.piecewise(x, conditions, functions), x)
    nothing = np.piecewise(tensor(x[:0]), [x[:0] > 0], [np.square])
    assert isinstance(nothing, Tensor)
    assert nothing.shape == (0, 3)
    for bad in (lambda: tk.select([], []), lambda: tk.select([x < 0], []), lambda: tk.piecewise(x, [x < 0], [])):
        with pytest.raises(ValueError, match="condition"):
            bad()
    with pytest.raises(TypeError):
        tk.select([x], [x])


IN_PLACE = {
    "put": lambda x, v: np.put(x, [5, 1, -1, 1, 0], v),
    "put_wrap": lambda x, v: np.put(x, [50, 1], v, mode="wrap"),
    "put_clip": lambda x, v: np.put(x, [50, -1], v, mode="clip"),
    "place": lambda x, v: np.place(x, X[..., 0] > 0, v),
    "place_nowhere": lambda x, v: np.place(x, X[..., 0] > 9, v),
    "putmask": lambda x, v: np.putmask(x, X[..., 0] > 0, v),
    "copyto": lambda x, v: np.copyto(x, v),
    "copyto_where": lambda x, v: np.copyto(x, v, where=np.array([True, False, True])),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_functions(name):
    v = rng.standard_normal(3)
    expected = X[..., 0].copy()
    IN_PLACE[name](expected, v)

    def f(x, v):
        x = arithmetic.multiply(x, 1.0)
        IN_PLACE[name](x, v)
        return x

    np.testing.assert_array_equal(f(tensor(X[..., 0]), v).numpy(), expected)
    np.testing.assert_array_equal(f(tensor(X[..., 0]), tensor(v)).numpy(), expected)
    check(f, X[..., 0], v)


def test_a_plain_array_cannot_be_written_with_tracked_values():
    v = tensor([1.0, 2.0], requires_grad=True)
    for write in (
        lambda a: np.put(a, [0, 1], v), lambda a: np.copyto(a, v), lambda a: np.place(a, a == 0, v),
        lambda a: np.putmask(a, a == 0, v),
        lambda a: np.put_along_axis(a, np.array([0, 1]), v, 0),
    ):  # fmt: skip
        with pytest.raises(TrackedValueError):
            write(np.zeros(2))
    with pytest.raises(TypeError, match="Cannot cast"):
        np.copyto(tensor([1, 2]), v)
