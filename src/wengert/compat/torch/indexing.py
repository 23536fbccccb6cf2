"""Elements at indices: `gather`, `scatter` and their like, keys, and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.dtypes import result_type
from wengert.compat.torch.values import TorchValue, layered, plain
from wengert.core.errors import user_error
from wengert.ops.indexing.subscripts import add_at, set_at
from wengert.ops.indexing.subscripts import getitem as read_at

__all__ = [
    "argwhere", "diagonal_scatter", "gather", "index_add", "index_copy", "index_fill", "index_put", "index_select",
    "masked_fill", "masked_scatter", "masked_select", "nonzero", "scatter", "scatter_add", "scatter_reduce",
    "select_scatter", "slice_scatter", "take", "take_along_dim", "unravel_index",
]  # fmt: skip


def as_key(key: Any) -> Any:
    """A key with its tensors as Wengert's; those of uint8 are masks."""
    if isinstance(key, tuple):
        return tuple([as_key(part) for part in key])
    if isinstance(key, TorchValue):
        key = plain(key)
        return wg.astype(key, bool) if key.dtype == np.uint8 else key
    return [as_key(part) for part in key] if isinstance(key, list) else key


def is_array(part: Any) -> bool:
    """Whether a part of a key is a list or an array of indices."""
    return isinstance(part, list | np.ndarray | wg.Array) and np.ndim(part) > 0


def numbers_first(key: Any) -> tuple[Any, Any] | None:
    """A key in two steps, numbers and then the rest, where it has numbers and arrays: x[0, :, i] as x[0][:, i].

    To NumPy a number beside an array is an array too, which may move its axis to the front; to PyTorch it is not.
    """
    if not isinstance(key, tuple) or not any(map(is_array, key)):
        return None
    rest = [part for part in key if not isinstance(part, int | np.integer)]
    if len(rest) == len(key) or all(map(is_array, rest)):
        return None
    numbers: list[Any] = []
    for part in key:
        if isinstance(part, int | np.integer) or part is ...:
            numbers.append(part)
        elif part is not None:
            is_mask = is_array(part) and np.asarray(part).dtype == bool
            numbers += [slice(None)] * (np.ndim(part) if is_mask else 1)
    return tuple(numbers), tuple(rest)


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`."""
    if not isinstance(key, tuple | list | TorchValue):
        return read_at(x, key)
    key = as_key(key)
    steps = numbers_first(key)
    return read_at(x, key) if steps is None else read_at(read_at(x, steps[0]), steps[1])


def setitem(x: Any, key: Any, v: Any) -> None:
    """`x[key] = v`: numbers of another type become those of x."""
    if isinstance(v, wg.Array | np.ndarray) and v.dtype != x.dtype:
        v = wg.astype(v, x.dtype)
    key = as_key(key)
    if np.ndim(v) and numbers_first(key) is not None:
        raise user_error(
            RuntimeError,
            "An assignment of a tensor to numbers, slices and arrays of indices at once (x[0, :, i] = v)",
            "Write x[0] = ... with the whole slice, or use arrays of indices for all axes.",
        )
    x._mode.__setitem__(x, key, plain(v) if x.level else v)


def along(dim: int, index: Any) -> tuple[Any, ...]:
    """The key of the elements that `gather` and `scatter` mean: `index` along an axis, the element's own elsewhere."""
    grids = np.ix_(*[np.arange(n) for n in index.shape])
    return tuple([index if axis == dim % index.ndim else grid for axis, grid in enumerate(grids)])


@layered
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The elements at indices along an axis, one for each element of `index`."""
    if not input.ndim:
        return wg.reshape(input, index.shape)
    if all(
        n == m for axis, (n, m) in enumerate(zip(input.shape, index.shape, strict=True)) if axis != dim % input.ndim
    ):
        return wg.take_along_axis(input, index, dim)
    return read_at(input, along(dim, index))


@layered
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """The elements at indices along an axis."""
    return (
        wg.take_along_axis(input, indices, dim) if dim is not None else wg.reshape(input, -1)[wg.reshape(indices, -1)]
    )


def part_like(src: Any, index: Any, input: Any) -> Any:
    """What `scatter` writes: a number, or the first elements of `src` along each axis, as many as there are indices."""
    if not isinstance(src, wg.Array | np.ndarray) or not src.ndim:
        return src
    if src.dtype != input.dtype:
        raise user_error(TypeError, f"scatter of {src.dtype} into a tensor of {input.dtype}", "Use src.to(x.dtype).")
    return src if src.shape == index.shape else src[tuple([slice(n) for n in index.shape])]


@layered
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """The tensor with values written at indices along an axis, or added or multiplied there."""
    v = part_like(value if src is None else src, index, input)
    key = along(dim, index)
    if reduce is None:
        return set_at(input, key, v)
    if reduce == "add":
        return add_at(input, key, v)
    if reduce == "multiply":
        return input.at[key].multiply(v)
    raise user_error(ValueError, f"reduce={reduce!r}", "Use 'add' or 'multiply', or scatter_reduce.")


@layered
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """The tensor with values added at indices along an axis."""
    return add_at(input, along(dim, index), part_like(src, index, input))


@layered
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """The sums, means, products or extremes of the values at each index along an axis."""
    v, key = part_like(src, index, input), along(dim, index)
    if reduce not in ("sum", "mean", "prod", "amax", "amin"):
        raise user_error(ValueError, f"reduce={reduce!r}", "Use sum, mean, prod, amax or amin.")
    if reduce == "mean":
        counts = add_at(
            wg.full(input.shape, float(include_self), dtype=input.dtype), key, np.ones(index.shape, input.dtype)
        )
        start = input if include_self else set_at(input, key, 0)
        return add_at(start, key, v) / wg.maximum(counts, 1)
    neutral = {"sum": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}[reduce]
    at = (input if include_self else set_at(input, key, neutral)).at[key]
    return {"sum": at.add, "prod": at.multiply, "amax": at.max, "amin": at.min}[reduce](v)


def slices(dim: int, index: Any, ndim: int) -> tuple[Any, ...]:
    """The key of the slices at indices along an axis."""
    return (*(slice(None),) * (dim % max(ndim, 1)), index)


@layered
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices at indices along an axis."""
    return wg.take(input, index, dim)


@layered
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The tensor with slices added at indices along an axis."""
    return add_at(input, slices(dim, index, input.ndim), source if alpha == 1 else source * alpha)


@layered
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """The tensor with slices written at indices along an axis."""
    return set_at(input, slices(dim, index, input.ndim), source)


@layered
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """The tensor with a number written at indices along an axis."""
    return set_at(input, slices(dim, index, input.ndim), value)


@layered
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """The tensor with values written, or added, at a key."""
    return (add_at if accumulate else set_at)(input, tuple(indices), values)


@layered
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """The tensor with a number where the mask is true."""
    dtype = result_type(input, value)
    return wg.where(mask, wg.asarray(value, dtype=dtype), input if input.dtype == dtype else wg.astype(input, dtype))


@layered
def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the mask is true, in one vector."""
    x, mask = wg.broadcast_arrays(input, mask)
    return x[mask]


@layered
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The tensor with the elements of `source`, in order, where the mask is true."""
    mask = np.broadcast_to(np.asarray(mask), input.shape)
    return set_at(input, mask, wg.reshape(source, -1)[: int(mask.sum())])


@layered
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """The tensor with one slice along an axis replaced."""
    return set_at(input, slices(dim, index, input.ndim), src)


@layered
def slice_scatter(input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """The tensor with a range of slices along an axis replaced."""
    return set_at(input, slices(dim, slice(start, end, step), input.ndim), src)


@layered
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The tensor with the diagonal of two axes replaced."""
    x = wg.moveaxis(input, (dim1, dim2), (0, 1))
    rows = np.arange(src.shape[-1])
    key = rows + max(-offset, 0), rows + max(offset, 0)
    return wg.moveaxis(set_at(x, key, wg.moveaxis(src, -1, 0)), (0, 1), (dim1, dim2))


@layered
def unravel_index(indices: Any, shape: Any) -> Any:
    """The indices for each axis of indices into the flattened tensor."""
    return tuple(wg.unravel_index(indices, tuple(shape)))


@layered
def take(input: Any, index: Any) -> Any:
    """The elements at indices of the flattened tensor."""
    return wg.take(input, index)


@layered
def argwhere(input: Any) -> Any:
    """The indices of the elements that are not zero, one in each row."""
    return wg.argwhere(input)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one in each row, or one vector for each axis."""
    return nonzero_vectors(input) if as_tuple else argwhere(input)


nonzero_vectors = layered(lambda x: tuple(wg.nonzero(x)))
