"""The benchmarks of GPUs, at tiny sizes: on the stand-in for CuPy where there is no GPU, beside peers if installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from benchmarks.gpu.problems import PROBLEMS
from benchmarks.gpu.report import Run, compare, line, make_runs, report_gpu
from benchmarks.gpu.timing import DeviceClock

from wengert.core.devices import LIBRARIES

INSTALLED = [name for name in ("jax", "torch") if find_spec(name)]
SCALE = 1e-6
pytestmark = pytest.mark.usefixtures("cupy")


@pytest.fixture
def cupy(cuda, monkeypatch):
    """What the benchmarks import as CuPy."""
    monkeypatch.setitem(sys.modules, "cupy", LIBRARIES["cuda"].numpy)
    return LIBRARIES["cuda"].numpy


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_systems_agree(problem):
    runs = make_runs(problem, problem.data(np.random.default_rng(0), SCALE), INSTALLED, "cpu")
    row = compare(runs, problem.tolerance)
    assert list(row["first_calls"]) == list(runs)
    assert "error" not in row


def test_a_wrong_result_is_reported():
    runs = {"wengert": Run(lambda: np.ones(3), print, False), "jax": Run(lambda: np.zeros(3), print, False)}
    assert compare(runs, 1e-3)["error"].endswith("from jax's")


def test_a_report_has_three_times_of_each_problem(capsys, tmp_path):
    rows = report_gpu(["rosenbrock", "transformer", "sum of rows"], SCALE, 1e-4, (), tmp_path / "rows.json")
    assert len(rows) == 3
    assert (tmp_path / "rows.json").stat().st_size
    for row in rows:
        assert all(row[kind]["wengert"] > 0 for kind in ("seconds", "call_seconds", "event_seconds"))
    assert "error" not in capsys.readouterr().out


def test_a_system_with_streams_of_its_own_has_no_events():
    row = {"name": "f", "wanted": "", "first_calls": {"wengert": 1.0, "jax": 2.0}, "event_seconds": {"wengert": 0.001}}
    times = {"wengert": 0.002, "jax": 0.004}
    assert "wengert 2.000/2.000/1.000 ms, jax 4.000/4.000/- ms; ratio jax 0.50" in line(
        row | {"seconds": times, "call_seconds": times}, 1.0
    )


def test_the_clock_counts_calls_between_events(cupy, monkeypatch):
    calls: list[None] = []
    clock = DeviceClock(8)
    monkeypatch.setattr(cupy.cuda, "get_elapsed_time", lambda first, last: 1e3 * len(calls))
    clock.wait = calls.clear  # a block begins when the device is idle
    assert clock.seconds(lambda: calls.append(None), 1e-3) == 1.0
