"""Sums, extremes and other functions along axes, with PyTorch's `dim` and `keepdim`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.compat.torch.dtypes import int64
from wengert.compat.torch.values import layered
from wengert.core.errors import user_error

__all__ = [
    "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "argsort", "bincount", "corrcoef", "count_nonzero",
    "cov", "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "dist", "histc", "kthvalue",
    "logcumsumexp", "logsumexp", "max", "mean", "median", "min", "mode", "msort", "nanmean", "nanmedian", "nanquantile",
    "nansum", "norm", "prod", "quantile", "searchsorted", "bucketize", "sort", "std", "std_mean", "sum", "topk",
    "trapezoid", "trapz", "unique", "unique_consecutive", "var", "var_mean",
]  # fmt: skip


class Selected(NamedTuple):
    """Numbers that were selected along an axis, and where they were."""

    values: Any
    indices: Any


class Extremes(NamedTuple):
    """The least and the greatest numbers."""

    min: Any
    max: Any


class Eccentric(NamedTuple):
    """A spread, and the mean around which it was taken."""

    spread: Any
    mean: Any


def axes(dim: Any) -> Any:
    """PyTorch's `dim` as an axis: an empty tuple or list stands for all."""
    return tuple(dim) or None if isinstance(dim, tuple | list) else dim


@layered
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of the elements, along axes if given."""
    return wg.sum(input, axes(dim), dtype=dtype, keepdims=keepdim)


@layered
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the elements, along axes if given."""
    if dtype is None and input.dtype.kind in "biu":
        raise user_error(RuntimeError, f"mean of numbers of {input.dtype}", "Convert first: x.float().mean().")
    return wg.mean(input, axes(dim), dtype=dtype, keepdims=keepdim)


@layered
def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product of the elements, along an axis if given."""
    return wg.prod(input, dim, dtype=dtype, keepdims=keepdim)


def correct(dim: Any, unbiased: bool | None, correction: Any) -> tuple[Any, Any]:
    """The axes and the correction of a variance: `std(False)` has `unbiased` in the place of `dim`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    return axes(dim), 1 if correction is None else correction


@layered
def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """The variance, divided by n - 1 unless `correction` (or `unbiased=False`) says otherwise."""
    dim, correction = correct(dim, unbiased, correction)
    return wg.var(input, dim, ddof=correction, keepdims=keepdim)


@layered
def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """The standard deviation, with the variance divided by n - 1 unless `correction` says otherwise."""
    dim, correction = correct(dim, unbiased, correction)
    return wg.std(input, dim, ddof=correction, keepdims=keepdim)


def var_mean(input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, **options: Any) -> Any:
    """The variance and the mean."""
    at = None if isinstance(dim, bool) else dim
    return Eccentric(var(input, dim, unbiased, keepdim, **options), mean(input, at, keepdim))


def std_mean(input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, **options: Any) -> Any:
    """The standard deviation and the mean."""
    at = None if isinstance(dim, bool) else dim
    return Eccentric(std(input, dim, unbiased, keepdim, **options), mean(input, at, keepdim))


def at_indices(x: Any, indices: Any, dim: int, keepdim: bool) -> Selected:
    """The elements of x at one index for each row along an axis, to which alone derivatives flow."""
    values = wg.take_along_axis(x, wg.expand_dims(indices, dim), dim) if x.ndim else x
    return Selected(
        values if keepdim or not x.ndim else wg.squeeze(values, dim),
        wg.expand_dims(indices, dim) if keepdim and x.ndim else indices,
    )


@layered
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The greatest number; along an axis with its index; or, given another tensor, the greater one of each pair."""
    if other is not None or isinstance(dim, wg.Array):
        return wg.maximum(input, dim if other is None else other)
    return wg.max(input) if dim is None else at_indices(input, wg.argmax(input, dim), dim, keepdim)


@layered
def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The least number; along an axis with its index; or, given another tensor, the lesser one of each pair."""
    if other is not None or isinstance(dim, wg.Array):
        return wg.minimum(input, dim if other is None else other)
    return wg.min(input) if dim is None else at_indices(input, wg.argmin(input, dim), dim, keepdim)


@layered
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The greatest numbers along axes; several of them share the derivative."""
    return wg.max(input, axes(dim), keepdims=keepdim)


@layered
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The least numbers along axes; several of them share the derivative."""
    return wg.min(input, axes(dim), keepdims=keepdim)


@layered
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The least and the greatest numbers."""
    return Extremes(wg.min(input, dim, keepdims=keepdim), wg.max(input, dim, keepdims=keepdim))


@layered
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index of the greatest number."""
    return wg.argmax(input, dim, keepdims=keepdim)


@layered
def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index of the least number."""
    return wg.argmin(input, dim, keepdims=keepdim)


@layered
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all are true."""
    return wg.all(input, axes(dim), keepdims=keepdim)


@layered
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any is true."""
    return wg.any(input, axes(dim), keepdims=keepdim)


@layered
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """The logarithm of the sum of exponentials."""
    return wg.logsumexp(input, axes(dim), keepdims=keepdim)


@layered
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The p-norm of a vector, or of all elements; the Frobenius norm by default."""
    x = input if dtype is None else wg.astype(input, dtype)
    order = 2 if p in ("fro", None) else p
    if p == "nuc":
        return wg.linalg.matrix_norm(x, keepdims=keepdim, ord="nuc")
    return wg.linalg.vector_norm(x, axis=axes(dim), keepdims=keepdim, ord=order)


@layered
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The p-norm of a difference."""
    return wg.linalg.vector_norm(input - other, ord=p)


@layered
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sums up to each element, along an axis."""
    return wg.cumsum(input, dim, dtype=dtype)


@layered
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Products up to each element, along an axis."""
    return wg.cumprod(input, dim, dtype=dtype)


@layered
def logcumsumexp(input: Any, dim: int) -> Any:
    """The logarithm of `cumsum` of exponentials."""
    top = wg.max(wg.stop_gradient(input), dim, keepdims=True)
    return wg.log(wg.cumsum(wg.exp(input - top), dim)) + top


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
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of the elements that are not NaN."""
    return wg.nansum(input, axes(dim), dtype=dtype, keepdims=keepdim)


@layered
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the elements that are not NaN."""
    return wg.nanmean(input, axes(dim), dtype=dtype, keepdims=keepdim)


@layered
def nanmedian(input: Any) -> Any:
    """The lower median of the elements that are not NaN."""
    x = wg.reshape(input, -1)
    found = x[~wg.isnan(x)]
    return found[wg.argsort(found)[(found.shape[0] - 1) // 2]]


@layered
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    return wg.astype(wg.count_nonzero(input, axes(dim)), int64)


@layered
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis."""
    ends = {key: x for key, x in (("prepend", prepend), ("append", append)) if x is not None}
    return wg.diff(input, n, dim, **ends)


@layered
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integral by the trapezoidal rule along an axis."""
    return wg.trapezoid(y, x, dx, dim)


@layered
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """Integrals up to each element by the trapezoidal rule."""
    return wg.cumulative_trapezoid(y, x, dx, dim)


@layered
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance of the rows."""
    return wg.cov(input, ddof=correction, fweights=fweights, aweights=aweights)


@layered
def corrcoef(input: Any) -> Any:
    """The correlation of the rows."""
    return wg.corrcoef(input)


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


trapz = trapezoid
