"""Trees as vectors, replayed functions, optimisers and fixed points: `autograd.misc`."""

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.misc.flatten import flatten
from wengert.compat.autograd.misc.tracers import const_graph
from wengert.compat.differences import without

__all__ = ["const_graph", "flatten"]

__getattr__ = without(__name__, ABSENT)
