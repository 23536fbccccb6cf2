"""`jax.scipy.integrate`."""

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift
from wengert.compat.jax.differences import ABSENT

__all__ = ["trapezoid"]

__getattr__ = without(__name__, ABSENT)

trapezoid = lift(wg.trapezoid)
