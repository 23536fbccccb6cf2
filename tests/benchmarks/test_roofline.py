"""The roofline of compiled programs on a machine whose rates are given: nothing is timed."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import roofline
from benchmarks.index_rates import AT_ONCE, index_loops
from benchmarks.instruction_rates import CHAINS
from benchmarks.latencies import LATENCIES
from benchmarks.peaks import aligned_ones
from benchmarks.roofline import ARITHMETIC, BYTES, CALL, CHAIN, DIVISIONS, INDICES, VECTOR_BYTES, Rates, Roofline, Row

import wengert as wg
from wengert.compiler.forms.lowering import Indexed
from wengert.compiler.program.step_costs import StepCost

CALL_SECONDS = 1e-7


def slow_rate(name, threads):
    return threads * (1e8 if name.startswith(("divide", "sqrt")) else 1e9)


RATES = Rates(
    read=lambda size, threads: threads * (1e11 if size <= 2**15 else 1e10),
    write=lambda size, threads: threads * 5e9,
    copy=lambda size, threads: threads * 8e9,
    instructions=slow_rate,
    indices=lambda what, threads: threads * (1e9 if what[1] <= 2**15 else 2e8) / max(what[2], 1),
    latency=lambda name: 2e-9 if name == "multiply" else 1e-9,
    hand_off=1e-6,
    call=CALL_SECONDS,
    cores=2,
)


HAND_OFF = 2.5e-7
"""Half of a hand-off, in which one of two cores does nothing."""


def step(read=0, written=0, runs=1, is_shared=False, indexed=(), chain=None, loop=None, **instructions):
    counts = {k.replace("_", " "): v for k, v in instructions.items()}
    return StepCost("kernel.0", runs, read, written, counts, is_shared, indexed, chain or {}, loop)


@pytest.mark.parametrize(
    ("cost", "seconds", "by"),
    [
        (step(read=1_000_000), 1e-4, BYTES),
        (step(read=10_000), 1e-7, BYTES),  # in a cache
        (step(written=1_000_000), 2e-4, BYTES),
        (step(read=1_000_000, written=1_000_000), 2.5e-4, BYTES),
        (step(read=3_000_000, written=1_000_000), 4.5e-4, BYTES),
        (step(read=1_000_000, is_shared=True), 5e-5 + HAND_OFF, BYTES),
        (step(read=10_000, is_shared=True), 1e-7, BYTES),  # one core is faster than to wait for the other
        (step(read=80, indexed=(Indexed("read", 10_000, 1000),)), 1e-6, INDICES),
        (step(read=80, indexed=(Indexed("added", 10_000, 1000), Indexed("read", 10**6, 1000))), 6e-6, INDICES),
        (step(read=80, indexed=(Indexed("read", 10_000, 1000, 5 * VECTOR_BYTES),)), 4e-6, INDICES),  # four vectors
        (step(read=80, indexed=(Indexed("read", 10_000, 1000, 40 * VECTOR_BYTES),)), 3.2e-5, INDICES),
        (step(read=80, chain={"multiply": 10, "memory": 5}), 2.5e-8, CHAIN),
        (step(read=80, chain={"multiply": 10}, is_shared=True), 2e-8, CHAIN),
        (step(read=80, shuffle=1e6), 1e-3, ARITHMETIC),
        (step(read=80, multiply=1e6), 1e-3, ARITHMETIC),
        (step(read=80, multiply=1e6, add=1e6), 2e-3, ARITHMETIC),
        (step(read=80, multiply=1e6, divide_double=1e6), 1e-2, DIVISIONS),
        (step(read=80, divide_double=1e6, sqrt_double=1e6), 2e-2, DIVISIONS),
    ],
)
def test_a_step_takes_as_long_as_its_slowest_part(cost, seconds, by):
    limit = roofline.step_limit(cost, RATES)
    assert limit.seconds == pytest.approx(seconds)
    assert limit.by == by


def test_a_program_takes_the_sum_of_its_steps_and_its_call():
    found = roofline.roofline([[step(read=1_000_000, runs=3), step(multiply=1e6)]], RATES)
    assert found.seconds == pytest.approx(3e-4 + 1e-3 + CALL_SECONDS)
    assert found.limit == ARITHMETIC
    assert roofline.roofline([[]], RATES).seconds == CALL_SECONDS
    assert roofline.roofline([[]], RATES).limit == CALL


def test_steps_of_a_loop_take_as_long_as_what_they_wait_for():
    inner = step(multiply=1e3, runs=10, loop=1)
    fast, slow = [step(chain={"multiply": count}, loop=1) for count in (1e3, 1e4)]
    for waiting, seconds, by in ((fast, 1e-5, ARITHMETIC), (slow, 2e-5, CHAIN)):
        found = roofline.roofline([[inner, waiting]], RATES)
        assert found.seconds == pytest.approx(seconds + CALL_SECONDS)
        assert found.limit == by
    two = [step(chain={"add": 1e6}, loop=1), step(chain={"add": 1e6}, loop=2)]
    assert roofline.roofline([two], RATES).seconds == pytest.approx(2e-3 + CALL_SECONDS)


def test_loops_of_unknown_length_have_no_roofline():
    with pytest.raises(roofline.UnknownLength):
        roofline.roofline([[step(read=8, runs=None)]], RATES)


@pytest.mark.parametrize("size", [1, 4095, 4096, 5000, 7000, 100_000, 2**27 + 5, 2**40])
def test_bandwidths_are_measured_for_few_sizes(size):
    found = roofline.rounded_size(size)
    assert found <= max(size, 4096)
    assert 3 * found >= 2 * min(max(size, 4096), roofline.peaks.MEMORY)


def test_calls_of_compiled_functions_are_recorded_once_each():
    inner = wg.compile(lambda x: 2.0 * x)
    outer = wg.compile(lambda x: inner(x) + 1.0)
    x = np.ones(3)
    with roofline.recorded_calls() as calls:
        outer(x)
        inner(x)
    assert [function for function, *_ in calls] == [outer, inner]
    outer(x)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: 2.0 * x, (np.ones(100_000),)),
        (lambda x: np.sum(np.exp(x)), (np.ones(1000),)),
        (lambda x, y: x @ y, (np.ones((50, 60)), np.ones((60, 70)))),
        (wg.value_and_grad(lambda x: np.sum(np.sin(x) ** 2)), (np.ones(4000),)),
    ],
)
def test_a_program_that_takes_half_as_long_again_has_two_thirds(f, args):
    found = roofline.roofline([wg.compile(f).report(*args).costs], RATES)
    assert found.seconds > CALL_SECONDS
    row = Row("gmm", 1, 1.5 * found.seconds, found, 1)
    assert row.share == pytest.approx(2 / 3)


@pytest.mark.parametrize(("seconds", "verdict"), [((1.0, 2.0), "met"), ((2.0, 4.0), "not met")])
def test_the_table_ends_with_the_geometric_mean(seconds, verdict):
    rows = [Row("gmm", 1000, s, Roofline(1.0, {BYTES: 1.0}), 1) for s in seconds]
    rows.append(Row("ode-lorenz", 1, 1.0, None, 0))
    *lines, unknown, mean = roofline.roofline_table(rows).rows
    assert [line[4] for line in lines] == [f"{1 / s:.2f}" for s in seconds]
    assert unknown[4] == ""
    assert mean[4] == f"{(1 / seconds[0] / seconds[1]) ** 0.5:.2f}"
    assert mean[-1] == verdict
    assert roofline.roofline_figures(rows)[-1].met is (verdict == "met")


def test_every_class_of_instructions_has_a_rate():
    x = np.ones(9)
    found = [cost for f in (np.exp, lambda x: 1.0 / np.sqrt(x)) for cost in wg.compile(f).report(x).costs]
    counted = {name for cost in found for name in cost.instructions}
    assert {"multiply", "add", "divide double", "sqrt double"} <= counted
    assert counted - {"other"} <= set(CHAINS)
    assert {name for cost in found for name in cost.chain} <= set(LATENCIES)


def test_every_compiled_workload_is_in_the_report():
    assert {"gmm", "lstm-scan", "sort"} <= set(roofline.PROGRAMS)
    assert "chain" not in roofline.PROGRAMS


@pytest.mark.parametrize("vectors", [0, 1, 4, 16])
def test_the_loops_over_rows_use_all_their_elements(vectors):
    _, loops = index_loops(vectors)
    width = vectors * VECTOR_BYTES // 8 or 1
    table, indices, sums = np.zeros((3 * AT_ONCE, width)), np.repeat([5, 7], AT_ONCE), np.zeros(64)
    loops["added"](table.ctypes.data, indices.ctypes.data, sums.ctypes.data, indices.size)
    np.testing.assert_array_equal(table[[5, 7]], AT_ONCE)
    assert table.sum() == 2 * AT_ONCE * width


@pytest.mark.parametrize("count", [1, 64, 1000, 100_000])
def test_arrays_whose_bandwidth_is_measured_begin_with_a_cache_line(count):
    """Vectors across two lines are read at half the rate."""
    ones = aligned_ones(count)
    assert ones.shape == (count,)
    assert ones.ctypes.data % 64 == 0
