"""Scatters: rows are sorted by their targets, and added one after the other, as NumPy adds them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE, assert_as_compiled, assert_same_bits, on_gpu
from tests.compiler.targets.emulator import Emulated

import wengert as wg
from wengert.compiler.targets import grid_plan
from wengert.compiler.targets.grid_plan import PartitionPlan
from wengert.core import machine

rng = np.random.default_rng(0)
on_emulator = pytest.mark.skipif(DEVICE is not None, reason="it looks at the plan of the emulator, or changes it")

SIZES = {
    "one row": (1, 1),
    "one row of many": (1, 3000),
    "one target": (60, 1),
    "fewer rows than targets": (3000, 5000),
    "more rows than targets": (9000, 301),
    "one tile": (8192, 8192),
    "one row more than a tile": (8193, 8192),
    "whole tiles": (16_384, 5000),
    "two digits": (100_000, 60_000),
    "three digits": (5000, 2**20 + 1),
    "all digits are the highest": (5000, 2**16),
    "of one digit, too": (9000, 256),
}


def add_at(shape, indices, values):
    """What NumPy adds up."""
    out = np.zeros(shape, values.dtype)
    np.add.at(out, indices, values)
    return out


def kernels_of(f: Emulated) -> list[str]:
    """What the kernels of a program do."""
    return [kernel.name.split(".")[2] for kernel in f.program.kernels]


@pytest.mark.parametrize(("rows", "targets"), SIZES.values(), ids=SIZES)
def test_additions_have_the_bits_of_numpy(rows, targets):
    indices = rng.integers(-targets, targets, rows)
    indices[: rows // 9] = targets - 1  # the last target has many rows
    weights = rng.normal(size=rows) * 10.0 ** rng.integers(-8, 8, rows)
    found = on_gpu(lambda w, i: wg.zeros(targets).at[i].add(w))(weights, indices)
    assert_same_bits(found, add_at(targets, indices, weights), "sums")


@pytest.mark.parametrize(("rows", "targets"), SIZES.values(), ids=SIZES)
def test_the_last_of_several_assignments_wins(rows, targets):
    indices, weights = rng.integers(-targets, targets, rows), rng.normal(size=rows)
    expected = np.full(targets, 0.5)
    expected[indices] = weights
    found = on_gpu(lambda x, w, i: x.at[i].set(w))(np.full(targets, 0.5), weights, indices)
    assert_same_bits(found, expected, "assignments")


@pytest.mark.parametrize("order", ["equal", "ascending", "descending"])
def test_orders_of_indices(order):
    indices = {"equal": np.full(5000, 77), "ascending": np.arange(5000) // 3, "descending": 1700 - np.arange(5000) // 3}
    weights = rng.normal(size=(5000, 3))
    f = on_gpu(lambda w, i: wg.zeros((1701, 3)).at[i].add(w))
    assert_same_bits(f(weights, indices[order]), add_at((1701, 3), indices[order], weights), order)


@on_emulator
@pytest.mark.parametrize("change", ["several tiles for each block", "numbers of 64 bits"])
def test_many_rows(change, monkeypatch):
    """What is different where there are millions of rows, or more than 32 bits can count."""
    changed = {"max_blocks_of_device_sort": 3} if change == "several tiles for each block" else {}
    if change == "numbers of 64 bits":
        monkeypatch.setattr(grid_plan, "NARROW", 1)
    indices, weights = rng.integers(0, 3000, 50_000), rng.normal(size=50_000)
    f = on_gpu(lambda w, i: wg.zeros(3000).at[i].add(w))
    with machine.using(**changed):
        assert_same_bits(f(weights, indices), add_at(3000, indices, weights), change)


def test_no_rows():
    nothing = np.zeros(0, int), np.zeros((0, 4))
    f = on_gpu(lambda x, i, w: (x.at[i].add(w), x.at[i].set(w)))
    for found in f(np.ones((5, 4)), *nothing):
        assert_same_bits(found, np.ones((5, 4)), "no rows")


@pytest.mark.parametrize("targets", [3, 5000])
def test_an_index_out_of_bounds_is_an_error(targets):
    f = on_gpu(lambda w, i: wg.zeros(targets).at[i].add(w))
    for wrong in (targets, -targets - 1):
        with pytest.raises(IndexError, match="out of bounds"):
            f(np.ones(400), np.append(np.zeros(399, int), wrong))


@pytest.mark.parametrize(("count", "repeats"), [(1000, 1), (50, 1), (50, 40)], ids=["sparse", "few rows", "many rows"])
def test_gradients_of_an_embedding(count, repeats):
    indices = np.tile(rng.integers(-count, count, 400), repeats)
    f = wg.grad(lambda table: (np.tanh(table[indices]) * np.arange(16.0)).sum())
    assert_as_compiled(f, rng.normal(size=(count, 16)), tolerance=1e-11)


def test_values_that_are_read_at_the_index_of_the_target():
    """Also from arrays of other lengths, where negative indices mean other elements."""
    indices, weights = rng.integers(-39, 40, 900), rng.normal(size=900)
    short, long = rng.normal(size=(40, 3)), rng.normal(size=(60, 3))
    f = lambda x, y, i, w: (np.tanh(x[i]) * np.sin(y[i]) * x[i - 1] * w[:, None]).sum()
    assert_as_compiled(wg.grad(f, (0, 1)), short, long, indices, weights, tolerance=1e-12)


@on_emulator
def test_the_index_of_the_target_is_not_read_for_each_row():
    f = Emulated(wg.grad(lambda table, i: np.tanh(table[i]).sum()))
    f(rng.normal(size=(50, 8)), rng.integers(0, 50, 900))
    (text,) = [part for part in f.ptx.split(".entry ") if part.startswith("kernel_0_targets")]
    addresses, others = [re.findall(rf"ld\.global\.nc\.(?:v2\.)?\w64.*\[%rd\d+\{sign}", text) for sign in "+]"]
    assert (len(addresses), len(others)) == (3, 1)  # of three arrays in the table, and the elements that are read once


ROW = np.s_[:, None]
NEIGHBOURS = {  # dtype and shape of the result, key after the indices, values, and the bytes that are stored at once
    "singles": ("f4", (50, 8), (), lambda w, y: w, 16),
    "doubles": ("f8", (50, 8), (), lambda w, y: w, 16),
    "integers": ("i8", (50, 8), (), lambda w, y: w, 16),
    "complex numbers": ("c8", (50, 8), (), lambda w, y: w, 16),
    "rows of matrices": ("f4", (50, 3, 4), (), lambda w, y: w.reshape(-1, 3, 4), 16),
    "an even number": ("f4", (50, 6), (), lambda w, y: w, 8),
    "an odd number": ("f4", (50, 5), (), lambda w, y: w, 4),
    "from an even number on": ("f4", (50, 8), (slice(2, 6),), lambda w, y: w, 8),
    "from an odd number on": ("f4", (50, 8), (slice(1, 5),), lambda w, y: w, 4),
    "every other one": ("f4", (50, 8), (slice(None, None, 2),), lambda w, y: w, 4),
    "one value for a row": ("f4", (50, 8), (), lambda w, y: w[:, :1], 16),
    "reversed values": ("f4", (50, 8), (), lambda w, y: w[:, ::-1], 4),
    "values of rows": ("f4", (50, 8), (), lambda w, y: w * y[np.arange(900) % 7], 16),
    "values of elements": ("f4", (50, 8), (), lambda w, y: w * y[np.arange(900)[ROW] % 7, np.arange(8) % 3], 4),
    "values of a part": ("f4", (50, 4), (), lambda w, y: w * y[np.arange(900) % 7, 3:7], 4),
}


@on_emulator
@pytest.mark.parametrize(("dtype", "shape", "key", "value", "stored"), NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_threads_have_neighbours_of_a_row(dtype, shape, key, value, stored):
    draw = lambda *shape: (rng.normal(size=shape) * 9).astype(dtype)
    indices, x, y = rng.integers(0, 50, 900), draw(*shape), draw(7, 8)
    weights = draw(900, x[(0, *key)].size)
    f = Emulated(lambda x, w, y: x.at[(indices, *key)].add(value(w, y)))
    expected = x.copy()
    np.add.at(expected, (indices, *key), value(weights, y))
    assert_same_bits(f(x, weights, y), expected, "sums")
    (text,) = [part for part in f.ptx.split(".entry ") if part.startswith("kernel_0_targets")]
    stores = re.findall(r"st\.global\.(?:v(\d)\.)?\w(\d+)", text)
    assert {int(lanes or 1) * int(bits) // 8 for lanes, bits in stores} == {stored}


@on_emulator
def test_results_that_all_threads_visit_are_not_filled():
    indices, x = rng.integers(0, 50, 900), rng.normal(size=(50, 8))
    whole, part = (Emulated(f) for f in (lambda x, w: x.at[indices].add(w), lambda x, w: x.at[indices, 2:7].add(w)))
    weights = rng.normal(size=(900, 8))
    for f, columns in ((whole, slice(0, 8)), (part, slice(2, 7))):
        expected = x.copy()
        np.add.at(expected, (indices, columns), weights[:, columns])
        assert_same_bits(f(x, weights[:, columns]), expected, "updates")
    assert "fill" not in kernels_of(whole)
    assert "fill" in kernels_of(part)


@on_emulator
def test_each_target_is_looked_for_once():
    indices = rng.integers(5, 40, 400)  # the first and the last targets have no rows
    f = Emulated(wg.grad(lambda table: (np.tanh(table[indices]) * np.arange(16.0)).sum()))
    table = rng.normal(size=(50, 16))
    expected = add_at((50, 16), indices, ((1 - np.tanh(table) ** 2) * np.arange(16.0))[indices])
    np.testing.assert_allclose(f(table), expected, rtol=1e-12)
    assert kernels_of(f) == ["count", "sum", "move", "targets"]


@on_emulator
def test_targets_are_read_in_vectors_to_count_them():
    f = Emulated(lambda w, i: wg.zeros(300).at[i].add(w))
    indices, weights = rng.integers(0, 300, 400), rng.normal(size=400)
    assert_same_bits(f(weights, indices), add_at(300, indices, weights), "two passes")
    (text,) = [part for part in f.ptx.split(".entry ") if re.match(r"kernel_\d_count_[^0]", part)]
    assert set(re.findall(r"ld\.global(?:\.nc)?\.(v\d)?\.?\w32", text)) == {"v4"}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_additions_to_few_elements(dtype):
    indices = rng.integers(0, 7, 2000)
    weights, tolerance = (rng.normal(size=2000) * 9).astype(dtype), 1e-5 if dtype == "f4" else 1e-11
    assert_as_compiled(lambda w: wg.zeros(7, dtype).at[indices].add(w), weights, tolerance=tolerance)


def test_assignments_to_slices():
    assert_as_compiled(lambda w: w.at[3:9].set(w[10:16] * 2).at[::7].add(1.0), rng.normal(size=4000), tolerance=0)


@pytest.mark.parametrize(
    ("targets", "passes"), [(1, 1), (256, 1), (257, 2), (65_536, 2), (10**6, 3), (2**24 + 1, 4), (2**33, 5)]
)
def test_there_are_as_few_passes_as_targets_have_digits(targets, passes):
    assert PartitionPlan(1000, targets).passes == passes


def test_counts_are_few():
    plan = PartitionPlan(10**9, 10**6)
    assert plan.blocks <= machine.current.max_blocks_of_device_sort
    assert plan.blocks * plan.tiles * plan.tile >= 10**9
