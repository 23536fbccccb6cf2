"""Operations that move elements into an array of another shape."""

from __future__ import annotations

from typing import Any

from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.ops.shape.joining import _inside, _pad
from wengert.ops.shape.rearranging import _embed_diagonal
from wengert.ops.shape.reshaping import _broadcast_to


@device_call(_broadcast_to)
def broadcast_on_device(library: ArrayLibrary, x: Any, shape: tuple[int, ...]) -> Any:
    """A view."""
    return library.numpy.broadcast_to(x, shape)


@device_call(_pad)
def pad_on_device(library: ArrayLibrary, x: Any, pad_width: tuple[tuple[int, int], ...]) -> Any:
    """x amid zeros."""
    padded = library.numpy.zeros(
        [n + before + after for n, (before, after) in zip(x.shape, pad_width, strict=True)], x.dtype
    )
    padded[_inside(pad_width, x.shape)] = x
    return padded


@device_call(_embed_diagonal)
def embed_on_device(library: ArrayLibrary, x: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """x on a diagonal of zeros."""
    whole = library.numpy.zeros(shape, x.dtype)
    whole.diagonal(offset, axis1, axis2)[...] = x  # a view, which can be written to
    return whole
