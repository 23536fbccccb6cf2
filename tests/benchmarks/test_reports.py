"""The reports measure what they say. Needs Wengert and NumPy only."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from benchmarks.agreement import DisagreementError
from benchmarks.reports import Figure, exports, growth, imports, layers, linalg, memory, scaling, threads, tracing

import wengert as wg


def test_a_figure_is_met_up_to_its_target():
    assert Figure("f", 1.0, target=1.0).met
    assert not Figure("f", 1.1, target=1.0).met
    assert Figure("f", 1.0).met is None


def test_the_tape_counts_a_buffer_once_however_often_it_is_saved():
    x = wg.tensor(np.ones(1000), requires_grad=True)
    once = memory.tape_bytes((x * x).node)
    assert once == 8000
    y = wg.sin(x)
    assert memory.tape_bytes((y * x + x * x).node) == 16000


def test_the_tape_counts_the_buffer_behind_a_view():
    x = wg.tensor(np.ones(1000), requires_grad=True)
    assert memory.tape_bytes(wg.sin(x[:10]).node) == 8000


def test_a_sum_saves_nothing():
    x = wg.tensor(np.ones(1000), requires_grad=True)
    assert memory.tape_bytes((x + x).sum().node) == 0


def test_a_long_chain_has_the_right_slope():
    figures = {f.name.split(": ")[1]: f for f in scaling.long_chain(2_000)}
    assert figures["relative error of the gradient"].met
    assert all(f.value >= 0 for f in figures.values())


def test_training_holds_its_memory():
    *_, growth = scaling.training_memory(10, 600)
    assert growth.met


def test_a_step_that_leaves_something_behind_is_seen(monkeypatch):
    left: list[bytes] = []
    monkeypatch.setattr(scaling.mlp, "wengert", lambda *_: lambda: left.append(bytes(8)))
    *_, growth = scaling.training_memory(10, 100)
    assert not growth.met


def test_import_times_are_positive_and_one_per_run():
    times = imports.import_times(2)
    assert len(times) == 2
    assert all(seconds > 0 for pair in times for seconds in pair)


def test_gradients_of_factorisations_cost_something():
    systems = ["wengert", "wengert compiled"]
    for name in linalg.FACTORISATIONS:
        ratios = linalg.cost_ratios(name, 3, systems, rounds=1, block=1e-3)
        assert list(ratios) == systems
        assert all(ratio > 0 for ratio in ratios.values())


@pytest.mark.parametrize("name", linalg.FACTORISATIONS)
def test_compiled_factorisations_compute_what_is_computed_by_hand(name):
    factorisation = linalg.FACTORISATIONS[name]
    value, gradient = linalg.runs(name, "wengert compiled", 6).gradient()
    expected, by_hand = factorisation.by_hand(*factorisation.data(6))
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(gradient, by_hand, atol=1e-10)


def test_the_traced_program_has_the_operations_that_it_says():
    x = np.eye(8) + 0.1
    graph = wg.trace(tracing.program(len(tracing.FORMS)), x, x)
    assert len({node.primitive for node in graph.operations}) > 25
    forward, both = tracing.tracing_figures(rounds=1, operations=60)
    assert min(forward.value, both.value) > 0


def test_thread_figures_leave_the_number_of_threads_as_it_was(monkeypatch):
    from wengert.compiler.threads.pool import LIMITS  # the compiler, which other tests do not need

    used = []
    monkeypatch.setattr(threads, "programs", lambda: {"p": lambda: used.append(LIMITS.threads)})
    monkeypatch.setattr(threads, "BLOCK", 1e-6)
    before = LIMITS.threads
    *_, worst = threads.thread_figures(rounds=2)
    assert LIMITS.threads == before
    assert {1, 2} <= set(used)
    assert worst.value > 0


def test_layers_compute_what_wengert_does():
    x = np.linspace(0.0, 1.0, 8)
    plain, through = layers.autograd_pair(x)
    np.testing.assert_allclose(plain()[1], through()[1], rtol=1e-13)
    assert [f.name for f in layers.layer_figures(rounds=1)][2] == "chain: autograd's layer / Wengert"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_exported_gradients_are_checked_before_they_are_timed(monkeypatch):
    figures = exports.export_figures(calls=2, rounds=1)
    sizes = [figure for figure in figures if figure.name.endswith("size of the object")]
    assert len(sizes) == len(exports.PROBLEMS)
    assert all(figure.value > 0 for figure in figures)
    wrong = exports.PROBLEMS["rosenbrock(10)"]._replace(casadi=lambda ca, x: 2 * ca.sum1(x))
    monkeypatch.setattr(exports, "PROBLEMS", {"wrong": wrong})
    if find_spec("casadi") is not None:
        with pytest.raises(DisagreementError, match="CasADi -O3 differs from"):
            exports.export_figures(calls=2, rounds=1)


def test_growing_programs_grow_and_run():
    """Each program has more operations than the one before, and the report has a verdict for each."""
    for name, program in growth.PROGRAMS.items():
        f, arguments = program.make(program.sizes[0])
        longer, more = program.make(program.sizes[1])
        count = lambda f, arguments: len(wg.compile(f, unroll=True).trace(*arguments).operations)
        assert count(longer, more) > count(f, arguments), name
    figures = growth.growth_figures(["nested short sums"], rounds=1)
    assert [figure.target for figure in figures if figure.target is not None] == [growth.MOST_GROWTH]
    assert all(figure.value > 0 for figure in figures)


def test_growth_that_is_quadratic_is_seen(monkeypatch):
    monkeypatch.setattr(growth, "first_call", lambda _, size: (size, 1e-6 * size**2))
    *_, verdict = growth.growth_figures(["polynomial"])
    assert not verdict.met
