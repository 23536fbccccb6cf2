"""What users call: sums, means, options, and errors."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.distributed.shard_losses import bits, join, make_data, squares, wrong_shard

import wengert as wg
from wengert.core import machine

DATA = make_data()
NO_FUNCTION: Any = 3
W = np.array([0.3, -0.7, 1.1])


def test_a_mean_is_weighted_by_rows():
    loss = wg.distributed.mean(lambda w, s: ((s[0] @ w - s[1]) ** 2).mean(), DATA)  # one shard has no rows
    x, y = join(DATA)
    whole = lambda w: ((x @ w - y) ** 2).mean()
    np.testing.assert_allclose(loss(W), whole(W), rtol=1e-14)
    np.testing.assert_allclose(wg.grad(loss)(W), wg.grad(whole)(W), rtol=1e-13)
    assert repr(loss) == "<mean of <lambda> over 5 shards>"


def test_a_mean_is_weighted_by_a_function():
    data = [(np.array([1.0, 3.0]), np.array([2.0, 0.0])), (np.array([7.0]), np.array([0.0]))]
    loss = wg.distributed.mean(lambda w, s: w * (s[0] * s[1]).sum() / s[1].sum(), data, weights=lambda s: s[1].sum())
    assert loss(2.0) == 2.0  # the second shard weighs nothing
    assert wg.grad(loss)(2.0) == 1.0
    with pytest.raises(TypeError, match="The weight of a shard has shape"):
        wg.distributed.mean(lambda w, s: w, data, weights=lambda s: s[1])(2.0)


def test_one_shard_and_many():
    one = wg.distributed.sum(squares, DATA[:1])
    assert one(W) == pytest.approx(squares(W, DATA[0]), rel=1e-14)
    many = wg.distributed.sum(lambda w, x: w * x.sum(), list(np.arange(100.0)))
    assert many(2.0) == 9900.0


def test_threads_give_the_same_bits():
    data = [(x, y) for x, y in make_data((40, 40, 13, 40), columns=5)]
    w = np.linspace(0.0, 1.0, 5)
    loss = wg.value_and_grad(wg.distributed.sum(squares, data))
    right = loss(w)
    with machine.using(min_bytes_of_threaded_shard=0, threads=3):
        for _ in range(5):
            assert [bits(x) for x in loss(w)] == [bits(x) for x in right]


def test_functions_are_traced_once(monkeypatch):
    traces = []

    def f(w, x):
        traces.append(1)
        return (w * x).sum()

    loss = wg.distributed.sum(f, [np.ones(3), np.ones(3), np.ones(2)])
    for _ in range(3):
        loss(2.0)
        wg.grad(loss)(2.0)
    assert len(traces) == 2  # once for each kind of shard


def test_progress_is_a_line():
    console = Console(file=io.StringIO(), width=80)
    wg.distributed.sum(squares, DATA, progress=console)(W)
    assert "5 of 5 shards" in console.file.getvalue()


def test_single_precision_transfer():
    exact, rounded = (wg.value_and_grad(wg.distributed.sum(squares, DATA, transfer=t))(W) for t in (None, "float32"))
    assert exact[0] == rounded[0]
    assert rounded[1].dtype == np.float64
    assert not np.array_equal(exact[1], rounded[1])
    np.testing.assert_allclose(rounded[1], exact[1], rtol=1e-6)


def test_an_error_names_the_shard():
    with pytest.raises(ValueError, match="the disk is on fire") as caught:
        wg.distributed.sum(lambda w, x: w * x.sum(), [lambda: np.ones(3), wrong_shard])(1.0)
    assert caught.value.__notes__ == ["This happened in shard 'wrong_shard'."]


def test_an_operation_that_fails_names_the_shard():
    data = [np.eye(2)[None], np.zeros((1, 2, 2))]
    loss = wg.distributed.sum(lambda w, x: w * wg.linalg.inv(x).sum(), data)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        loss(1.0)
    assert "This happened in shard 'data[1]'." in caught.value.__notes__


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: wg.distributed.sum(NO_FUNCTION, DATA), TypeError, "A sum is that of a function"),
        (lambda: wg.distributed.sum(squares, []), ValueError, "the list of shards is empty"),
        (lambda: wg.distributed.sum(squares, ()), ValueError, "There is no data"),
        (lambda: wg.distributed.sum(squares, {"x": "text"}), ValueError, "is no .npy, .zarr, .parquet"),
        (lambda: wg.distributed.sum(squares, object()), TypeError, "data is a object"),
        (lambda: wg.distributed.sum(squares, ["absent.npy"]), FileNotFoundError, "There is no file 'absent.npy'"),
        (lambda: wg.distributed.sum(squares, "no_such_folder/*.npy"), FileNotFoundError, "No file matches"),
        (lambda: wg.distributed.sum(squares, np.ones(3), rows=0), ValueError, "rows=0"),
        (lambda: wg.distributed.sum(squares, np.float64(3.0)), TypeError, "data has no axes"),
        (lambda: wg.distributed.sum(squares, wrong_shard), TypeError, "Pass a list"),
        (lambda: wg.distributed.sum(squares, DATA, transfer="float16"), ValueError, "transfer='float16'"),
        (lambda: wg.distributed.sum(squares, DATA, retries=-1), ValueError, "retries=-1"),
        (lambda: wg.distributed.sum(squares, DATA, timeout=0), ValueError, "timeout=0"),
        (lambda: wg.distributed.sum(squares, [DATA[0], DATA[0][0]]), TypeError, "All have the same structure"),
        (
            lambda: wg.distributed.sum(squares, (np.ones((5, 3)), np.ones(7)), rows=5),
            ValueError,
            r"data\[0\] has 1, data\[1\] has 2 shards",
        ),
    ],
)
def test_bad_input(make, kind, message):
    with pytest.raises(kind, match=message) as caught:
        make()
    assert "test_sums.py" in str(caught.value) or kind is TypeError and "same structure" in str(caught.value)


@pytest.mark.parametrize(
    ("f", "data", "kind", "message"),
    [
        (lambda w, x: (x * w).sum(), [np.ones(3), np.ones(3, np.float32)], TypeError, "Array 0 of shard 'data.1.'"),
        (lambda w, x: (x * w).sum(), [np.ones((3, 2)), np.ones((3, 4))], TypeError, "differ in the length"),
        (lambda w, x: x * w, [np.ones(3), np.ones(2)], TypeError, "must not depend on the number of rows"),
        (lambda w, x: (x @ np.ones(7)).sum() * w, [np.ones((3, 2))], ValueError, "matmul"),
        (lambda w, x: float(x.sum()) * w, [np.ones(3)], TypeError, "float"),
        (lambda w, x: w * x.sum(), [lambda: "text"], TypeError, "Shard '<lambda>' has an array of"),
        (lambda w, x: w * x.sum(), [lambda: None], ValueError, "All shards are empty"),
    ],
)
def test_data_that_do_not_match_the_function(f, data, kind, message):
    with pytest.raises(kind, match=message):
        wg.distributed.sum(f, data)(1.0)


def test_a_function_that_cannot_be_traced_says_so():
    with pytest.raises(TypeError) as caught:
        wg.distributed.sum(lambda w, x: w * len(str(float(x[0]))), [np.ones(3)])(1.0)
    assert "must be traceable" in " ".join(caught.value.__notes__)


def test_a_shard_that_changes_is_an_error():
    lengths = iter([3, 4])
    loss = wg.distributed.sum(lambda w, x: w * x.sum(), [lambda: np.ones(next(lengths))], persist=False)
    with pytest.raises(TypeError, match="Data must not change between two calls"):
        loss(1.0)


def test_sums_inside_of_sums_are_an_error():
    inner = wg.distributed.sum(squares, DATA)
    outer = wg.distributed.sum(lambda w, x: inner(w) * x.sum(), [np.ones(3)])
    with pytest.raises(TypeError, match="Sum over them outside of other shards"):
        outer(W)
