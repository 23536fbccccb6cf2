"""Gradient calls while workers are killed: `python -m tests.distributed.kills --calls 100 --every 10`.

All calls return, with the same bits as in this process.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal

import numpy as np
from tests.distributed.shard_losses import bits, make_data, squares

import wengert as wg


def worker_pids(client) -> list[int]:
    """The processes of the workers that run, as the cluster knows them."""
    return sorted(nanny.pid for nanny in client.cluster.workers.values() if nanny.pid)


def kill_worker(client) -> None:
    """Kill a worker, and do not wait until anybody has seen it."""
    os.kill(worker_pids(client)[0], signal.SIGKILL)


def count_results(client, alone, calls: int, every: int) -> tuple[int, int]:
    """The number of results, and of different ones, while a worker is killed in each `every`th call."""
    loss = wg.value_and_grad(wg.distributed.sum(squares, make_data((50,) * 16)))
    w = np.array([0.3, -0.7, 1.1])
    results = [[bits(x) for x in alone(loss, w)]]
    for i in range(calls):
        if i % every == every - 1:
            kill_worker(client)
        results.append([bits(x) for x in loss(w)])
    return len(results) - 1, len({tuple(found) for found in results})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    for name in ("distributed", "distributed.nanny"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    outside = wg.distributed.sum(squares, make_data((50,) * 16))
    alone = wg.value_and_grad(outside)(np.array([0.3, -0.7, 1.1]))
    with wg.distributed.local(workers=2) as client:
        done, different = count_results(client, lambda f, w: alone, options.calls, options.every)
    print(f"{done} results, {different} different, {options.calls // options.every} workers killed")


if __name__ == "__main__":
    main()
