"""Data in batches: `wg.data.Batches((X, y), 32, shuffle=True, rng=0)`."""

from wengert.core.namespaces import name_functions
from wengert.data.batches import Batches
from wengert.data.splitting import split

__all__ = ["Batches", "split"]

__getattr__, __dir__ = name_functions(globals())
