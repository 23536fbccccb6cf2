"""Operations that the library of a device has as one call: they are not expanded there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.compiler.forms.lowering import expansion
from wengert.core.aspects import primitive_of
from wengert.core.primitive import Primitive
from wengert.ops.linear_algebra import cholesky, factorizations, least_squares, spectral, systems
from wengert.ops.signal import convolution, fourier


@cache
def library_operations() -> frozenset[Primitive]:
    """Factorisations and systems (cuSOLVER, cuBLAS), Fourier transforms (cuFFT), and convolutions."""
    linear = (
        *(cholesky._cholesky, cholesky._cholesky_pull, factorizations._qr, factorizations._complement),
        *(systems._solve, systems._inv, systems._det, systems._logdet, systems._det_sign, systems._cofactor),
        *(spectral._eigh, spectral._svd, least_squares._lstsq),
    )
    signals = fourier._fft, fourier._ifft, fourier._rfft, fourier._irfft
    filters = convolution._convolution, convolution._convolution_signals, convolution._convolution_filters
    return frozenset(map(primitive_of, (*linear, *signals, *filters)))


def device_expansion(primitive: Primitive) -> Callable[..., Any] | None:
    """The expansion of an operation for a device, or None."""
    return None if primitive in library_operations() else expansion.of(primitive)
