"""Indexing: NumPy's values for every kind of key, and derivatives of reading, overwriting and adding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.ops.indexing.gradients import check, check_second_order, gradient, names, weights

from wengert.core.errors import GradientError
from wengert.modes.tensor import Tensor, tensor
from wengert.ops.elementwise import arithmetic, choices
from wengert.ops.indexing import subscripts as ix
from wengert.ops.indexing.key import Hole, Index, split_key
from wengert.ops.indexing.updates import At

rng = np.random.default_rng(0)
X = rng.standard_normal((4, 3, 5))

KEYS = [
    0, -1, np.int64(2), np.array(1), slice(1, None), slice(None, None, -1), slice(-1, 0, -2),
    slice(np.int64(1), np.uint8(3)), slice(2, 2),
    ..., None, (), (1, 2), (1, slice(None)), (slice(None), -1), (..., 0), (0, ...), (None, 1, ..., None),
    (slice(None, None, 2), None, 1),
    (1, 2, 3), (1, 2, 3, ...), [0, 2], [2, 2, 0], [-1], [], [[0, 1], [1, 3]], (0, 1), ([0, 1], [1, 2]),
    ([0, 0], [1, 1]), ([],),
    (slice(None), [0, 2, 2]), ([0, 3], slice(None), [1, 1]), (0, slice(None), [1, 4]), ([1, 0], ..., 2), (..., [0, 0]),
    (slice(1, 3), [2, 0], slice(None, None, -2)), ([[0], [3]], [[0, 2]]), (None, [1, 1], None),
    ([1, 2], None, slice(1), [0, 3]),
    np.array([3, 1, 1], np.int8), (np.array([[0, 1]]), 1, np.array([[2], [2]])), range(3), True, False, np.True_,
    np.array(True), (True, 1),
    X > 0, X > 9, [True, False, True, False], (slice(None), np.array([True, False, True])), (X[..., 0] > 0),
    (X[..., 0] > 0, 1),
    (X[..., 0] > 0, slice(None, None, 2)), ([True, False, False, True], 0, [1, 1]),
    ([True, True, False, False], [0, 2]),
    ([False, True, False, False], [0, 0, 2]), (..., np.array([True, False, True, False, False])),
]  # fmt: skip

BAD_KEYS = [
    9,
    -5,
    1.0,
    "a",
    [0.5],
    (0, 0, 0, 0),
    (..., ...),
    [4],
    np.ones((2, 2), bool),
    ([0, 1], [0, 1, 2]),
    slice(1.5),
]


# Reading


@pytest.mark.parametrize("key", KEYS, ids=names)
def test_reads_what_numpy_reads(key):
    for x in (X, np.asfortranarray(X), X[::-1].astype(np.float32), np.arange(60).reshape(4, 3, 5)):
        expected = x[key]
        np.testing.assert_array_equal(ix.getitem(x, key), expected)
        out = ix.getitem(tensor(x), key)
        assert isinstance(out, Tensor)
        np.testing.assert_array_equal(out.numpy(), expected, strict=True)


@pytest.mark.parametrize("key", KEYS, ids=names)
def test_gradient_of_reading(key):
    expected = np.zeros_like(X)
    np.add.at(expected, key if not isinstance(key, range) else list(key), weights(X[key].shape))
    (grad,) = gradient(lambda x: ix.getitem(x, key), X)
    np.testing.assert_allclose(grad, expected)


@pytest.mark.parametrize("key", BAD_KEYS, ids=names)
def test_bad_keys_raise_as_in_numpy(key):
    with pytest.raises((IndexError, TypeError)) as expected:
        X[key]
    with pytest.raises(expected.type):
        ix.getitem(tensor(X, requires_grad=True), key)
    with pytest.raises(expected.type):
        ix.set_at(tensor(X, requires_grad=True), key, 0.0)


@pytest.mark.parametrize("key", [(), ..., None, (None, ..., None), True, False, np.array(True)], ids=names)
def test_zero_dimensions(key):
    x = np.array(2.5)
    np.testing.assert_array_equal(ix.getitem(tensor(x), key).numpy(), x[key])
    check(lambda x: ix.getitem(x, key), x)
    check(lambda x, v: ix.set_at(x, key, v), x, np.array(1.0))
    check(lambda x, v: ix.add_at(x, key, v), x, np.array(1.0))


def test_empty_arrays():
    x = np.zeros((0, 3))
    for key in (slice(None), [], (..., 0), np.zeros((0, 3), bool), ([], 1)):
        assert ix.getitem(tensor(x), key).shape == x[key].shape
        assert gradient(lambda x, key=key: ix.getitem(x, key), x)[0].shape == x.shape
        assert gradient(lambda x, key=key: ix.set_at(x, key, 1.0), x)[0].shape == x.shape


def test_index_tensors():
    x, i = tensor(X, requires_grad=True), tensor([2, 0, 2])
    for key, plain in [
        (i, i.numpy()), ((slice(None), i), (slice(None), i.numpy())), ([tensor(1), 3], [1, 3]), (tensor(2), 2),
        ((0, tensor(1)), (0, 1)),
        (tensor(X > 0), X > 0), (slice(tensor(1), tensor(3)), slice(1, 3)), ((i, [0, 1, 1]), ([2, 0, 2], [0, 1, 1])),
    ]:  # fmt: skip
        out = ix.getitem(x, key)
        np.testing.assert_array_equal(out.value, X[plain])
        out.backward(gradient=np.ones(out.shape))
    assert isinstance(ix.getitem(X, i), Tensor)
    assert not ix.getitem(X, i).requires_grad


def test_an_index_with_a_history_gets_no_gradient():
    x, w = tensor([1.0, 2.0, 3.0], requires_grad=True), tensor([1.2, 0.3, 1.9], requires_grad=True)
    y = ix.getitem(x, w.astype(int))
    y.backward(gradient=np.ones(3))
    np.testing.assert_array_equal(x.grad.numpy(), [1, 2, 0])
    assert w.grad is None


def test_slice_bounds_are_taken_at_once():
    n = tensor(2)
    x = tensor(X, requires_grad=True)
    y = ix.getitem(x, slice(n))
    n[...] = 3
    y.backward(gradient=np.ones(y.shape))
    assert x.grad.numpy().sum() == 2 * 15


def test_an_index_array_changed_later_is_not_seen():
    i = np.array([0, 1])
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = ix.getitem(x, i)
    i[:] = 2
    y.backward(gradient=np.ones(2))
    np.testing.assert_array_equal(x.grad.numpy(), [1, 1, 0])


def test_basic_reading_is_a_view_and_saves_no_numbers():
    x = tensor(X, requires_grad=True)
    y = ix.getitem(x, (1, slice(None)))
    assert np.shares_memory(y.value, x.value)
    assert not any(isinstance(s, np.ndarray) for s in y.node.saved)


def test_dtype_of_gradients():
    for dtype in (np.float32, np.complex64, np.complex128, np.longdouble):
        x = tensor(X.astype(dtype), requires_grad=True)
        for key in (1, [0, 0], X > 0):
            x.grad = None
            y = ix.getitem(x, key)
            y.backward(gradient=np.ones(y.shape, dtype))
            assert x.grad.dtype == dtype


@pytest.mark.parametrize(
    "key", [1, (slice(None, None, -2), None), [2, 0, 2], ([0, 0], slice(None), [1, 1]), X[:, :2, :2] > 0], ids=names
)
def test_second_order(key):
    x = X[:, :2, :2].copy()
    v = rng.standard_normal(x[key].shape)
    check_second_order(lambda x: ix.getitem(x, key), x)
    check_second_order(lambda x, v: ix.set_at(x, key, v), x, v)
    check_second_order(lambda x, v: ix.add_at(x, key, v), x, v)


# Overwriting and adding


@pytest.mark.parametrize("key", KEYS, ids=names)
def test_set_at(key):
    shape = X[key].shape
    x = X[..., :]
    for v in (2.0, np.float32(3.0), weights(shape), weights((1, *shape)), [2.0], weights(shape[-1:])):
        expected = x.copy()
        try:
            expected[key] = v
        except (TypeError, ValueError):  # NumPy does not drop leading axes for all keys
            continue
        np.testing.assert_array_equal(ix.set_at(x, key, v), expected)
        np.testing.assert_array_equal(ix.set_at(tensor(x), key, v).numpy(), expected)
        np.testing.assert_array_equal(ix.set_at(x, key, tensor(v)).numpy(), expected)


@pytest.mark.parametrize("key", KEYS, ids=names)
def test_gradient_of_set_at(key):
    key = list(key) if isinstance(key, range) else key
    shape = X[key].shape
    t = weights(X.shape)
    at_key = t.copy()
    at_key[key] = 0.0
    last = np.full(X.shape, -1)
    order = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    last[key] = order
    won = np.where(last[key] == order, t[key], 0.0)
    leading = () if shape == () or getattr(key, "shape", None) == X.shape else (1, 1)
    for v in (weights(shape), weights((*leading, *shape))):
        x_grad, v_grad = gradient(lambda x, v: ix.set_at(x, key, v), X, v)
        np.testing.assert_array_equal(x_grad, at_key)
        np.testing.assert_array_equal(v_grad, won.reshape(v.shape))
    np.testing.assert_allclose(gradient(lambda v: ix.set_at(X, key, v), np.array(1.0))[0], won.sum())
    np.testing.assert_array_equal(gradient(lambda x: ix.set_at(x, key, 1.0), X)[0], at_key)


@pytest.mark.parametrize("key", KEYS, ids=names)
def test_add_at(key):
    key = list(key) if isinstance(key, range) else key
    shape = X[key].shape
    for v in (2.0, weights(shape), [2.0] if shape else 2.0):
        expected = X.copy()
        np.add.at(expected, key, v)
        np.testing.assert_allclose(ix.add_at(X, key, v), expected, rtol=1e-15)
        np.testing.assert_allclose(ix.add_at(tensor(X), key, v).numpy(), expected, rtol=1e-15)
    x_grad, v_grad = gradient(lambda x, v: ix.add_at(x, key, v), X, weights(shape))
    np.testing.assert_array_equal(x_grad, weights(X.shape))
    np.testing.assert_array_equal(v_grad, weights(X.shape)[key])


def test_the_last_writer_wins_in_any_memory_order():
    i, j = np.array([[0, 1], [1, 0]]).T, np.array([[0], [0]])
    v = np.arange(1.0, 5.0).reshape(2, 2)
    for a in (i, np.asfortranarray(i), i.copy()):
        for w in (v, np.asfortranarray(v)):
            out = ix.set_at(np.zeros((2, 1)), (a, j), w)
            np.testing.assert_array_equal(out, [[4.0], [3.0]])
    check(lambda x, v: ix.set_at(x, (np.asfortranarray(i), j), v), np.zeros((2, 1)), np.asfortranarray(v))


def test_set_at_reuses_only_when_told():
    x = np.zeros(3)
    assert ix.set_at(x, 0, 1.0) is not x
    assert x[0] == 0
    assert ix.set_at(x, 0, 1.0, reuse=True) is x
    assert x[0] == 1


def test_overwritten_lanes_are_dead():
    data = np.array([0.0, 4.0])
    for key in (data == 0, 0, [0], slice(0, 1)):
        x = tensor(data, requires_grad=True)
        y = arithmetic.sqrt(x)
        y[key] = 0.0
        y.backward(gradient=np.ones(2))
        np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.25])


def test_dead_lanes_pass_through_reading():
    x = tensor([0.0, 4.0], requires_grad=True)
    y = ix.getitem(arithmetic.sqrt(x), [1, 0, 0])
    y[np.array([False, True, True])] = 1.0
    y.backward(gradient=np.ones(3))
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.25])


def test_dead_lanes_pass_through_what_was_written_or_added():
    live = np.array([False, True])
    for write, expected in ((ix.set_at, 0.5), (ix.add_at, 0.75)):
        w = tensor([0.0, 4.0], requires_grad=True)
        y = write(np.zeros((3, 2)), [0, 1, 1], arithmetic.sqrt(w))
        choices.where(live, y, 0.0).backward(gradient=np.ones((3, 2)))
        np.testing.assert_array_equal(w.grad.numpy(), [0.0, expected])


def test_assignment_in_place():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = arithmetic.multiply(x, x)
    z = arithmetic.multiply(y, 2.0)
    y[1] = ix.getitem(x, 0)
    total = arithmetic.add(y, z)
    total.backward(gradient=np.ones(3))
    np.testing.assert_array_equal(x.grad.numpy(), [6 + 1, 8, 18])
    with pytest.raises(GradientError, match="leaf"):
        x[0] = 1.0


def test_plain_arrays_of_numbers_hold_tracked_values():
    v = tensor(3.0, requires_grad=True)
    y = ix.set_at(np.zeros(3), 1, arithmetic.square(v))
    y.backward(gradient=np.array([5.0, 7.0, 9.0]))
    assert v.grad.item() == 42.0
    y = ix.set_at(np.zeros(2), slice(None), [v, 1.0])
    y.backward(gradient=np.array([1.0, 2.0]))
    assert v.grad.item() == 43.0


def test_types_of_what_is_written():
    x = tensor(np.zeros(3, np.float32))
    v = tensor(1.5, requires_grad=True)
    y = ix.set_at(x, 1, v)
    assert y.dtype == np.float32
    y.backward(gradient=np.ones(3, np.float32))
    assert v.grad.dtype == np.float64
    np.testing.assert_array_equal(ix.set_at(np.zeros(2, int), 0, 1.5), [1, 0])
    with pytest.raises(TypeError, match=r"int64.*lose its gradient.*test_subscripts\.py"):
        ix.set_at(np.zeros(2, int), 0, v)
    with pytest.raises(TypeError):
        ix.add_at(np.zeros(2, int), 0, 1.5)


# x.at


@pytest.mark.parametrize(
    "key", [1, (slice(None), -1), [0, 2], [2, 2, 0, 2], ([0, 0], [1, 1]), [], X[..., 0] > 0, (..., [0, 0])], ids=names
)
@pytest.mark.parametrize("name", ["set", "add", "multiply", "max", "min"])
def test_at(name, key):
    x = X[..., 0]
    v = rng.standard_normal(x[key].shape)
    expected = x.copy()
    if name == "set":
        expected[key] = v
    else:
        ufunc = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}[name]
        ufunc.at(expected, key, v)

    def f(x, v):
        return getattr(At(x)[key], name)(v)

    np.testing.assert_allclose(f(x, v), expected)
    np.testing.assert_allclose(f(tensor(x), v).numpy(), expected)
    check(f, x, v)
    check_second_order(f, x, v)


def test_at_broadcasts_and_takes_index_tensors():
    x = tensor(np.arange(1.0, 7.0).reshape(3, 2), requires_grad=True)
    v = tensor([2.0, 3.0], requires_grad=True)
    y = At(x)[tensor([0, 0, 2])].multiply(v)
    np.testing.assert_array_equal(y.value, [[4, 18], [3, 4], [10, 18]])
    y.backward(gradient=np.ones(y.shape))
    np.testing.assert_array_equal(v.grad.numpy(), [2 * 1 * 2 + 5, 2 * 2 * 3 + 6])
    np.testing.assert_array_equal(x.grad.numpy(), [[4, 9], [1, 1], [2, 3]])


@pytest.mark.parametrize("name", ["add", "multiply", "max", "min"])
@pytest.mark.parametrize("key", [0, slice(2), [0, 1], [0, 0], np.array([True, False, True])], ids=names)
def test_at_refuses_more_axes_than_its_place_has(name, key):
    x = np.ones((3, 2))
    for v in (np.ones((1, *x[key].shape)), np.ones((1, 1, 2))):
        if v.ndim > x[key].ndim:
            with pytest.raises(ValueError, match="broadcast"):
                np.add.at(x.copy(), key, v)
            with pytest.raises(ValueError, match="broadcast|more dimensions"):
                getattr(At(tensor(x))[key], name)(v)


def test_ties_of_at_max_share():
    x = tensor([1.0, 5.0], requires_grad=True)
    v = tensor(1.0, requires_grad=True)
    At(x)[0].max(v).backward(gradient=np.ones(2))
    np.testing.assert_array_equal(x.grad.numpy(), [0.5, 1.0])
    assert v.grad.item() == 0.5


# NumPy's functions


# Metadata


def test_index_is_hashable_and_prints():
    a, b = Index((slice(1, None), 0, None, ...)), Index((slice(1, None), 0, None, ...))
    assert a == b
    assert hash(a) == hash(b)
    assert a != Index((slice(1, 2), 0))
    assert a != 0
    assert repr(Index((slice(1, None, 2), 0, ..., Hole.ARRAY))) == "[1::2, 0, ..., array]"
    assert split_key((slice(2), np.array([1])))[0] == Index((slice(2), Hole.ARRAY), True)


# Random keys


shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def shape_and_key(draw):
    kind = draw(st.sampled_from(["basic", "integer", "mixed", "mask"]))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4) if kind != "basic" else shapes)
    if kind == "basic":
        return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    if kind == "integer":
        return shape, draw(hnp.integer_array_indices(shape))
    if kind == "mask":
        return shape, draw(hnp.arrays(bool, shape[: draw(st.integers(1, len(shape)))]))
    parts = [
        draw(st.one_of(st.integers(-n, n - 1), st.slices(n), hnp.arrays(np.intp, 2, elements=st.integers(-n, n - 1))))
        for n in shape
    ]
    parts.insert(draw(st.integers(0, len(parts))), draw(st.sampled_from([None, Ellipsis])))
    return shape, tuple(parts)


@given(shape_and_key())
@settings(max_examples=300)
def test_random_keys(shape_key):
    shape, key = shape_key
    x = weights(shape)
    expected = x[key]
    np.testing.assert_array_equal(ix.getitem(tensor(x), key).numpy(), expected)
    t = weights(expected.shape)
    pulled = np.zeros(shape)
    np.add.at(pulled, key, t)
    np.testing.assert_allclose(gradient(lambda x: ix.getitem(x, key), x)[0], pulled)
    changed = x.copy()
    changed[key] = t
    np.testing.assert_array_equal(ix.set_at(tensor(x), key, t).numpy(), changed)
    # <w, set_at(x, v)> is linear in both, so its gradient gives it back
    x_grad, v_grad = gradient(lambda x, v: ix.set_at(x, key, v), x, t)
    np.testing.assert_allclose((x_grad * x).sum() + (v_grad * t).sum(), (weights(shape) * changed).sum(), atol=1e-12)
    for op in ("multiply", "max", "min"):
        changed = x.copy()
        {"multiply": np.multiply, "max": np.maximum, "min": np.minimum}[op].at(changed, key, t)
        np.testing.assert_allclose(getattr(At(tensor(x))[key], op)(t).numpy(), changed)


def test_add_at_with_an_index_of_two_axes_and_a_row():
    index = np.array([[1, 1], [1, 1], [-2, -2]])
    np.testing.assert_array_equal(ix.add_at(np.zeros(2), index, np.array([1.0, 10.0])), [11.0, 22.0])
