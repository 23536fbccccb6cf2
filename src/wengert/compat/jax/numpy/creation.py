"""New arrays: NumPy's, as constants, also in traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compat.jax.arrays import ConcreteArray, array, lift, to_array
from wengert.core.primitive import holds_value
from wengert.modes import creation, grids

PUBLIC = [
    "arange", "array", "asarray", "copy", "empty", "eye", "frombuffer", "fromiter", "full", "geomspace", "identity",
    "linspace", "load", "logspace", "mgrid", "ogrid", "ones", "tri", "zeros",
]  # fmt: skip

zeros = lift(np.zeros)
ones = lift(np.ones)
empty = lift(np.zeros, "empty")  # as in JAX
eye = lift(np.eye)
identity = lift(np.identity)
arange = lift(np.arange)
tri = lift(np.tri)
load = lift(np.load)
frombuffer = lift(np.frombuffer)
fromiter = lift(np.fromiter)
copy = array


def asarray(a: Any, dtype: Any = None, order: str = "K", *, copy: bool | None = None) -> Any:  # noqa: ARG001  # as in `array`
    """An array as it is; numbers, and lists of them, as a new one."""
    return a if a.__class__ is ConcreteArray and dtype in (None, a.dtype) else array(a, dtype, order=order)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array of one number, with a derivative with respect to it."""
    made = creation.full(shape, fill_value, dtype) if holds_value(fill_value) else np.full(shape, fill_value, dtype)
    return to_array(made)


def lift_grid(traced: Any, plain: Any) -> Any:
    """A function of two ends, which have derivatives."""

    def spaced(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **options: Any) -> Any:
        function = traced if holds_value([start, stop]) else plain
        made = function(start, stop, num, endpoint=endpoint, **options)
        return tuple(map(to_array, made)) if isinstance(made, tuple) else to_array(made)

    spaced.__name__ = spaced.__qualname__ = plain.__name__
    spaced.__doc__ = f"As `numpy.{plain.__name__}`."
    return spaced


linspace = lift_grid(grids.linspace, np.linspace)
logspace = lift_grid(grids.logspace, np.logspace)
geomspace = lift_grid(grids.geomspace, np.geomspace)


class Grid:
    """`np.mgrid` or `np.ogrid`."""

    def __init__(self, grid: Any):
        self.grid = grid

    def __getitem__(self, key: Any) -> Any:
        made = self.grid[key]
        return [ConcreteArray(axis) for axis in made] if isinstance(made, list | tuple) else ConcreteArray(made)


mgrid, ogrid = Grid(np.mgrid), Grid(np.ogrid)
