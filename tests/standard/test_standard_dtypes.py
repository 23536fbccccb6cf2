"""Data types of the Array API standard: the dtype objects, promotion, `astype`, `finfo` and the other functions about
dtypes.
"""

from __future__ import annotations

import itertools

import array_api_strict as strict
import numpy as np
import pytest
from tests.standard.calls import COMPLEX, DTYPES, INTEGERS, REAL_FLOATS, REALS, accepts, agree, plain, run, sample
from tests.standard.elementwise import PAIRS

import wengert as wg

KINDS = {
    "bool": ("bool",),
    "signed integer": INTEGERS[:4],
    "unsigned integer": INTEGERS[4:],
    "integral": INTEGERS,
    "real floating": REAL_FLOATS,
    "complex floating": COMPLEX,
    "numeric": REALS + COMPLEX,
}


def of(name: str):
    return getattr(wg, name)


def test_dtypes_are_equal_to_themselves_only():
    for first, second in itertools.product(DTYPES, repeat=2):
        assert (of(first) == of(second)) is (first == second)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_dtype_of_an_array_is_a_dtype_of_the_namespace(dtype):
    x = wg.zeros(2, dtype=of(dtype))
    assert x.dtype == of(dtype)
    assert of(dtype) == x.dtype
    assert [x.dtype == of(other) for other in DTYPES].count(True) == 1
    assert (x + x).dtype == of(dtype) if dtype != "bool" else True


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_isdtype(dtype, kind):
    expected = dtype in KINDS[kind]
    assert wg.isdtype(of(dtype), kind) is expected
    assert wg.isdtype(of(dtype), ("bool", kind)) is (expected or dtype == "bool")
    assert wg.isdtype(of(dtype), (kind, wg.float32)) is (expected or dtype == "float32")
    assert wg.isdtype(wg.zeros(1, dtype=of(dtype)).dtype, of(dtype)) is True


def test_isdtype_of_an_unknown_kind_is_an_error():
    with pytest.raises((ValueError, TypeError)):
        wg.isdtype(wg.float64, "nonsense")


@pytest.mark.parametrize("dtype", REAL_FLOATS + COMPLEX)
def test_finfo(dtype):
    """Of a dtype and of an array: Python numbers, equal to NumPy's."""
    expected = np.finfo(dtype)
    for info in (wg.finfo(of(dtype)), wg.finfo(wg.ones(2, dtype=of(dtype)))):
        assert type(info.bits) is int
        assert info.bits == expected.bits
        for field in ("eps", "max", "min", "smallest_normal"):
            value = getattr(info, field)
            assert isinstance(value, float), field
            assert value == float(getattr(expected, field))
        assert info.dtype == of({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_iinfo(dtype):
    expected = np.iinfo(dtype)
    for info in (wg.iinfo(of(dtype)), wg.iinfo(wg.ones(2, dtype=of(dtype)))):
        for field in ("bits", "max", "min"):
            assert type(getattr(info, field)) is int
            assert getattr(info, field) == getattr(expected, field)
        assert info.dtype == of(dtype)


@pytest.mark.parametrize("first", DTYPES)
def test_can_cast(first):
    """From a dtype and from an array; where the standard says yes the answer is yes, and it is always a bool."""
    for second in DTYPES:
        for source in (of(first), wg.ones(2, dtype=of(first))):
            answer = wg.can_cast(source, of(second))
            assert isinstance(answer, bool)
            assert answer is bool(np.can_cast(first, second))
            if strict.can_cast(getattr(strict, first), getattr(strict, second)):
                assert answer


def test_can_cast_leaves_numbers_out():
    """The number in an array of no axes plays no part."""
    assert wg.can_cast(wg.asarray(1), wg.int8) is False


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_result_type_of_two(first, second):
    x1, x2 = sample(first), sample(second)
    expected = run(strict, "result_type", x1, x2)
    for args in ((x1, x2), (x1.dtype, x2), (x1, x2.dtype), (x1.dtype, x2.dtype), (x1[0, 0], x2)):
        agree(run(wg, "result_type", *args), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_result_type_with_python_scalars(dtype):
    for scalar in (True, 2, 2.5, 2.5j):
        for args in ((np.dtype(dtype), scalar), (scalar, sample(dtype)), (sample(dtype)[0, 0], scalar)):
            if accepts("result_type", *args):
                agree(run(wg, "result_type", *args), run(strict, "result_type", *args))


def test_result_type_of_many():
    assert wg.result_type(wg.int8) == wg.int8
    assert wg.result_type(wg.int8, wg.uint8, wg.int32) == wg.int32
    assert wg.result_type(wg.float32, wg.ones(2, dtype=wg.float64), wg.float32) == wg.float64


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_astype(first):
    """To every dtype that holds the numbers; complex ones become real by `real`, not by `astype`."""
    for second in DTYPES:
        if first in COMPLEX and second not in COMPLEX + ("bool",):
            continue
        x = abs(sample(first)) if first != "bool" else sample(first)
        x = x.astype(first)
        for options in ({}, {"copy": True}, {"copy": False}):
            out = wg.astype(wg.asarray(x), of(second), **options)
            assert out.dtype == of(second)
            np.testing.assert_array_equal(plain(out), x.astype(second))


def test_astype_copies_unless_it_may_not():
    x = wg.ones(3)
    copied, same = wg.astype(x, wg.float64), wg.astype(x, wg.float64, copy=False)
    x[0] = 5.0
    assert float(copied[0]) == 1.0
    assert float(same[0]) == 5.0


def test_astype_takes_the_device():
    x = wg.ones(3)
    assert wg.astype(x, wg.float32, device=x.device).device == x.device


@pytest.mark.parametrize("kind", [None, *KINDS, ("bool", "integral"), ("real floating", "complex floating")], ids=str)
def test_dtypes_of_the_namespace(kind):
    info = wg.__array_namespace_info__()
    wanted = (
        DTYPES
        if kind is None
        else [dtype for part in ((kind,) if isinstance(kind, str) else kind) for dtype in KINDS[part]]
    )
    for device in (None, *info.devices()):
        found = info.dtypes(kind=kind, device=device)
        assert isinstance(found, dict)
        assert set(found) == set(wanted)
        assert all(dtype == of(name) for name, dtype in found.items())


def test_inspection():
    """What the namespace says about itself."""
    info = wg.__array_namespace_info__()
    capabilities = info.capabilities()
    assert capabilities["boolean indexing"] is True
    assert capabilities["data-dependent shapes"] is True
    assert isinstance(capabilities["max dimensions"], int)
    assert wg.zeros((1,) * capabilities["max dimensions"]).ndim == capabilities["max dimensions"]
    devices = info.devices()
    assert isinstance(devices, list)
    assert info.default_device() in devices
    for device in (None, *devices):
        assert info.default_dtypes(device=device) == {
            "real floating": wg.float64,
            "complex floating": wg.complex128,
            "integral": wg.int64,
            "indexing": wg.int64,
        }
        assert wg.zeros(2, device=device).device in devices
