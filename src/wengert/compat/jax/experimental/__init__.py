"""`jax.experimental`."""

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.environment import enable_x64 as enable_x64

__all__ = ["enable_x64"]

__getattr__ = without(__name__, ABSENT)
