"""Large elementwise operations on all cores.

NumPy runs on one core and releases the interpreter lock while it does. On large arrays it pays to give each core a share; the numbers are
the same to the last bit, since every element is computed alone.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

LARGE = 1 << 18
"""Elements from which every elementwise operation is shared among the cores."""

EXPENSIVE = 1 << 16
"""The same for operations that take long for each element."""

_pool: Any = None


def num_threads() -> int:
    """The number of cores that large operations use: WENGERT_NUM_THREADS, or all of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(os.environ.get("WENGERT_NUM_THREADS") or cores or 1)


def in_use() -> bool:
    """Whether anything large has been met so far."""
    return _pool is not None


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork


def share(work: Callable[[int, int], None], size: int) -> None:
    """Run `work(start, stop)` on the parts of a range, one for each core; the first part in this thread."""
    global _pool
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor  # only when first needed: it makes the import of the package slower

        _pool = ThreadPoolExecutor(num_threads(), thread_name_prefix="wengert")
    first, *others = pairwise(np.linspace(0, size, num_threads() + 1).astype(int).tolist())
    jobs = [_pool.submit(contextvars.copy_context().run, work, *part) for part in others]  # NumPy's error handling is in the context
    work(*first)
    for job in jobs:
        job.result()


def parallel(ufunc: np.ufunc, threshold: int = LARGE) -> Callable:
    """`ufunc`, shared among the cores from this size on."""
    ndarray = np.ndarray

    def unary(x: Any) -> Any:
        if x.__class__ is ndarray and x.size >= threshold:
            return _shared(ufunc, x)
        return ufunc(x)

    def binary(x: Any, y: Any) -> Any:
        first = x if x.__class__ is ndarray else y
        if first.__class__ is ndarray and first.size >= threshold:
            return _shared(ufunc, x, y)
        return ufunc(x, y)

    run: Any = unary if ufunc.nin == 1 else binary
    run.ufunc = ufunc
    return run


def _shared(ufunc: np.ufunc, *operands: Any) -> np.ndarray:
    flat = _flattened(operands)
    if flat is None or num_threads() == 1:
        return ufunc(*operands)
    rows, shape, order = flat
    types = [type(x) if type(x) in (int, float, complex) else x.dtype for x in rows]
    out = np.empty(shape, ufunc.resolve_dtypes((*types, None))[-1], order=order)
    target = out.reshape(-1, order=order)

    def work(start: int, stop: int) -> None:
        ufunc(*_part(rows, start, stop), out=target[start:stop])

    share(work, out.size)
    return out


def _flattened(operands: Sequence[Any]) -> tuple[list, tuple[int, ...], Any] | None:
    """Operands as rows of one length or single numbers, with the shape and layout they had; None where that would need copies."""
    full = [x for x in operands if isinstance(x, np.ndarray) and x.ndim and any(x.strides)]
    order = "C" if all(x.flags.c_contiguous for x in full) else "F" if all(x.flags.f_contiguous for x in full) else None
    if order is None or not full or full[0].size < 2:
        return None
    rows = []
    for x in operands:
        if isinstance(x, np.ndarray) and x.ndim:
            if x.shape != full[0].shape or x.dtype.kind not in "fc":
                return None
            rows.append(x.reshape(-1, order=order) if any(x.strides) else x[(0,) * x.ndim])  # type: ignore[call-overload]  # order is C or F
        else:
            rows.append(x)
    return rows, full[0].shape, order


def _part(rows: Sequence[Any], start: int, stop: int) -> list:
    return [x[start:stop] if isinstance(x, np.ndarray) and x.ndim else x for x in rows]
