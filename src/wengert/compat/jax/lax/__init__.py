"""`jax.lax`: loops, choices, slices, and operations by other names."""

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.lax import collectives, contractions, control_flow, operations, slicing, solving
from wengert.compat.jax.lax import linalg as linalg

PARTS = (control_flow, slicing, operations, contractions, collectives, solving)

for _part in PARTS:
    globals().update({name: getattr(_part, name) for name in _part.PUBLIC})

__all__ = sorted(["linalg", *[name for part in PARTS for name in part.PUBLIC]])

__getattr__ = without(__name__, ABSENT)
