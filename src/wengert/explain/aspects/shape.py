"""Operations that move and select elements: what makes them infinite or zero, their signs."""

from __future__ import annotations

from wengert.explain.comparing.digits import digits, enter_as_in_numpy
from wengert.explain.pictures.signs import sign
from wengert.explain.why.remedies import FORWARD, Remedy, always, remedies
from wengert.explain.why.zeros import left_out, zero_slope
from wengert.ops.indexing.subscripts import _getitem, _winners, gather
from wengert.ops.indexing.taking import argwhere
from wengert.ops.samples.sorting import _argpartition, _argsort, _searchsorted
from wengert.ops.shape.casting import _astype, _astype_discrete, _copy
from wengert.ops.shape.joining import _full_like, _unstack
from wengert.ops.shape.rearranging import _diagonal, _split, _tril, _triu
from wengert.ops.shape.reshaping import _broadcast_to, _transpose
from wengert.ops.signal.fourier import _fft, _ifft, _irfft, _rfft

remedies.enter(
    (
        Remedy(
            FORWARD,
            always,
            "the number is too large for the new dtype",
            "Scale before the conversion, or keep the larger dtype.",
        ),
    ),
    _astype,
)
zero_slope.enter(left_out, _getitem, gather, _split, _unstack, _diagonal, _tril, _triu)
sign.enter("ᵀ", _transpose)
sign.enter("spread", _broadcast_to)
digits.enter(lambda mp, x, **params: x, _astype, _copy)
enter_as_in_numpy(_astype_discrete, _full_like, _winners, argwhere, _argsort, _argpartition, _searchsorted)
digits.without("many digits are for real numbers, and its numbers are complex", _fft, _ifft, _rfft, _irfft)
