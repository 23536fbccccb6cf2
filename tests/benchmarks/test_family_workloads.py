"""The workloads of families agree in every system at small sizes, and their tables say how each stands."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import copy
from pathlib import Path

import pytest
from benchmarks import family_tables, first_call, peaks, runner
from benchmarks.__main__ import main, members
from benchmarks.agreement import check
from benchmarks.first_call import Seconds
from benchmarks.reports import family_calls
from benchmarks.runner import Measurement
from benchmarks.systems import COMPILED_SYSTEMS, SYSTEMS
from benchmarks.workload import FAMILIES, Workload
from benchmarks.workloads import (
    COMPILED_WORKLOADS,
    CONTROL_WORKLOADS,
    EVERY_WORKLOAD,
    FAMILY_WORKLOADS,
    FRESH_WORKLOADS,
    TRAINING_WORKLOADS,
    WORKLOADS,
)

OURS = "wengert compiled"
TINY = dict.fromkeys(FAMILY_WORKLOADS, 40) | {
    "kalman": 5,
    "quantum": 3,
    "quantum-pairs": 3,
    "warp": 16,
    "transformer": 1,
    "conv-network": 2,
    "conv-separable": 1,
    "embedding": 300,
    "n-body": 5,
    "network-hessian": 3,
}
PEER = """
import json, sys
from benchmarks import runner
from benchmarks.agreement import check
from benchmarks.workloads import FAMILY_WORKLOADS

peer, sizes = sys.argv[1], json.loads(sys.argv[2])
for name, size in sizes.items():
    workload = FAMILY_WORKLOADS[name]
    workload.sizes = {"tiny": size}
    if peer in workload.implementations:
        found, expected = [runner.observed(workload, "tiny", system) for system in (peer, workload.reference)]
        check(f"{peer} on {name}", found, expected, workload.tolerance)
        print(name)
"""


@pytest.mark.parametrize("name", FAMILY_WORKLOADS)
def test_compiled_workloads_agree_with_eager_ones(name):
    workload = copy(FAMILY_WORKLOADS[name])
    workload.sizes = {"tiny": TINY[name]}
    found, expected = [runner.observed(workload, "tiny", system) for system in (OURS, workload.reference)]
    check(name, found, expected, workload.tolerance)


@pytest.mark.parametrize("peer", ["jax", "torch"])
def test_peers_agree_with_eager_workloads(peer):
    """In a process of their own: their threads would make a fork in this one unsafe."""
    if not SYSTEMS[peer].installed:
        pytest.skip(f"{SYSTEMS[peer].title} is not installed")
    command = [sys.executable, "-c", PEER, peer, json.dumps(TINY)]
    run = subprocess.run(command, cwd=Path(first_call.ROOT), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == list(TINY)


@pytest.mark.parametrize("name", FAMILY_WORKLOADS)
def test_every_workload_has_a_family_sizes_and_peers(name):
    workload = FAMILY_WORKLOADS[name]
    assert workload.name == name
    assert workload.subject == OURS
    assert workload.family in FAMILIES
    assert len(workload.sizes) >= 2
    assert {OURS, "jax", "torch"} <= set(workload.implementations) <= {*SYSTEMS, *COMPILED_SYSTEMS}


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match="'poetry' is no family"):
        Workload("verse", "a verse", lambda n: (), {}, family="poetry")


def test_workloads_of_families_have_names_of_their_own():
    groups = (WORKLOADS, COMPILED_WORKLOADS, CONTROL_WORKLOADS, TRAINING_WORKLOADS, FAMILY_WORKLOADS, FRESH_WORKLOADS)
    assert len(EVERY_WORKLOAD) == sum(map(len, groups))


def test_families_choose_workloads():
    assert {w.family for w in members(["linear-algebra", "gather"]).values()} == {"linear algebra", "gather"}
    assert set(FAMILY_WORKLOADS) | set(CONTROL_WORKLOADS) <= set(members([]))


def measured(workload: str, ours: float, **peers: float) -> Measurement:
    return Measurement(workload, "small", {OURS: ours, **peers}, {}, subject=OURS)


def test_a_family_is_judged_by_its_best_peers_and_their_median(monkeypatch):
    monkeypatch.setattr(peaks, "read_bandwidth", lambda size: 2.0 * size)
    rows = [
        measured("solve-3", 1.0, jax=4.0, torch=2.0),
        measured("inv-3", 0.7, jax=1.0, numpy=0.1),
        measured("kalman", 3.0, jax=2.0),
    ]
    [table] = family_tables.family_tables([*rows, measured("rfft", 1.0)])
    assert table.title.startswith("Linear algebra")
    assert [row[3:] for row in table.rows] == [
        ["PyTorch, 2 s", "0.50", "50% of bytes", ""],
        ["JAX (jit), 1 s", "0.70", "71% of bytes", "above 0.67"],
        ["JAX (jit), 2 s", "1.50", "", "not met"],
        ["", "0.70", "", "not met"],
    ]
    middle, largest = family_tables.family_figures(rows)
    assert (middle.value, middle.met) == (0.7, False)
    assert (largest.value, largest.met) == (1.5, False)


def test_operations_count_against_the_fused_loop(monkeypatch):
    flops = FAMILY_WORKLOADS["gaussian-process"].flops(100)
    monkeypatch.setattr(peaks, "peaks", lambda: peaks.Peaks(1.0, 1.0, 1.0, 1.0, 4.0 * flops))
    assert family_tables.share_of_peak(measured("gaussian-process", 1.0, jax=1.0)) == "25% of flops"


def test_the_loops_of_peaks_compute_what_they_say(monkeypatch):
    import numpy as np

    loops = peaks._loops()[1]
    x, y = np.arange(peaks.SHARE * 1.0), np.zeros(peaks.SHARE)
    arguments = x.ctypes.data, y.ctypes.data, 1e-3, x.size
    assert loops["read"](*arguments, 3 * x.size) == 3 * x.sum()
    loops["copy"](*arguments, x.size)
    assert (x == y).all()
    turn = peaks.STRIDE * peaks.vector_bits() // 64
    assert loops["fma"](*arguments, turn) == pytest.approx(1e-3 * turn)
    monkeypatch.setattr(peaks, "MEMORY", 2**16)
    monkeypatch.setattr(peaks, "ORDER", 8)
    peaks.peaks.cache_clear()
    assert all(figure.value > 0 for figure in peaks.peak_figures())
    peaks.peaks.cache_clear()


def test_first_calls_are_cold_then_warm_and_beside_jax(monkeypatch):
    caches: list[tuple[str, str]] = []
    times = {OURS: iter([3.0, 0.5, 4.0, 0.1]), "jax": iter([2.0, 1.0])}

    def fresh(job, cache, started):
        assert not started
        caches.append((job.system, cache))
        return Seconds(next(times[job.system]), 0.0)

    monkeypatch.setattr(family_calls, "in_fresh_process", fresh)
    monkeypatch.setitem(SYSTEMS, "jax", SYSTEMS["numpy"])
    cold, ratio, warm = family_calls.first_call_figures(["kalman"], ["small"], rounds=2)
    assert (cold.value, ratio.value, ratio.met) == (3.0, 3.0, False)
    assert (warm.value, warm.met) == (0.1, True)
    assert caches[0][1] == caches[1][1] != caches[3][1]


def test_families_have_a_page(tmp_path, monkeypatch):
    for name in members(["complex"]):
        monkeypatch.setattr(FAMILY_WORKLOADS[name], "sizes", {"small": TINY[name]})
    monkeypatch.setattr("benchmarks.__main__.peak_figures", list)
    page = tmp_path / "page.md"
    assert main(["--families", "complex", "--peers", "--rounds", "1", "--markdown", str(page)]) == 0
    assert all(f"| {name} |" in page.read_text() for name in members(["complex"]))
