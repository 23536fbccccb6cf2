"""Times of functions that take turns, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Mapping
from time import perf_counter, sleep

BLOCK = 0.05
"""Seconds that a function runs before the next has its turn."""

REST = 0.1
"""Seconds between blocks: the worker threads of OpenBLAS and OpenMP spin for tens of milliseconds after their last job,
and would slow whoever comes next by up to half.
"""


def best_of_rounds(
    runs: Mapping[str, Callable], rounds: int, block: float = BLOCK, rest: float = REST
) -> dict[str, float]:
    """The shortest mean time of a block of calls, for each function, over several rounds.

    Every round begins with another function. A rest and a call that is not timed precede each block. As in `timeit`,
    the garbage collector is off while the clock runs.
    """
    counts = {name: calls_per_block(run, block) for name, run in runs.items()}
    best = dict.fromkeys(runs, float("inf"))
    names = list(runs)
    for r in range(rounds):
        first = r % len(names)
        for name in names[first:] + names[:first]:
            sleep(rest)
            runs[name]()
            best[name] = min(best[name], timeit.timeit(runs[name], number=counts[name]) / counts[name])
    return best


def calls_per_block(run: Callable, block: float) -> int:
    run()
    start = perf_counter()
    run()
    return max(1, round(block / max(perf_counter() - start, 1e-7)))
