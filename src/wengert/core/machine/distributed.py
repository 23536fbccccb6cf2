"""Sums over shards; numbers that decide what is added to what are in `order.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class DistributedFields:
    """How shards and parameters get to those who work on them."""

    max_attempts_of_cluster_call: int = 5
    """Times that a call is begun because data that only workers had were lost with them; then its error is raised."""
    max_bytes_sent_with_each_task: int = 1 << 10
    """Bytes of parameters that go with each task: a value of their own would be a message more, and a transfer."""
    min_bytes_sent_to_workers: int = 1 << 20
    """Bytes of arrays that go to workers directly. Smaller ones go with a task, which can be run again. Estimated."""
    min_tasks_per_thread: int = 4
    """Tasks for each thread of a cluster if one works on several shards: with fewer, some threads end long before
    others.
    """
    min_bytes_of_threaded_shard: int = 1 << 20
    """Bytes of a shard from which threads share the shards: smaller programs hold the lock of the interpreter."""
