"""The cost of nests at their decisions: asserted on what it says, not on time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.nests.cost import Cost, cost, pays_to_share
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.policy import choose_all, decide
from wengert.compiler.program.prepare import prepare
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine

LANES = vector_lanes(8)


def nest_of(f: Callable, *args: np.ndarray) -> Nest:
    """The one nest of a function."""
    schedule = Schedule(prepare(wg.compile(f).trace(*args)))
    (kernel,) = [step for step in schedule.steps if isinstance(step, Kernel)]
    return Nest(kernel, schedule)


def cost_of(f: Callable, *args: np.ndarray, decisions: Sequence[Decision] | None = None, threads: int = 1) -> Cost:
    """What a function costs at decisions, or at those of the policy."""
    nest = nest_of(f, *args)
    return cost(nest, decide(nest, machine.current) if decisions is None else decisions, machine.current, threads)


def polynomial(degree: int) -> Callable:
    def f(x):
        y = x
        for k in range(degree):
            y = y * x + float(k)
        return y

    return f


def test_more_elements_cost_more():
    seconds = [cost_of(np.exp, np.ones(n)).seconds for n in (100, 1000, 10_000, 100_000, 10_000_000)]
    assert seconds == sorted(set(seconds))
    assert 5 < seconds[3] / seconds[2] < 20  # ten times as many elements


def test_more_operations_cost_more():
    found = [cost_of(polynomial(degree), np.ones(1000)) for degree in (1, 2, 4, 8, 16)]
    assert [x.instructions for x in found] == sorted({x.instructions for x in found})
    assert cost_of(np.exp, np.ones(1000)).instructions > cost_of(np.square, np.ones(1000)).instructions


@pytest.mark.skipif(LANES == 1, reason="there are no vectors")
def test_lanes_take_a_part_of_the_instructions():
    alone = cost_of(np.exp, np.ones(1000), decisions=[])
    lanes = cost_of(np.exp, np.ones(1000), decisions=[Decision("lanes", 0, LANES)])
    assert lanes.instructions < 1.5 * alone.instructions / LANES


@pytest.mark.skipif(LANES == 1, reason="there are no vectors")
@pytest.mark.parametrize("shape", [(64, 64), (300, 200)])
def test_neighbours_in_memory_are_the_best_lanes(shape):
    x = np.ones(shape)
    for f, axis in ((lambda x, y, z: x * z - y[:, None], 1), (lambda x, y, z: (x * z - y[:, None]).T, 0)):
        nest = nest_of(f, x, x[:, 0].copy(), np.ones(shape))
        along = [cost(nest, [Decision("lanes", k, LANES)], machine.current).seconds for k in range(2)]
        assert along[axis] < along[1 - axis]
        assert find(decide(nest, machine.current), "lanes").axis == axis


def test_bytes_come_from_the_cache_that_holds_them():
    copy = lambda n: cost_of(lambda x: 2.0 * x, np.empty(n))
    near, second, far = copy(1000), copy(30_000), copy(10_000_000)
    assert near.bytes == 0.0
    assert second.bytes / 30_000 < far.bytes / 10_000_000
    assert far.limit == "bytes"


def test_rows_that_are_read_again_come_from_a_cache():
    """Each element of a short row is read for all rows; that of a long one has left the cache when it is."""
    outer = lambda n, m: cost_of(lambda x, y: x[:, None] * y, np.ones(n), np.ones(m)).bytes
    column = lambda n, m: cost_of(lambda x: 2.0 * x, np.ones(n * m)).bytes
    assert outer(1000, 1000) < 1.1 * column(1000, 1000)  # the result alone


def test_columns_of_a_large_array_cost_a_line_for_each_element():
    x = np.ones((2000, 2000))
    nest = nest_of(lambda x: np.sum(x, 0), x)
    few, many = [cost(nest, [Decision("lanes", 1, n)], machine.current, 1).bytes for n in (2, 8)]
    assert few > 2 * many


def test_a_sum_waits_for_itself_unless_others_are_beside_it():
    nest = nest_of(lambda x: np.sum(x, 0), np.ones((400, 64)))
    one, four = [cost(nest, [Decision("lanes", 1, n * LANES)], machine.current, 1) for n in (1, 4)]
    assert one.chains > 3 * four.chains
    rows = nest_of(lambda x, y: (np.sum(x * y, 1), np.max(x * y, 1)), np.ones((64, 400)), np.ones(400))
    lanes = Decision("lanes", 1, rows.order.lanes)
    alone, tile = [cost(rows, [lanes, *more], machine.current, 1) for more in ([], [Decision("tile", 0, 2)])]
    assert tile.chains < alone.chains
    assert tile.loops < alone.loops
    assert tile.text == 2 * alone.text


def test_threads_pay_from_the_work_at_which_they_save_the_hand_over():
    shared = {n: find(decide(nest_of(np.exp, np.ones(n)), machine.current), "threads") for n in (100, 1000, 10**6)}
    assert [d is not None for d in shared.values()] == [False, False, True]
    hand_over = cost_of(np.exp, np.ones(10**6), threads=2).threads
    gain = 1.0 - 1.0 / machine.current.speed_of_two_threads
    assert not pays_to_share(0.99 * hand_over / gain, 100, machine.current)
    assert pays_to_share(1.01 * hand_over / gain, 100, machine.current)
    assert not pays_to_share(1.0, 1, machine.current)
    with machine.using(min_operations_per_thread=1):
        assert find(decide(nest_of(np.exp, np.ones(1000)), machine.current), "threads") is not None


def test_more_threads_take_less_time():
    seconds = [cost_of(np.exp, np.ones(10**6), threads=n).seconds for n in (1, 2, 4, 8)]
    assert seconds == sorted(seconds, reverse=True)


def test_guards_cost_nothing_in_bodies_without_them():
    nest = nest_of(lambda x: np.roll(x, 1) + x, np.ones(1000))
    lanes = Decision("lanes", 0, LANES)
    guarded, free = [cost(nest, [lanes, *d], machine.current, 1) for d in ([], [Decision("overlap", 0)])]
    assert free.instructions < guarded.instructions / 2 or LANES == 1


def test_random_elements_cost_more_than_those_in_order():
    x, i = np.ones(10**7), np.arange(10**7)
    assert cost_of(lambda x, i: x[i] * 2.0, x, i).seconds > 2 * cost_of(lambda x, i: x * i, x, i).seconds


def test_choices_are_the_cheapest_of_what_was_tried():
    nest = nest_of(lambda x: np.sum(np.exp(x), 0), np.ones((300, 200)))
    choices = choose_all(nest, machine.current)
    assert list(choices[-1].taken.decisions) == decide(nest, machine.current)
    assert decide(nest, machine.current) == decide(
        nest_of(lambda x: np.sum(np.exp(x), 0), np.ones((300, 200))), machine.current
    )
    assert all(choice.gain >= -1e-8 for choice in choices)


def test_text_that_is_expensive_to_compile_is_written_once():
    nest = nest_of(lambda x, y: np.sum(np.exp(x * y), 1), np.ones((64, 400)), np.ones(400))
    assert find(decide(nest, machine.current), "tile") is not None
    assert find(decide(nest, replace(machine.current, picoseconds_of_text=10**9)), "tile") is None


def test_reports_show_the_cost_and_the_next_best():
    r = wg.compile(lambda x: np.sum(np.exp(x), 0)).report(np.ones((300, 200)))
    last = r.nests[0].splitlines()[-1]
    assert last.startswith("takes ")
    assert "limited by instructions; " in last
    assert 1e-6 < r.predicted_seconds < 1e-3
    g = wg.compile(lambda x: np.sum(np.exp(x), 0), decide=lambda nest, machine: [])
    assert ";" not in g.report(np.ones((300, 200))).nests[0].splitlines()[-1]
