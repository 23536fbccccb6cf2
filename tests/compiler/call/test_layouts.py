"""Arguments and results of compiled functions: any memory layout, Python numbers, any number of threads."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg


def f(x, y):
    return np.sin(x) * y + x, (x * y).sum(0), np.maximum(x, y).T


def base(shape=(6, 10), dtype=np.float64):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def in_a_record(x):
    """Elements that lie as far apart as no multiple of their size."""
    records = np.zeros(x.shape, np.dtype([("flag", "?"), ("value", x.dtype)]))
    records["value"] = x
    return records["value"]


LAYOUTS = {
    "contiguous": lambda x: x,
    "Fortran": np.asfortranarray,
    "every second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda x: x.T.copy().T,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "read-only": read_only,
    "misaligned": misaligned,
    "in a record": in_a_record,
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "part of a larger one": lambda x: np.pad(x, 3)[3:-3, 3:-3],
    "subclass": lambda x: x.view(type("Own", (np.ndarray,), {})),
    "memory of bytes": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(layout, dtype):
    x, y = layout(base(dtype=dtype)), base(dtype=dtype)[::-1]
    before = x.copy()
    compiled = wg.compile(f)
    compiled(base(dtype=dtype), base(dtype=dtype))  # so that the native entry meets the other layout
    expected = f(np.array(before, dtype), np.array(y))
    for _ in range(2):
        for found, wanted in zip(compiled(x, y), expected, strict=True):
            assert type(found) is np.ndarray
            assert found.dtype == wanted.dtype
            assert found.dtype.isnative
            assert found.flags.c_contiguous
            assert found.flags.writeable
            np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype is np.float32 else 1e-14)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_gradients_of_layouts(layout):
    g = wg.grad(lambda x: (np.sin(x[1:]) * x[:-1] * np.flip(x, 1)[1:]).sum())
    x = layout(base())
    found = wg.compile(g)(x)
    np.testing.assert_allclose(found, g(np.array(x, np.float64)), rtol=1e-12)
    assert found.dtype == np.float64


@pytest.mark.parametrize("dtype", ["i8", "i4", "?", "u1", "i2", "f2", "c16", "c8", ">f8", ">i4"])
def test_dtypes_that_numpy_computes(dtype):
    """What the compiler does not compute with, NumPy does."""
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    g = lambda x: (np.stack([x, x])[:, ::-1], x[1:])
    for found, wanted in zip(wg.compile(g)(x), g(x), strict=True):
        assert found.dtype == wanted.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, wanted)


def test_strings_are_errors():
    with pytest.raises(TypeError, match="numbers"):
        wg.compile(lambda x: x[::-1])(np.array(["a", "b"]))


def test_the_same_array_twice():
    x = base()
    compiled = wg.compile(f)
    for found, wanted in zip(compiled(x, x), f(x, x.copy()), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    for found, wanted in zip(compiled(x[1:], x[:-1]), f(x[1:].copy(), x[:-1].copy()), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_an_output_that_is_an_input_is_a_copy():
    x, y = base(), base()
    compiled = wg.compile(lambda x, y: (x, y, x, x[1:], x.reshape(-1), x.T))
    for _ in range(2):
        outs = compiled(x, y)
        for out, wanted in zip(outs, (x, y, x, x[1:], x.reshape(-1), x.T), strict=True):
            np.testing.assert_array_equal(out, wanted)
            assert not np.shares_memory(out, x)
            assert not np.shares_memory(out, y)
    outs[0][...] = 0.0
    assert outs[2].any()
    np.testing.assert_array_equal(outs[4], x.reshape(-1))


def test_an_output_that_is_a_constant_is_a_copy():
    table = np.arange(5.0)
    compiled = wg.compile(lambda x: (table, table, x + 1))
    first = compiled(1.0)
    first[0][...] = -1.0
    second = compiled(2.0)
    np.testing.assert_array_equal(second[0], np.arange(5.0))
    np.testing.assert_array_equal(second[1], np.arange(5.0))
    np.testing.assert_array_equal(table, np.arange(5.0))


def test_results_of_one_call_survive_the_next():
    compiled = wg.compile(lambda x: (x * 2, x.sum()))
    first = compiled(np.ones(1000))
    second = compiled(np.full(1000, 5.0))
    assert first[0].max() == 2.0
    assert second[0].min() == 10.0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)], ids=str)
def test_nothing_at_all(shape):
    x = np.zeros(shape)

    def g(x):
        wide = np.concatenate([x, np.ones((*x.shape[:-1], 2))], -1)
        return (
            np.sin(x) + 1,
            x.sum(),
            x.sum(0),
            x.prod(-1),
            np.any(x),
            wide,
            wide.sum(-1),
            x.T @ x if x.ndim == 2 else x,
        )

    for found, wanted in zip(wg.compile(g)(x), g(x), strict=True):
        assert (np.shape(found), found.dtype) == (np.shape(wanted), wanted.dtype)
        np.testing.assert_array_equal(found, wanted)
    gradient = wg.grad(lambda x: np.exp(x).sum() + 1.0)
    np.testing.assert_array_equal(wg.compile(gradient)(x), gradient(x))
    with pytest.raises(ValueError, match="zero-size"):
        wg.compile(lambda x: x.max())(x)


NUMBERS = [
    2,
    2.5,
    -3,
    np.float64(1.5),
    np.float32(1.5),
    np.int64(3),
    np.int32(4),
    np.array(2.0),
    np.array(2, np.float32),
    np.array(7),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda v: f"{type(v).__name__} {v!r}")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
def test_numbers_promote_as_in_numpy(number, dtype):
    x = np.array([0, 1, 1, 0]).astype(dtype)

    def g(x, n):
        return x + n, n * x, x / (n + 1), x * x * n, np.where(x > 0, n, x), np.maximum(x, n), x > n

    for found, wanted in zip(wg.compile(g)(x, number), g(x, number), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype == np.float32 else 1e-15)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda v: f"{type(v).__name__} {v!r}")
def test_results_without_axes_are_numbers(number):
    g = lambda n: (n * 2, n + 0.5, n / 3)
    for _ in range(2):
        for found, wanted in zip(wg.compile(g)(number), g(number), strict=True):
            assert isinstance(found, np.generic)
            assert found == wanted
            assert found.dtype == np.asarray(wanted).dtype


def test_numbers_of_changing_kinds():
    """One function, called with whatever comes."""
    compiled = wg.compile(lambda x, n: x * n)
    x = np.ones(3, np.float32)
    for n in (2, 2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), np.array([2.0]), 2, np.int64(2), 2.0):
        found, wanted = compiled(x, n), x * n
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_array_equal(found, wanted)


def test_shapes_that_change():
    compiled = wg.compile(lambda x: np.cumsum(x) + x.sum())
    for n in (3, 1, 0, 8, 3, 100, 0, 1):
        x = np.arange(float(n))
        np.testing.assert_array_equal(compiled(x), np.cumsum(x) + x.sum())


PROGRAM = """
import hashlib
import numpy as np
import wengert as wg
x = np.random.default_rng(0).normal(size=(1003, 701))
y = np.random.default_rng(1).normal(size=(3, 200_003)).astype(np.float32)
def f(x, y):
    s = np.exp(np.sin(x)) * np.tanh(x)
    sums = s.sum(), s.sum(0), s.sum(1), s.max(), (s * x).mean((0, 1)), x[:, ::2].sum()
    return s, *sums, np.sin(y).sum(1), np.sin(y).sum(0), np.cos(y).sum()
g = wg.grad(lambda x: (np.sin(x) @ x.T[:, :5]).sum() + np.log1p(x * x).sum())
outs = [*wg.compile(f)(x, y), wg.compile(g)(x)]
print([hashlib.sha256(np.ascontiguousarray(out).tobytes()).hexdigest() for out in outs])
"""


def test_results_do_not_depend_on_the_number_of_threads():
    printed = set()
    for threads in (1, 2, 3, 7):
        environment = os.environ | {"WENGERT_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1
    assert hashlib.sha256(b"").hexdigest() not in printed.pop()


def test_many_runs_give_the_same_bits():
    x = base((700, 701))
    compiled = wg.compile(lambda x: (np.sin(x).sum(), np.cos(x).sum(0)))
    first = [np.asarray(y).tobytes() for y in compiled(x)]
    for _ in range(10):
        assert [np.asarray(y).tobytes() for y in compiled(x)] == first


MASK = np.array([True, False, True, True])
KNOWN = np.arange(12.0).reshape(3, 4) > 4.0


@pytest.mark.parametrize(
    "f",
    [lambda x: x[:, MASK], lambda x: x[MASK[:3]] * 2.0, lambda x: x[x.shape[0] - 2 :, MASK].sum(0), lambda x: x[KNOWN]],
)
def test_masks_that_are_known(f):
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(wg.compile(f)(x), f(x))
    np.testing.assert_allclose(wg.compile(wg.jacobian(f))(x), wg.jacobian(f)(x))


@pytest.mark.parametrize(
    "f", [lambda x: x[MASK], lambda x: x[..., MASK[:3]], lambda x: x[:, None, MASK[1:]], lambda x: x[KNOWN.T]]
)
def test_masks_that_do_not_fit_are_refused(f):
    x = np.arange(12.0).reshape(3, 4)
    for run in (f, wg.compile(f), wg.sparse_jacobian(f)):
        with pytest.raises(IndexError):
            run(x)
