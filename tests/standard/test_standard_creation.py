"""Creation functions of the Array API standard: dtypes and devices, defaults, shapes, values."""

from __future__ import annotations

import math

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace
from tests.standard.calls import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    REAL_FLOATS,
    REALS,
    check,
    few,
    plain,
    same_numbers,
    sample,
)

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

xps = make_strategies_namespace(wg)
SHAPES = [(), 3, (0,), (2, 3), (2, 0, 1)]


def of(name: str):
    return getattr(wg, name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_filled(name, shape):
    device = wg.ones(1).device
    for dtype in DTYPES:
        out = getattr(wg, name)(shape, dtype=of(dtype), device=device)
        assert out.dtype == of(dtype)
        assert out.device == device
        if name != "empty":
            same_numbers(out, getattr(np, name)(shape, dtype=dtype))
    assert getattr(wg, name)(shape).dtype == wg.float64
    assert getattr(wg, name)(shape, dtype=None, device=None).dtype == wg.float64
    assert getattr(wg, name)(shape=shape).shape == (shape if isinstance(shape, tuple) else (shape,))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
@pytest.mark.parametrize("first", DTYPES)
def test_filled_like_another(name, first):
    x = wg.asarray(sample(first))
    for options in ({}, {"dtype": None}, *({"dtype": of(second)} for second in DTYPES), {"device": x.device}):
        out = getattr(wg, name)(x, **options)
        assert out.dtype == (options.get("dtype") or x.dtype)
        assert out.shape == x.shape
        assert out.device == x.device
        if name != "empty_like":
            assert plain(out).tolist() == np.full(x.shape, name == "ones_like").tolist()


@few
@given(dtype=st.sampled_from(DTYPES), data=st.data())
def test_full(dtype, data):
    """Of a Python scalar of the dtype; without a dtype, the default one of the scalar's kind."""
    value = data.draw(xps.from_dtype(of(dtype)))
    shape = data.draw(st.sampled_from(SHAPES))
    same_numbers(wg.full(shape, value, dtype=of(dtype)), np.full(shape, value, dtype), exact=True)
    same_numbers(wg.full_like(wg.zeros((2, 2), dtype=of(dtype)), value), np.full((2, 2), value, dtype), exact=True)
    same_numbers(wg.full_like(wg.zeros((2, 2)), value, dtype=of(dtype)), np.full((2, 2), value, dtype), exact=True)
    if not isinstance(value, int) or abs(value) < 2**62:
        default = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(value)]
        same_numbers(wg.full(shape, value), np.full(shape, value, default), exact=True)


@pytest.mark.parametrize("name", ["full", "full_like"])
def test_fill_value_by_name(name):
    shape_or_array = (2, 3) if name == "full" else wg.zeros((2, 3))
    same_numbers(getattr(wg, name)(shape_or_array, fill_value=2.0), np.full((2, 3), 2.0))


@pytest.mark.parametrize("dtype", [*DTYPES, None])
def test_eye(dtype):
    options = {} if dtype is None else {"dtype": np.dtype(dtype)}
    for args in ((3,), (2, 4), (4, 2), (0,), (2, 0), (3, None)):
        for k in (0, 1, -1, 3, -7):
            check("eye", *args, k=k, **options)


@few
@given(
    start=st.integers(-20, 20),
    stop=st.none() | st.integers(-20, 20),
    step=st.none() | st.integers(-5, 5).filter(bool),
    dtype=st.none() | st.sampled_from(REALS),
)
def test_arange_of_integers(start, stop, step, dtype):
    if dtype is not None and dtype.startswith("uint"):
        assume(min(start, stop or 0) >= 0 and (step or 1) > 0)
    args = [start] if stop is None else [start, stop]
    options = {} if dtype is None else {"dtype": dtype}
    if step is not None:
        options["step"] = step
    expected = np.arange(*args, **options)
    out = wg.arange(*args, **{name: of(value) if name == "dtype" else value for name, value in options.items()})
    same_numbers(out, expected)
    if dtype is None:
        assert out.dtype == wg.int64


@few
@given(
    start=st.floats(-20, 20),
    stop=st.floats(-20, 20),
    step=st.floats(0.1, 5) | st.floats(-5, -0.1),
    dtype=st.none() | st.sampled_from(REAL_FLOATS),
)
def test_arange_of_floats(start, stop, step, dtype):
    out = wg.arange(start, stop, step, dtype=None if dtype is None else of(dtype))
    same_numbers(out, np.arange(start, stop, step, dtype=dtype))
    assert out.dtype == of(dtype or "float64")


def test_arange_by_name():
    same_numbers(wg.arange(1, stop=7, step=2), np.array([1, 3, 5]))
    same_numbers(wg.arange(2.0, stop=4.0, dtype=wg.float32, device=wg.ones(1).device), np.array([2.0, 3.0], "float32"))


@pytest.mark.parametrize("dtype", [*FLOATS, None])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(dtype, endpoint):
    for start, stop in ((0, 1), (-2.5, 3.0), (4.0, 4.0), (5, -5)):
        for num in (0, 1, 2, 7):
            out = wg.linspace(start, stop, num, dtype=None if dtype is None else of(dtype), endpoint=endpoint)
            same_numbers(out, np.linspace(start, stop, num, dtype=dtype or "float64", endpoint=endpoint))
            if num > 0:
                assert complex(out[0]) == start
            if num > 1 and endpoint:
                assert complex(out[-1]) == stop
    same_numbers(wg.linspace(0.0, 1.0, num=3), np.array([0.0, 0.5, 1.0]))


def test_linspace_of_complex_numbers():
    same_numbers(wg.linspace(0j, 1 + 2j, 3), np.array([0, 0.5 + 1j, 1 + 2j]))
    same_numbers(wg.linspace(0.0, 1 + 2j, 3, dtype=wg.complex64), np.array([0, 0.5 + 1j, 1 + 2j], "complex64"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_of_python_numbers(dtype):
    """Scalars and nested sequences, with a dtype and with the default one."""
    x = sample(dtype, (2, 3))
    default = {"b": "bool", "i": "int64", "u": "int64", "f": "float64", "c": "complex128"}[x.dtype.kind]
    for part in (x, x[0], x[0, 0], x[0, :0]):
        obj = part.tolist()
        same_numbers(wg.asarray(obj, dtype=of(dtype)), np.asarray(part))
        if part.size:
            same_numbers(wg.asarray(obj), np.asarray(obj, default))
    same_numbers(wg.asarray(tuple(map(tuple, x.tolist())), dtype=of(dtype)), x)
    assert wg.asarray(x.tolist(), dtype=of(dtype), device=wg.ones(1).device, copy=True).shape == (2, 3)


def test_asarray_of_mixed_python_numbers():
    assert wg.asarray([1, 2.5]).dtype == wg.float64
    assert wg.asarray([1, 2j]).dtype == wg.complex128
    assert wg.asarray([1.0, 2j]).dtype == wg.complex128
    assert wg.asarray([]).dtype == wg.float64
    assert wg.asarray([[], []]).shape == (2, 0)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_asarray_of_extreme_integers(dtype):
    info = np.iinfo(dtype)
    values = [int(info.min), int(info.max)]
    assert [int(x) for x in wg.asarray(values, dtype=of(dtype))] == values
    with pytest.raises(OverflowError):
        wg.asarray(int(info.max) + 1, dtype=of(dtype))


@pytest.mark.parametrize("first", DTYPES)
def test_asarray_of_arrays(first):
    """Arrays of the namespace and of NumPy, whose dtype stays unless another is asked for."""
    x = sample(first)
    for source in (wg.asarray(x), x, x[0, 0]):
        for options in (
            {},
            {"copy": None},
            {"copy": True},
            {"dtype": None},
            {"dtype": of(first)},
            {"dtype": of(first), "copy": True},
        ):
            same_numbers(wg.asarray(source, **options), np.asarray(source))
    for second in ("complex128",) if first in COMPLEX else ("float64", "complex64"):
        same_numbers(wg.asarray(wg.asarray(x), dtype=of(second)), x.astype(second))


@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_copies_or_shares(dtype):
    x = wg.asarray(sample(dtype))
    copied, shared = wg.asarray(x, copy=True), wg.asarray(x, copy=False)
    before = plain(copied).copy()
    x[0, 0] = 0 if x[0, 0] else 1
    np.testing.assert_array_equal(plain(copied), before)
    np.testing.assert_array_equal(plain(shared), plain(x))


def test_asarray_cannot_change_the_dtype_without_a_copy():
    with pytest.raises(ValueError, match="."):
        wg.asarray(wg.ones(3), dtype=wg.int8, copy=False)
    with pytest.raises(ValueError, match="."):
        wg.asarray([1.0, 2.0], copy=False)


def test_asarray_of_arrays_in_lists():
    """Lists of arrays without axes, and of arrays, become one array."""
    parts = wg.asarray([1.0, 2.0])
    same_numbers(wg.asarray([parts[0], parts[1]], dtype=wg.float32), np.array([1.0, 2.0], "float32"))
    same_numbers(wg.asarray(wg.unstack(wg.ones((2, 3)))), np.ones((2, 3)))
    same_numbers(wg.asarray([[parts[0], 5.0], [2, parts[1]]]), np.array([[1.0, 5.0], [2.0, 2.0]]))


def test_asarray_of_the_buffer_protocol():
    import array

    same_numbers(wg.asarray(memoryview(array.array("d", [1.0, 2.0]))), np.array([1.0, 2.0]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("indexing", ["xy", "ij", None])
def test_meshgrid(dtype, indexing):
    options = {} if indexing is None else {"indexing": indexing}
    parts = [sample(dtype, (n,), seed=n) for n in (3, 2, 4)]
    for k in (1, 2, 3):
        check("meshgrid", *parts[:k], **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name, dtype):
    for shape in ((3, 3), (2, 4), (4, 2), (2, 3, 3), (0, 3), (2, 0)):
        for k in (0, 1, -1, 4, -4):
            check(name, sample(dtype, shape), k=k)
        check(name, sample(dtype, shape))


@few
@given(data=st.data())
def test_arrays_that_hypothesis_draws(data):
    """The strategies of Hypothesis, which the standard's tests use for everything, work on the namespace."""
    dtype = data.draw(xps.scalar_dtypes())
    x = data.draw(xps.arrays(dtype, xps.array_shapes(min_dims=0, min_side=0, max_side=4)))
    assert isinstance(x, wg.Array)
    assert x.dtype == dtype
    assert x.size == math.prod(x.shape)
    unique = data.draw(xps.arrays(xps.real_dtypes(), 5, unique=True, elements={"allow_nan": False}))
    assert len({float(part) if unique.dtype in (wg.float32, wg.float64) else int(part) for part in unique}) == 5


def test_from_the_reference():
    same_numbers(wg.asarray(np.asarray(strict.ones(3))), np.ones(3))
