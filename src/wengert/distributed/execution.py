"""Where a sum over shards runs: on the current cluster of Dask's, or, if there is none, in this process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from wengert.distributed.embedded import Embedded
from wengert.distributed.programs import shard_program
from wengert.distributed.reduction import restore_partial
from wengert.distributed.shards import Contents, RunOptions, ShardLayout, Shards
from wengert.graph.graph import Graph
from wengert.ops.elementwise.arithmetic import add


class Executor(Protocol):
    """Runs programs on shards."""

    def describe(self, indices: Sequence[int]) -> Sequence[Contents]:
        """What these shards consist of."""
        ...

    def run(
        self, operands: Sequence[np.ndarray], programs: Sequence[Any], layout: ShardLayout, options: RunOptions
    ) -> list:
        """The sums of the results of the programs, one of which there is for each kind of shard."""
        ...


def executor_for(shards: Shards) -> Executor:
    """What runs programs on these shards now."""
    client = current_client()
    if client is None:
        return Embedded(shards)
    from wengert.distributed.cluster import placement_on  # imports Dask

    return placement_on(client, shards)


def current_client() -> Any:
    """The current client of Dask's; None if there is none. Dask is not imported to find that out."""
    distributed = sys.modules.get("distributed")
    if distributed is None or not hasattr(distributed, "default_client"):
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    return None if client.status == "closed" else client


def shard_layout(shards: Shards) -> ShardLayout:
    """What the shards consist of."""
    return shards.find_layout(lambda missing: executor_for(shards).describe(missing))


def run_plain(operands: Sequence[Any], bodies: Sequence[Graph], shards: Shards, options: RunOptions) -> list[Any]:
    """The sums on plain arrays."""
    layout = shard_layout(shards)
    specs = [node.spec for node in bodies[0].outputs]
    programs = [shard_program(body) for body in bodies]
    found = executor_for(shards).run([np.asarray(x) for x in operands], programs, layout, options)
    return restore_partial(found, specs)


def run_on_values(operands: Sequence[Any], bodies: Sequence[Graph], shards: Shards, options: RunOptions) -> list[Any]:  # noqa: ARG001  # as run_plain
    """The sums on values that record what happens to them, operation by operation, from the first shard to the last."""
    layout, here = shard_layout(shards), Embedded(shards)
    total: list[Any] = []
    for i, kind in enumerate(layout.kind_of):
        found = bodies[kind].run([*operands, *here.arrays(i, layout.specs(i))])
        total = [add(x, y) for x, y in zip(total, found, strict=True)] if total else found
    return total
