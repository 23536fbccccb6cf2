"""Shapes: axes that are added, removed, moved and joined, by PyTorch's names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.dtypes import result_type
from wengert.compat.torch.values import layered, mark_view, plain, reshaping, viewing
from wengert.core.errors import user_error

__all__ = [
    "Size", "adjoint", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes",
    "broadcast_tensors", "broadcast_to", "cat", "chunk", "column_stack", "combinations", "concat", "concatenate",
    "diag", "diag_embed", "diagflat", "diagonal", "dsplit", "dstack", "flatten", "flip", "fliplr", "flipud",
    "hsplit", "hstack", "is_same_size", "meshgrid", "moveaxis", "movedim", "numel", "permute", "ravel",
    "repeat_interleave", "reshape", "roll", "rot90", "row_stack", "split", "split_with_sizes", "squeeze", "stack",
    "swapaxes", "swapdims", "t", "tensor_split", "tile", "trace", "transpose", "tril", "triu", "unflatten",
    "unsqueeze", "vsplit", "vstack",
]  # fmt: skip


class Size(tuple):
    """A shape, with the number of elements.

    >>> Size((2, 3)).numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return Size(found) if isinstance(key, slice) else found


def as_size(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The sizes of a call: `view(2, 3)`, `view((2, 3))`, `view(x.shape)`."""
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = sizes[0]
    return tuple([n if n.__class__ is int else n.__index__() for n in sizes])


def numel(input: Any) -> int:
    """The number of elements."""
    return math.prod(input.shape)


@reshaping
def reshape(input: Any, *sizes: Any, shape: Any = None) -> Any:
    """The elements in another shape."""
    return wg.reshape(input, as_size(sizes if shape is None else shape))


@reshaping
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The axes from `start_dim` to `end_dim` as one."""
    if not input.ndim:
        return wg.reshape(input, (1,))
    first, last = start_dim % input.ndim, end_dim % input.ndim
    shape = input.shape
    return wg.reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@viewing
def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One axis as several."""
    at = dim % input.ndim
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = input.shape[at] // -math.prod(sizes)
    return wg.reshape(input, (*input.shape[:at], *sizes, *input.shape[at + 1 :]))


@reshaping
def ravel(input: Any) -> Any:
    """The elements in one vector."""
    return wg.reshape(input, (-1,))


@reshaping
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without axes of length one, or without those named, if they have length one."""
    if dim is None:
        return wg.squeeze(input)
    dims = [d % max(input.ndim, 1) for d in (dim if isinstance(dim, tuple | list) else (dim,))]
    return wg.squeeze(input, tuple(d for d in dims if input.ndim and input.shape[d] == 1))


@reshaping
def unsqueeze(input: Any, dim: int) -> Any:
    """With a new axis of length one."""
    return wg.expand_dims(input, dim)


@reshaping
def permute(input: Any, *order: Any, dims: Any = None) -> Any:
    """The axes in another order."""
    return wg.transpose(input, as_size(order if dims is None else dims))


@reshaping
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return wg.swapaxes(input, dim0, dim1) if input.ndim else wg.transpose(input)


@reshaping
def t(input: Any) -> Any:
    """The transpose of a matrix; a vector as it is."""
    if input.ndim > 2:
        raise user_error(RuntimeError, f"t() of a tensor with {input.ndim} axes", "Use transpose(dim0, dim1) or mT.")
    return wg.transpose(input)


@viewing
def adjoint(input: Any) -> Any:
    """The conjugate transpose of matrices."""
    transposed = wg.matrix_transpose(input)
    return wg.conj(transposed) if input.dtype.kind == "c" else transposed


@viewing
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places."""
    return wg.moveaxis(input, source, destination)


@viewing
def expand(input: Any, *sizes: Any) -> Any:
    """Axes of length one repeated to these lengths, -1 where a length stays, and new axes before."""
    wanted = as_size(sizes)
    lead = len(wanted) - input.ndim
    shape = [n if n != -1 else input.shape[i - lead] for i, n in enumerate(wanted)]
    return mark_view(wg.broadcast_to(input, tuple(shape)))


@layered
def repeat(input: Any, *repeats: Any) -> Any:
    """The tensor repeated along its axes, and along new axes before."""
    wanted = as_size(repeats)
    if len(wanted) < input.ndim:
        raise user_error(RuntimeError, f"repeat{wanted} of a tensor with {input.ndim} axes", "Give one for each axis.")
    return wg.tile(input, wanted)


@layered
def tile(input: Any, *repeats: Any, dims: Any = None) -> Any:
    """The tensor repeated along its last axes."""
    return wg.tile(input, as_size(repeats if dims is None else dims))


@layered
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each element, or slice along an axis, repeated."""
    repeats = np.asarray(repeats)
    return wg.repeat(input, repeats if repeats.ndim and repeats.size > 1 else int(repeats.reshape(-1)[0]), dim)


@layered
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along axes, those that fall off at the other end."""
    return wg.roll(
        input, tuple(shifts) if isinstance(shifts, list) else shifts, tuple(dims) if isinstance(dims, list) else dims
    )


@layered
def flip(input: Any, *axes: Any, dims: Any = None) -> Any:
    """The elements in reverse order along axes."""
    return wg.flip(input, as_size(axes if dims is None else dims))


def fliplr(input: Any) -> Any:
    """The columns in reverse order."""
    return flip(input, 1)


def flipud(input: Any) -> Any:
    """The rows in reverse order."""
    return flip(input, 0)


@layered
def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """The plane of two axes turned by right angles."""
    return wg.rot90(input, k, (dims[0], dims[1]))


@layered
def diag(input: Any, diagonal: int = 0) -> Any:
    """The matrix with this diagonal, or the diagonal of a matrix."""
    return wg.diag(input, diagonal)


@viewing
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two axes, as the last axis."""
    return wg.diagonal(input, offset, dim1, dim2)


@layered
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the last axis as their diagonals."""
    n = input.shape[-1] + abs(offset)
    rows, columns = np.arange(input.shape[-1]) + max(-offset, 0), np.arange(input.shape[-1]) + max(offset, 0)
    made = wg.zeros((*input.shape[:-1], n, n), dtype=input.dtype).at[..., rows, columns].set(input)
    return made if (dim1, dim2) == (-2, -1) else wg.moveaxis(made, (-2, -1), (dim1, dim2))


@layered
def diagflat(input: Any, offset: int = 0) -> Any:
    """The matrix with all elements as its diagonal."""
    return wg.diagflat(input, offset)


@layered
def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    return wg.linalg.trace(input)


@layered
def tril(input: Any, diagonal: int = 0) -> Any:
    """The lower triangle, zeros above."""
    return wg.tril(input, diagonal)


@layered
def triu(input: Any, diagonal: int = 0) -> Any:
    """The upper triangle, zeros below."""
    return wg.triu(input, diagonal)


# Joining and splitting.


def alike(tensors: Sequence[Any]) -> list[Any]:
    """Tensors in their common type."""
    dtype = result_type(*tensors)
    return [x if x.dtype == dtype else wg.astype(x, dtype) for x in tensors]


@layered
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors one after the other along an axis; empty vectors are left out."""
    given = [x for x in tensors if x.shape != (0,)] or list(tensors)
    return wg.concatenate(alike(given), axis=dim)


@layered
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors of one shape along a new axis."""
    return wg.stack(alike(tensors), axis=dim)


def with_axes(least: int, extend: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives tensors a number of axes; those that have it are returned themselves."""
    extended = reshaping(lambda input: extend(input))

    def call(*tensors: Any) -> Any:
        found = tuple([x if x.ndim >= least else extended(x) for x in tensors])
        return found[0] if len(found) == 1 else found

    return call


hstack = layered(lambda tensors: wg.hstack(alike(tensors)))
vstack = layered(lambda tensors: wg.vstack(alike(tensors)))
dstack = layered(lambda tensors: wg.dstack(alike(tensors)))
column_stack = layered(lambda tensors: wg.column_stack(alike(tensors)))
atleast_1d = with_axes(1, wg.atleast_1d)
atleast_2d = with_axes(2, wg.atleast_2d)
atleast_3d = with_axes(3, wg.atleast_3d)
block_diag = layered(lambda *tensors: wg.linalg.block_diag(*alike(tensors)))
broadcast_to = viewing(lambda input, size: mark_view(wg.broadcast_to(input, as_size((size,)))))


@layered
def broadcast_tensors(*tensors: Any) -> Any:
    """Tensors in their common shape."""
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple([mark_view(wg.broadcast_to(x, shape)) for x in tensors])


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape of an operation on tensors of these shapes."""
    return Size(np.broadcast_shapes(*shapes))


@viewing
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Parts of a length along an axis, the last one shorter, or of the lengths of a list."""
    n, size = tensor.shape[dim], split_size_or_sections
    ends = np.cumsum(size)[:-1] if isinstance(size, tuple | list) else np.arange(size, n, size)
    if isinstance(size, tuple | list) and sum(size) != n:
        raise user_error(RuntimeError, f"split of {n} elements into {list(size)}", "The lengths must add up.")
    return tuple(wg.split(tensor, ends, dim))


def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """At most this number of parts of equal length along an axis, the last one shorter."""
    return split(input, max(-(-input.shape[dim] // chunks), 1), dim)


@viewing
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    """Parts between indices, or a number of parts whose lengths differ by at most one."""
    return tuple(wg.array_split(input, indices_or_sections, dim))


hsplit = viewing(lambda input, parts: tuple(wg.hsplit(input, parts)))
vsplit = viewing(lambda input, parts: tuple(wg.vsplit(input, parts)))
dsplit = viewing(lambda input, parts: tuple(wg.dsplit(input, parts)))


@layered
def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """The coordinates of the points of a grid."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    return tuple([mark_view(x) for x in wg.meshgrid(*given, indexing=indexing)])


@layered
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a vector, one in each row."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(np.arange(input.shape[0]).tolist(), r))
    return wg.take(input, np.array(rows, dtype=int).reshape(-1, r), 0)


def sum_to_size(input: Any, *size: Any) -> Any:
    """The sum over the axes that broadcasting from this size would add or stretch."""
    wanted = as_size(size)
    return input if input.shape == wanted else summed_to(input, wanted)


@layered
def summed_to(input: Any, wanted: tuple[int, ...]) -> Any:
    """The sum over the axes that broadcasting from this shape would add or stretch."""
    lead = input.ndim - len(wanted)
    axes = [i for i in range(input.ndim) if i < lead or wanted[i - lead] == 1 != input.shape[i]]
    return wg.reshape(wg.sum(input, tuple(axes)), wanted)


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    return bool(plain(input).shape == plain(other).shape)


concat = concatenate = cat
row_stack = vstack
split_with_sizes = split
swapaxes = swapdims = transpose
moveaxis = movedim
