"""Fourier transforms: passes over vectors of signals; those of real arrays by half of the spectrum."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.routines.fourier.routine import FOURIER
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import concatenate
from wengert.ops.signal.fourier import SWAPPED, _fft, _ifft, _irfft, _rfft

lowering.enter(FOURIER, _fft, _ifft, _rfft, _irfft)


@expansion(_fft)
def expand_fft(x: Any, axis: tuple[int, ...], norm: str) -> Any:
    """Of real arrays, the last axis first: half of the frequencies, and their conjugates, which a kernel reads."""
    if x.dtype.kind in "ib":
        return expand_fft(astype(x, float), axis, norm)
    if x.dtype.kind == "c" or not axis or not x.size:
        return None
    *others, last = axis
    half = _rfft(x, axis=last, norm=norm)
    rest = conj(getitem(half, part_of_axis(last, slice((x.shape[last] - 1) // 2, 0, -1))))
    whole = concatenate([half, rest], last)
    return _fft(whole, axis=tuple(others), norm=norm) if others else whole


@expansion(_ifft)
def expand_ifft(x: Any, axis: tuple[int, ...], norm: str) -> Any:
    """Of real arrays: the conjugate of the transform, which has the same factor with the other norm."""
    whole = expand_fft(x, axis, SWAPPED[norm])
    return None if whole is None else conj(whole)


@expansion(_rfft)
def expand_rfft(x: Any, axis: int, norm: str) -> Any:
    """Of integers, and of complex numbers, half of whose frequencies do not tell the others."""
    if x.dtype.kind in "ib":
        return _rfft(astype(x, float), axis=axis, norm=norm)
    if x.dtype.kind == "c":
        return getitem(_fft(x, axis=(axis,), norm=norm), part_of_axis(axis, slice(x.shape[axis] // 2 + 1)))
    return None


@expansion(_irfft)
def expand_irfft(x: Any, n: int, axis: int, norm: str) -> Any:
    """Of real numbers, as complex ones."""
    if x.dtype.kind == "c":
        return None
    return _irfft(astype(x, np.result_type(x.dtype, 1j)), n=n, axis=axis, norm=norm)


def part_of_axis(axis: int, part: slice) -> tuple[slice, ...]:
    """The key of a part of one axis."""
    return (*(slice(None),) * axis, part)
