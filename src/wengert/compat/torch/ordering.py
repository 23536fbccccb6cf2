"""Numbers in order, and how often they occur: sorting, quantiles, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.dtypes import int64
from wengert.compat.torch.reductions import Selected, at_indices
from wengert.compat.torch.values import layered

__all__ = [
    "argsort", "bincount", "bucketize", "cummax", "cummin", "histc", "kthvalue", "median", "mode", "msort",
    "nanmedian", "nanquantile", "quantile", "searchsorted", "sort", "topk", "unique", "unique_consecutive",
]  # fmt: skip


def running_extreme(x: Any, dim: int, accumulate: Any) -> Selected:
    """The extreme up to each element and its index, the last of those that are equal."""
    rows = np.moveaxis(np.asarray(wg.stop_gradient(x)), dim, -1)
    is_new = rows == accumulate(rows, axis=-1)
    indices = np.maximum.accumulate(np.where(is_new, np.arange(rows.shape[-1]), 0), axis=-1)
    indices = np.ascontiguousarray(np.moveaxis(indices, -1, dim))
    return Selected(wg.take_along_axis(x, indices, dim), wg.asarray(indices))


@layered
def cummax(input: Any, dim: int) -> Any:
    """The greatest number up to each element, and its index."""
    return running_extreme(input, dim, np.maximum.accumulate)


@layered
def cummin(input: Any, dim: int) -> Any:
    """The least number up to each element, and its index."""
    return running_extreme(input, dim, np.minimum.accumulate)


@layered
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The numbers in order along an axis, and the indices that they had."""
    indices = wg.argsort(input, dim, descending=descending, stable=True)
    return Selected(wg.take_along_axis(input, indices, dim), indices)


def msort(input: Any) -> Any:
    """The numbers in order along the first axis."""
    return sort(input, 0).values


@layered
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The indices that sort along an axis."""
    return wg.argsort(input, dim, descending=descending, stable=True)


@layered
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k greatest numbers (or the least) along an axis, in order, and their indices."""
    order = wg.argsort(input, dim, descending=largest, stable=True)
    indices = wg.take(order, np.arange(k), dim)
    return Selected(wg.take_along_axis(input, indices, dim), indices)


@layered
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th least number along an axis, counted from 1, and its index."""
    return at_indices(input, wg.take(wg.argsort(input, dim, stable=True), k - 1, dim), dim, keepdim)


@layered
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle of the numbers in order, the lower one of two; along an axis with its index."""
    x, at = (wg.reshape(input, -1), 0) if dim is None else (input, dim)
    found = at_indices(x, wg.take(wg.argsort(x, at, stable=True), (x.shape[at] - 1) // 2, at), at, keepdim)
    return found.values if dim is None else found


@layered
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The number that occurs most often along an axis, the least of several, and its last index."""

    def last_index(row: np.ndarray) -> Any:
        values, counts = np.unique(row, return_counts=True)
        return np.flatnonzero(row == values[np.argmax(counts)])[-1]

    indices = np.apply_along_axis(last_index, dim, np.asarray(wg.stop_gradient(input)))
    return at_indices(input, indices, dim, keepdim)


@layered
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The numbers below which the share q is, interpolated between neighbours."""
    return wg.quantile(input, q, dim, keepdims=keepdim, method=interpolation)


@layered
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """`quantile` without NaN."""
    return wg.nanquantile(input, q, dim, keepdims=keepdim, method=interpolation)


@layered
def nanmedian(input: Any) -> Any:
    """The lower median of the elements that are not NaN."""
    x = wg.reshape(input, -1)
    found = x[~wg.isnan(x)]
    return found[wg.argsort(found)[(found.shape[0] - 1) // 2]]


@layered
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each integer occurs, or the sum of its weights."""
    return wg.bincount(input, weights, minlength)


@layered
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    """How many numbers are in each of equal intervals, from the least to the greatest if no bounds are given."""
    x = np.asarray(wg.stop_gradient(input))
    low, high = (x.min(), x.max()) if min == max else (min, max)
    return np.histogram(x, bins, (low, high))[0].astype(x.dtype)


@layered
def searchsorted(sorted_sequence: Any, input: Any, *, right: bool = False, side: str | None = None) -> Any:
    """Where numbers would be inserted into a sorted vector."""
    found = wg.searchsorted(sorted_sequence, input, side=side or ("right" if right else "left"))
    return wg.astype(found, int64)


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Any:
    """The interval that each number is in."""
    return searchsorted(boundaries, input, right=right)


@layered
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different numbers in order, or slices along an axis."""
    return wg.unique(input, return_inverse=return_inverse, return_counts=return_counts, axis=dim)


@layered
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The numbers that differ from the one before."""
    x = wg.reshape(input, -1)
    is_first = np.append(True, np.asarray(x[1:] != x[:-1]))
    starts = np.flatnonzero(is_first)
    found = [x[starts]]
    if return_inverse:
        found.append(np.cumsum(is_first).reshape(input.shape) - 1)
    if return_counts:
        found.append(np.diff(np.append(starts, is_first.size)))
    return found[0] if len(found) == 1 else tuple(found)
