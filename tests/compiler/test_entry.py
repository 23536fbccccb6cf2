"""The native call and the one through ctypes, around small programs written by hand."""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from wengert.compiler import entry, python_objects
from wengert.compiler.entry import Argument, Caller, callable_from
from wengert.compiler.target import Loaded, object_code
from wengert.core.spec import Spec

needs_support = pytest.mark.skipif(
    not python_objects.is_supported(), reason="this interpreter keeps its objects otherwise"
)
DTYPES = [np.dtype(name) for name in ("f8", "f4", "i8", "i4", "?", "c16")]
NOTHING = "define i32 @wengert.run(ptr %inputs, ptr %outputs) {\n  ret i32 0\n}\n"


def copies(specs: list[Spec], status: int = 0) -> str:
    """A program that copies input i to output i."""
    lines = []
    for i, spec in enumerate(specs):
        for name in ("inputs", "outputs"):
            lines += [
                f"  %{name}.{i} = getelementptr ptr, ptr %{name}, i64 {i}",
                f"  %{name}.data{i} = load ptr, ptr %{name}.{i}",
            ]
        size = spec.size * spec.dtype.itemsize
        lines.append(f"  call void @copy(ptr %outputs.data{i}, ptr %inputs.data{i}, i64 {size})")
    return "\n".join(
        [COPY, "define i32 @wengert.run(ptr %inputs, ptr %outputs) {", *lines, f"  ret i32 {status}", "}", ""]
    )


COPY = """
define internal void @copy(ptr %to, ptr %from, i64 %size) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %size
  br i1 %more, label %body, label %end
body:
  %source = getelementptr i8, ptr %from, i64 %i
  %place = getelementptr i8, ptr %to, i64 %i
  %byte = load i8, ptr %source
  store i8 %byte, ptr %place
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}
"""


def load(run: str, arguments=(), result: entry.ResultTree = (), release_gil=False) -> Loaded:
    return Loaded(object_code(entry.write_entry(arguments, result, release_gil) + run), python_objects.python_addresses())


def identity(values, result: entry.ResultTree | None = None, status: int = 0, release_gil: bool = False):
    """A native function of values like these that returns copies of them, by default in a tuple."""
    arguments = [Argument.of(value) for value in values]
    assert all(arguments)
    specs = [argument.spec for argument in arguments]
    return callable_from(
        load(copies(specs, status), arguments, tuple(specs) if result is None else result, release_gil)
    )


@needs_support
@pytest.mark.parametrize("dtype", python_objects.NUMBERS, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 0, 3), (1, 2, 1, 2, 3)], ids=str)
def test_arrays_of_every_dtype(dtype, shape):
    x = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    x = np.asarray(x + x.dtype.type(1) if dtype.kind not in "b" else x)
    f = identity([x])
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
        f = identity([x], Spec((), dtype))
        out = f(x)
        assert type(out) is dtype.type
        assert out == x
        assert f(np.asarray(x)) is NotImplemented
        assert f(number) is NotImplemented


@needs_support
def test_python_numbers():
    f = identity([1.5, 7])
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
    f = identity([x, np.True_, y], ((), (a, ((b,), c)), ()))
    empty, (first, ((second,), third)), last = f(x, np.True_, y)
    assert empty == last == ()
    np.testing.assert_array_equal(first, x)
    assert second is np.True_
    np.testing.assert_array_equal(third, y)
    assert type(identity([x], a)(x)) is np.ndarray
    assert callable_from(load(NOTHING))() == ()


@needs_support
def test_many_arguments_and_results():
    values = [np.full(i % 4, float(i)) for i in range(150)] + [0.5, 3]
    out = identity(values)(*values)
    assert all(np.array_equal(a, b) for a, b in zip(values, out, strict=True))
    assert identity([np.ones(2)] * 9)(*[np.ones(2)] * 8, np.ones(3)) is NotImplemented


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
        "memory": memoryview(x),
        "dtype": x.dtype,
        "type": np.ndarray,
    }


X = np.arange(6.0).reshape(2, 3)


@needs_support
@pytest.mark.parametrize("name", [*layouts(X), *mismatches(X)])
def test_anything_else_is_not_taken(name):
    f = identity([X])
    assert f(X) is not NotImplemented
    assert f((layouts(X) | mismatches(X))[name]) is NotImplemented


@needs_support
def test_number_of_arguments():
    f = identity([X, 1.0])
    for wrong in [(), (X,), (X, 1.0, 1.0), (X, 1.0, None, None)]:
        assert f(*wrong) is NotImplemented
    with pytest.raises(TypeError):
        f(X, scale=1.0)


@needs_support
def test_read_only_and_pickled_arrays_are_taken():
    fixed = X.copy()
    fixed.flags.writeable = False
    pickled = pickle.loads(pickle.dumps(X))
    assert pickled.dtype is not X.dtype
    for x in (fixed, pickled, copy.deepcopy(X), X[:], np.frombuffer(X.tobytes()).reshape(2, 3)):
        np.testing.assert_array_equal(identity([X])(x)[0], X)
    swapped = pickle.loads(pickle.dumps(X.dtype.newbyteorder()))
    assert identity([X])(X.astype(swapped)) is NotImplemented


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
        entry.write_entry([], Spec((3,), np.dtype(">f8")))


@needs_support
@pytest.mark.parametrize("release_gil", [False, True])
def test_a_run_that_gave_up(release_gil):
    f = identity([X, 2.0], status=3, release_gil=release_gil)
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
    f = callable_from(load(run, [], (Spec((3,), X.dtype), Spec((), X.dtype))))
    with pytest.raises(ZeroDivisionError, match="lost"):
        f()


@needs_support
@pytest.mark.parametrize(
    "result", [Spec((2**46,), X.dtype), (Spec((3,), X.dtype), (Spec((2**46,), X.dtype),))], ids=str
)
def test_no_memory(result):
    f = callable_from(load(NOTHING, [], result))
    before = sys.getrefcount(X.dtype)
    for _ in range(10):
        with pytest.raises(MemoryError):
            f()
    assert abs(sys.getrefcount(X.dtype) - before) < 5


@needs_support
def test_references_and_memory():
    resource = pytest.importorskip("resource")
    y, scale = np.arange(500.0), 3.25
    result = (Spec((2, 3), X.dtype), (Spec((500,), X.dtype), (Spec((), X.dtype),), Spec((), np.dtype(np.bool))), ())
    f = identity([X, y, scale, np.True_], result)
    stopped = identity([X, y, scale, np.True_], result, status=1)
    watched = [
        X,
        y,
        scale,
        np.True_,
        None,
        NotImplemented,
        X.dtype,
        np.dtype(np.bool),
        np.ndarray,
        np.float64,
        (),
        f,
        stopped,
    ]

    def loop(times):
        for _ in range(times):
            f(X, y, scale, np.True_)
            f(X, y, scale)
            f(y, X, scale, np.True_)
            stopped(X, y, scale, np.True_)

    loop(20_000)
    gc.collect()
    counts, peak = [sys.getrefcount(value) for value in watched], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loop(250_000)
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert max(abs(sys.getrefcount(value) - count) for value, count in zip(watched, counts, strict=True)) < 20
    assert growth * (1 if sys.platform == "darwin" else 1024) < 4_000_000


@needs_support
def test_results_belong_to_the_caller():
    f = identity([X])
    (kept,) = f(X)
    assert sys.getrefcount(kept) == 2
    kept[...] = 7.0
    (other,) = f(X)
    np.testing.assert_array_equal(other, X)
    assert gc.is_tracked(f(X))


@needs_support
def test_code_lives_as_long_as_the_function():
    loaded = load(copies([Spec.of(X)]), [Argument.of(X)], Spec.of(X))
    code = weakref.ref(loaded)
    f = callable_from(loaded, "squares")
    del loaded
    gc.collect()
    assert code() is not None
    assert f.__name__ == "squares"
    np.testing.assert_array_equal(f(X), X)
    del f
    assert code() is None


@needs_support
@pytest.mark.parametrize("release_gil", [False, True])
def test_threads(release_gil):
    f = identity([X, 1.0], release_gil=release_gil)
    wrong = []

    def work(number):
        x = np.full((2, 3), float(number))
        for i in range(20_000):
            out, scale = f(x, number + i / 7)
            if not (np.array_equal(out, x) if i % 50 == 0 else out[1, 2] == number) or scale != number + i / 7:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


WAIT = """
define i32 @wengert.run(ptr %inputs, ptr %outputs) {
entry:
  %mine = load ptr, ptr %inputs
  store volatile i64 1, ptr %mine
  %place = getelementptr ptr, ptr %inputs, i64 1
  %other = load ptr, ptr %place
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %next = add i64 %i, 1
  %seen = load volatile i64, ptr %other
  %here = icmp eq i64 %seen, 1
  %late = icmp ugt i64 %next, 20000000000
  %done = or i1 %here, %late
  br i1 %done, label %end, label %again
end:
  %status = select i1 %here, i32 0, i32 1
  ret i32 %status
}
"""


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_support), False])
def test_two_runs_at_once(native):
    """Each run waits until the other has begun, which ends only if neither holds the GIL."""
    a, b = np.zeros(1, np.int64), np.zeros(1, np.int64)
    arguments = [Argument.of(a), Argument.of(b)]
    loaded = load(WAIT, arguments, (), release_gil=True)
    f = callable_from(loaded) if native else lambda *args: Caller(loaded, [Spec.of(a)] * 2, [], release_gil=True)(args)
    results = []
    threads = [
        threading.Thread(target=lambda args=args: results.append(f(*args)), daemon=True) for args in ((a, b), (b, a))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == ([(), ()] if native else [(0, []), (0, [])])


@needs_support
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork():
    """In a fresh process, because one with threads should not fork."""
    code = """
import os, numpy as np
from tests.compiler.test_entry import identity
x = np.arange(6.0).reshape(2, 3)
f = identity([x, 1.0], release_gil=True)
child = os.fork()
out, scale = f(x, 2.0)
good = np.array_equal(out, x) and scale == 2.0 and f(1) is NotImplemented and np.array_equal(identity([x])(x)[0], x)
if child == 0:
    os._exit(0 if good else 1)
assert good and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=Path(__file__).parents[2])


@needs_support
def test_code_from_another_process():
    """Addresses are not in the code: what one process compiled, another loads."""
    run = copies([Spec.of(X)])
    code = object_code(entry.write_entry([Argument.of(X)], (Spec.of(X),)) + run)
    script = """
import sys, numpy as np
from wengert.compiler import entry, python_objects, target
f = entry.callable_from(target.Loaded(sys.stdin.buffer.read(), python_objects.python_addresses()))
x = np.arange(6.0).reshape(2, 3) + 1
assert np.array_equal(f(x)[0], x) and f(1) is NotImplemented
"""
    subprocess.run([sys.executable, "-c", script], input=code, check=True, timeout=120)


@needs_support
def test_symbols_are_in_the_table():
    """Nothing in the text is outside but for the run and what `symbols` has, so that it can be joined to any module."""
    arguments = [Argument.of(value) for value in (X, 1.0, 2, *(dtype.type(1) for dtype in python_objects.NUMBERS))]
    result = tuple(Spec(shape, dtype) for dtype in python_objects.NUMBERS for shape in ((), (2,)))
    lines = entry.write_entry(arguments, result, release_gil=True).splitlines()
    outside = [
        line.split("@")[1].split("(")[0].split(" ")[0]
        for line in lines
        if line.startswith("declare") or "= external" in line
    ]
    assert set(outside) <= python_objects.python_addresses().keys()
    assert len(outside) == len(set(outside)) > 40


@pytest.mark.parametrize("release_gil", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_safe_call(dtype, release_gil):
    values = [np.asarray(v) for v in (X.astype(dtype), np.ones((), dtype), np.ones((3, 0), dtype))]
    specs = [Spec.of(value) for value in values]
    call = Caller(load(copies(specs), [], tuple(specs)), specs, specs, release_gil)
    for first in [*layouts(values[0]).values(), values[0].tolist() if dtype.char in "dl?D" else values[0]]:
        status, out = call([first, values[1][()], values[2]])
        assert status == 0
        assert [type(part) for part in out] == [np.ndarray] * 3
        assert [Spec.of(part) for part in out] == specs
        assert all(np.array_equal(a, b) for a, b in zip(out, values, strict=True))


def test_safe_call_refuses_other_specs():
    spec = Spec.of(X)
    call = Caller(load(copies([spec], status=5), [], spec), [spec], [spec])
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
