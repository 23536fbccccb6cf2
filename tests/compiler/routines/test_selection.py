"""Selection: the elements of a stable sort, found without sorting all, by native code or by NumPy, and partitions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.kernels.test_scatters import threads
from tests.compiler.routines.test_native_sorting import (  # noqa: F401
    assert_bits,
    compile_either,
    nanoseconds_of_call,
    numbers,
    samples,
)

import wengert as wg

LENGTHS = (1, 2, 12, 13, 50, 257, 2100, 5000)
DTYPES = ("f8", "f4", "i8", "i4", "?")


def stable_partition(x, kth):
    """The order of a row: the elements at `kth` of a stable sort, and all others between them as they were."""
    order, kths = np.argsort(x, kind="stable"), sorted({k % len(x) for k in np.ravel(kth).tolist()})
    found, start = [], 0
    for k in kths:
        found += [*sorted(order[start:k].tolist()), order[k]]
        start = k + 1
    return np.array(found + sorted(order[start:].tolist()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_argpartition(n, dtype, nanoseconds_of_call):  # noqa: F811
    middle = wg.compile(lambda x: wg.argpartition(x, n // 2))
    several = wg.compile(lambda x: wg.argpartition(x, (0, n // 3, -1, n // 2)))
    for name, x in samples(n, dtype).items():
        np.testing.assert_array_equal(middle(x), stable_partition(x, n // 2), err_msg=name)
        np.testing.assert_array_equal(several(x), stable_partition(x, (0, n // 3, -1, n // 2)), err_msg=name)


@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("shape", [(5, 7, 60), (40, 3), (2, 5000), (64, 600)])
def test_axes(shape, dtype, nanoseconds_of_call):  # noqa: F811
    x = np.round(numbers(shape, "f8"), 1).astype(dtype)
    for axis in (*range(x.ndim), None):
        rows = x.reshape(-1) if axis is None else x
        k = rows.shape[axis or 0] // 3
        expected = np.apply_along_axis(lambda row, k=k: stable_partition(row, k), axis or 0, rows)
        f = wg.compile(lambda x, a=axis, k=k: (wg.argpartition(x, k, a), wg.partition(x, k, a)))
        order, values = f(x)
        np.testing.assert_array_equal(order, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(rows, expected, axis or 0))


def test_eager_and_compiled_partitions_agree():
    x = np.round(numbers((6, 300), "f8"), 1)
    for kth in (0, 100, -1, (3, 200)):
        f = lambda x, kth=kth: (wg.partition(x, kth), wg.argpartition(x, kth), wg.partition(x, kth)[..., :3] * 2.0)
        for out, expected in zip(wg.compile(f)(x), f(wg.tensor(x)), strict=True):
            np.testing.assert_array_equal(out, expected.numpy() if isinstance(expected, wg.Tensor) else expected)


READERS = {
    "one of a sort": (lambda x: wg.sort(x)[..., 7], lambda order, ordered: ordered[..., 7]),
    "the last ones": (lambda x: wg.sort(x)[..., -3:], lambda order, ordered: ordered[..., -3:]),
    "scattered ones": (
        lambda x: wg.sort(x)[..., np.array([30, 2, 2, -1])],
        lambda order, ordered: ordered[..., [30, 2, 2, -1]],
    ),
    "of an order": (lambda x: wg.argsort(x)[..., :4], lambda order, ordered: order[..., :4]),
    "of a partition": (lambda x: wg.partition(x, (20, 40))[..., 40], lambda order, ordered: ordered[..., 40]),
    "of the order of a partition": (lambda x: wg.argpartition(x, 30)[..., 30], lambda order, ordered: order[..., 30]),
    "two readers": (
        lambda x: wg.sort(x)[..., 3] + wg.sort(x)[..., -1],
        lambda order, ordered: ordered[..., 3] + ordered[..., -1],
    ),
}


@pytest.mark.parametrize("shape", [(49,), (100,), (3, 400), (6000,)])
@pytest.mark.parametrize("name", READERS)
def test_few_positions_are_selected(name, shape, nanoseconds_of_call):  # noqa: F811
    f, expected = READERS[name]
    for dtype in ("f8", "f4", "i8"):
        x = np.round(numbers(shape, "f8"), 1).astype(dtype)
        compiled = compile_either(f, nanoseconds_of_call, x)
        assert any("select" in step for step in compiled.report(x).steps)
        order = np.argsort(x, axis=-1, kind="stable")
        found = expected(order, np.take_along_axis(x, order, -1))
        assert_bits(np.asarray(compiled(x)), np.asarray(found))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: wg.sort(x)[::10],
        lambda x: wg.sort(x)[5:60],
        lambda x: wg.sort(x)[3] + wg.sort(x),
        lambda x: wg.sort(x)[np.argmax(x)],
        lambda x: wg.sort(x)[np.array([3, 9])[::-1]] * wg.sort(x).sum(),
    ],
)
def test_others_are_sorted(f):
    x = numbers((100,), "f8")
    compiled = wg.compile(f)
    assert any("sort" in step for step in compiled.report(x).steps)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)


STATISTICS = {
    "median": np.median,
    "median of rows": lambda x: np.median(x, axis=1),
    "median of columns": lambda x: np.median(x, axis=0),
    "quantiles": lambda x: np.quantile(x, [0.1, 0.5], axis=1),
    "percentile": lambda x: np.percentile(x, 30.0, method="nearest"),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_do_not_sort(name, dtype, nanoseconds_of_call):  # noqa: F811
    f, x = STATISTICS[name], numbers((99, 130), dtype)
    compiled = compile_either(f, nanoseconds_of_call, x)
    steps = compiled.report(x).steps
    assert any("select" in step for step in steps)
    assert not any("sort" in step for step in steps)
    rtol = 1e-6 if dtype == "f4" else 1e-13
    np.testing.assert_allclose(compiled(x), f(x), rtol=rtol)
    if dtype != "i8":
        x[3, 5] = np.nan
        np.testing.assert_allclose(compiled(x), f(x), rtol=rtol)


def test_gradients_of_a_median_and_a_partition(nanoseconds_of_call):  # noqa: F811
    x = numbers((7, 101), "f8")
    for f in (
        lambda x: np.median(x, axis=1).sum(),
        lambda x: (np.quantile(x, 0.3, axis=1) ** 2).sum(),
        lambda x: (np.partition(x, 5)[..., :5] ** 2).sum(),
    ):
        np.testing.assert_allclose(wg.compile(wg.grad(f))(x), wg.grad(f)(x), rtol=1e-12)


def spread(n: int) -> dict[str, np.ndarray]:
    """Long rows: sorted, periodic, few values, many NaNs."""
    i, rng = np.arange(n), np.random.default_rng(0)
    return {
        "sorted": i / n,
        "falling": -i / n,
        "periodic": (i % 16) + 1e-9 * i,
        "two values": (i % 3 == 0).astype(float),
        "many NaNs": np.where(i % 2 == 0, np.nan, rng.random(n)),
        "one large": np.where(i == n // 2, 1e300, 1.0),
        "zeros": np.where(i % 2 == 0, 0.0, -0.0),
        "exponents": 2.0 ** (rng.random(n) * 600 - 300),
    }


@pytest.mark.parametrize("n", [4096, 20_011])
def test_long_rows(n, nanoseconds_of_call):  # noqa: F811
    kth = (0, n // 2, n // 2 + 1, n - 1)
    f = wg.compile(lambda x: (wg.argsort(x)[np.array(kth)], wg.argpartition(x, n // 2)))
    for name, x in (*spread(n).items(), *samples(n, "f8").items()):
        found, order = f(x)
        np.testing.assert_array_equal(found, np.argsort(x, kind="stable")[list(kth)], err_msg=name)
        np.testing.assert_array_equal(order, stable_partition(x, n // 2), err_msg=name)


def test_many_rows_on_all_cores(nanoseconds_of_call):  # noqa: F811
    x = numbers((200, 300), "f4")
    f = lambda x: (wg.argpartition(x, 100), np.median(x, axis=1))
    with threads(1):
        one = wg.compile(f)(x)
    with threads(3):
        several = wg.compile(f)(x)
    for a, b in zip(one, several, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one[0], np.apply_along_axis(lambda row: stable_partition(row, 100), 1, x))


@pytest.mark.parametrize("largest", [True, False])
def test_few_of_the_largest_are_selected(largest, nanoseconds_of_call):  # noqa: F811
    x = np.round(numbers((4, 300), "f8"), 1)
    f = lambda x: wg.topk(x, 5, largest=largest)
    compiled = compile_either(f, nanoseconds_of_call, x)
    assert not any("argsort" in step for step in compiled.report(x).steps)
    for out, expected in zip(compiled(x), f(x), strict=True):
        np.testing.assert_array_equal(out, expected)


def test_a_position_outside_is_an_error():
    with pytest.raises(ValueError, match="kth"):
        wg.compile(lambda x: wg.partition(x, 9))(np.ones(5))
