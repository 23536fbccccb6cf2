"""Operations that move and select elements: why they are not finite, their forms of many digits, their signs."""

from __future__ import annotations

from wengert.explain.comparing.digits import COMPLEX, digits, enter_numpy_forms, enter_rounded_forms
from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import FORWARD, Remedy, always, remedies
from wengert.ops.indexing.subscripts import _winners
from wengert.ops.indexing.taking import argwhere
from wengert.ops.samples import sets
from wengert.ops.samples.histograms import _histogram
from wengert.ops.samples.sorting import _argpartition, _argsort, _searchsorted
from wengert.ops.shape.casting import _astype, _astype_discrete, _copy
from wengert.ops.shape.joining import _full_like
from wengert.ops.shape.reshaping import _broadcast_to, _transpose
from wengert.ops.signal.fourier import _fft, _ifft, _irfft, _rfft

NARROWED = Remedy(
    FORWARD,
    always,
    "the number is too large for the new dtype",
    "Scale before the conversion, or keep the larger dtype.",
)

remedies.enter((NARROWED,), _astype)
sign.enter("ᵀ", _transpose)
sign.enter("spread", _broadcast_to)
digits.enter(lambda mp, x, **params: x, _astype, _copy)
enter_numpy_forms(_astype_discrete, _full_like, _winners, argwhere, _argsort, _argpartition, _searchsorted)
enter_rounded_forms(_histogram, sets._first_indices, sets._inverse, sets._multiplicities, sets._isin)
digits.without(COMPLEX, _fft, _ifft, _rfft, _irfft)
