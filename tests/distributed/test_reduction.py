"""Partial results are added in an order that only the shards decide."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.core import machine
from wengert.core.spec import Spec
from wengert.distributed.reduction import (
    TreeSum,
    add_partials,
    fan_in_of,
    restore_partial,
    round_partial,
    tree_levels,
)


def add_by_levels(partials, fan_in, transfer=None):
    """The sum as the tasks of a cluster form it."""
    for groups in tree_levels(len(partials), fan_in):
        partials = [add_partials([partials[i] for i in group], transfer) for group in groups]
    (total,) = partials
    return total


@pytest.mark.parametrize("count", [*range(1, 30), 63, 64, 65, 200])
@pytest.mark.parametrize("fan_in", [2, 3, 8])
@pytest.mark.parametrize("transfer", [None, "float32"])
def test_one_after_the_other_and_level_by_level_give_the_same_bits(count, fan_in, transfer):
    rng = np.random.default_rng(count)
    partials = [round_partial([rng.normal(size=3), np.float64(rng.normal())], transfer) for _ in range(count)]
    accumulator = TreeSum(fan_in, transfer)
    for partial in partials:
        accumulator.add(partial)
    found, right = accumulator.total(), add_by_levels(partials, fan_in, transfer)
    for x, y in zip(found, right, strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    np.testing.assert_allclose(found[0], np.sum([p[0] for p in partials], axis=0), atol=1e-4)


def test_the_order_can_be_seen():
    terms = [[np.float64(x)] for x in (1e16, 1.0, -1e16, 1.0)]
    assert add_by_levels(terms, 2) == [0.0]
    assert add_by_levels(terms, 8) == [1.0]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 65, 1000])
def test_every_result_is_added_once(count):
    assert add_by_levels([[np.int64(1 << i % 50)] for i in range(count)], 8) == [sum(1 << i % 50 for i in range(count))]


def test_an_accumulator_keeps_few_results():
    accumulator = TreeSum(2, None)
    for i in range(1000):
        accumulator.add([np.float64(i)])
        assert sum(map(len, accumulator.levels)) <= 10
    assert accumulator.total() == [499500.0]


def test_large_results_are_added_in_pairs():
    assert fan_in_of([Spec((), np.dtype(float)), Spec((20,), np.dtype(float))]) == 8
    assert fan_in_of([Spec((machine.current.min_bytes_of_large_partial_sum // 8,), np.dtype(float))]) == 2


def test_single_precision_is_for_arrays_on_their_way():
    x = np.full(3, 1 / 3)
    numbers, value, count = round_partial([x, np.float64(1 / 3), np.arange(2)], "float32")
    assert numbers.dtype == np.float32
    assert value.dtype == np.float64
    assert count.dtype == np.arange(2).dtype
    added = add_partials([[numbers], [numbers], [numbers]], "float32")[0]
    assert (added == np.float32(np.float64(np.float32(1 / 3)) * 3)).all()  # added in double precision, rounded once
    (restored,) = restore_partial([added], [Spec((3,), np.dtype(float))])
    assert restored.dtype == np.float64
