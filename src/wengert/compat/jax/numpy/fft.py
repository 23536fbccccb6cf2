"""`jax.numpy.fft`."""

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift_names
from wengert.compat.jax.differences import ABSENT

NAMES = """
    fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn
"""
globals().update(lift_names(wg.fft, NAMES))

__all__ = sorted(NAMES.split())

__getattr__ = without(__name__, ABSENT)
