"""Reductions, sorting and stacks of matrices are programs where arrays are large."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.threads.pool import LIMITS
from wengert.core import machine, native
from wengert.core.native import LargeSignatures, native_call
from wengert.core.primitive import TABLE, plain_impl

RNG = np.random.default_rng(0)
OTHERS = ("gather", "scatter", "argsort")
SUM, STACK = 1 << 16, 1 << 12  # from which calls are large, with `at_once`
NATIVE = [
    p for p in native_call if isinstance(getattr(p.impl, "large_calls", None), LargeSignatures) and p.name not in OTHERS
]
REDUCTIONS = [p for p in NATIVE if p.kind in ("reduction", "linear") or p.name in ("softmax_weights", "softmax")]
STACKS = [p for p in NATIVE if p not in REDUCTIONS]
SHAPE = (50, 40, 35)
AXES = [(0,), (2,), (0, 2), (0, 1, 2)]


def params_of(primitive, axis, keepdims=False):
    """The parameters of a reduction, from one of its test cases."""
    given = dict(primitive.trial.cases[0].params) | {"axis": axis}
    return given | ({"keepdims": keepdims} if "keepdims" in given else {})


def spd(n, order=3):
    """A stack of symmetric positive definite matrices."""
    a = RNG.normal(size=(n, order, order))
    return a @ a.transpose(0, 2, 1) + order * np.eye(order)


def assert_close(found, expected, dtype="f8"):
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    scale = np.abs(expected)[np.isfinite(expected)].max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=200 * np.finfo(dtype).eps * scale)


def test_the_table_has_reductions_and_stacks():
    assert {"sum", "mean", "max", "min", "prod", "logsumexp", "norm"} <= {p.name for p in REDUCTIONS}
    assert {"solve", "inv", "det", "cholesky", "solve_triangular", "eigh", "qr"} <= {p.name for p in STACKS}


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("primitive", REDUCTIONS, ids=lambda p: p.name)
def test_reductions_are_those_of_numpy(primitive, axis):
    x = RNG.uniform(0.99, 1.01, SHAPE)
    params = params_of(primitive, axis)
    found, expected = native_call.of(primitive)([x], params), plain_impl(primitive)(x, **params)
    assert type(found) is type(expected)
    assert_close(found, expected)


@pytest.mark.parametrize("primitive", REDUCTIONS, ids=lambda p: p.name)
def test_special_values_are_those_of_numpy(primitive):
    x = RNG.uniform(0.5, 1.5, (60, 40)).astype("f4")
    for i, special in enumerate([np.nan, np.inf, -np.inf, 0.0, -0.0]):
        x[i, 3] = special
    x[7], x[8], x[9] = -np.inf, 0.0, -0.0
    x[9, 5] = 0.0
    params = params_of(primitive, (1,))
    with np.errstate(all="ignore"):
        found, expected = native_call.of(primitive)([x], params), plain_impl(primitive)(x, **params)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(expected)[zero])
    usual = np.isfinite(expected)
    np.testing.assert_allclose(found[usual], expected[usual], rtol=1e-4, atol=1e-30)


@pytest.mark.parametrize("axis", [(0,), (0, 2)], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std"])
def test_public_functions_and_their_gradients(name, axis, at_once, monkeypatch):
    x = RNG.uniform(0.9, 1.1, SHAPE)
    weights = RNG.normal(size=getattr(np, name)(x, axis).shape)
    f = lambda x: (getattr(np, name)(x, axis=axis) * weights).sum()
    found = [getattr(wg, name)(x, axis), wg.grad(f)(x)]
    monkeypatch.setattr(native, "IS_ON", False)
    for a, b in zip(found, [getattr(wg, name)(x, axis), wg.grad(f)(x)], strict=True):
        assert_close(a, b)


@pytest.mark.parametrize(
    "layout", [lambda x: x.T, lambda x: x[:, ::2], lambda x: np.asfortranarray(x), lambda x: x.astype(">f8")]
)
def test_layouts(layout, at_once):
    x = layout(RNG.normal(size=(300, 700)))
    np.testing.assert_allclose(wg.sum(x, 0), x.sum(0), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(wg.max(x, 1), x.max(1))


@pytest.mark.parametrize("x", [np.arange(1 << 17), np.ones(1 << 17, bool), np.ones(1 << 17, complex)])
def test_other_dtypes_are_left_to_numpy(x, at_once):
    assert wg.sum(x) == x.sum()
    assert wg.sum(x).dtype == x.sum().dtype


def test_warnings_and_errors_are_those_of_numpy(at_once):
    x = np.full((400, 200), 1e308)
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
        wg.sum(x, 0)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        wg.sum(x, 0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(wg.sum(x, 0)).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_warnings_of_operations_along_rows(axis, at_once, native_calls):
    x = np.ones((200, 100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(wg.special.softmax(x, axis), 1.0 / x.shape[axis], rtol=1e-14)
    x[(slice(None),) * axis + (3,)] = -np.inf
    x[(slice(None),) * (1 - axis) + (7,)] = -np.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
        found = wg.special.softmax(x, axis)
    assert np.isnan(found).sum() == x.shape[axis]
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        wg.special.softmax(x, axis)
    assert set(native_calls) == {("softmax", True)}


def test_softmax_beside_infinity(at_once, monkeypatch):
    x = np.tile([0.0, 1000.0, 3.0], (machine.current.min_elements_of_native_function, 1))
    x[2, 2] = np.inf
    with np.errstate(all="ignore"):
        found = wg.special.softmax(x, 1)
        monkeypatch.setattr(native, "IS_ON", False)
        np.testing.assert_array_equal(found, wg.special.softmax(x, 1))
    np.testing.assert_array_equal(found[1:3], [[0.0, 1.0, 0.0], [0.0, 0.0, np.nan]])


def test_threads_do_not_change_bits(at_once, monkeypatch):
    x = RNG.normal(size=(700, 500)).astype("f4")
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(LIMITS, "threads", threads)
        results.append([wg.sum(x).tobytes(), wg.sum(x, 0).tobytes(), wg.mean(x, 1).tobytes(), wg.prod(x, 0).tobytes()])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_orders_are_those_of_numpy(dtype, axis, at_once, native_calls):
    x = RNG.normal(size=(90, 70)).round(1).astype(dtype)  # many are equal
    x[3], x[5, ::2], x[7], x[9, 1::2] = np.nan, -0.0, np.inf, 0.0
    expected = np.argsort(x, axis, kind="stable")
    for given in (x, np.asfortranarray(x), x[::-1][::-1]):
        found = wg.argsort(given, axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(wg.sort(wg.tensor(x), axis).numpy(), np.sort(x, axis))
    assert native_calls.count(("argsort", True)) == 4


def test_other_kinds_of_sorting_are_left_to_numpy(at_once, native_calls):
    x = RNG.normal(size=machine.current.min_elements_of_native_sort).round(1)
    wg.argsort(x, kind="quicksort")
    wg.argsort(x[1:])
    assert not native_calls


def test_numbers_are_no_large_arrays():
    with machine.using(min_elements_of_native_extreme=2, min_elements_of_native_sum=2):
        for name in ("max", "sum"):
            assert TABLE[name].impl(np.array(3.0), axis=(), keepdims=False) == 3.0


def test_small_arrays_do_not_ask(at_once, native_calls):
    wg.sum(np.ones(SUM - 1))
    wg.linalg.inv(spd(STACK // 13**2, 13))
    assert not native_calls
    wg.sum(np.ones(SUM))
    wg.linalg.inv(spd(STACK // 13**2 + 1, 13))
    assert native_calls == [("sum", True), ("inv", True)]


def test_extremes_are_counted_by_signature_and_sums_are_native_from_the_first_call_on(native_calls):
    x = np.ones((1 << 10, 1 << 10))
    with machine.using(nanoseconds_before_kernel=3 * machine.current.nanoseconds_of_reduced_element * x.size):
        for axis in (0, 1, None, 0, 1, None):
            wg.max(x, axis)
        assert not native_calls
        wg.max(x, 0)
        wg.max(x, 0)
        wg.max(x, None)
        assert native_calls == [("max", True)] * 3
        assert len(TABLE["max"].impl.large_calls.spent) == 3
    native_calls.clear()
    wg.sum(np.ones(1 << 20))
    assert not native_calls
    wg.sum(np.ones(1 << 22))
    assert native_calls == [("sum", True)]


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: wg.linalg.solve(a, b),
        lambda a, b: wg.linalg.inv(a) @ b,
        lambda a, b: wg.linalg.det(a),
        lambda a, b: wg.linalg.cholesky(a) @ b,
        lambda a, b: wg.linalg.solve_triangular(wg.linalg.cholesky(a), b, lower=True),
        lambda a, b: wg.linalg.eigh(a).eigenvalues,
        lambda a, b: wg.linalg.qr(a).R @ b,
    ],
    ids=["solve", "inv", "det", "cholesky", "triangular", "eigh", "qr"],
)
@pytest.mark.parametrize("order", [2, 3, 13])
def test_stacks_and_their_gradients_are_those_of_lapack(f, order, at_once, native_calls, monkeypatch):
    a, b = (
        spd(STACK // order**2 + 5, order),
        RNG.normal(size=(STACK // order**2 + 5, order, 2)),
    )
    weights = RNG.normal(size=f(a, b).shape)
    gradient = wg.grad(lambda a, b: (f(a, b) * weights).sum(), (0, 1))
    found = [f(a, b), *gradient(a, b)]
    assert native_calls
    assert all(is_native for name, is_native in native_calls), native_calls
    monkeypatch.setattr(native, "IS_ON", False)
    for x, y in zip(found, [f(a, b), *gradient(a, b)], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("layout", [lambda b: b, lambda b: np.asfortranarray(b), lambda b: b[:, ::-1]])
@pytest.mark.parametrize("order", [3, 20])
def test_many_right_hand_sides_of_one_matrix(order, layout, at_once, native_calls, monkeypatch):
    a, b = np.tril(spd(1, order)[0]), layout(RNG.normal(size=(order, STACK // order + 1)))
    f = lambda a, b: (wg.linalg.solve_triangular(a, b, lower=True) ** 2).sum()
    found = wg.grad(f, (0, 1))(a, b)
    assert ("solve_triangular", True) in native_calls
    monkeypatch.setattr(native, "IS_ON", False)
    for x, y in zip(found, wg.grad(f, (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def test_matrices_that_run_one_after_the_other_count_more(at_once, native_calls):
    a = spd(12, 13)
    wg.linalg.inv(a)
    wg.linalg.solve_triangular(a, a)
    assert native_calls == [("solve_triangular", True)]
    native_calls.clear()
    wg.linalg.solve_triangular(a[0], a[0])
    wg.linalg.solve_triangular(np.ones((0, 13, 13)), a[0])
    assert not native_calls


@pytest.mark.parametrize("order", [3, 13])
@pytest.mark.parametrize("f", [wg.linalg.inv, wg.linalg.cholesky, lambda a: wg.linalg.solve(a, a)])
def test_errors_are_those_of_lapack(f, order, at_once):
    a = spd(STACK // order, order)
    a[17] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        f(wg.tensor(a, requires_grad=True))
