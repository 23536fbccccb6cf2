"""Wengert beside itself at an earlier commit: `python -m benchmarks.before main~5 --families --eager --rounds 4`.

Two processes import the package, one from a copy of the commit, and time the same workloads in turns. The ratio is the
time now over the time before: above one, it has become slower.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import geometric_mean
from time import sleep
from typing import Any

from benchmarks.eager_figures import EAGER, WARM, is_eager
from benchmarks.timing import BLOCK, REST, calls_per_block
from benchmarks.workload import Run
from benchmarks.workloads import (
    COMPILED_WORKLOADS,
    CONTROL_WORKLOADS,
    EVERY_WORKLOAD,
    FRESH_WORKLOADS,
    TRAINING_WORKLOADS,
)

ROOT = Path(__file__).parents[1]
FAMILIES = {name: workload for name, workload in EVERY_WORKLOAD.items() if workload.family is not None}
GROUPS: dict[str, Sequence[str]] = {
    "families": list(FAMILIES),
    "compiled": list(COMPILED_WORKLOADS),
    "control": list(CONTROL_WORKLOADS),
    "training": list(TRAINING_WORKLOADS),
    "fresh": list(FRESH_WORKLOADS),
    "eager": [name for name in EVERY_WORKLOAD if is_eager(name)],
}
Row = tuple[str, str, str]
"""A workload, its size, and the face of Wengert that solves it."""


def serve() -> None:
    """Prepare the workload of a line of the input, or time it for another block, and answer in a line."""
    run: Run | None = None
    count = 1
    for line in sys.stdin:
        if words := line.strip().split(maxsplit=2):
            name, size, subject = words
            workload = EVERY_WORKLOAD[name]
            run = None  # its memory is free before another one has any
            run = workload.implementations[subject](*workload.data(workload.sizes[size]))
            timeit.timeit(run, number=3)
            if subject == EAGER:
                timeit.timeit(run, number=calls_per_block(run, WARM))
            count = calls_per_block(run, BLOCK)
            answer = 0.0
        else:
            assert run is not None
            run()
            answer = timeit.timeit(run, number=count) / count
        print(answer, flush=True)


class Tree:
    """A process that runs the package of a source tree."""

    def __init__(self, source: Path, cache: Path):
        environment = os.environ | {"PYTHONPATH": str(source), "WENGERT_CACHE_DIR": str(cache)}
        command = [sys.executable, "-m", "benchmarks.before", "--serve"]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line: str) -> float:
        """Seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A copy of the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Path(folder)


def measure(row: Row, trees: dict[str, Tree], rounds: int) -> dict[str, float]:
    """The best time of each tree, which take turns."""
    for tree in trees.values():
        tree.ask(" ".join(row))
    best = dict.fromkeys(trees, float("inf"))
    for r in range(rounds):
        for name in sorted(trees, reverse=bool(r % 2)):
            sleep(REST)
            best[name] = min(best[name], trees[name].ask(""))
    return best


def rows_of(options: argparse.Namespace) -> list[Row]:
    """What is measured: each workload by the face that it is about, those of eager code by tensors; else families."""
    rows: dict[Row, None] = {}
    groups = [group for group in GROUPS if getattr(options, group)] or ["families"]
    for group in groups:
        for name in GROUPS[group]:
            if not options.workload or name in options.workload:
                workload = EVERY_WORKLOAD[name]
                subject = EAGER if group == "eager" else workload.subject
                rows |= {(name, size, subject): None for size in workload.sizes if size in options.size}
    return list(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.before", description=__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD", help="what to compare with (default: the last commit)")
    for group in GROUPS:
        parser.add_argument(f"--{group}", action="store_true")
    parser.add_argument("--workload", nargs="+", choices=EVERY_WORKLOAD, default=[], help="of these only")
    parser.add_argument("--size", nargs="+", choices=("small", "medium", "large"), default=("small", "medium", "large"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options: Any = parser.parse_args(arguments)
    if options.serve:
        serve()
        return
    ratios = {}
    with ExitStack() as stack:
        before = stack.enter_context(checked_out(options.commit))
        caches = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sources = {"before": before / "src", "now": ROOT / "src"}
        trees = {name: Tree(source, caches / name) for name, source in sources.items()}
        for row in rows_of(options):
            seconds = measure(row, trees, options.rounds)
            ratios[row] = seconds["now"] / seconds["before"]
            print(f"{ratios[row]:5.2f}  {seconds['now'] * 1e3:10.3f} ms  {' '.join(row)}", flush=True)
        for tree in trees.values():
            tree.process.kill()
            tree.process.wait()
    print(f"\n{len(ratios)} rows, geometric mean {geometric_mean(ratios.values()):.3f}; the slowest:")
    for row in sorted(ratios, key=lambda row: -ratios[row])[:10]:
        print(f"{ratios[row]:5.2f}  {' '.join(row)}")


if __name__ == "__main__":
    main()
