"""Data from everywhere: the shards have the rows of the data, each once, in their order."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from tests.distributed.shard_losses import squares

import wengert as wg

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(23, 3)), RNG.normal(size=23)
W = np.array([0.3, -0.7, 1.1])
RIGHT = squares(W, (X, Y))


def check(data, f=squares, count=None, **options):
    loss = wg.distributed.sum(f, data, **options)
    assert loss(W) == pytest.approx(RIGHT, rel=1e-13)
    assert count is None or len(loss.shards) == count
    return loss


def by_columns(w, shard):
    return squares(w, (np.stack([shard[f"x{k}"] for k in range(3)], axis=1), shard["y"]))


def test_arrays():
    check((X, Y), count=1)
    check((X, Y), rows=5, count=5)
    check({"x": X, "y": Y}, lambda w, s: squares(w, (s["x"], s["y"])), rows=23, count=1)
    check((wg.tensor(X), wg.tensor(Y)), rows=7)
    check((np.asfortranarray(X), Y[::-1][::-1]), rows=6)


def test_lists():
    check([(X[:4], Y[:4]), (X[4:], Y[4:])], count=2)
    check([lambda: (X[:4], Y[:4]), lambda: (X[4:], Y[4:])], count=2)


def test_functions_stay_in_memory_unless_they_shall_not():
    for persist, expected in ((None, 1), (True, 1), (False, 3)):
        made = []
        loss = check([lambda made=made: (made.append(1), (X, Y))[1]], persist=persist)
        loss(W)
        assert len(made) == expected


def test_npy_files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    loss = check((tmp_path / "x.npy", str(tmp_path / "y.npy")), rows=5, count=5)
    assert loss.shards.shards[1].name == "x.npy rows 5 to 10 and y.npy rows 5 to 10"
    assert not loss.shards.kept  # they are mapped to memory while they are used
    check([(tmp_path / "x.npy", tmp_path / "y.npy")], count=1)
    for k in range(3):
        np.save(tmp_path / f"part{k}.npy", np.concatenate([X, Y[:, None]], axis=1)[k * 8 : (k + 1) * 8])
    check(str(tmp_path / "part*.npy"), lambda w, s: squares(w, (s[:, :3], s[:, 3])), count=3)


def test_npy_files_that_have_no_rows(tmp_path):
    np.save(tmp_path / "empty.npy", X[:0])
    assert wg.distributed.sum(lambda w, x: (x @ w).sum(), tmp_path / "empty.npy")(W) == 0.0
    np.save(tmp_path / "number.npy", np.float64(3.0))
    with pytest.raises(ValueError, match="without axes"):
        wg.distributed.sum(squares, tmp_path / "number.npy")
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    with pytest.raises(ValueError, match="first axis innermost"):
        wg.distributed.sum(squares, tmp_path / "columns.npy")


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    for name, array in (("x", X), ("y", Y)):
        stored = zarr.create_array(
            tmp_path / f"{name}.zarr", shape=array.shape, chunks=(4, *array.shape[1:]), dtype="f8"
        )
        stored[:] = array
    check((tmp_path / "x.zarr", tmp_path / "y.zarr"), rows=9, count=3)  # of two chunks
    opened = tuple(zarr.open_array(tmp_path / f"{name}.zarr", mode="r") for name in "xy")
    check(opened, rows=4, count=6)


def test_zarr_by_its_names_alone(tmp_path, monkeypatch):
    zarr = types.ModuleType("zarr")
    stored = type("Array", (), {"__module__": "zarr", "__getitem__": lambda self, rows: self.numbers[rows]})

    def open_array(path, mode):
        assert mode == "r"
        array = stored()
        array.numbers = X if path.endswith("x.zarr") else Y
        array.shape, array.ndim, array.dtype = array.numbers.shape, array.numbers.ndim, "f8"
        array.chunks, array.name = (4, *array.shape[1:]), "numbers"
        return array

    zarr.open_array = open_array
    monkeypatch.setitem(sys.modules, "zarr", zarr)
    for name in "xy":
        (tmp_path / f"{name}.zarr").mkdir()
    loss = check((tmp_path / "x.zarr", tmp_path / "y.zarr"), rows=9, count=3)
    assert loss.shards.shards[2].name == "x.zarr rows 16 to 23 and y.zarr rows 16 to 23"
    loss = check(tuple([open_array(f"{name}.zarr", "r") for name in "xy"]), rows=4, count=6)
    assert loss.shards.shards[5].name == "numbers rows 20 to 23"


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({**{f"x{k}": X[:, k] for k in range(3)}, "y": Y})
    parquet.write_table(table, tmp_path / "all.parquet", row_group_size=5)
    check(tmp_path / "all.parquet", by_columns, count=5)
    check(tmp_path / "all.parquet", by_columns, rows=10, count=3)
    parquet.write_table(pyarrow.table({"name": ["a", "b"]}), tmp_path / "words.parquet")
    with pytest.raises(TypeError, match="are no numbers"):
        wg.distributed.sum(squares, tmp_path / "words.parquet")


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    x, y = da.from_array(X, chunks=(6, 2)), da.from_array(Y, chunks=6)
    check((x, y), count=4)
    unknown = da.concatenate([x, y[:, None]], axis=1)[da.from_array(np.ones(23, bool), chunks=6)]  # lengths not known
    check(unknown, lambda w, s: squares(w, (s[:, :3], s[:, 3])), count=4)
    with pytest.raises(ValueError, match="Cut them alike"):
        wg.distributed.sum(squares, (x, da.from_array(Y, chunks=5)))


def test_dask_bags():
    bag = pytest.importorskip("dask.bag")
    samples = bag.from_sequence([(X[i], Y[i]) for i in range(23)], npartitions=4)
    check(samples, count=4)
    numbers = bag.from_sequence(range(10), npartitions=4).filter(lambda i: i > 3)  # a partition is empty
    assert wg.distributed.sum(lambda w, s: w * s.sum(), numbers)(1.0) == 39


def test_dask_tables():
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    table = pandas.DataFrame({**{f"x{k}": X[:, k] for k in range(3)}, "y": Y})
    check(frames.from_pandas(table, npartitions=3), by_columns, count=3)


def test_delayed_objects():
    dask = pytest.importorskip("dask")
    parts = [dask.delayed(lambda a, b: (X[a:b], Y[a:b]))(a, b) for a, b in ((0, 9), (9, 23))]
    check(parts, count=2)
    check([(dask.delayed(X), dask.delayed(Y))], count=1)
    with pytest.raises(ValueError, match="Pass it alone"):
        wg.distributed.sum(squares, [pytest.importorskip("dask.array").ones(10, chunks=5)])
