"""The workloads with loops compute what the loop in Python does at small sizes, and their reports measure what they
say.
"""

from __future__ import annotations

import json
import subprocess
import sys
from copy import copy
from pathlib import Path

import pytest
from benchmarks import first_call, runner
from benchmarks.agreement import check
from benchmarks.first_call import Seconds
from benchmarks.reports import control
from benchmarks.systems import COMPILED_SYSTEMS, SYSTEMS
from benchmarks.workloads import COMPILED_WORKLOADS, CONTROL_WORKLOADS, WORKLOADS

OURS = "wengert compiled"
TINY = {
    "lorenz": 5,
    "lorenz-for": 5,
    "rnn-scan": 3,
    "lstm-scan": 3,
    "gru-scan": 3,
    "hmm": 4,
    "descent": 3,
    "neural-ode": 2,
    "newton": 7,
    "heat": 2,
    "recurrence": 6,
    "ode-lorenz": 1,
    "ode-pendulum": 1,
    "ode-robertson": 1,
}
PEER = """
import json, sys
from benchmarks import runner
from benchmarks.agreement import check
from benchmarks.workloads import CONTROL_WORKLOADS

peer, sizes = sys.argv[1], json.loads(sys.argv[2])
for name, size in sizes.items():
    workload = CONTROL_WORKLOADS[name]
    workload.sizes = {"tiny": size}
    if peer in workload.implementations:
        found, expected = [runner.observed(workload, "tiny", system) for system in (peer, workload.reference)]
        check(f"{peer} on {name}", found, expected, workload.tolerance)
        print(name)
"""


@pytest.mark.parametrize("name", CONTROL_WORKLOADS)
def test_compiled_loops_agree_with_loops_in_python(name):
    workload = copy(CONTROL_WORKLOADS[name])
    workload.sizes = {"tiny": TINY[name]}
    found, expected = [runner.observed(workload, "tiny", system) for system in (OURS, workload.reference)]
    check(name, found, expected, workload.tolerance)


@pytest.mark.parametrize("peer", ["jax", "torch", "diffrax"])
def test_peers_agree_with_loops_in_python(peer):
    """In a process of their own: their threads would make a fork in this one unsafe."""
    system = (SYSTEMS | COMPILED_SYSTEMS)[peer]
    if not system.installed:
        pytest.skip(f"{system.title} is not installed")
    command = [sys.executable, "-c", PEER, peer, json.dumps(TINY)]
    run = subprocess.run(command, cwd=Path(first_call.ROOT), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [name for name in TINY if peer in CONTROL_WORKLOADS[name].implementations]


@pytest.mark.parametrize("name", CONTROL_WORKLOADS)
def test_every_workload_has_a_peer_and_a_target_for_it(name):
    workload = CONTROL_WORKLOADS[name]
    assert workload.name == name
    assert workload.subject == OURS
    assert {"jax", "torch", "diffrax"} & set(workload.implementations)
    for targets in (workload.targets, workload.compile_targets):
        assert set(targets) <= set(workload.sizes)
        assert all(set(peers) <= set(workload.implementations) for peers in targets.values())


def test_loops_have_names_of_their_own():
    assert not set(CONTROL_WORKLOADS) & (set(WORKLOADS) | set(COMPILED_WORKLOADS))


def test_compile_figures_are_ratios_to_the_peers(monkeypatch):
    seconds = {OURS: 1.0, "jax": 4.0}
    monkeypatch.setattr(control, "compile_seconds", lambda jobs, rounds: {job: seconds[job.system] for job in jobs})
    monkeypatch.setattr(control, "named", lambda name: System(name))
    ours, ratio = control.control_compile_figures(names=["hmm"])
    assert (ours.value, ratio.value, ratio.target) == (1.0, 0.25, 0.5)


class System:
    """A system that is installed."""

    installed = True

    def __init__(self, name: str):
        self.title = name


@pytest.mark.parametrize(("power", "met"), [(1.0, True), (2.0, False)])
def test_growth_tells_linear_from_quadratic(monkeypatch, power, met):
    monkeypatch.setattr(control, "in_fresh_process", lambda job, cache, started: Seconds(2.0, 1.0))
    monkeypatch.setattr(control, "recurrence_seconds", lambda n: 1e-6 * n**power)
    *_, growth = control.loop_figures(rounds=1)
    assert growth.met is met


@pytest.mark.parametrize(("extra", "met"), [(0.1, True), (0.3, False)])
def test_first_calls_that_depend_on_the_number_of_steps_are_seen(monkeypatch, extra, met):
    first = lambda job, cache, started: Seconds(1.0 + extra * (job.size == 10_000), 0.0)
    monkeypatch.setattr(control, "in_fresh_process", first)
    monkeypatch.setattr(control, "recurrence_seconds", float)
    (spread,) = [figure for figure in control.loop_figures(rounds=1) if "differ" in figure.name]
    assert spread.met is met


def test_memory_of_checkpoints_is_over_that_of_all_steps(monkeypatch):
    sizes = {None: 100, "binomial": 1}
    monkeypatch.setattr(control, "peak_bytes", lambda steps, kind: sizes.get(kind, 3))
    _, binomial, interval = control.control_memory_figures(10)
    assert (binomial.value, binomial.met, interval.met) == (0.01, True, False)
