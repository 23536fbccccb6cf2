"""The stand-in for the module `cupy`: the functions of NumPy that CuPy has."""

from __future__ import annotations

import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from tests.stand_in.device_array import DEVICES, Device, ndarray
from tests.stand_in.wrapping import on_device, wrap

__all__ = [
    "array", "asarray", "asnumpy", "cuda", "fft", "from_dlpack", "get_default_memory_pool", "linalg", "ndarray",
    "searchsorted",
]  # fmt: skip

ABSENT = frozenset((
    "asmatrix", "block", "bmat", "einsum_path", "errstate", "frompyfunc", "geomspace", "histogram_bin_edges", "insert",
    "isnat", "matvec", "nanpercentile", "nanquantile", "ndenumerate", "nditer", "polyder", "polydiv", "polyint",
    "spacing", "unstack", "vecdot", "vecmat",
))  # fmt: skip
"""Functions of NumPy that CuPy 14 does not have."""

ABSENT_IN_LINALG = frozenset((
    "diagonal", "matrix_norm", "multi_dot", "outer", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
))  # fmt: skip


class Namespace:
    """The functions of a module of NumPy that CuPy has."""

    def __init__(self, module: Any, absent: frozenset[str] = frozenset()):
        self.module, self.absent = module, absent

    def __getattr__(self, name: str) -> Any:
        if name in self.absent or name.startswith("_"):
            raise AttributeError(name)
        return on_device_or_as_it_is(getattr(self.module, name))


def on_device_or_as_it_is(found: Any) -> Any:
    """A function on stand-in arrays, a module with such functions; types and numbers as they are."""
    if isinstance(found, ModuleType):
        return Namespace(found)
    return on_device(found) if callable(found) and not isinstance(found, type) else found


linalg, fft = Namespace(np.linalg, ABSENT_IN_LINALG), Namespace(np.fft)


def __getattr__(name: str) -> Any:
    if name in ABSENT or name.startswith("_"):
        raise AttributeError(name)
    return on_device_or_as_it_is(getattr(np, name))


def array(x: Any, dtype: Any = None, copy: bool = True, **_: Any) -> ndarray:
    """A new array, from any device."""
    numbers = x._numbers if isinstance(x, ndarray) else x
    return ndarray(np.array(numbers, dtype, copy=True if copy else None))


def asarray(x: Any, dtype: Any = None, order: Any = None, **_: Any) -> ndarray:
    """An array as it is, if it is one; else as a new one."""
    return x if isinstance(x, ndarray) and dtype in (None, x.dtype) else array(x, dtype)


def asnumpy(x: Any, *_: Any, **__: Any) -> np.ndarray:
    """A copy for NumPy."""
    return x.get() if isinstance(x, ndarray) else np.asarray(x)


def searchsorted(a: Any, v: Any, *args: Any, **kwargs: Any) -> ndarray:
    """As NumPy's, but not for its scalars."""
    if isinstance(v, np.generic):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    return on_device(np.searchsorted)(a, v, *args, **kwargs)


def from_dlpack(x: Any) -> ndarray:
    """The memory of another library's array."""
    return wrap(np.from_dlpack(x.on_host if hasattr(x, "on_host") else x))


class OutOfMemoryError(MemoryError):
    """The stand-in for CuPy's error."""


class Event:
    """The stand-in for `cupy.cuda.Event`: the device has done everything that was launched before."""

    def record(self) -> None:
        self.seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing is left to be done."""


def get_default_memory_pool() -> Any:
    """The stand-in for CuPy's memory pool, which keeps nothing."""
    return SimpleNamespace(free_all_blocks=lambda: None)


cuda = SimpleNamespace(
    Device=Device,
    Event=Event,
    get_elapsed_time=lambda first, last: 1e3 * (last.seconds - first.seconds),
    memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    runtime=SimpleNamespace(getDeviceCount=lambda: DEVICES, memGetInfo=lambda: (3 << 30, 80 << 30)),
)
