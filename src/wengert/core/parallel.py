"""Large elementwise operations on all cores.

NumPy runs on one core and releases the interpreter lock meanwhile, so threads can share the work on large arrays. The
results are the same to the last bit, because each element is computed alone.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.core import machine

pool: Any = None
_warned: set[str] = set()


def num_threads() -> int:
    """The number of threads of large operations: that of the record, WENGERT_NUM_THREADS, or one for each core."""
    if machine.current.threads:
        return machine.current.threads
    asked = os.environ.get("WENGERT_NUM_THREADS")
    if asked is not None:
        number = asked.strip()
        if number.isdecimal() and len(number) < 10 and 1 <= int(number) <= machine.current.max_threads:
            return int(number)
        _warn_invalid(asked)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return cores or 1


def _warn_invalid(asked: str) -> None:
    """Warn once about an invalid WENGERT_NUM_THREADS."""
    if asked in _warned:
        return
    _warned.add(asked)
    message = (
        f"WENGERT_NUM_THREADS is {asked[:40]!r}, which is not an integer from 1 to {machine.current.max_threads}: "
        f"all cores are used. Set it to a number of threads, or unset it."
    )
    warnings.warn_explicit(message, RuntimeWarning, "<environment>", 1)


def _forget_pool() -> None:
    global pool
    pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork


def share(work: Callable[[int, int], None], size: int) -> None:
    """Run `work(start, stop)` on the parts of a range, one for each core.

    This thread and the threads of the pool take parts until none is left. If no thread can be started, as during the
    shutdown of the interpreter, this thread takes them all.
    """
    pool = _start_pool()
    if pool is None:
        work(0, size)
        return
    executor, outcomes = pool[0], pool[1]()
    parts = deque(pairwise(np.linspace(0, size, num_threads() + 1).astype(int).tolist()))
    count = len(parts)

    def take_parts() -> None:
        while True:
            try:
                part = parts.popleft()
            except IndexError:
                return
            try:
                work(*part)
            except BaseException as error:  # raised below, when no thread writes any more
                outcomes.put(error)
            else:
                outcomes.put(None)

    with contextlib.suppress(RuntimeError):  # no thread can be started
        for _ in range(count - 1):
            executor.submit(contextvars.copy_context().run, take_parts)  # NumPy's error handling is in the context
    take_parts()
    errors = [error for error in [outcomes.get() for _ in range(count)] if error is not None]
    if errors:
        try:
            raise errors[0]
        finally:
            del errors  # the traceback holds this frame, which must not hold the traceback


def _start_pool() -> Any:
    """The pool of threads, and the class of queue for their outcomes; None during the shutdown of the interpreter."""
    global pool
    if pool is None:
        try:
            # imported when first needed: they slow down the import of the package
            from concurrent.futures import ThreadPoolExecutor
            from queue import SimpleQueue

            pool = ThreadPoolExecutor(num_threads(), thread_name_prefix="wengert"), SimpleQueue
        except (ImportError, RuntimeError):  # the interpreter is shutting down
            return None
    return pool


def run_shared(ufunc: np.ufunc, *operands: Any) -> Any:
    """The result of NumPy's function, on all cores if the operands are long enough rows or numbers."""
    flat = _flatten_operands(operands)
    if flat is None or num_threads() == 1:
        return ufunc(*operands)
    rows, shape, order = flat
    types = [type(x) if type(x) in (int, float, complex) else np.asarray(x).dtype for x in rows]
    out = np.empty(shape, ufunc.resolve_dtypes((*types, None))[-1], order=order)
    target = out.reshape(-1, order=order)

    def work(start: int, stop: int) -> None:
        ufunc(*_slice_rows(rows, start, stop), out=target[start:stop])

    share(work, out.size)
    return out


def _flatten_operands(operands: Sequence[Any]) -> tuple[list[Any], tuple[int, ...], Any] | None:
    """Operands as rows of one length or single numbers, with their shape and layout; None if that would need copies."""
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


def _slice_rows(rows: Sequence[Any], start: int, stop: int) -> list[Any]:
    return [x[start:stop] if isinstance(x, np.ndarray) and x.ndim else x for x in rows]
