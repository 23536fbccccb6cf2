"""The array object of the Array API standard: attributes, conversions to Python scalars, namespace, devices, DLPack."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from tests.standard.calls import COMPLEX, DTYPES, INTEGERS, REALS, plain, same_numbers, sample

import wengert as wg

VERSIONS = ["2021.12", "2022.12", "2023.12", "2024.12"]


def of(name: str):
    return getattr(wg, name)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_attributes(dtype, shape):
    x = wg.zeros(shape, dtype=of(dtype))
    assert x.shape == shape
    assert isinstance(x.shape, tuple)
    assert (x.ndim, x.size) == (len(shape), int(np.prod(shape)))
    assert type(x.ndim) is int
    assert type(x.size) is int
    assert isinstance(x, wg.Array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposes(dtype):
    x = sample(dtype, (2, 3))
    same_numbers(wg.asarray(x).T, x.T)
    stack = sample(dtype, (4, 2, 3))
    same_numbers(wg.asarray(stack).mT, np.swapaxes(stack, -1, -2))


def test_mT_needs_two_axes():
    with pytest.raises(ValueError, match="."):
        _ = wg.ones(3).mT


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars(dtype):
    """Of an array without axes, and of the type that Python's own constructors give."""
    for number in sample(dtype).flat:
        x = wg.asarray(number, dtype=of(dtype))
        assert bool(x) is bool(number)
        assert complex(x) == complex(number)
        assert type(x.__bool__()) is bool
        assert type(x.__complex__()) is complex
        if dtype not in COMPLEX:
            assert int(x) == int(number)
            assert float(x) == float(number)
            assert type(x.__int__()) is int
            assert type(x.__float__()) is float
        if dtype in INTEGERS:
            assert x.__index__() == int(number)
            assert type(x.__index__()) is int
            assert list(range(10))[x] == int(number)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_are_not_real(dtype):
    x = wg.asarray(1 + 2j, dtype=of(dtype))
    for convert in (int, float):
        with pytest.raises(TypeError):
            convert(x)


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex128"])
def test_only_integers_are_indices(dtype):
    with pytest.raises(TypeError):
        wg.ones((), dtype=of(dtype)).__index__()


def test_special_numbers_as_python_scalars():
    for value in (np.inf, -np.inf, np.nan):
        x = wg.asarray(value)
        assert str(float(x)) == str(value)
        assert bool(x) is True
        with pytest.raises((OverflowError, ValueError)):
            int(x)


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_several_numbers_are_not_one(convert):
    with pytest.raises((TypeError, ValueError)):
        convert(wg.ones(3))


@pytest.mark.parametrize("version", [None, *VERSIONS])
def test_namespace_of_an_array(version):
    assert wg.ones(2).__array_namespace__(api_version=version) is wg


def test_namespace_of_an_unknown_version():
    with pytest.raises(ValueError, match="."):
        wg.ones(2).__array_namespace__(api_version="1999.12")


def test_version():
    assert wg.__array_api_version__ == "2024.12"


def test_devices():
    x = wg.ones(2)
    assert x.device == x.device
    assert x.device in wg.__array_namespace_info__().devices()
    same_numbers(x.to_device(x.device), np.ones(2))
    same_numbers(x.to_device(x.device, stream=None), np.ones(2))
    assert x.to_device(x.device).device == x.device
    with pytest.raises((ValueError, TypeError)):
        x.to_device("nonsense")
    with pytest.raises((ValueError, TypeError)):
        wg.ones(2, device="nonsense")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 0), ()], ids=str)
def test_dlpack_to_numpy(dtype, shape):
    x = sample(dtype, shape)
    np.testing.assert_array_equal(np.from_dlpack(wg.asarray(x)), x)
    if shape:
        np.testing.assert_array_equal(np.from_dlpack(wg.asarray(x).T), x.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{}, {"copy": True}, {"copy": False}, {"copy": None}, {"device": None}], ids=str)
def test_dlpack_to_wengert(dtype, options):
    """From NumPy, from the reference implementation, and from itself."""
    for shape in ((3,), (2, 3), (2, 0)):
        x = sample(dtype, shape)
        same_numbers(wg.from_dlpack(x, **options), x)
        same_numbers(wg.from_dlpack(wg.asarray(x), **options), x)
    x = wg.asarray(x)
    assert wg.from_dlpack(x, device=x.device, **({} if "device" in options else options)).device == x.device


def test_dlpack_from_the_reference():
    same_numbers(wg.from_dlpack(strict.asarray([1.0, 2.0])), np.array([1.0, 2.0]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_options(dtype):
    x = wg.asarray(sample(dtype))
    assert tuple(int(part) for part in x.__dlpack_device__()) == (1, 0)
    for options in (
        {},
        {"stream": None},
        {"copy": True},
        {"copy": False},
        {"copy": None},
        {"dl_device": (1, 0)},
        *({"max_version": (major, 0)} for major in (0, 1, 2)),
        {"copy": True, "max_version": (1, 0), "dl_device": (1, 0)},
    ):
        assert type(x.__dlpack__(**options)).__name__ == "PyCapsule"


def test_dlpack_loses_no_gradient():
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises((wg.TrackedValueError, BufferError)):
        np.from_dlpack(x * 2)


def test_dlpack_copies_when_asked():
    plain_array = np.ones(3)
    copied = wg.from_dlpack(plain_array, copy=True)
    plain_array[0] = 5.0
    assert float(copied[0]) == 1.0


@pytest.mark.parametrize("dtype", REALS)
def test_comparison_gives_an_array_of_booleans(dtype):
    x = wg.asarray(sample(dtype))
    for out in (x == x, x != x, x < x, x <= x, x > x, x >= x):
        assert out.dtype == wg.bool
        assert plain(out).shape == (2, 3)


def test_in_place_on_a_view_of_nothing_else():
    """After `y = x[...]`, whether a change of `y` shows in `x` is unspecified, but the change itself shows in `y`."""
    x = wg.asarray([1.0, 2.0, 3.0])
    y = x[1:]
    y += 10.0
    same_numbers(y, np.array([12.0, 13.0]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_prints(dtype):
    for shape in ((), (0,), (2, 3)):
        assert repr(wg.asarray(sample(dtype, shape)))
        assert str(wg.asarray(sample(dtype, shape)))


@pytest.mark.parametrize(
    "make", [wg.sum, wg.max, wg.any, wg.argmax, wg.count_nonzero, lambda x: x[0], lambda x: x == x]
)
def test_results_without_axes_can_be_changed(make):
    """What a reduction or an index gives is an array too, not a frozen number."""
    for key in ((), ..., wg.asarray(True)):
        out = make(wg.asarray([1, 2, 3]))
        out[key] = 0
        assert plain(out).ravel().tolist() == [0] * out.size
        out |= make(wg.asarray([1, 2, 3]))
        assert np.from_dlpack(out).shape == out.shape
        assert out[None, ...].shape == (1, *out.shape)
