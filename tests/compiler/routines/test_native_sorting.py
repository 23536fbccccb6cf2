"""Sorting, searching, counting and cumulative sums in native code: NumPy's results, ties and NaNs included."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.kernels.test_scatters import threads

import wengert as wg
from wengert.core import machine

DTYPES = ("f8", "f4", "i8", "i4", "?")
LENGTHS = (1, 2, 3, 47, 48, 49, 50, 257, 3000)
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e300, -1e300)


def numbers(shape, dtype: str, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal(shape) * 3
    if dtype == "?":
        return x > 0
    return x.astype(dtype) if dtype[0] == "f" else (x * 1e5).astype(dtype)


def samples(n: int, dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    found = {"different": numbers(n, dtype), "ties": np.trunc(numbers(n, "f8")).astype(dtype)}
    found |= {
        "equal": np.ones(n, dtype),
        "sorted": np.sort(numbers(n, dtype)),
        "falling": np.sort(numbers(n, dtype))[::-1],
    }
    if dtype[0] == "f":
        with np.errstate(over="ignore"):
            found["special"] = rng.choice(SPECIAL, n).astype(dtype)
    elif dtype[0] == "i":
        ends = np.iinfo(dtype)
        found["ends"] = rng.choice([ends.min, ends.max, 0, -1, 1], n).astype(dtype)
    return found


def assert_bits(found, expected) -> None:
    """Equal in dtype, shape and bits; of NaNs, that they are NaN."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found) & ~np.isnan(found), np.signbit(expected) & ~np.isnan(expected))
    np.testing.assert_array_equal(found, expected)


def compile_natively(f, *args):
    compiled = wg.compile(f)
    assert not compiled.report(*args).fallbacks
    return compiled


@pytest.fixture(params=[0, 1 << 40], ids=["library", "native"])
def nanoseconds_of_call(request):
    """What is sorted without its order is left to NumPy, or nothing is."""
    with machine.using(nanoseconds_of_library_call=request.param, nanoseconds_of_sorted_vector=0):
        yield request.param


def compile_either(f, nanoseconds_of_call: int, *args):
    """The compiled function, in which NumPy does something exactly if calls cost nothing."""
    compiled = wg.compile(f)
    assert bool(compiled.report(*args).fallbacks) == (nanoseconds_of_call == 0)
    return compiled


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_argsort_is_stable(n, dtype):
    for name, x in samples(n, dtype).items():
        order = compile_natively(wg.argsort, x)(x)
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"), err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_sort(n, dtype, nanoseconds_of_call):
    for x in samples(n, dtype).values():
        for descending in (False, True):
            f = lambda x, d=descending: wg.sort(x, descending=d)
            order = np.argsort(x, kind="stable")
            if descending:
                order = (n - 1 - np.argsort(x[::-1], kind="stable"))[::-1]
            is_native = dtype == "?" or descending
            compiled = compile_natively(f, x) if is_native else compile_either(f, nanoseconds_of_call, x)
            assert_bits(compiled(x), x[order])


@pytest.mark.parametrize("shape", [(5, 7, 60), (40, 3), (3, 100), (64, 600)])
def test_sort_along_axes(shape, nanoseconds_of_call):
    x = np.round(numbers(shape, "f8"), 1)
    for axis in (*range(x.ndim), None):
        assert_bits(compile_natively(lambda x, a=axis: wg.argsort(x, a), x)(x), np.argsort(x, axis, kind="stable"))
        f = compile_either(lambda x, a=axis: wg.sort(x, a), nanoseconds_of_call, x)
        assert_bits(f(x), np.sort(x, axis, kind="stable"))


@pytest.mark.parametrize("shape", [(200_001,), (64, 3000), (3000, 64)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_sort_on_all_cores(shape, dtype, nanoseconds_of_call):
    x = np.round(numbers(shape, dtype), 3)
    for axis in range(x.ndim):
        f = compile_either(lambda x, a=axis: (wg.argsort(x, a), wg.sort(x * 2, a)), nanoseconds_of_call, x)
        for count in (1, 2, 3):
            with threads(count):
                order, values = f(x)
                np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))
                assert_bits(values, np.sort(x * 2, axis, kind="stable"))


def test_an_order_that_is_not_determined_is_numpys():
    x = np.ones(100)
    f = wg.compile(lambda x: wg.argsort(x, kind="quicksort"))
    assert f.report(x).fallbacks
    np.testing.assert_array_equal(f(x), np.argsort(x, kind="quicksort"))


def test_nothing_is_sorted():
    for shape in ((0,), (0, 3), (3, 0)):
        x = np.zeros(shape)
        np.testing.assert_array_equal(wg.compile(wg.argsort)(x), np.argsort(x))


@pytest.mark.parametrize("n", [30, 500])
def test_gradients_of_what_is_sorted(n):
    x, w = numbers(n, "f8"), numbers(n, "f8", 1)
    for f in (
        lambda x: (wg.sort(x) * w).sum(),
        lambda x: (wg.sort(x, descending=True) * w).sum() + wg.sort(x)[3],
        lambda x: np.median(x) + np.quantile(x, 0.3) ** 2,
        lambda x: (np.cumsum(wg.sort(x)) * w).sum(),
        lambda x: (np.cumprod(np.cos(x)) * w).sum(),
    ):
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(wg.compile(wg.grad(f))(x), wg.grad(f)(x), rtol=1e-10, atol=1e-12)


def test_rows_of_batches():
    x = numbers((20, 60), "f8")
    f = wg.vmap(lambda row: wg.sort(row)[::2] + np.cumsum(row)[::2])
    np.testing.assert_array_equal(wg.compile(f)(x), f(x))


# Cumulative sums


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
def test_accumulation(function, dtype):
    for shape in ((1,), (2,), (17,), (3, 7), (9, 40), (3, 5, 4), (33, 33), (2, 1, 300), (600, 700)):
        x = numbers(shape, dtype)
        for axis in range(x.ndim):
            with np.errstate(all="ignore"):
                expected = function(x, axis)
            f = compile_natively(lambda x, a=axis: function(x, a), x)
            for count in (1, 2):
                with threads(count):
                    assert_bits(f(x), expected)


def test_accumulation_of_special_numbers():
    x = np.array([-0.0, -0.0, 1.0, np.inf, -1.0, -np.inf, 2.0, np.nan])
    for n in range(1, 9):
        for function in (np.cumsum, np.cumprod):
            with np.errstate(all="ignore"):
                assert_bits(wg.compile(lambda x, f=function: f(x))(x[:n]), function(x[:n]))


# Searching and counting


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f4"), ("i8", "i8"), ("i4", "i8"), ("i8", "f8"), ("f4", "f8")])
def test_search(dtypes, side):
    for n in (1, 2, 3, 4, 7, 100, 1000):
        for m in (1, 2, 3, 8, 9, 1001, 40_000):
            a, v = np.sort(np.round(numbers(n, dtypes[0]))), np.round(numbers(m, dtypes[1], 1))
            if dtypes[0][0] == "f" and n > 3:
                a[-2:] = np.nan
            if dtypes[1][0] == "f" and m > 3:
                v[:4] = np.nan, np.inf, -np.inf, -0.0
            f = wg.compile(lambda a, v: wg.searchsorted(a, v, side))
            np.testing.assert_array_equal(f(a, v), np.searchsorted(a, v, side))
    assert not f.report(a, v).fallbacks


def test_search_in_nothing():
    f = wg.compile(wg.searchsorted)
    np.testing.assert_array_equal(f(np.zeros(0), np.arange(3.0)), np.zeros(3, int))
    np.testing.assert_array_equal(f(np.arange(3.0), np.zeros((0, 2))), np.zeros((0, 2), int))


EDGES = {
    "tens": 10,
    "repeated": np.array([0.0, 1.0, 1.0, 2.0]),
    "last": np.array([0.0, 2.0, 2.0]),
    "one": np.array([-1.0, 1.0]),
}


@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_histogram(edges, dtype):
    for x in (numbers(1000, dtype), np.array([0, 1, 1, 2, 2, 2, 3], dtype), numbers((30, 4), dtype), numbers(0, dtype)):
        found = wg.compile(lambda x: wg.histogram(x, edges)[0])(x)
        assert_bits(found, np.histogram(x, edges)[0])


def test_histogram_ignores_nan():
    x = np.array([np.nan, 0.5, 1.0, np.inf, -np.inf])
    np.testing.assert_array_equal(wg.compile(lambda x: wg.histogram(x, EDGES["one"])[0])(x), [2])


def test_histogram_with_falling_edges_is_an_error():
    f = wg.compile(lambda x, edges: wg.histogram(x, edges)[0])
    with pytest.raises(ValueError, match="monotonically"):
        f(np.arange(3.0), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="monotonically"):
        wg.compile(lambda x: wg.histogram(x, np.array([1.0, 0.0]))[0])(np.arange(3.0))


def test_counts_and_weights():
    x, w = np.random.default_rng(0).integers(0, 50, 100_000), numbers(100_000, "f8")
    f = wg.compile(lambda w: wg.bincount(x, w, 60))
    for count in (1, 2):
        with threads(count):
            np.testing.assert_allclose(f(w), np.bincount(x, w, 60), rtol=1e-10)


# Indices of extremes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("find", [np.argmax, np.argmin])
def test_indices_of_extremes(find, dtype):
    for n in LENGTHS:
        for name, x in samples(n, dtype).items():
            np.testing.assert_array_equal(compile_natively(lambda x: find(x), x)(x), find(x), err_msg=name)
    x = np.round(numbers((7, 40), dtype).astype("f8")).astype(dtype)
    for axis in (0, 1):
        for keepdims in (False, True):
            f = compile_natively(lambda x, a=axis, k=keepdims: find(x, a, keepdims=k), x)
            np.testing.assert_array_equal(f(x), find(x, axis, keepdims=keepdims))
