"""Data in batches: `wg.data.Batches((X, y), 32, shuffle=True, rng=0)`."""

from wengert.data.batches import Batches
from wengert.data.splitting import split

__all__ = ["Batches", "split"]
