"""Functions that change an array in NumPy, and return a new one in JAX, which asks for `inplace=False`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compat.jax.arrays import array
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand

PUBLIC = ["fill_diagonal", "place", "put", "put_along_axis"]


def refuse_inplace(inplace: bool) -> None:
    """Raise an error unless a new array is asked for, as JAX does."""
    if inplace:
        raise user_error(ValueError, "Arrays are immutable", "Pass inplace=False, and use the result.")


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """The array with other elements on its diagonal."""
    refuse_inplace(inplace)
    a, val = array(a), as_operand(val)
    flags = np.zeros(a.shape, bool)
    np.fill_diagonal(flags, True, wrap)
    diagonal = np.nonzero(flags)
    repeated = val.reshape(-1)[np.arange(diagonal[0].size) % val.size] if val.ndim else val
    return a.at[diagonal].set(repeated)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """The array with other elements at indices of its flat form."""
    refuse_inplace(inplace)
    if mode not in (None, "raise"):
        raise user_error(NotImplementedError, f"put has no mode={mode!r} here", "Indices out of range are errors.")
    a = array(a)
    return a.reshape(-1).at[as_operand(ind).reshape(-1)].set(as_operand(v).reshape(-1)).reshape(a.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """The array with the first elements of `vals` where a mask is true."""
    refuse_inplace(inplace)
    arr, chosen = array(arr), np.nonzero(np.asarray(mask).reshape(-1))[0]
    vals = as_operand(vals).reshape(-1)
    return arr.reshape(-1).at[chosen].set(vals[np.arange(chosen.size) % vals.size]).reshape(arr.shape)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True) -> Any:
    """The array with other elements at indices along an axis."""
    refuse_inplace(inplace)
    arr, indices = array(arr), as_operand(indices)
    if axis is None:
        return put(arr, indices, values, inplace=False)
    axis %= arr.ndim
    grid = np.ogrid[tuple([slice(1 if i == axis else n) for i, n in enumerate(arr.shape)])]
    return arr.at[tuple([indices if i == axis else g for i, g in enumerate(grid)])].set(values)
