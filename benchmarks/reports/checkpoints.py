"""What checkpoints save: the memory of a long loop's gradient."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure

SIZE = 1000


def step(x: Any, k: int, a: Any) -> Any:
    return np.sin(x) * a + x * 0.999


def gradient(loop: Callable) -> tuple[np.ndarray, np.ndarray]:
    import wengert as wg

    x, a = (wg.tensor(np.linspace(low, high, SIZE), requires_grad=True) for low, high in ((0.1, 1.0), (0.4, 0.6)))
    loop(x, a).sum().backward()
    return x.grad.numpy(), a.grad.numpy()


def peak(run: Callable) -> int:
    tracemalloc.start()
    run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def checkpoint_figures(steps: int = 10_000) -> list[Figure]:
    """Memory and time of the gradient of a loop of 10 000 steps, with checkpoints over without."""
    import wengert as wg

    def whole(x: Any, a: Any) -> Any:
        for k in range(steps):
            x = step(x, k, a)
        return x

    loops = {"whole": whole, "checkpointed": lambda x, a: wg.checkpoint_loop(step, x, steps, a)}
    for one, other in zip(gradient(loops["whole"]), gradient(loops["checkpointed"]), strict=True):
        np.testing.assert_array_equal(one, other)  # to the last bit
    peaks = {name: peak(lambda loop=loop: gradient(loop)) for name, loop in loops.items()}
    times = {}
    for name, loop in loops.items():
        start = perf_counter()
        gradient(loop)
        times[name] = perf_counter() - start
    return [
        Figure("whole tape: peak memory", peaks["whole"], "B"),
        Figure("checkpoint_loop: peak memory", peaks["checkpointed"], "B"),
        Figure("memory, checkpointed / whole", peaks["checkpointed"] / peaks["whole"], target=0.1),
        Figure("time, checkpointed / whole", times["checkpointed"] / times["whole"]),
    ]
