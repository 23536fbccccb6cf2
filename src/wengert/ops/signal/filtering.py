"""Convolution and correlation of whole arrays, by the names of `scipy.signal`."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.shape.joining import pad
from wengert.ops.shape.rearranging import flip
from wengert.ops.shape.reshaping import reshape
from wengert.ops.signal.convolution import convolution
from wengert.ops.signal.window_arguments import Widths

__all__ = ["convolve", "convolve2d", "correlate"]

BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays with the same number of axes, surrounded by zeros.

    `method` is ignored.

    >>> convolve([1.0, 2.0, 3.0], [1.0, 1.0], mode="same").tolist()
    [1.0, 3.0, 5.0]
    """
    in1, in2 = _operands("convolve", in1, in2)
    return _extend_and_convolve(*_larger_first(in1, in2, mode), mode, "fill", 0)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays with the same number of axes.

    It is the convolution with the second one reversed and conjugated.

    >>> correlate([1.0, 2.0, 3.0], [0.0, 1.0], mode="valid").tolist()
    [2.0, 3.0]
    """
    in1, in2 = _operands("correlate", in1, in2)
    return _extend_and_convolve(*_larger_first(in1, flip(_conjugate(in2)), mode), mode, "fill", 0)


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The convolution of two matrices.

    `boundary` says what is around the first: `fillvalue`, itself again ("wrap"), or reflected ("symm").

    >>> convolve2d([[1.0, 2.0]], [[1.0, 1.0]]).tolist()
    [[1.0, 3.0, 2.0]]
    """
    in1, in2 = _operands("convolve2d", in1, in2, 2)
    return _extend_and_convolve(*_larger_first(in1, in2, mode), mode, boundary, fillvalue)


def _conjugate(x: Any) -> Any:
    return conj(x) if x.dtype.kind == "c" else x


def _operands(name: str, in1: Any, in2: Any, ndim: int | None = None) -> tuple[Any, Any]:
    in1, in2 = as_operand(in1), as_operand(in2)
    if in1.ndim != in2.ndim or not in1.ndim or ndim not in (None, in1.ndim):
        what = "matrices" if ndim else "arrays with equally many axes"
        raise user_error(ValueError, f"{name} takes {what}, and got shapes {in1.shape} and {in2.shape}")
    if not in1.size or not in2.size:
        raise user_error(ValueError, f"{name} of an empty array")
    return in1, in2


def _larger_first(in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    """The arrays with the larger one first, where one must lie within the other: convolution is symmetric."""
    pairs = list(zip(in1.shape, in2.shape, strict=True))
    if mode != "valid" or all(m >= n for m, n in pairs):
        return in1, in2
    if any(m > n for m, n in pairs):
        raise user_error(
            ValueError,
            f"For mode='valid' one array must fit into the other along each axis; {in1.shape} and {in2.shape}",
        )
    return in2, in1


def _extend_and_convolve(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """The first array, extended beyond its boundary, convolved with the second one reversed."""
    reach = in2.shape
    widths: dict[str, Widths] = {
        "valid": ((0, 0),) * len(reach),
        "full": tuple([(n - 1, n - 1) for n in reach]),
        "same": tuple([(n // 2, (n - 1) // 2) for n in reach]),
    }
    if mode not in widths:
        raise user_error(ValueError, f"mode={mode!r}", "The modes are 'full', 'same' and 'valid'.")
    if boundary not in BOUNDARIES:
        raise user_error(ValueError, f"boundary={boundary!r}", "The boundaries are 'fill', 'wrap' and 'symm'.")
    padding = widths[mode]
    if boundary != "fill":
        in1, padding = pad(in1, padding, BOUNDARIES[boundary]), widths["valid"]
    elif not (isinstance(fillvalue, int | float) and fillvalue == 0):
        in1, padding = pad(in1, padding, constant_values=fillvalue), widths["valid"]
    result = convolution(reshape(in1, (1, 1, *in1.shape)), reshape(flip(in2), (1, 1, *reach)), padding=padding)
    return reshape(result, result.shape[2:])
