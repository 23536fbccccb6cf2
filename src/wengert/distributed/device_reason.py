"""Sums over shards and devices: why there is no device call."""

from __future__ import annotations

from wengert.core.device_calls import device_call
from wengert.distributed.operation import DISTRIBUTED_SUM

device_call.without("its shards, and the programs that run on them, are on the CPU", DISTRIBUTED_SUM)
