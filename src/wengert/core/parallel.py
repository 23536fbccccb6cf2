"""Elementwise NumPy functions on all cores.

NumPy runs a ufunc on one core and releases the interpreter lock while it does. For the expensive ones (sine, exponential, ...) on large
arrays it pays to give each core a share. The numbers are the same to the last bit: every element is computed alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

THRESHOLD = 1 << 16
"""Elements below which one core is faster."""

_pool: Any = None


def num_threads() -> int:
    """The number of cores that large operations use: WENGERT_NUM_THREADS, or all of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(os.environ.get("WENGERT_NUM_THREADS") or cores or 1)


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork


def parallel(ufunc: np.ufunc) -> Callable:
    """`ufunc` of one argument, shared among the cores when the array is large."""

    def run(x: Any) -> Any:
        if x.__class__ is np.ndarray and x.size >= THRESHOLD:
            return _shared(ufunc, x)
        return ufunc(x)

    run.ufunc = ufunc  # type: ignore[attr-defined]
    return run


def _shared(ufunc: np.ufunc, x: np.ndarray) -> np.ndarray:
    global _pool
    threads = num_threads()
    order: Any = "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else None
    if threads == 1 or order is None or x.dtype.kind not in "fc":
        return ufunc(x)
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor  # only when first needed: it makes the import of the package slower

        _pool = ThreadPoolExecutor(threads, thread_name_prefix="wengert")
    out = np.empty(x.shape, ufunc.resolve_dtypes((x.dtype, None))[1], order=order)
    source, target = x.reshape(-1, order=order), out.reshape(-1, order=order)
    bounds = np.linspace(0, x.size, threads + 1).astype(int)
    errors = np.geterr()

    def share(start: int, stop: int) -> None:
        with np.errstate(**errors):  # what each thread starts with is its own
            ufunc(source[start:stop], out=target[start:stop])

    for job in [_pool.submit(share, *pair) for pair in zip(bounds[:-1], bounds[1:], strict=True)]:
        job.result()
    return out
