"""Losses, data and expected numbers that the tests of sums over shards share.

Workers import this module, so its functions can travel by name.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np


def residuals(w, shard):
    x, y = shard
    return np.tanh(x @ w) - y


def squares(w, shard):
    return (residuals(w, shard) ** 2).sum()


def make_data(lengths=(5, 4, 0, 7, 5), columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, columns)), rng.normal(size=n)) for n in lengths]


def join(data):
    return tuple(np.concatenate(parts) for parts in zip(*data, strict=True))


class SlowShard:
    """Makes a shard after some time, and leaves a mark each time that it does."""

    def __init__(self, folder, i: int, seconds: float = 0.0):
        self.folder, self.i, self.seconds = str(folder), i, seconds

    def __call__(self):
        Path(self.folder, f"{self.i}-{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        return make_data(seed=self.i)[0]


class LongShard(SlowShard):
    """Makes a shard of other rows."""

    def __call__(self):
        return make_data(seed=self.i)[1]


class DyingShard(SlowShard):
    """Kills the process that makes it, as one that runs out of memory is killed."""

    def __call__(self):
        os.kill(os.getpid(), 9)


def wrong_shard():
    raise ValueError("the disk is on fire")


def bits(x):
    return np.asarray(x).tobytes()
