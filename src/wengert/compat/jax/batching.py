"""`jax.vmap`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.compat.jax.arrays import strip_arrays, to_arrays
from wengert.compat.jax.differentiation import refuse_options
from wengert.core.frozen import frozen
from wengert.transforms import vmap as batches

PUBLIC = ["vmap"]


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """A function of single values as a function of batches.

    >>> import wengert.compat.jax.numpy as jnp
    >>> vmap(jnp.dot, in_axes=(0, None))(jnp.ones((2, 3)), jnp.arange(3.0))
    Array([3., 3.], dtype=float64)
    """
    refuse_options(axis_size=axis_size, spmd_axis_name=spmd_axis_name)
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    transformed = batches.vmap(fun, axes, out_axes, axis_name=axis_name)

    @wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        with frozen():
            return to_arrays(transformed(*strip_arrays(args), **strip_arrays(kwargs)))

    return batched
