"""`python -m benchmarks --gpu`: Wengert, JAX and PyTorch on a GPU, with values compared before anything is timed.

There are three times: that of a call when many are launched in a row; what the caller waits for one call and its
result; and, for systems whose calls are on CuPy's stream, the time between events on the device (`timing.py`). All
systems run in one process, in turns. `python -m benchmarks.gpu.report --only GMM` runs some problems.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gpu.problems import PROBLEMS, Problem
from benchmarks.gpu.systems import jax_system, wengert_system
from benchmarks.gpu.timing import DeviceClock, call_seconds, mean_seconds

PEERS = "jax", "torch"
COPIED = 1 << 27
"""The number of elements of the array whose copy is timed."""


class Run(NamedTuple):
    """A call of a system, and how one waits for it; `has_events` if its kernels are on CuPy's current stream."""

    call: Callable[[], Any]
    wait: Callable[[], Any]
    has_events: bool


def make_runs(problem: Problem, data: tuple, peers: Sequence[str], device: str = "cuda") -> dict[str, Run]:
    """What each system runs."""
    import cupy

    ours = wengert_system()
    program, arrays = ours.compile(problem.program(ours)), [cupy.asarray(a) for a in data]
    found = {"wengert": Run(lambda: program(*arrays), lambda: cupy.cuda.Device().synchronize(), True)}
    if "jax" in peers:
        other = jax_system()
        import jax

        compiled, values = other.compile(problem.program(other)), [jax.numpy.asarray(a) for a in data]
        last: list[Any] = [None]

        def run_jax() -> Any:
            last[0] = compiled(*values)
            return last[0]

        found["jax"] = Run(run_jax, lambda: jax.block_until_ready(last[0]), False)
    if "torch" in peers and problem.torch is not None:
        import torch

        wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        found["torch"] = Run(problem.torch(data, device), wait, device == "cuda")
    return found


def leaves(x: Any) -> list[Any]:
    """All arrays of a result, in order."""
    return [y for part in x for y in leaves(part)] if isinstance(x, tuple | list) else [x]


def to_numpy(x: Any) -> np.ndarray:
    """An array of CuPy, JAX or PyTorch, in double precision."""
    if hasattr(x, "get"):
        x = x.get()
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x, float)


def difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number of each array."""
    worst = 0.0
    for x, y in zip(map(to_numpy, leaves(found)), map(to_numpy, leaves(expected)), strict=True):
        scale = max(float(np.max(np.abs(y), initial=0.0)), 1e-30)
        worst = max(worst, float(np.max(np.abs(x - y), initial=0.0)) / scale)
    return worst


def compare(runs: dict[str, Run], tolerance: float) -> dict[str, Any]:
    """The times of first calls, and how far the results of other systems are from Wengert's."""
    first_calls, differences = {}, {}
    result = None
    for name, run in runs.items():
        start = time.perf_counter()
        found = run.call()
        run.wait()
        first_calls[name] = time.perf_counter() - start
        if result is None:
            result = found
        else:
            differences[name] = difference(result, found)
    row: dict[str, Any] = {"first_calls": first_calls, "differences": differences}
    wrong = [f"results differ by {d:.2g} from {name}'s" for name, d in differences.items() if not d < tolerance]
    return {**row, "error": ", ".join(wrong)} if wrong else row


def measure(problem: Problem, runs: dict[str, Run], clock: DeviceClock, seconds: float) -> dict[str, Any]:
    """One row of the table."""
    row = {"name": problem.name, "wanted": problem.wanted, **compare(runs, problem.tolerance)}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3):
        for name, run in runs.items():
            times[name].append(mean_seconds(run.call, run.wait, seconds))
    row["seconds"] = {name: min(found) for name, found in times.items()}
    row["call_seconds"] = {name: call_seconds(run.call, run.wait) for name, run in runs.items()}
    row["event_seconds"] = {name: clock.seconds(run.call, seconds) for name, run in runs.items() if run.has_events}
    return row


def report_gpu(
    only: Sequence[str], scale: float = 1.0, seconds: float = 0.1, peers: Sequence[str] = PEERS, json_file: Any = None
) -> list[dict[str, Any]]:
    """Print a line for each problem whose name has one of some words, or for all; returns the rows."""
    import cupy

    clock = DeviceClock(max(int(COPIED * scale), 1))
    print(f"copy: {clock.bandwidth / 1e12:.2f} TB/s")
    rows = []
    for problem in PROBLEMS:
        if only and not any(word in problem.name for word in only):
            continue
        try:
            data = problem.data(np.random.default_rng(0), scale)
            row = measure(problem, make_runs(problem, data, peers), clock, seconds)
            if problem.nbytes is not None:
                row["bandwidth"] = problem.nbytes(data) / row["seconds"]["wengert"]
        except (RuntimeError, MemoryError, TypeError, ValueError) as error:
            row = {"name": problem.name, "error": f"{type(error).__name__}: {error}"[:600]}
        cupy.get_default_memory_pool().free_all_blocks()
        rows.append(row)
        print(line(row, clock.bandwidth), flush=True)
        if json_file is not None:
            json_file.write_text(json.dumps({"copy": clock.bandwidth, "rows": rows}, indent=1))
    return rows


def line(row: dict[str, Any], copy: float) -> str:
    """A row as text; the three times are those of calls in a row, of one call, and between events."""
    if "seconds" not in row:
        return f"{row['name']}: {row.get('error')}"
    kinds = row["seconds"], row["call_seconds"], row["event_seconds"]
    times = ", ".join(
        f"{name} {'/'.join(f'{1e3 * kind[name]:.3f}' if name in kind else '-' for kind in kinds)} ms"
        for name in row["seconds"]
    )
    ratios = [f"{name} {row['seconds']['wengert'] / t:.2f}" for name, t in row["seconds"].items() if name != "wengert"]
    share = f", {100 * row['bandwidth'] / copy:.0f} % of copy" if "bandwidth" in row else ""
    first = "/".join(f"{t:.1f}" for t in row["first_calls"].values())
    return (
        f"{row['name']}: {times}; ratio {', '.join(ratios)} ({row['wanted']}){share}; "
        f"first {first} s; {row.get('error', 'same')}"
    )


def main() -> None:
    """The command line."""
    p = argparse.ArgumentParser("python -m benchmarks.gpu.report")
    p.add_argument("--only", nargs="*", default=[], help="words in the names of problems")
    p.add_argument("--scale", type=float, default=1.0, help="a part of the sizes")
    p.add_argument("--seconds", type=float, default=0.1, help="of each block of calls")
    p.add_argument("--peers", nargs="*", default=PEERS)
    p.add_argument("--json", type=Path)
    options = p.parse_args()
    report_gpu(options.only, options.scale, options.seconds, options.peers, options.json)


if __name__ == "__main__":
    main()
