"""Fourier transforms, by passes over vectors of signals."""

from __future__ import annotations

from wengert.compiler.forms.lowering import lowering
from wengert.compiler.routines.fourier.routine import FOURIER
from wengert.ops.signal import fourier

lowering.enter(FOURIER, fourier._fft, fourier._ifft, fourier._rfft, fourier._irfft)
