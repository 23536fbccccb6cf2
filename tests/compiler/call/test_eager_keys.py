"""Reads and additions at keys with large arrays become programs when their signatures come again."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.call.parted_program import compile_parts
from wengert.compiler.threads.pool import LIMITS
from wengert.control.bodies import trace_body
from wengert.core import machine, native
from wengert.core.native import native_call
from wengert.core.primitive import TABLE, plain_impl
from wengert.core.spec import Spec
from wengert.ops.indexing import subscripts
from wengert.ops.indexing.key import Hole, Index

RNG = np.random.default_rng(0)
N = machine.current.min_elements_of_native_key
DTYPES = ["f8", "f4"]
GATHER, SCATTER = TABLE["gather"], TABLE["scatter"]


def indices(length, shape=(N,), dtype="i8"):
    """Integers from both sides, some of them equal."""
    return RNG.integers(-length, length, shape).astype(dtype)


CASES = {
    "rows": ((300, 7), Index((Hole.ARRAY,), True), [indices(300)]),
    "numbers": ((5000,), Index((Hole.ARRAY,), True), [indices(5000, (64, 65), "i4")]),
    "pairs": ((40, 50), Index((Hole.ARRAY, Hole.ARRAY), True), [indices(40, dtype="i4"), indices(50)]),
    "grid": ((40, 50), Index((Hole.ARRAY, Hole.ARRAY), True), [indices(40, (5, 1)), indices(50, (1, N))]),
    "rows of stacks": ((40, 3, 5), Index((Hole.ARRAY, slice(None), ...), True), [indices(40)]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_reads_have_the_bits_of_numpy(case, dtype):
    shape, key, arrays = CASES[case]
    x = RNG.normal(size=shape).astype(dtype)
    found = native_call.of(GATHER)([x, *arrays], {"key": key})
    expected = x[key.fill(arrays)]
    assert found.tobytes() == expected.tobytes()
    assert (found.shape, found.dtype, found.strides) == (expected.shape, expected.dtype, expected.strides)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_additions_have_the_order_of_numpy(case, dtype):
    shape, key, arrays = CASES[case]
    expected = np.zeros(shape, dtype)
    t = RNG.normal(size=expected[key.fill(arrays)].shape).astype(dtype)
    t *= RNG.uniform(size=t.shape) ** 9  # of many sizes
    t[t < -0.1] = -0.0
    np.add.at(expected, key.fill(arrays), t)
    assert plain_impl(SCATTER)(t, *arrays, key=key, shape=shape).tobytes() == expected.tobytes()
    for threads in (1, 3, 8):
        with machine.using(threads=threads, min_operations_per_thread=1):
            found = native_call.of(SCATTER)([t, *arrays], {"key": key, "shape": shape})
        assert found.dtype == dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_additions_to_few_elements_are_close_to_those_of_numpy(dtype, monkeypatch):
    t, groups = RNG.normal(size=(40_000, 3)).astype(dtype), indices(20, 40_000)
    params = {"key": Index((Hole.ARRAY,), True), "shape": (20, 3)}
    found = native_call.of(SCATTER)([t, groups], params)
    expected = plain_impl(SCATTER)(t, groups, **params)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1000 * np.finfo(dtype).eps * abs(expected).max())
    calls = []
    monkeypatch.setattr(native, "run_natively", lambda *call: calls.append(call))
    SCATTER.impl(t, groups, **params)
    assert len(calls) == 1, "they have an order of their own, so they are native from the first call on"
    SCATTER.impl(t, groups % 2000, **params | {"shape": (2000, 3)})
    assert len(calls) == 1, "these have the order of NumPy, which runs the first calls"


def test_programs_do_not_interleave_several_additions():
    """A sum of two scatters: all additions of one, then all of the other, as in eager code."""
    key, shape = Index((Hole.ARRAY,), True), (300, 4)
    t = RNG.normal(size=(3000, 4)) * RNG.uniform(size=(3000, 4)) ** 9
    arrays = [t, t[::-1].copy(), indices(300, 3000), indices(300, 3000)]

    def add_both(values):
        t, u, i, j = values
        return [
            subscripts._scatter(t * 2.0, i, key=key, shape=shape) + subscripts._scatter(t * u, j, key=key, shape=shape)
        ]

    run = compile_parts(trace_body(add_both, list(map(Spec.of, arrays))), arrays)
    assert run(*arrays)[0].tobytes() == add_both(arrays)[0].tobytes()


def test_numpy_adds_rows_without_a_program(monkeypatch):
    """Few rows of a large table, and many of a small one."""
    monkeypatch.setattr(native, "IS_ON", False)
    for count, rows in ((50, 1000), (N, 30)):
        i, t = indices(rows, (count,)), RNG.normal(size=(count, 6))
        expected = np.zeros((rows, 6))
        for row, v in zip(i, t, strict=True):
            expected[row] += v
        found = SCATTER.impl(t, i, key=Index((Hole.ARRAY,), True), shape=(rows, 6))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_public_functions(dtype, at_once, native_calls, monkeypatch):
    table, words = RNG.normal(size=(500, 8)).astype(dtype), indices(500)
    columns = indices(8, (N, 1))
    scores = RNG.normal(size=(N, 8)).astype(dtype)

    def f(table, scores):
        rows = np.take(table, words, axis=0)
        return (rows**2).sum() + (table[words] * scores).sum() + np.take_along_axis(scores, columns, 1).sum()

    found = wg.grad(f, (0, 1))(table, scores)
    assert ("gather", True) in native_calls
    monkeypatch.setattr(native, "IS_ON", False)
    for a, b in zip(found, wg.grad(f, (0, 1))(table, scores), strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=100 * np.finfo(dtype).eps * abs(b).max())


@pytest.mark.parametrize("index", [500, -501])
def test_errors_are_those_of_numpy(index, at_once):
    table, words = np.ones((500, 3)), np.zeros(N, int)
    words[77] = index
    with pytest.raises(IndexError) as expected:
        table[words]
    with pytest.raises(IndexError) as found:
        wg.tensor(table)[words]
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), indices(30)),
        (slice(2, 9), indices(30)),
        (indices(20, dtype="i2"),),
        (RNG.uniform(size=(20, 30)) > 0.5,),
        (np.asfortranarray(indices(20, (70, 70))),),
        (indices(20)[::2].repeat(2), slice(None, None, 2)),
        (3, indices(30)),
        (None, indices(20)),
    ],
)
def test_other_keys_are_those_of_numpy(key, at_once):
    x = RNG.normal(size=(20, 30))
    found, expected = wg.tensor(x)[key].numpy(), x[key]
    assert found.strides == expected.strides
    np.testing.assert_array_equal(found, expected)
    weights = RNG.normal(size=expected.shape)
    gradient = np.zeros_like(x)
    np.add.at(gradient, key, weights)
    np.testing.assert_allclose(wg.grad(lambda x: (x[key] * weights).sum())(x), gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("x", [np.arange(600).reshape(20, 30), np.ones((20, 30), complex), np.ones((60, 30))[::3]])
def test_other_arrays_are_those_of_numpy(x, at_once):
    i = indices(20)
    found = GATHER.impl(x, i, key=Index((Hole.ARRAY,), True))
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x[i])


def test_threads_do_not_change_bits(monkeypatch):
    shape, key, arrays = (3000, 9), Index((Hole.ARRAY,), True), [indices(3000, (40_000,))]
    t = RNG.normal(size=(40_000, 9)).astype("f4")
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(LIMITS, "threads", threads)
        results.append(native_call.of(SCATTER)([t, *arrays], {"key": key, "shape": shape}).tobytes())
    assert results[0] == results[1] == results[2]


def test_few_indices_do_not_ask(at_once, native_calls):
    x, key = np.ones((30, 4)), Index((Hole.ARRAY,), True)
    GATHER.impl(x, indices(30, (N - 1,)), key=key)
    plain_impl(SCATTER)(np.ones((N, 4)), indices(30), key=key, shape=(30, 4))
    SCATTER.impl(np.ones(N), key=Index(slice(0, N)), shape=(2 * N,))
    assert not [name for name, is_native in native_calls if is_native]
    GATHER.impl(x, indices(30), key=key)
    assert native_calls[-1] == ("gather", True)


def test_signatures_are_counted_one_by_one(native_calls):
    x, i, key = np.ones((30, 4)), indices(30), Index((Hole.ARRAY,), True)
    with machine.using(nanoseconds_before_kernel=3 * machine.current.nanoseconds_of_element_at_key * N * 4):
        for table in (x, x, x[:20].astype("f4")):
            GATHER.impl(table, np.abs(i) % 20, key=key)
        assert not native_calls
        GATHER.impl(x, i, key=key)
    assert native_calls == [("gather", True)]
