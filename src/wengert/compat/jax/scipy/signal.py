"""`jax.scipy.signal`."""

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.numpy.products import lift_product

__all__ = ["convolve", "convolve2d", "correlate"]

__getattr__ = without(__name__, ABSENT)

convolve2d = lift(wg.signal.convolve2d)
convolve, correlate = map(lift_product, (wg.signal.convolve, wg.signal.correlate))
