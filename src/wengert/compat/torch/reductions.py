"""Sums, extremes and other functions along axes, with PyTorch's `dim` and `keepdim`."""

from __future__ import annotations

from typing import Any, NamedTuple

import wengert as wg
from wengert.compat.torch.dtypes import get_default_dtype, int64
from wengert.compat.torch.values import layered
from wengert.core.errors import user_error

__all__ = [
    "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "corrcoef", "count_nonzero", "cov", "cumprod",
    "cumsum", "cumulative_trapezoid", "diff", "dist", "logcumsumexp", "logsumexp", "max", "mean", "min", "nanmean",
    "nansum", "norm", "prod", "std", "std_mean", "sum", "trapezoid", "trapz", "var", "var_mean",
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


@layered
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of the elements that are not NaN."""
    return wg.nansum(input, axes(dim), dtype=dtype, keepdims=keepdim)


@layered
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the elements that are not NaN."""
    return wg.nanmean(input, axes(dim), dtype=dtype, keepdims=keepdim)


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
    return wg.cov(input, ddof=correction, fweights=fweights, aweights=aweights, dtype=smooth_dtype(input))


@layered
def corrcoef(input: Any) -> Any:
    """The correlation of the rows."""
    return wg.corrcoef(input, dtype=smooth_dtype(input))


def smooth_dtype(input: Any) -> Any:
    """The dtype of statistics of a tensor: its own, unless it has integers."""
    return input.dtype if input.dtype.kind in "fc" else get_default_dtype()


trapz = trapezoid
