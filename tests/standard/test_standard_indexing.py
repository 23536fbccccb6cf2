"""Indexing as in the Array API standard, reading and writing: integers, slices, ellipsis, new axes, masks, integer
arrays.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace
from tests.standard.calls import DTYPES, INTEGERS, check, few, plain, same_numbers, sample

import wengert as wg

xps = make_strategies_namespace(wg)
shapes = xps.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def of(name: str):
    return getattr(wg, name)


@few
@given(dtype=st.sampled_from(DTYPES), shape=shapes, data=st.data())
def test_reading(dtype, shape, data):
    x = sample(dtype, shape)
    key = data.draw(xps.indices(shape=shape, allow_newaxis=True))
    same_numbers(wg.asarray(x)[key], np.asarray(x[key]))


@few
@given(dtype=st.sampled_from(DTYPES), shape=shapes, data=st.data())
def test_writing_an_array(dtype, shape, data):
    x = sample(dtype, shape)
    key = data.draw(xps.indices(shape=shape))
    value = sample(dtype, np.shape(x[key]), seed=1)
    out = wg.asarray(x, copy=True)
    out[key] = wg.asarray(value)
    x[key] = value
    same_numbers(out, x)


@few
@given(dtype=st.sampled_from(DTYPES), shape=shapes, data=st.data())
def test_writing_a_python_scalar(dtype, shape, data):
    x = sample(dtype, shape)
    key = data.draw(xps.indices(shape=shape))
    value = data.draw(xps.from_dtype(of(dtype)))
    out = wg.asarray(x, copy=True)
    out[key] = value
    x[key] = value
    same_numbers(out, x, exact=True)


@few
@given(dtype=st.sampled_from(DTYPES), shape=shapes, data=st.data())
def test_reading_by_a_mask(dtype, shape, data):
    """A mask of all axes, of the first ones, or of none."""
    x = sample(dtype, shape)
    mask = sample("bool", shape[: data.draw(st.integers(0, len(shape)))], seed=data.draw(st.integers(0, 3)))
    same_numbers(wg.asarray(x)[wg.asarray(mask)], x[mask])


@few
@given(dtype=st.sampled_from(DTYPES), shape=shapes, data=st.data())
def test_writing_by_a_mask(dtype, shape, data):
    x = sample(dtype, shape)
    mask = sample("bool", shape, seed=data.draw(st.integers(0, 3)))
    value = sample(dtype, (), seed=1)
    out = wg.asarray(x, copy=True)
    out[wg.asarray(mask)] = data.draw(st.sampled_from([wg.asarray(value), value.item()]))
    x[mask] = value
    same_numbers(out, x)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1)], ids=str)
def test_a_mask_of_another_shape_is_an_error(shape):
    with pytest.raises(IndexError):
        wg.ones((2, 3))[wg.ones(shape, dtype=wg.bool)]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_array_without_axes_is_an_index(dtype):
    x = sample("float64", (4, 5))
    i = wg.asarray(2, dtype=of(dtype))
    same_numbers(wg.asarray(x)[i], x[2])
    same_numbers(wg.asarray(x)[i, 1:], x[2, 1:])
    same_numbers(wg.asarray(x)[:, i], x[:, 2])
    out = wg.asarray(x, copy=True)
    out[i] = 7.0
    x[2] = 7.0
    same_numbers(out, x)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.parametrize(
    "axes", ["i,:", "i,j", ":,i", "i,0", "i,-1,j", "1,i,j", "i,j,j", "i[:,None],j", "i[:,None],j[None,:],2"]
)
def test_integer_arrays(axes, dtype):
    """Alone, together, and beside integers; they broadcast with each other."""
    x = sample("float64", (4, 5, 6))
    indices = {"i": np.array([3, 0, 0], dtype), "j": np.array([1, 4, 2], dtype)}
    key = eval(f"({axes},)".replace(":,i", "slice(None),i").replace("i,:", "i,slice(None)"), {}, indices)
    ours = eval(
        f"({axes},)".replace(":,i", "slice(None),i").replace("i,:", "i,slice(None)"),
        {},
        {k: wg.asarray(v) for k, v in indices.items()},
    )
    same_numbers(wg.asarray(x)[ours], x[key])
    out = wg.asarray(x, copy=True)
    out[ours] = wg.asarray(-1.0)
    x[key] = -1.0
    same_numbers(out, x)


def test_negative_integers_in_arrays():
    x = sample("float64", (4, 5))
    same_numbers(wg.asarray(x)[wg.asarray([-1, 0, -4])], x[[-1, 0, -4]])


@pytest.mark.parametrize("key", [5, -6, (0, 7), (0, 0, 0), (Ellipsis, Ellipsis)], ids=str)
def test_places_that_do_not_exist(key):
    with pytest.raises(IndexError):
        wg.ones((5, 5))[key]
    with pytest.raises(IndexError):
        wg.ones((5, 5))[key] = 0.0


def test_a_float_is_no_index():
    with pytest.raises((IndexError, TypeError)):
        wg.ones(3)[1.0]


@pytest.mark.parametrize(
    ("first", "second"), [("int8", "int16"), ("uint8", "int32"), ("float32", "float64"), ("complex64", "complex128")]
)
def test_writing_a_narrower_dtype(first, second):
    """The array keeps its dtype."""
    x = sample(second, (3, 4))
    value = sample(first, (4,), seed=1)
    out = wg.asarray(x, copy=True)
    out[1] = wg.asarray(value)
    x[1] = value
    same_numbers(out, x)


def test_writing_broadcasts():
    x = wg.zeros((3, 4))
    x[1:, :] = wg.asarray([1.0, 2.0, 3.0, 4.0])
    x[0, ...] = 5
    assert plain(x).tolist() == [[5.0] * 4, [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]
    with pytest.raises(ValueError, match="."):
        x[0] = wg.ones(3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_take(dtype):
    x = sample(dtype, (3, 4))
    for axis, indices in ((0, [2, 0, 2]), (1, [3]), (-1, [0, 1, -1])):
        check("take", x, np.array(indices), axis=axis)
    check("take", x[0], np.array([1, 1]))
    check("take", x, np.array([], dtype="int64"), axis=0)
    check("take", x, np.array([1, 2], dtype="uint8"), axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_take_along_axis(dtype):
    x = sample(dtype, (3, 4))
    check("take_along_axis", x, np.array([[0, 3], [1, 1], [2, 0]]))
    check("take_along_axis", x, np.array([[0, 2, 1, 1]]), axis=0)
    check("take_along_axis", x, np.array([[3], [2], [1]]), axis=1)
    check("take_along_axis", x, np.array([[0, 3]]), axis=-1)
