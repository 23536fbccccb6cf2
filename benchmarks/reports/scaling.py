"""Long programs and long trainings: a chain of a million operations, and memory that stays where it was."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from array import array
from itertools import repeat
from time import perf_counter
from typing import Any

from benchmarks.reports.figure import Figure
from benchmarks.workloads import mlp

DECAY = 0.999999


def scaling_figures(operations: int = 1_000_000, early: int = 10, late: int = 1_000) -> list[Figure]:
    """Forward, backward and release of a long chain under the default recursion limit.

    Memory of a training without the collector.
    """
    return [*long_chain(operations), *training_memory(early, late)]


def chain(x: Any, operations: int) -> Any:
    """y = (y + x) * c, again and again: two operations each time."""
    y = x
    for _ in range(operations // 2):
        y = (y + x) * DECAY
    return y


def slope(operations: int) -> float:
    """dy/dx of the chain."""
    d = 1.0
    for _ in range(operations // 2):
        d = (d + 1.0) * DECAY
    return d


def bytes_held(x: Any, operations: int) -> int:
    """Memory of the chain's history, as long as its result lives."""
    tracemalloc.start()
    y = chain(x, operations)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del y
    return size


def long_chain(operations: int) -> list[Figure]:
    import wengert as wg

    x = wg.tensor(1.0, requires_grad=True)
    start = perf_counter()
    y = chain(x, operations)
    forward = perf_counter() - start
    y.backward()
    backward = perf_counter() - start - forward
    error = abs(float(x.grad) - slope(operations)) / slope(operations)
    y = chain(x, operations)
    start = perf_counter()
    del y
    release = perf_counter() - start

    size = bytes_held(x, operations // 10) / (operations // 10)
    name = f"chain of {grouped(operations)} operations"
    return [
        Figure(f"{name}: forward", forward, "s"),
        Figure(f"{name}: backward", backward, "s"),
        Figure(f"{name}: release without backward", release, "s"),
        Figure(f"{name}: relative error of the gradient", error, target=1e-9),
        Figure(f"{name}: recursion limit", sys.getrecursionlimit(), target=1000),
        Figure(f"{name}: memory per operation", size, "B"),
    ]


def training_memory(early: int, late: int) -> list[Figure]:
    """Traced memory after a few, many, and twice as many MLP steps, with the garbage collector off.

    The interpreter's own caches still fill during the first steps; what a step left behind would show in the second
    half as well.
    """
    run = mlp.wengert(*mlp.data(mlp.workload.sizes["medium"]))
    readings = array("q", [0, 0, 0])  # holds plain numbers, so that taking one allocates nothing that lasts
    collecting = gc.isenabled()
    gc.disable()
    fill_free_lists()
    tracemalloc.start()
    try:
        for i, steps in enumerate((early, late - early, late)):
            for _ in repeat(None, steps):
                run()
            readings[i] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        if collecting:
            gc.enable()
    name = "training without garbage collector"
    first, middle, last = readings
    return [
        Figure(f"{name}: memory after {grouped(early)} steps", first, "B"),
        Figure(f"{name}: growth from step {grouped(early)} to {grouped(late)}", middle - first, "B", target=0),
        Figure(f"{name}: growth from step {grouped(late)} to {grouped(2 * late)}", last - middle, "B", target=0),
    ]


def fill_free_lists() -> None:
    """CPython keeps up to 2 000 freed tuples of each small length for its next ones.

    Lists that are full cannot look like growth.
    """
    for length in range(1, 21):
        [tuple([None] * length) for _ in range(2_000)]


def grouped(n: int) -> str:
    return f"{n:,}".replace(",", " ")
