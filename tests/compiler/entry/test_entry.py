"""Native entries and calls by ctypes, around small programs written by hand: arguments and results."""

from __future__ import annotations

import copy
import ctypes
import pickle
import sys

import numpy as np
import pytest
from tests.compiler.entry.entry_programs import copies, identity_entry, load_entry, needs_support

from wengert.compiler.entry import entry
from wengert.compiler.entry.ctypes_call import Caller
from wengert.compiler.entry.entry import callable_from
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine import python_objects
from wengert.core.spec import Spec

DTYPES = [np.dtype(name) for name in ("f8", "f4", "i8", "i4", "?", "c16")]


NOTHING = "define i32 @wengert.run(ptr %inputs, ptr %outputs) {\n  ret i32 0\n}\n"


@needs_support
@pytest.mark.parametrize("dtype", python_objects.NUMBERS, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 0, 3), (1, 2, 1, 2, 3)], ids=str)
def test_arrays_of_every_dtype(dtype, shape):
    x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    x = np.asarray(x + x.dtype.type(1) if dtype.kind not in "b" else x)
    f = identity_entry([x])
    (out,) = f(x)
    assert type(out) is (np.ndarray if shape else dtype.type)
    assert out.dtype == dtype
    assert out.shape == shape
    np.testing.assert_array_equal(out, x)
    if shape:
        assert out.flags.owndata
        assert out.flags.c_contiguous
        assert out.flags.writeable
        assert not np.shares_memory(out, x)


@needs_support
@pytest.mark.parametrize("dtype", python_objects.NUMBERS, ids=str)
def test_scalars_of_every_dtype(dtype):
    for number in (0, 1):
        x = dtype.type(number)
        f = identity_entry([x], Spec((), dtype))
        out = f(x)
        assert type(out) is dtype.type
        assert out == x
        assert f(np.asarray(x)) is NotImplemented
        assert f(number) is NotImplemented


@needs_support
def test_python_numbers():
    f = identity_entry([1.5, 7])
    out = f(-2.25, -(2**63))
    assert out == (-2.25, -(2**63))
    assert [type(part) for part in out] == [np.float64, np.int64]
    assert f(np.inf, 2**63 - 1) == (np.inf, 2**63 - 1)
    for wrong in [
        (1, 7),
        (1.5, 7.0),
        (True, 7),
        (1.5, True),
        (np.float64(1.5), 7),
        (1.5, np.int64(7)),
        (None, 7),
        ("1", 7),
    ]:
        assert f(*wrong) is NotImplemented
    for huge in (2**63, -(2**63) - 1, 10**40):
        assert f(1.5, huge) is NotImplemented


@needs_support
def test_nested_results():
    x, y = np.arange(3.0), np.arange(4, dtype=np.int32)
    a, b, c = Spec((3,), x.dtype), Spec((), np.dtype(np.bool)), Spec((4,), y.dtype)
    f = identity_entry([x, np.True_, y], ((), (a, ((b,), c)), ()))
    empty, (first, ((second,), third)), last = f(x, np.True_, y)
    assert empty == last == ()
    np.testing.assert_array_equal(first, x)
    assert second is np.True_
    np.testing.assert_array_equal(third, y)
    assert type(identity_entry([x], a)(x)) is np.ndarray
    nothing = EntrySignature([], ())
    assert callable_from(load_entry(NOTHING, nothing), nothing)() == ()


@needs_support
def test_many_arguments_and_results():
    values = [np.full(i % 4, float(i)) for i in range(150)] + [0.5, 3]
    out = identity_entry(values)(*values)
    assert all(np.array_equal(a, b) for a, b in zip(values, out, strict=True))
    assert identity_entry([np.ones(2)] * 9)(*[np.ones(2)] * 8, np.ones(3)) is NotImplemented


class Sub(np.ndarray):
    pass


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays equal to a matrix of doubles that the native call must leave to others."""
    shifted = np.empty(x.nbytes + 1, np.int8)[1:].view(x.dtype).reshape(x.shape)
    shifted[...] = x
    wide = np.repeat(x, 2, axis=1)
    return {
        "subclass": x.view(Sub),
        "matrix of records": np.rec.array(x),
        "transposed": np.asfortranarray(x),
        "strided": wide[:, ::2],
        "reversed": x[::-1].copy()[::-1],
        "misaligned": shifted,
        "swapped": x.astype(x.dtype.newbyteorder()),
    }


def mismatches(x: np.ndarray) -> dict[str, object]:
    return {
        "float32": x.astype(np.float32),
        "int64": x.astype(np.int64),
        "complex": x.astype(complex),
        "objects": x.astype(object),
        "one axis less": x.ravel(),
        "one axis more": x[None],
        "other shape": x.T.copy(),
        "longer": np.ones((x.shape[0], x.shape[1] + 1)),
        "list": x.tolist(),
        "None": None,
        "float": 1.0,
        "scalar": np.float64(1),
        "memory": x.data,
        "dtype": x.dtype,
        "type": np.ndarray,
    }


X = np.arange(6.0).reshape(2, 3)


@needs_support
@pytest.mark.parametrize("name", [*layouts(X), *mismatches(X)])
def test_anything_else_is_not_taken(name):
    f = identity_entry([X])
    assert f(X) is not NotImplemented
    assert f((layouts(X) | mismatches(X))[name]) is NotImplemented


@needs_support
def test_number_of_arguments():
    f = identity_entry([X, 1.0])
    for wrong in [(), (X,), (X, 1.0, 1.0), (X, 1.0, None, None)]:
        assert f(*wrong) is NotImplemented
    assert f(X, scale=1.0) is NotImplemented
    assert f(X, 1.0, scale=1.0) is NotImplemented


@needs_support
def test_read_only_and_pickled_arrays_are_taken():
    fixed = X.copy()
    fixed.flags.writeable = False
    pickled = pickle.loads(pickle.dumps(X))
    assert pickled.dtype is not X.dtype
    for x in (fixed, pickled, copy.deepcopy(X), X[:], np.frombuffer(X.tobytes()).reshape(2, 3)):
        np.testing.assert_array_equal(identity_entry([X])(x)[0], X)
    swapped = pickle.loads(pickle.dumps(X.dtype.newbyteorder()))
    assert identity_entry([X])(X.astype(swapped)) is NotImplemented


def test_descriptions():
    assert Argument.of(np.float32(1)) == Argument("scalar", Spec((), np.dtype(np.float32)))
    assert Argument.of(X.astype(object)) is None
    assert Argument.of(X.astype(X.dtype.newbyteorder())) is None
    assert Argument.of(X.view(Sub)) is None
    assert Argument.of(True) is None
    for char in "lq":
        known = np.dtype(char) is np.dtype(np.int64)
        assert (Argument.of(np.ones(2, char)) is not None) == (Argument.of(np.dtype(char).type(1)) is not None) == known
    assert Argument.of(np.longdouble(1)) is None
    assert Argument.of(np.str_("x")) is None
    with pytest.raises(ValueError, match="does not support dtype >f8"):
        entry.write_entry(EntrySignature([], Spec((3,), np.dtype(">f8"))))


@needs_support
@pytest.mark.parametrize("release_gil", [False, True])
def test_a_run_that_gave_up(release_gil):
    f = identity_entry([X, 2.0], status=3, release_gil=release_gil)
    assert f(X, 2.0) is NotImplemented


@needs_support
def test_a_run_that_raised():
    """An exception of a part written in Python comes out as it is."""

    address = ctypes.cast(ctypes.pythonapi.PyErr_SetString, ctypes.c_void_p).value
    run = f"""
@message = private constant [5 x i8] c"lost\\00"
define i32 @wengert.run(ptr %inputs, ptr %outputs) {{
  %raise = inttoptr i64 {address} to ptr
  %type = inttoptr i64 {id(ZeroDivisionError)} to ptr
  call void %raise(ptr %type, ptr @message)
  ret i32 1
}}
"""
    signature = EntrySignature([], (Spec((3,), X.dtype), Spec((), X.dtype)))
    f = callable_from(load_entry(run, signature), signature)
    with pytest.raises(ZeroDivisionError, match="lost"):
        f()


@needs_support
@pytest.mark.parametrize(
    "result", [Spec((2**46,), X.dtype), (Spec((3,), X.dtype), (Spec((2**46,), X.dtype),))], ids=str
)
def test_no_memory(result):
    signature = EntrySignature([], result)
    f = callable_from(load_entry(NOTHING, signature), signature)
    before = sys.getrefcount(X.dtype)
    for _ in range(10):
        with pytest.raises(MemoryError):
            f()
    assert abs(sys.getrefcount(X.dtype) - before) < 5


@needs_support
def test_symbols_are_in_the_table():
    """An entry uses the program and `python_addresses` only, so that it can be appended to any module."""
    arguments = [Argument.of(value) for value in (X, 1.0, 2, *(dtype.type(1) for dtype in python_objects.NUMBERS))]
    result = tuple(Spec(shape, dtype) for dtype in python_objects.NUMBERS for shape in ((), (2,)))
    lines = entry.write_entry(EntrySignature(arguments, result), release_gil=True).splitlines()
    outside = [
        line.split("@")[1].split("(")[0].split(" ")[0]
        for line in lines
        if (line.startswith("declare") or "= external" in line) and "@llvm." not in line
    ]
    assert set(outside) <= python_objects.python_addresses().keys()
    assert len(outside) == len(set(outside)) > 40


@pytest.mark.parametrize("release_gil", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_safe_call(dtype, release_gil):
    values = [np.asarray(v) for v in (X.astype(dtype), np.ones((), dtype), np.ones((3, 0), dtype))]
    specs = [Spec.of(value) for value in values]
    call = Caller(load_entry(copies(specs), EntrySignature([], tuple(specs)), release_gil), specs, specs, release_gil)
    for first in [*layouts(values[0]).values(), values[0].tolist() if dtype.char in "dl?D" else values[0]]:
        status, out = call([first, values[1][()], values[2]])
        assert status == 0
        assert [type(part) for part in out] == [np.ndarray] * 3
        assert [Spec.of(part) for part in out] == specs
        assert all(np.array_equal(a, b) for a, b in zip(out, values, strict=True))


def test_safe_call_refuses_other_specs():
    spec = Spec.of(X)
    call = Caller(load_entry(copies([spec], status=5), EntrySignature([], spec)), [spec], [spec])
    assert call([X])[0] == 5
    for wrong in (X.T, X.astype(np.float32), X.astype(int), 1.0):
        with pytest.raises(ValueError, match="takes f64\\[2,3\\] here"):
            call([wrong])
    with pytest.raises(ValueError, match="zip"):
        call([X, X])


def test_support_is_refused_where_layouts_differ(monkeypatch):
    """The check can fail: with any of its assumptions wrong it says no."""
    check = python_objects.is_supported.__wrapped__
    assert check() == python_objects.is_supported()
    for name, offset in {
        "DATA": 24,
        "NDIM": 28,
        "SHAPE": 40,
        "DESCR": 48,
        "FLAGS": 68,
        "BYTE_ORDER": 25,
        "NUMBER": 8,
        "TYPE": 16,
    }.items():
        with monkeypatch.context() as changed:
            changed.setattr(python_objects, name, offset)
            assert not check(), name
    monkeypatch.setattr(sys.implementation, "name", "other")
    assert not check()


def test_addresses_are_those_of_what_code_names():
    every = python_objects.python_addresses()
    names = [python_objects.PREFIX + name for name in ("PyErr_CheckSignals", "float64.new", "Tensor.type", "unknown")]
    code = [f"\x7fELF\0{names[0]}\0{names[1]}\0".encode(), f"{names[2]}\0{names[3]}\0".encode()]
    assert python_objects.python_addresses(code) == {name: every[name] for name in names[:3]}
    assert python_objects.python_addresses([b"\x7fELF"]) == {}
