"""What one gradient over shards costs on a cluster: a model, its constants, and a simulation of large clusters.

`python -m tools.cluster_costs` simulates up to 10 000 workers and a billion parameters, with
the constants below; `--measure` measures them on this machine first. See docs/design/distributed.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from wengert.core.spec import Spec
from wengert.distributed.reduction import fan_in_of, tree_levels

WORKERS = (1, 10, 100, 1_000, 10_000)
PARAMETERS = (10**2, 10**4, 10**6, 10**8, 10**9)
SHARDS = 4
"""Shards of a worker."""
SPREAD = 0.1
"""The standard deviation of the logarithm of the time of a shard: some workers are slower than others."""


class Constants(NamedTuple):
    """Seconds and bytes per second: measured by `--measure`, except for the network, which is one of 10 Gbit/s."""

    task: float = 1.2e-3  # of client and scheduler, for one task
    call: float = 3.5e-2  # of a call: its graph, and the messages that begin and end it
    latency: float = 1.5e-3  # of a transfer between workers
    bandwidth: float = 1.2e9  # of a link
    add: float = 2.4e9  # bytes of partial results that a worker adds


class Costs(NamedTuple):
    """Where the time of one call goes."""

    compute: float
    broadcast: float
    reduce: float
    total: float

    @property
    def communication(self) -> float:
        """The share of the time that is not spent on shards."""
        return 1.0 - self.compute / self.total


def simulate(workers: int, parameters: int, work: float, c: Constants, itemsize: int = 8, seed: int = 0) -> Costs:
    """One call on a cluster, on which a shard takes `work` seconds; partial results travel with `itemsize`.

    Parameters go from the client to one worker, and from each worker that has them to another. The scheduler hands out
    tasks one after the other. Partial results go to the worker of the first of their group, one after the other.
    """
    rng = np.random.default_rng(seed)
    down, up = (c.latency + parameters * size / c.bandwidth for size in (8, itemsize))
    arrival = c.call + down * (1.0 + np.ceil(np.log2(np.arange(workers) + 1.0)))
    count = workers * SHARDS
    times = work * rng.lognormal(-(SPREAD**2) / 2.0, SPREAD, (workers, SHARDS))
    handed_out = c.task * np.arange(count).reshape(workers, SHARDS)
    ready = np.empty((workers, SHARDS))
    free = arrival
    for k in range(SHARDS):
        free = ready[:, k] = np.maximum(free, handed_out[:, k]) + times[:, k]
    done, owner = ready.reshape(-1), np.arange(count) // SHARDS  # neighbours are on one worker
    for groups in tree_levels(count, fan_in_of([Spec((parameters,), np.dtype(float))])):
        done, owner = (pad_groups(x, len(groups), len(groups[0])) for x in (done, owner))
        received = done[:, 0]
        for k in range(1, done.shape[1]):
            took = np.where(owner[:, k] != owner[:, 0], up, 0.0) + parameters * itemsize / c.add
            received = np.where(owner[:, k] < 0, received, np.maximum(received, done[:, k]) + took)
        done, owner = received + c.task, owner[:, 0]
    total = float(done[0]) + up
    return Costs(float(times.sum(axis=1).mean()), float(arrival.max()), total - float(ready.max()), total)


def pad_groups(x: np.ndarray, count: int, fan_in: int) -> np.ndarray:
    """Values of the results of a level, a row for each group; -1 where the last group has none."""
    return np.concatenate([x, np.full(count * fan_in - len(x), -1)]).reshape(count, fan_in)


def measure_constants() -> Constants:
    """The constants of processes of this machine, whose memory is the network.

    Tasks cost the processor time of this process, in which client and scheduler are, so that other programs do not
    count. The others are the shortest times of several.
    """
    import wengert as wg

    def shortest(run: Callable[[], Any], times: int, clock: Callable[[], float] = perf_counter) -> float:
        found = []
        for _ in range(times):
            start = clock()
            run()
            found.append(clock() - start)
        return min(found)

    with wg.distributed.local(workers=2) as client:
        names = list(client.scheduler_info()["workers"])

        def empty_tasks(count: int) -> Callable[[], Any]:
            return lambda: client.gather(client.map(int, range(count), pure=False))

        def move(size: int) -> Callable[[], Any]:
            def run() -> Any:
                made = client.submit(np.zeros, size // 8, workers=names[0], pure=False)
                return client.submit(len, made, workers=names[1], pure=False).result()

            return run

        empty_tasks(10)()
        call, many = shortest(empty_tasks(1), 20, process_time), shortest(empty_tasks(1000), 3, process_time)
        one, small, large = shortest(empty_tasks(1), 20), shortest(move(8), 20), shortest(move(1 << 27), 5)
    x = np.ones(1 << 22)
    return Constants(
        task=(many - call) / 999,
        call=one,
        latency=max(small - one, 1e-6),
        bandwidth=(1 << 27) / (large - small),
        add=x.nbytes / shortest(lambda: x + x, 20),
    )


def cost_table(work: float, c: Constants, itemsize: int) -> Table:
    """The time of a call, and the share of it that is not spent on shards."""
    title = f"{SHARDS} shards of {work:g} s for each worker, partial results of {itemsize} bytes for each parameter"
    table = Table("workers", *[f"{n:,.0f} parameters" for n in PARAMETERS], title=title)
    for workers in WORKERS:
        costs = [simulate(workers, n, work, c, itemsize) for n in PARAMETERS]
        table.add_row(f"{workers:,}", *[f"{cost.total:.3g} s, {cost.communication:.0%}" for cost in costs])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--measure", action="store_true", help="measure the constants on this machine")
    parser.add_argument("--work", type=float, default=0.25, metavar="S", help="seconds that a shard takes")
    options = parser.parse_args()
    constants = measure_constants() if options.measure else Constants()
    console = Console(width=140)
    console.print(constants)
    for itemsize in (8, 4):
        console.print(cost_table(options.work, constants, itemsize))


if __name__ == "__main__":
    main()
