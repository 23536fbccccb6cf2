"""Discrete Fourier transforms: all of `np.fft`.

Four linear operations, of which the rest is made: `fft` and `ifft` along any axes, `rfft` and `irfft` along one. They
keep the length of the axis; `n` and `s` are cut or filled with zeros before. The matrix of the Fourier transform is
symmetric, so `fft` and `ifft` are their own transposes, and the transposes of `rfft` and `irfft` are each other's
transform with weights: a half spectrum has each frequency once, but for 0 and n/2 it stands for two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.kinds import case, linear, shift_axes, shift_axis
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.shape.joining import pad
from wengert.ops.shape.rearranging import roll

__all__ = [
    "fft", "fft2", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
    "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip

SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm with which a transform in the other direction has the same factor."""


def _spectrum(x: Spec, shape: tuple[int, ...]) -> Spec:
    return Spec(shape, np.result_type(x.dtype, 1j))


def _with_length(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _multiplicity(n: int, axis: int, spec: Any, xp: Any) -> Any:
    """How often each frequency of a half spectrum occurs in the whole one: twice, except 0 and n/2."""
    counts = xp.full(n // 2 + 1, 2, np.finfo(spec.dtype).dtype)
    counts[0] = 1
    if n % 2 == 0:
        counts[-1] = 1
    return counts.reshape((-1,) + (1,) * (len(spec.shape) - 1 - axis))


def _half_spectrum(x: Any, axis: int, norm: Any) -> np.ndarray:
    """The first n // 2 + 1 frequencies; of complex numbers too, where they do not tell the others."""
    if not np.iscomplexobj(x):
        return np.fft.rfft(x, axis=axis, norm=norm)
    return np.fft.fft(x, axis=axis, norm=norm)[(slice(None),) * axis + (slice(x.shape[axis] // 2 + 1),)]


def _rfft_transpose(t: Any, x_spec: Any, axis: int, norm: str) -> Any:
    # Of sum_k t[k] w^(jk) with w = exp(-2 pi i / n), a real x takes the real part, which is that of sum_k conj(t[k])
    # w^(-jk).
    n = x_spec.shape[axis]
    if x_spec.dtype.kind == "c":
        return _fft(resize_axis(t, n, axis), axis=(axis,), norm=norm)
    return _irfft(
        multiply(conj(t), 1 / _multiplicity(n, axis, x_spec, numpy_of(t))), n=n, axis=axis, norm=SWAPPED[norm]
    )


def _irfft_transpose(t: Any, n: int, axis: int, norm: str) -> Any:
    return multiply(conj(_rfft(t, axis=axis, norm=SWAPPED[norm])), _multiplicity(n, axis, t, numpy_of(t)))


_ALONG_AXES = (
    case((4,), axis=(0,), norm="backward"),
    case((3, 5), axis=(0,), norm="forward"),
    case((2, 3, 4), axis=(2, 0), norm="ortho"),
    case((0, 3), axis=(1,), norm="backward"),
)


def _symmetric_transform(name: str, transform: Callable) -> Callable:
    """A transform of several axes, which is its own transpose."""
    operation: Callable = linear(
        name,
        lambda x, axis, norm: transform(x, axes=axis, norm=norm),
        lambda t, axis, norm: operation(t, axis=axis, norm=norm),
        structural=False,
        conforms=True,
        batch=shift_axes,
        spec=lambda x, axis, norm: _spectrum(x, x.shape),
        cases=_ALONG_AXES,
    )
    return operation


_fft = _symmetric_transform("fft", np.fft.fftn)
_ifft = _symmetric_transform("ifft", np.fft.ifftn)
_rfft: Callable = linear(
    "rfft",
    _half_spectrum,
    _rfft_transpose,
    structural=False,
    conforms=True,
    batch=shift_axis,
    spec=lambda x, axis, norm: _spectrum(x, _with_length(x.shape, axis, x.shape[axis] // 2 + 1)),
    cases=(
        case((6,), axis=0, norm="backward"),
        case((2, 5), axis=1, norm="ortho"),
        case((4, 2), axis=0, norm="forward"),
        case((1,), axis=0, norm="backward"),
        case((0, 3), axis=1, norm="backward"),
    ),
)
_irfft: Callable = linear(
    "irfft",
    lambda x, n, axis, norm: np.fft.irfft(x, n, axis, norm),
    _irfft_transpose,
    structural=False,
    conforms=True,
    batch=shift_axis,
    spec=lambda x, n, axis, norm: Spec(_with_length(x.shape, axis, n), np.finfo(np.result_type(x.dtype, 1j)).dtype),
    cases=(
        case((4,), n=6, axis=0, norm="backward"),
        case((2, 3), n=5, axis=1, norm="ortho"),
        case((3, 2), n=4, axis=0, norm="forward"),
        case((1,), n=1, axis=0, norm="backward"),
        case((0, 2), n=3, axis=1, norm="backward"),
    ),
)


def resize_axis(x: Any, n: int, axis: int) -> Any:
    """x with this length along an axis: cut, or filled with zeros at the end."""
    length = x.shape[axis]
    if n < length:
        return getitem(x, (slice(None),) * axis + (slice(n),))
    return x if n == length else pad(x, [(0, n - length if i == axis else 0) for i in range(x.ndim)])


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in SWAPPED:
        raise user_error(ValueError, f'Invalid norm value {norm}; should be "backward", "ortho" or "forward"')
    return norm


def _length(n: int | None, default: int) -> int:
    n = default if n is None else index(n)
    if n < 1:
        raise user_error(ValueError, f"Invalid number of FFT data points ({n}) specified")
    return n


def _refuse_complex(name: str, x: Any) -> None:
    if x.dtype.kind == "c":
        raise user_error(TypeError, f"{name} is for real numbers and got {x.dtype}", "Use fft, or the real part.")


# Along one axis


@implements(np.fft.fft)
def fft(a: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """The discrete Fourier transform along an axis, of the first n numbers; missing ones are zeros.

    >>> fft([1.0, 0.0, 0.0]).real
    array([1., 1., 1.])
    """
    return _along_one(_fft, a, n, axis, norm, out)


@implements(np.fft.ifft)
def ifft(a: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `fft`.

    >>> ifft([1.0, 1.0]).real
    array([1., 0.])
    """
    return _along_one(_ifft, a, n, axis, norm, out)


def _along_one(transform: Callable, a: Any, n: int | None, axis: int, norm: str | None, out: None) -> Any:
    refuse_out(out)
    a = as_operand(a)
    axis = normalize_axis_index(axis, a.ndim)
    return transform(resize_axis(a, _length(n, a.shape[axis]), axis), axis=(axis,), norm=_norm(norm))


@implements(np.fft.rfft)
def rfft(a: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """The Fourier transform of real numbers: the n // 2 + 1 frequencies that determine the others.

    >>> rfft([1.0, 2.0]).real
    array([ 3., -1.])
    """
    refuse_out(out)
    a = as_operand(a)
    _refuse_complex("rfft", a)
    axis = normalize_axis_index(axis, a.ndim)
    return _rfft(resize_axis(a, _length(n, a.shape[axis]), axis), axis=axis, norm=_norm(norm))


@implements(np.fft.irfft)
def irfft(a: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `rfft`: n real numbers, by default 2 (m - 1).

    The imaginary parts at 0 and n/2 play no part.

    >>> irfft([3.0, -1.0])
    array([1., 2.])
    """
    refuse_out(out)
    a = as_operand(a)
    axis = normalize_axis_index(axis, a.ndim)
    n = _length(n, 2 * (a.shape[axis] - 1))
    return _irfft(resize_axis(a, n // 2 + 1, axis), n=n, axis=axis, norm=_norm(norm))


@implements(np.fft.hfft)
def hfft(a: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """The transform of a signal with Hermitian symmetry, given by its first half: a real spectrum.

    >>> hfft([1.0, 2.0])
    array([ 3., -1.])
    """
    return irfft(conj(as_operand(a)), n, axis, SWAPPED[_norm(norm)], out)


@implements(np.fft.ihfft)
def ihfft(a: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `hfft`.

    >>> ihfft([5.0, -3.0]).real
    array([1., 4.])
    """
    return conj(rfft(a, n, axis, SWAPPED[_norm(norm)], out))


# Along several axes

Lengths = Sequence[int] | None
Axes = Sequence[int] | None
MATRIX = (-2, -1)


@implements(np.fft.fftn)
def fftn(a: Any, /, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Any:
    """The Fourier transform along several axes, all if none is given.

    >>> fftn(np.ones((2, 2))).real.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    return _along_many(_fft, a, s, axes, norm, out)


@implements(np.fft.ifftn)
def ifftn(a: Any, /, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `fftn`.

    >>> ifftn(np.ones((2, 2))).real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return _along_many(_ifft, a, s, axes, norm, out)


@implements(np.fft.rfftn)
def rfftn(a: Any, /, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Any:
    """The Fourier transform of real numbers along several axes; half of the frequencies along the last of them.

    >>> rfftn(np.ones((2, 2))).real.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    refuse_out(out)
    a = as_operand(a)
    lengths, axes = _arguments(a, s, axes)
    a = rfft(a, lengths[-1], axes[-1], norm)
    return _along_many(_fft, a, lengths[:-1], axes[:-1], norm, None)


@implements(np.fft.irfftn)
def irfftn(a: Any, /, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `rfftn`; the last length is 2 (m - 1) by default.

    >>> irfftn(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    refuse_out(out)
    a = as_operand(a)
    lengths, axes = _arguments(a, s, axes)
    a = _along_many(_ifft, a, lengths[:-1], axes[:-1], norm, None)
    return irfft(a, None if s is None else lengths[-1], axes[-1], norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Lengths = None, axes: Axes = MATRIX, norm: str | None = None, out: None = None) -> Any:
    """The Fourier transform along two axes.

    >>> fft2(np.eye(2)).real.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return fftn(a, s, axes, norm, out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Lengths = None, axes: Axes = MATRIX, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `fft2`.

    >>> ifft2(np.ones((2, 2))).real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return ifftn(a, s, axes, norm, out)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Lengths = None, axes: Axes = MATRIX, norm: str | None = None, out: None = None) -> Any:
    """The Fourier transform of real numbers along two axes.

    >>> rfft2(np.eye(2)).real.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return rfftn(a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Lengths = None, axes: Axes = MATRIX, norm: str | None = None, out: None = None) -> Any:
    """The inverse of `rfft2`.

    >>> irfft2(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return irfftn(a, s, axes, norm, out)


def _along_many(transform: Callable, a: Any, s: Lengths, axes: Axes, norm: str | None, out: None) -> Any:
    refuse_out(out)
    a = as_operand(a)
    lengths, axes = _arguments(a, s, axes)
    for n, axis in zip(lengths, axes, strict=True):
        a = resize_axis(a, _length(n, a.shape[axis]), axis)
    return transform(a, axis=tuple(axes), norm=_norm(norm)) if axes else a


def _arguments(a: Any, s: Lengths, axes: Axes) -> tuple[list[int], list[int]]:
    """Lengths and axes; a length of -1 is that of the array."""
    if axes is None:
        if s is not None:
            warnings.warn(
                "`axes` should not be `None` if `s` is not `None` (deprecated by NumPy).",
                DeprecationWarning,
                stacklevel=4,
            )
        axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
    axes = [normalize_axis_index(axis, a.ndim) for axis in axes]
    lengths = [a.shape[axis] for axis in axes] if s is None else list(s)
    if len(lengths) != len(axes):
        raise user_error(ValueError, f"Shape and axes have different lengths, {len(lengths)} and {len(axes)}")
    return [a.shape[axis] if n in (-1, None) else index(n) for n, axis in zip(lengths, axes, strict=True)], axes


# The order of frequencies


@implements(np.fft.fftshift)
def fftshift(x: Any, /, axes: Any = None) -> Any:
    """The frequencies in ascending order, with 0 in the middle.

    >>> fftshift([0.0, 1.0, -2.0, -1.0])
    array([-2., -1.,  0.,  1.])
    """
    return _shift_half(x, axes, lambda n: n // 2)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, /, axes: Any = None) -> Any:
    """The inverse of `fftshift`.

    >>> ifftshift([-2.0, -1.0, 0.0, 1.0])
    array([ 0.,  1., -2., -1.])
    """
    return _shift_half(x, axes, lambda n: -(n // 2))


def _shift_half(x: Any, axes: Any, shift: Callable[[int], int]) -> Any:
    x = as_operand(x)
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    return roll(x, tuple([shift(x.shape[axis]) for axis in axes]), axes)
