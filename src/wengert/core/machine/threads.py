"""Processors, and the threads that share a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class ThreadFields:
    """What a processor has, and what threads cost."""

    threads: int = 0
    """Threads of large operations; 0 for `WENGERT_NUM_THREADS`, or one for each core."""
    max_threads: int = 1024
    """Threads that `WENGERT_NUM_THREADS` may ask for; more are a mistake."""
    vector_bytes: int = 0
    """Bytes of a vector; 0 for those of the processor, or of the level that `WENGERT_TARGET` names."""
    cache_line_bytes: int = 64
    """Bytes that one core writes at a time: two cores that write into one line wait for each other."""
    min_operations_per_thread: int = 90_000
    """Scalar operations, some three microseconds, of the smallest part of a kernel: two cores hand a job over, and read
    what the other one wrote, which takes longer than to compute less than this (`benchmarks --families`, two cores).
    """
    min_operations_to_wake: int = 2_000_000
    """Scalar operations, some 200 microseconds, of kernels in a row for which sleeping threads are woken: that takes
    the caller ten microseconds, and on a virtual machine a hundred until they run.
    """
    looks_before_sleep: int = 500
    """Looks of a thread for work before it sleeps, about half a millisecond: programs call their kernels in a row."""
    min_operations_of_long_kernel: int = 400_000
    """Scalar operations, some 20 microseconds, from which other threads of Python may run during a kernel, and from
    which it is compiled with all optimisations: both cost about a microsecond for each call.
    """

    @property
    def min_shared_operations(self) -> int:
        """The scalar operations from which threads that are awake share a kernel."""
        return 2 * self.min_operations_per_thread
