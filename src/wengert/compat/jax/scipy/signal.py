"""`jax.scipy.signal`."""

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift_names
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.numpy.products import lift_product

NAMES = "convolve2d"
globals().update(lift_names(wg.signal, NAMES))

__all__ = ["convolve", "convolve2d", "correlate"]

__getattr__ = without(__name__, ABSENT)

convolve, correlate = map(lift_product, (wg.signal.convolve, wg.signal.correlate))
