"""Losses over data that do not fit one machine: sums over shards, in this process or on a cluster of Dask's.

`loss = wg.distributed.sum(f, data)` is a function of the parameters, with derivatives of all kinds.
"""

from wengert.distributed import aspects as aspects  # what other layers know of the operation
from wengert.distributed.local import connect, local
from wengert.distributed.sums import mean, sum

__all__ = ["connect", "local", "mean", "sum"]
