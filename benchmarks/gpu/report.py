"""`python -m benchmarks --gpu`: Wengert, JAX and PyTorch on a GPU, with values compared before anything is timed.

Device time is that of many calls in a row over their number; a call's time is what the caller waits for one call and
its result. All systems run in one process, in turns. `python -m benchmarks.gpu.report --only GMM` runs some problems.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu.problems import PROBLEMS, Problem, System

PEERS = "jax", "torch"


def wengert_system() -> System:
    import wengert as wg

    return System(
        np, wg.grad, wg.value_and_grad, wg.vmap, wg.jacobian, wg.logsumexp, wg.special.erf, wg.compile, wg.while_loop
    )


def jax_system() -> System:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    jax.config.update("jax_enable_x64", True)
    # products of matrices in single precision, as the others compute them
    jax.config.update("jax_default_matmul_precision", "highest")
    special = jax.scipy.special
    return System(
        jax.numpy, jax.grad, jax.value_and_grad, jax.vmap, jax.jacfwd, special.logsumexp, special.erf, jax.jit,
        jax.lax.while_loop,
    )  # fmt: skip


def leaves(x: Any) -> list[Any]:
    """All arrays of a result, in order."""
    return [y for part in x for y in leaves(part)] if isinstance(x, tuple | list) else [x]


def mean_seconds(run: Callable[[], Any], wait: Callable[[], None], seconds: float) -> float:
    """The time of a call when many are launched in a row."""
    run()
    wait()
    start = time.perf_counter()
    run()
    wait()
    count = max(1, min(int(seconds / max(time.perf_counter() - start, 1e-6)), 2000))
    start = time.perf_counter()
    for _ in range(count):
        run()
    wait()
    return (time.perf_counter() - start) / count


def call_seconds(run: Callable[[], Any], wait: Callable[[], None]) -> float:
    """The shortest time of a call and its result."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        run()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


def runs_of(problem: Problem, data: tuple, peers: Sequence[str]) -> dict[str, tuple[Callable, Callable]]:
    """What each system runs, and how one waits for it."""
    import cupy

    ours = wengert_system()
    program, arrays = ours.compile(problem.program(ours)), [cupy.asarray(a) for a in data]
    found: dict[str, tuple[Callable, Callable]] = {
        "wengert": (lambda: program(*arrays), cupy.cuda.Device().synchronize)
    }
    if "jax" in peers:
        other = jax_system()
        import jax

        compiled, values = other.compile(problem.program(other)), [jax.numpy.asarray(a) for a in data]
        last: list[Any] = [None]

        def run_jax() -> Any:
            last[0] = compiled(*values)
            return last[0]

        found["jax"] = run_jax, lambda: jax.block_until_ready(last[0])
    if "torch" in peers and problem.torch is not None:
        import torch

        found["torch"] = problem.torch(data), torch.cuda.synchronize
    return found


def difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number of each array."""
    pairs = zip(leaves(found), leaves(expected), strict=True)
    worst = 0.0
    for x, y in pairs:
        x, y = np.asarray(x.get() if hasattr(x, "get") else x, float), np.asarray(y, float)
        scale = max(float(np.max(np.abs(y), initial=0.0)), 1e-30)
        worst = max(worst, float(np.max(np.abs(x - y), initial=0.0)) / scale)
    return worst


def measure(problem: Problem, scale: float, peers: Sequence[str], seconds: float) -> dict[str, Any]:
    """One row of the table."""
    data = problem.data(np.random.default_rng(0), scale)
    row: dict[str, Any] = {"name": problem.name, "wanted": problem.wanted}
    runs = runs_of(problem, data, peers)
    first = time.perf_counter()
    result = runs["wengert"][0]()
    runs["wengert"][1]()
    row["first_call"] = time.perf_counter() - first
    if "jax" in runs:
        first = time.perf_counter()
        expected = runs["jax"][0]()
        runs["jax"][1]()
        row["jax_first_call"] = time.perf_counter() - first
        row["difference"] = difference(result, [np.asarray(y) for y in leaves(expected)])
        if not row["difference"] < problem.tolerance:
            row["error"] = f"results differ by {row['difference']:.2g}"
        del expected
    del result
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3):
        for name, (run, wait) in runs.items():
            times[name].append(mean_seconds(run, wait, seconds))
    row["seconds"] = {name: min(found) for name, found in times.items()}
    row["call_seconds"] = {name: call_seconds(*run) for name, run in runs.items()}
    if problem.nbytes is not None:
        row["bandwidth"] = problem.nbytes(data) / row["seconds"]["wengert"]
    return row


def copy_bandwidth() -> float:
    """The bytes per second that a copy on the device reads and writes."""
    import cupy

    x = cupy.zeros(1 << 27)
    y = cupy.empty_like(x)
    wait = cupy.cuda.Device().synchronize
    return 2 * x.nbytes / min(mean_seconds(lambda: cupy.copyto(y, x), wait, 0.05) for _ in range(3))


def report_gpu(
    only: Sequence[str], scale: float = 1.0, seconds: float = 0.1, peers: Sequence[str] = PEERS, json_file: Any = None
) -> None:
    """Print a line for each problem whose name has one of some words, or for all."""
    import cupy

    copy = copy_bandwidth()
    print(f"copy: {copy / 1e12:.2f} TB/s")
    rows = []
    for problem in PROBLEMS:
        if only and not any(word in problem.name for word in only):
            continue
        try:
            row = measure(problem, scale, peers, seconds)
        except (RuntimeError, MemoryError, TypeError, ValueError) as error:
            row = {"name": problem.name, "error": f"{type(error).__name__}: {error}"[:600]}
        cupy.get_default_memory_pool().free_all_blocks()
        rows.append(row)
        print(line(row, copy), flush=True)
        if json_file is not None:
            json_file.write_text(json.dumps({"copy": copy, "rows": rows}, indent=1))


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


def line(row: dict[str, Any], copy: float) -> str:
    """A row as text."""
    if "seconds" not in row:
        return f"{row['name']}: {row.get('error')}"
    times = ", ".join(
        f"{name} {1e3 * t:.3f}/{1e3 * row['call_seconds'][name]:.3f} ms" for name, t in row["seconds"].items()
    )
    ratios = [f"{name} {row['seconds']['wengert'] / t:.2f}" for name, t in row["seconds"].items() if name != "wengert"]
    share = f", {100 * row['bandwidth'] / copy:.0f} % of copy" if "bandwidth" in row else ""
    return (
        f"{row['name']}: {times}; ratio {', '.join(ratios)} ({row['wanted']}){share}; "
        f"first {row['first_call']:.1f}/{row.get('jax_first_call', 0):.1f} s; {row.get('error', 'same')}"
    )


if __name__ == "__main__":
    main()
