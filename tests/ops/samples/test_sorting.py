"""Sorting: NumPy's values, gradients that follow the order."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.modes.tensor import Tensor, tensor
from wengert.ops.elementwise import arithmetic
from wengert.ops.samples import sorting as so

rng = np.random.default_rng(1)
X = rng.standard_normal((4, 3, 2))
AXES = [None, 0, 1, -1]


def pulled(f, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    leaf = tensor(x, requires_grad=True)
    f(leaf).backward(gradient=t)
    assert leaf.grad is not None
    return leaf.grad.numpy()


@pytest.mark.parametrize("axis", AXES)
def test_sort(axis):
    expected = np.sort(X, axis)
    np.testing.assert_array_equal(so.sort(X.tolist(), axis), expected)
    np.testing.assert_array_equal(np.sort(tensor(X), axis=axis).numpy(), expected)
    np.testing.assert_array_equal(np.argsort(tensor(X), axis=axis).numpy(), np.argsort(X, axis))
    t = rng.standard_normal(expected.shape)
    grad = pulled(lambda x: np.sort(x, axis=axis), X, t)
    back = np.argsort(np.argsort(X, axis), axis)
    np.testing.assert_array_equal(grad, np.take_along_axis(t, back, axis).reshape(X.shape))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kth", [0, 1, -1, (0, 1), np.array([1])])
def test_partition(axis, kth):
    np.testing.assert_array_equal(so.partition(X, kth, axis), np.partition(X, kth, axis))
    expected = partition_line_by_line(X, kth, axis)
    np.testing.assert_array_equal(np.argpartition(tensor(X), kth, axis=axis).numpy(), expected)
    rows = X.reshape(-1) if axis is None else X
    values = np.take_along_axis(rows, expected, 0 if axis is None else axis)
    np.testing.assert_array_equal(np.partition(tensor(X), kth, axis=axis).numpy(), values)
    t = rng.standard_normal(expected.shape)
    grad = pulled(lambda x: np.partition(x, kth, axis=axis), X, t)
    np.testing.assert_allclose((grad * X).sum(), (t * values).sum())


def partition_line_by_line(x, kth, axis):
    """The elements at `kth` of a stable order, and all others between them as they were."""

    def line(x):
        order, kths = np.argsort(x, kind="stable"), sorted({k % len(x) for k in np.ravel(kth).tolist()})
        ends = [0, *[k + 1 for k in kths]]
        parts = [[*sorted(order[a:k].tolist()), order[k]] for a, k in zip(ends[:-1], kths, strict=True)]
        return np.array([i for part in parts for i in part] + sorted(order[ends[-1] :].tolist()))

    return line(x.reshape(-1)) if axis is None else np.apply_along_axis(line, axis, x)


@pytest.mark.parametrize("kth", [0, 3, -1, (2, 5), (-1, 4, 0)])
def test_partition_of_ties_and_nan(kth):
    x = np.array([[2.0, np.nan, -0.0, 1.0, 0.0, np.nan, 2.0, -np.inf], [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 2.0, np.inf]])
    finite = np.nan_to_num(x, nan=3.0, posinf=9.0, neginf=-9.0)
    mixed = np.where(finite == 3.0, complex(1.0, np.nan), finite * (1 - 1j))
    for values in (x, finite.astype(int), x > 0.5, mixed):
        found = np.argpartition(tensor(values), kth, axis=1).numpy()
        np.testing.assert_array_equal(found, partition_line_by_line(values, kth, 1))


def test_second_order():
    x = tensor(X, requires_grad=True)
    y = so.sort(arithmetic.multiply(arithmetic.multiply(x, x), x), 0)
    t = rng.standard_normal(X.shape)
    y.backward(gradient=t, create_graph=True)
    first, x.grad = x.grad, None
    first.backward(gradient=np.ones(X.shape))
    back = np.argsort(np.argsort(X, 0), 0)
    np.testing.assert_allclose(x.grad.numpy(), 6 * X * np.take_along_axis(t, back, 0))


def test_ties_nan_and_small_arrays():
    ties = np.array([1.0, 0.0, 1.0, np.nan, 0.0])
    np.testing.assert_array_equal(so.sort(tensor(ties), stable=True).numpy(), np.sort(ties))
    np.testing.assert_array_equal(pulled(lambda x: so.sort(x, kind="stable"), ties, np.arange(5.0)), [2, 0, 3, 4, 1])
    for shape in ((0,), (3, 0), (1,)):
        assert pulled(so.sort, np.zeros(shape), np.zeros(shape)).shape == shape
    assert pulled(lambda x: so.sort(x, axis=None), np.array(3.0), np.ones(1)).shape == ()
    z = np.array([2 + 1j, 1 - 1j, 1 - 2j])
    np.testing.assert_array_equal(so.sort(tensor(z)).numpy(), np.sort(z))


def test_the_order_of_a_number():
    x = np.array(2.0)
    for f in (np.argsort, lambda x, **axis: np.argpartition(x, 0, **axis)):
        for axis in ({}, {"axis": 0}, {"axis": None}):
            np.testing.assert_array_equal(f(tensor(x), **axis).numpy(), f(x, **axis))
        with pytest.raises(ValueError, match="axis 1"):
            f(tensor(x), axis=1)


def test_float32_stays():
    x = tensor(X.astype(np.float32), requires_grad=True)
    y = so.sort(x)
    y.backward(gradient=np.ones(X.shape, np.float32))
    assert y.dtype == x.grad.dtype == np.float32


def test_bad_arguments():
    for bad in (
        lambda: so.sort(tensor(X), axis=3), lambda: so.sort(tensor(1.0)), lambda: so.sort(tensor(X), order="f"),
        lambda: so.sort(X, kind="stable", stable=True), lambda: so.partition(tensor(X), 9),
        lambda: so.sort(tensor(X), kind="other"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"axis|order|kind|kth"):
            bad()


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    a, v = np.array([3.0, 1.0, 2.0]), np.array([[0.0, 1.0], [2.5, 9.0]])
    order = np.argsort(a)
    expected = np.searchsorted(a, v, side, order)
    for indices in (
        np.searchsorted(tensor(a), v, side, order), np.searchsorted(a, tensor(v), side, tensor(order)),
        so.searchsorted(np.sort(a), tensor(v, requires_grad=True), side),
    ):  # fmt: skip
        assert isinstance(indices, Tensor)
        assert not indices.requires_grad
        np.testing.assert_array_equal(indices.numpy(), expected)
    assert so.searchsorted([1.0, 2.0], 1.5) == 1


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_topk(axis, largest):
    expected = np.flip(np.sort(X, axis), axis) if largest else np.sort(X, axis)
    k = 2
    first = np.take(expected, range(k), axis)
    values, indices = so.topk(tensor(X), k, axis, largest)
    np.testing.assert_array_equal(values.numpy(), first)
    np.testing.assert_array_equal(np.take_along_axis(X, indices.numpy(), axis), first)
    t = rng.standard_normal(first.shape)
    g = pulled(lambda x: so.topk(x, k, axis, largest).values, X, t)
    np.testing.assert_array_equal(np.take_along_axis(g, indices.numpy(), axis), t)
    assert np.count_nonzero(g) == t.size


def test_topk_of_equal_elements_and_nan():
    x = np.array([2.0, np.nan, 5.0, 2.0, 5.0])
    assert so.topk(x, 3).indices.tolist() == [1, 2, 4]  # NaN is the largest, as in NumPy's order
    assert so.topk(x, 3, largest=False).indices.tolist() == [0, 3, 2]
    assert so.topk(x, 0).values.shape == (0,)


def test_topk_errors():
    with pytest.raises(ValueError, match="k=6, along an axis of length 4"):
        so.topk(X, 6, 0)
    with pytest.raises(TypeError):
        so.topk(X, 1.5)
