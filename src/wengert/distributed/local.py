"""Clusters: processes of this machine, or a scheduler at an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from wengert.core.errors import user_error
from wengert.core.parallel import num_threads

LOST, CONNECTED = "30s", "10s"
"""After so long without a sign of life, or without an answer, a worker is given up, and others take its shards."""
RESTARTED = "10 minutes"
"""So long a worker that has died may take to start again. Dask's 15 s are too few where all cores are at work."""


@contextmanager
def local(
    workers: int | None = None, threads: int = 1, memory: str | float | None = "auto", dashboard: bool = False
) -> Iterator[Any]:
    """A cluster of processes of this machine, for a `with` block in which all sums over shards run on it.

    There are as many `workers` as cores, by default, each of which works on as many shards at a time as it has
    `threads`, and is started again if it needs more than `memory` ("2GB"). They listen on this machine only, and end
    with the block. The block gets Dask's client; with `dashboard`, its `dashboard_link` is a page that shows the work.

    In a script, the block belongs under `if __name__ == "__main__":`, because workers import the script.

    >>> with local(workers=2, memory="2GB"):  # doctest: +SKIP
    ...     found = wg.optimize.minimize(loss, w)
    """
    distributed = import_dask()
    count = num_threads() if workers is None else workers
    if not all(type(number) is int and number > 0 for number in (count, threads)):
        raise user_error(ValueError, f"workers={workers!r}, threads={threads!r}", "Both are 1 or more.")
    with (
        import_module("dask").config.set(
            {
                "distributed.scheduler.worker-ttl": LOST,
                "distributed.comm.timeouts.connect": CONNECTED,
                "distributed.deploy.lost-worker-timeout": RESTARTED,
            }
        ),
        local_cluster(distributed)(
            n_workers=count,
            threads_per_worker=threads,
            memory_limit=memory,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": dashboard},
            env={"WENGERT_NUM_THREADS": "1"},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def local_cluster(distributed: Any) -> Any:
    """Dask's cluster of local processes, which goes on if a worker ends before the cluster heard of it.

    Dask's own stops to watch its workers then, and raises the error when it is closed.
    """

    class LocalCluster(distributed.LocalCluster):
        def _update_worker_status(self, op: str, msg: Any) -> None:
            if op == "add" or msg in self.scheduler_info["workers"]:
                super()._update_worker_status(op, msg)

    return LocalCluster


@contextmanager
def connect(address: str, *, timeout: float = 10.0, security: Any = None) -> Iterator[Any]:
    """A cluster whose scheduler is at an address, for a `with` block in which all sums over shards run on it.

    `security` is a `dask.distributed.Security` with the certificates, for addresses that begin with `tls://`.

    >>> with connect("tcp://scheduler:8786"):  # doctest: +SKIP
    ...     found = wg.optimize.minimize(loss, w)
    """
    distributed = import_dask()
    try:
        client = distributed.Client(address, timeout=timeout, security=security)
    except (OSError, ValueError, TypeError) as error:
        raise user_error(
            ConnectionError,
            f"No scheduler of Dask's answers at {address!r}",
            f"Start one there (`dask scheduler`), or correct the address or the certificates. ({error})",
        ) from error
    with client:
        yield client


def import_dask() -> Any:
    """The module of Dask's clusters."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise user_error(
            ImportError,
            "A cluster needs Dask, which is not installed",
            "pip install wengert[distributed]. Without a cluster, sums run in this process.",
        ) from error
