"""Programs with loops: time to compile beside the peers', first calls by the number of steps, growth, and memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from benchmarks.first_call import ROOT, Job, in_fresh_process
from benchmarks.reports.figure import Figure
from benchmarks.reports.first_calls import OURS, compile_seconds
from benchmarks.systems import named
from benchmarks.workloads import CONTROL_WORKLOADS

STEPS = (10, 100, 10_000)
LENGTHS = (100_000, 300_000, 1_000_000)
LOOP_STEPS = 100_000
PEAK = """
import sys
from pathlib import Path
import numpy as np
import wengert as wg

steps, checkpoint = int(sys.argv[1]), sys.argv[2]
options = {} if checkpoint == "None" else {"checkpoint": checkpoint if checkpoint == "binomial" else int(checkpoint)}

def loss(a, x):
    def step(x, _):
        return np.sin(x) * a + x * 0.999, None
    return np.sum(wg.scan(step, x, length=steps, **options)[0])

def kilobytes(name):
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)]
    return int(line.split()[1])

gradient = wg.compile(wg.grad(loss))
problem = np.full(64, 0.5), np.linspace(0.1, 1.0, 64)
gradient.report(*problem)
Path("/proc/self/clear_refs").write_text("5")
before = kilobytes("VmRSS")
gradient(*problem)
print(kilobytes("VmHWM") - before)
"""
"""A program that prints by how many kilobytes the gradient of a scan raises the memory of its process.

The function is compiled before, and Linux then forgets the largest memory so far.
"""


def control_compile_figures(rounds: int = 3, names: Sequence[str] = tuple(CONTROL_WORKLOADS)) -> list[Figure]:
    """Seconds to compile the workloads with loops, over those of the peers."""
    figures = []
    for name in names:
        workload = CONTROL_WORKLOADS[name]
        for size, targets in workload.compile_targets.items():
            peers = {peer: target for peer, target in targets.items() if named(peer).installed}
            jobs = [Job(name, workload.sizes[size], system) for system in (OURS, *peers)]
            ours, *theirs = compile_seconds(jobs, rounds).values()
            title = f"{name} ({workload.sizes[size]}): compile"
            figures.append(Figure(f"{title}, Wengert", ours, "s"))
            for (peer, target), seconds in zip(peers.items(), theirs, strict=True):
                figures.append(Figure(f"{title}, Wengert / {named(peer).title}", ours / seconds, target=target))
    return figures


def loop_figures(rounds: int = 3, steps: Sequence[int] = STEPS, lengths: Sequence[int] = LENGTHS) -> list[Figure]:
    """The first call of a loop by its number of steps, and the time of a recurrence by its length."""
    firsts = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for n in steps:
            with tempfile.TemporaryDirectory() as cache:
                found = in_fresh_process(Job("lorenz", n, OURS), cache, started=True)
            firsts[n] = min(firsts[n], found.first - found.second)
    figures = [Figure(f"lorenz ({n}): first call less the second", t, "s") for n, t in firsts.items()]
    spread = max(firsts.values()) / min(firsts.values()) - 1.0
    figures.append(Figure("lorenz: first calls differ by", spread, target=0.2))
    seconds = [recurrence_seconds(n) for n in lengths]
    for n, t in zip(lengths, seconds, strict=True):
        figures.append(Figure(f"recurrence ({n}): each step", t / n, "s"))
    growth = seconds[-1] / seconds[0] / (lengths[-1] / lengths[0])
    return [*figures, Figure("recurrence: time of a step, longest / shortest", growth, target=1.5)]


def recurrence_seconds(n: int, calls: int = 3) -> float:
    """The best time of a call of the recurrence of this length."""
    workload = CONTROL_WORKLOADS["recurrence"]
    run = workload.implementations[OURS](*workload.data(n))
    run()
    times = []
    for _ in range(calls):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def control_memory_figures(steps: int = LOOP_STEPS) -> list[Figure]:
    """Memory of the gradient of a compiled scan of 100 000 steps, checkpointed over full."""
    full = peak_bytes(steps, None)
    checkpointed = {kind: peak_bytes(steps, kind) for kind in ("binomial", int(np.sqrt(steps)))}
    figures = [Figure(f"scan of {steps} steps: memory, all steps kept", full, "B")]
    for kind, size in checkpointed.items():
        figures.append(
            Figure(f"scan of {steps} steps: memory, checkpoint={kind!r}, over full", size / full, target=0.02)
        )
    return figures


def peak_bytes(steps: int, checkpoint: str | int | None) -> int:
    """The memory that the gradient of a scan needs, measured in a process of its own."""
    command = [sys.executable, "-c", PEAK, str(steps), str(checkpoint)]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return 1024 * int(run.stdout)
