"""Products, which take JAX's `precision`: they are computed in the precision of their operands, whatever it says."""

from __future__ import annotations

from functools import wraps
from typing import Any

import wengert as wg
from wengert.compat.jax.arrays import lift

PUBLIC = ["convolve", "correlate", "dot", "einsum", "inner", "matmul", "tensordot", "vdot", "vecdot"]


def lift_product(function: Any) -> Any:
    """A product that takes `precision` and the dtype of the result, `preferred_element_type`."""
    lifted = lift(function)

    @wraps(function)
    def product(*operands: Any, precision: Any = None, preferred_element_type: Any = None, **options: Any) -> Any:  # noqa: ARG001  # of JAX, where they say how a GPU rounds
        out = lifted(*operands, **options)
        return out if preferred_element_type is None else out.astype(preferred_element_type)

    return product


dot, matmul, inner, vdot, vecdot = map(lift_product, (wg.dot, wg.matmul, wg.inner, wg.vdot, wg.vecdot))
tensordot, einsum, convolve, correlate = map(lift_product, (wg.tensordot, wg.einsum, wg.convolve, wg.correlate))
