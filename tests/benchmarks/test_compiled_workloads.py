"""The workloads of compiled functions compute what NumPy does at small sizes, and the reports on first calls measure
what they say.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from copy import copy
from pathlib import Path

import pytest
from benchmarks import first_call, runner, tables
from benchmarks.__main__ import main
from benchmarks.agreement import check
from benchmarks.first_call import Job, Seconds
from benchmarks.reports import first_calls
from benchmarks.runner import Measurement
from benchmarks.systems import COMPILED_SYSTEMS, SYSTEMS, Program, System, named
from benchmarks.workloads import COMPILED_WORKLOADS, WORKLOADS

OURS = "wengert compiled"
TINY = {
    "rosenbrock-compiled": 3,
    "elementwise-compiled": 37,
    "chain-compiled": 4,
    "gmm": 6,
    "mlp-compiled": 5,
    "hessian": 4,
    "reprojection": 3,
    "lstm": 2,
    "brusselator": 3,
    "arrowhead": 20,
}
PEER = """
import json, sys
from benchmarks import runner
from benchmarks.agreement import check
from benchmarks.workloads import COMPILED_WORKLOADS

peer, sizes = sys.argv[1], json.loads(sys.argv[2])
for name, size in sizes.items():
    workload = COMPILED_WORKLOADS[name]
    workload.sizes = {"tiny": size}
    if peer in workload.implementations:
        check(f"{peer} on {name}", runner.observed(workload, "tiny", peer), runner.observed(workload, "tiny", "numpy"))
        print(name)
"""


def compare_with_numpy(name: str, system: str) -> None:
    workload = copy(COMPILED_WORKLOADS[name])
    workload.sizes = {"tiny": TINY[name]}
    check(f"{system} on {name}", runner.observed(workload, "tiny", system), runner.observed(workload, "tiny", "numpy"))


@pytest.mark.parametrize("name", COMPILED_WORKLOADS)
def test_compiled_functions_agree_with_numpy(name):
    compare_with_numpy(name, OURS)


@pytest.mark.parametrize("peer", ["jax", "torch"])
def test_peers_agree_with_numpy(peer):
    """In a process of their own: their threads would make a fork in this one unsafe."""
    if not SYSTEMS[peer].installed:
        pytest.skip(f"{SYSTEMS[peer].title} is not installed")
    command = [sys.executable, "-c", PEER, peer, json.dumps(TINY)]
    run = subprocess.run(command, cwd=Path(first_call.ROOT), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [name for name in TINY if peer in COMPILED_WORKLOADS[name].implementations]


@pytest.mark.parametrize("system", ["c", "c-fastmath"])
def test_the_loops_in_c_agree_with_numpy(system):
    if not named(system).installed:
        pytest.skip("gcc is not installed")
    compare_with_numpy("elementwise-compiled", system)


@pytest.mark.parametrize("name", COMPILED_WORKLOADS)
def test_every_compiled_workload_is_written_for_wengert_jax_and_numpy(name):
    workload = COMPILED_WORKLOADS[name]
    assert workload.name == name
    assert workload.subject == OURS
    assert {OURS, "jax", "numpy"} <= set(workload.implementations) <= {*SYSTEMS, *COMPILED_SYSTEMS}
    assert set(workload.targets) <= set(workload.sizes)
    assert all(set(peers) <= set(workload.implementations) for peers in workload.targets.values())


def test_eager_and_compiled_workloads_have_names_of_their_own():
    assert not set(WORKLOADS) & set(COMPILED_WORKLOADS)


def test_eager_and_compiled_times_have_a_table_each():
    eager = Measurement("chain", "small", {"wengert": 1.0, "numpy": 2.0}, {})
    compiled = Measurement("hessian", "small", {OURS: 1.0, "jax": 4.0, "c": 0.5}, {"jax": 0.2}, subject=OURS)
    first, second, targets = tables.tables([eager, compiled], {})
    assert first.columns == ["workload", "size", "Wengert", "NumPy by hand"]
    assert second.columns == ["workload", "size", "Wengert (compile)", "JAX (jit)", "C (gcc -O3)"]
    assert second.rows == [["hessian", "100", "1 s", "4 s (0.25)", "500 ms (2.00)"]]
    assert targets.rows == [["hessian (small): Wengert (compile) / JAX (jit)", "0.25", "at most 0.2", "not met"]]


def test_c_without_a_compiler_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(
        COMPILED_SYSTEMS, "c", Program("c", "C", module="no_such_program_at_all", remedy="it needs a compiler")
    )
    assert main(["--workload", "rosenbrock", "--peers", "c", "--rounds", "1"]) == 0
    assert "C is not installed and is left out; it needs a compiler." in capsys.readouterr().out


def test_a_first_call_is_timed_in_a_fresh_process(tmp_path):
    seconds = first_call.in_fresh_process(Job("rosenbrock-compiled", 5, "numpy"), str(tmp_path), started=True)
    assert 0 < seconds.second < 1
    assert 0 < seconds.first < 1


def test_compile_time_is_the_best_first_call_less_the_second_with_an_empty_cache_each(monkeypatch):
    caches, times = [], iter([Seconds(5.0, 1.0), Seconds(4.0, 2.0), Seconds(9.0, 1.0)])

    def fresh(job, cache, started):
        assert started
        assert not list(Path(cache).iterdir())
        caches.append(cache)
        return next(times)

    monkeypatch.setattr(first_calls, "in_fresh_process", fresh)
    job = Job("lstm", 12, OURS)
    assert first_calls.compile_seconds([job], rounds=3) == {job: 2.0}
    assert len(set(caches)) == 3


@pytest.mark.parametrize(("power", "met"), [(1.0, True), (1.1, True), (1.5, False), (2.0, False)])
def test_the_straight_line_tells_linear_from_more(monkeypatch, power, met):
    monkeypatch.setattr(
        first_calls, "compile_seconds", lambda jobs, rounds: {job: 1e-3 * job.size**power for job in jobs}
    )
    *_, deviation = first_calls.compile_figures()
    assert deviation.met is met


def test_compile_figures_without_jax_have_no_ratio(monkeypatch):
    monkeypatch.setattr(first_calls, "compile_seconds", lambda jobs, rounds: {job: job.size + 1.0 for job in jobs})
    monkeypatch.setitem(SYSTEMS, "jax", System("no_such_module_at_all", "JAX"))
    assert not [f for f in first_calls.compile_figures() if "JAX" in f.name]
    monkeypatch.setitem(SYSTEMS, "jax", System("numpy", "JAX"))
    targets = {f.name: f.target for f in first_calls.compile_figures() if f.target is not None and "JAX" in f.name}
    assert sorted(targets.values()) == [0.2, 0.25]


def test_warm_figures_fill_the_cache_once_and_report_the_best_later_call(monkeypatch):
    seen: list[Job] = []

    def fresh(job, cache, started):
        assert not started
        seen.append(job)
        return Seconds(10.0 if seen.count(job) == 1 else 1.0 / seen.count(job), 0.0)

    monkeypatch.setattr(first_calls, "in_fresh_process", fresh)
    figures = first_calls.warm_figures(runs=2)
    assert len(figures) == sum(len(w.sizes) for w in COMPILED_WORKLOADS.values())
    assert all(math.isclose(f.value, 1 / 3) and not f.met for f in figures)
