"""Sums over shards in this process: one shard after the other, or, if they are large, several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from wengert.core import machine, parallel
from wengert.core.spec import Spec
from wengert.distributed.programs import ShardProgram
from wengert.distributed.progress import CountLine
from wengert.distributed.reduction import Partial, TreeSum, fan_in_of, round_partial
from wengert.distributed.shards import Contents, RunOptions, ShardLayout, Shards, check_arrays, load_shard, naming_shard


class Embedded:
    """Runs programs on shards in this process."""

    def __init__(self, shards: Shards):
        self.shards = shards

    def describe(self, indices: Sequence[int]) -> list[Contents]:
        """What these shards consist of."""
        return [self.load(i)[0] for i in indices]

    def load(self, i: int) -> tuple[Contents, list[np.ndarray]]:
        """The arrays of a shard, which stay in memory if they shall."""
        shards = self.shards
        if i not in shards.kept:
            name, pieces, _ = shards.shards[i]
            with naming_shard(name):
                given = [compute_locally(piece) for piece in pieces]
            loaded = load_shard(name, shards.structure)(*given)
            if not shards.stays(i):
                return loaded
            shards.kept[i] = loaded
        return shards.kept[i]

    def arrays(self, i: int, specs: Sequence[Spec]) -> list[np.ndarray]:
        """The arrays of a shard, which must have these specs."""
        return check_arrays(self.shards.shards[i].name, *self.load(i), specs)

    def run(
        self, operands: Sequence[np.ndarray], programs: Sequence[ShardProgram], layout: ShardLayout, options: RunOptions
    ) -> Partial:
        """The sums of the results of the programs, one of which there is for each kind of shard."""

        def evaluate(i: int) -> Partial:
            with naming_shard(self.shards.shards[i].name):
                results = programs[layout.kind_of[i]](operands, self.arrays(i, layout.specs(i)))
            return round_partial(results, options.transfer)

        count, total = len(self.shards), TreeSum(fan_in_of(programs[0].outputs), options.transfer)
        largest = max([sum([spec.nbytes for spec in kind]) for kind in layout.kinds])
        threads = min(parallel.num_threads(), count) if largest >= machine.current.min_bytes_of_threaded_shard else 1
        with CountLine(count, options.progress) as line:
            partials = map(evaluate, range(count)) if threads == 1 else run_ahead(evaluate, count, threads)
            for i, partial in enumerate(partials):
                total.add(partial)
                line.advance([i])
        return total.total()


def compute_locally(piece: Any) -> Any:
    """A piece without Dask: one of Dask's is computed, or fetched, by this process."""
    if hasattr(piece, "__dask_graph__"):
        return piece.compute(scheduler="synchronous")
    return piece


def run_ahead(evaluate: Callable[[int], Partial], count: int, threads: int) -> Iterator[Partial]:
    """The results of all shards in their order, computed by threads that are at most a few shards ahead."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="wengert-shard")
    try:
        indices = iter(range(count))
        ahead = deque([pool.submit(evaluate, i) for i in islice(indices, 2 * threads)])
        while ahead:
            yield ahead.popleft().result()
            ahead.extend([pool.submit(evaluate, i) for i in islice(indices, 1)])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
