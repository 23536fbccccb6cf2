"""`jax.flatten_util`: a tree as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compat.differences import without
from wengert.compat.jax.arrays import array
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.tree_util import tree_flatten
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape

__all__ = ["ravel_pytree"]

__getattr__ = without(__name__, ABSENT)


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The leaves of a tree in one vector, and the function that makes such a tree of a vector.

    >>> flat, unravel = ravel_pytree({"w": np.ones(2), "b": 3.0})
    >>> flat
    Array([3., 1., 1.], dtype=float64)
    >>> unravel(flat)["b"]
    Array(3., dtype=float64)
    """
    leaves, treedef = tree_flatten(pytree)
    leaves = [as_operand(x) for x in leaves]
    shapes, dtypes = [x.shape for x in leaves], [x.dtype for x in leaves]
    ends = np.cumsum([0, *[x.size for x in leaves]]).tolist()
    vector = array(concatenate([reshape(x, (-1,)) for x in leaves]) if leaves else np.zeros(0))

    def unravel(flat: Any) -> Any:
        if flat.shape != (ends[-1],):
            raise user_error(ValueError, f"A vector of shape {flat.shape} where one of {ends[-1]} elements was raveled")
        parts = [reshape(flat[start:end], shape) for start, end, shape in zip(ends, ends[1:], shapes, strict=False)]
        return treedef.unflatten([astype(x, dtype, copy=False) for x, dtype in zip(parts, dtypes, strict=True)])

    return vector, unravel
