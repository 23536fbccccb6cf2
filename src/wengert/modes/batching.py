"""How operations run on a batch: the aspect `batching`, with rules for products, indexing and a few others.

For most operations the table says enough: elementwise operations run on aligned arrays, operations with
`Definition.batch` run once with changed parameters, and the rest runs in a loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import Aspect, primitive_of
from wengert.core.kinds import keep_params
from wengert.core.levels import numpy_of
from wengert.core.primitive import Primitive, as_operand
from wengert.ops.contraction.einsum import LETTERS, _einsum
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.choices import where
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.repeated_updates import extreme_at
from wengert.ops.indexing.subscripts import _add_at, _scatter, _set_at, _winners, gather
from wengert.ops.linear_algebra.linear_operator import APPLY_OPERATOR
from wengert.ops.linear_algebra.sparse import (
    product_elements,
    sparse_product,
    sparse_solution,
    sparse_transpose_product,
)
from wengert.ops.samples.sorting import _searchsorted
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import _full_like
from wengert.ops.shape.reshaping import _broadcast_to, broadcast_to, expand_dims, moveaxis, reshape, squeeze

Params = dict[str, Any]


def default_rule(primitive: Primitive) -> Callable[..., Any] | None:
    """The rule of an operation without an entry; None if it runs in a loop."""
    if primitive.kind == "elementwise" or primitive.definition.batch is keep_params:
        return batch_elementwise
    return batch_by_params if primitive.definition.batch else None


batching: Aspect[Callable[..., Any]] = Aspect(
    "batching",
    "how it runs once for a whole batch",
    default_rule,
    rest="it runs once for each element of the batch",
)
"""`rule(primitive, values, mine, n, params)` runs an operation on all n elements, or returns None if it must loop."""


def batch_elementwise(
    primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], _n: int, params: Params
) -> Any:
    """Run an operation on arrays whose elements broadcast as single values would."""
    return primitive.op(*align_axes(values, mine), **params)


def align_axes(values: Sequence[Any], mine: Sequence[bool], ndim: int = 0) -> list[Any]:
    """The values with axes of length one after the batch, so that elements broadcast as single values would."""
    ndim = max(ndim, *[ndim_of(v) - m for v, m in zip(values, mine, strict=True)])
    return [pad_axes(v, ndim) if m else v for v, m in zip(values, mine, strict=True)]


def ndim_of(x: Any) -> int:
    """The number of axes of an array or a number."""
    return getattr(x, "ndim", 0)


def pad_axes(x: Any, ndim: int) -> Any:
    """A batch with axes of length one after the batch, so that its elements have this number of axes."""
    missing = ndim + 1 - x.ndim
    return reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])) if missing > 0 else x


def repeat_value(x: Any, n: int) -> Any:
    """One value repeated for each element of the batch."""
    x = as_operand(x)
    return broadcast_to(x, (n, *x.shape))


def batch_by_params(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run an operation once, with the parameters that `Definition.batch` gives."""
    assert primitive.definition.batch is not None
    code = primitive.definition.batch.__code__
    known = params | {"n": n, "rank": max(ndim_of(v) - m for v, m in zip(values, mine, strict=True))}
    changed = primitive.definition.batch(*[known[name] for name in code.co_varnames[: code.co_argcount]])
    if changed is None:
        return None
    return primitive.op(
        *[v if m else repeat_value(v, n) for v, m in zip(values, mine, strict=True)], **params | changed
    )


# Products


@batching(matmul)
def batch_matmul(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], _n: int, _params: Params) -> Any:
    """Run matmul: one product of stacked matrices."""
    x, y = map(as_operand, values)
    x_ndim, y_ndim = x.ndim - mine[0], y.ndim - mine[1]
    if not x_ndim or not y_ndim:
        return None  # the loop raises NumPy's error
    if not mine[1] and y_ndim <= 2:
        return primitive.op(x, y)
    if not mine[0] and x_ndim <= 2 and y_ndim == 1:
        return primitive.op(y, x.T)  # one matrix product instead of many small ones
    x = expand_dims(x, -2) if x_ndim == 1 else x
    y = expand_dims(y, -1) if y_ndim == 1 else y
    out = primitive.op(*align_axes((x, y), mine))
    return squeeze(out, (-2,) * (x_ndim == 1) + (-1,) * (y_ndim == 1))


@batching(_einsum)
def batch_einsum(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], _n: int, params: Params) -> Any:
    """Run einsum with one more letter, for the batch."""
    label = next((c for c in LETTERS if c not in params["subscripts"]), None)
    if label is None:
        return None
    terms, out = params["subscripts"].split("->")
    terms = ",".join(label + term if m else term for term, m in zip(terms.split(","), mine, strict=True))
    return primitive.op(*values, subscripts=f"{terms}->{label}{out}")


# Arrays of a given shape


@batching(_broadcast_to)
def batch_broadcast_to(
    primitive: Primitive, values: Sequence[Any], _mine: Sequence[bool], n: int, params: Params
) -> Any:
    """Run broadcast_to with the batch as a further axis."""
    return primitive.op(pad_axes(values[0], len(params["shape"])), shape=(n, *params["shape"]))


@batching(_full_like)
def batch_full_like(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run full_like with the batch as a further axis."""
    x, fill = values
    shape = params["shape"] if params["shape"] is not None else x.shape[mine[0] :]
    return primitive.op(x, pad_axes(fill, len(shape)) if mine[1] else fill, **params | {"shape": (n, *shape)})


@batching(_searchsorted)
def batch_searchsorted(
    primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], _n: int, params: Params
) -> Any:
    """Run searchsorted, if all elements search the same array."""
    return None if mine[0] else primitive.op(*values, **params)


# Indexing. Axes of the result that come from adjacent arrays of a key take their position; otherwise they come first.


class KeyAxes(NamedTuple):
    """The axes of a result that come from the arrays of a key: `block` axes from `start` on, of `ndim` in all."""

    ndim: int
    block: int
    start: int
    together: bool


def find_key_axes(key: Index, ndims: Sequence[int], x_ndim: int) -> KeyAxes:
    """The axes for an array and indices with these numbers of axes, all without the batch."""
    parts = key.key if isinstance(key.key, tuple) else (key.key,)
    remaining = iter(ndims)
    arrays = [i for i, part in enumerate(parts) if isinstance(part, Hole | int)]
    dots = parts.index(...) if ... in parts else len(parts)
    block, used, before, basic = 0, 0, 0, 0
    for i, part in enumerate(parts):
        if i in arrays:
            ndim = next(remaining) if isinstance(part, Hole) else 0
            is_mask = part is Hole.MASK
            block = max(block, 1 if is_mask else ndim)
            used += ndim if is_mask else 1
        elif i != dots:
            basic += 1
            before += i < arrays[0] if arrays else 0
            used += part is not None
    rest = x_ndim - used  # axes that `...` stands for, or that follow the key
    together = not arrays or arrays[-1] - arrays[0] + 1 == len(arrays)
    start = before + (rest if arrays and dots < arrays[0] else 0)
    return KeyAxes(block + basic + rest, block, start if together else 0, together)


def add_row_index(
    key: Index, indices: Sequence[Any], mine: Sequence[bool], n: int, block: int
) -> tuple[Index, list[Any]]:
    """A key with batched arrays, for an array that has the batch too: element i reads row i."""
    rows = numpy_of(indices[list(mine).index(True)]).arange(n).reshape(n, *(1,) * block)
    spread = [Hole.ARRAY if isinstance(part, Hole) else part for part in key.key]
    return Index((Hole.ARRAY, *spread), key.repeats), [rows, *align_axes(indices, mine, block)]


def move_key_axes(x: Any, axes: KeyAxes, back: bool = False) -> Any:
    """Move the axes of a key's arrays to right after the batch, or back."""
    here, there = range(1 + axes.start, 1 + axes.start + axes.block), range(1, 1 + axes.block)
    if not axes.start or not axes.block:
        return x
    return moveaxis(x, there, here) if back else moveaxis(x, here, there)


@batching(gather)
def batch_gather(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run gather: the batch is a slice of the key, or has its own index array."""
    x, *indices = values
    key, moving = params["key"], mine[1:]
    axes = find_key_axes(key, element_ndims(indices, moving), ndim_of(x) - mine[0])
    if not any(moving):
        out = primitive.op(x, *indices, key=key.after(slice(None)))
        return out if axes.together else moveaxis(out, axes.block, 0)
    if Hole.MASK in key.key:
        return None
    if mine[0]:
        key, indices = add_row_index(key, indices, moving, n, axes.block)
        return move_key_axes(primitive.op(x, *indices, key=key), axes, back=True)
    # Examples may select the same element of x, even if each selects it once.
    spread = Index(tuple([Hole.ARRAY if isinstance(part, Hole) else part for part in key.key]), True)
    out = primitive.op(x, *align_axes(indices, moving, axes.block), key=spread)
    return moveaxis(out, axes.start, 0) if axes.start else out


def element_ndims(indices: Sequence[Any], mine: Sequence[bool]) -> list[int]:
    """The number of axes of each index without the batch."""
    return [ndim_of(i) - m for i, m in zip(indices, mine, strict=True)]


@batching(_scatter)
def batch_scatter(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run scatter into zeros."""
    return write_batch(primitive, (), values[0], values[1:], mine, n, params, len(params["shape"]))


@batching(_set_at, _add_at, extreme_at)
def batch_write(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run set_at, add_at or extreme_at; a number under a mask is a `where`."""
    x, v, *indices = values
    x = x if mine[0] else repeat_value(x, n)
    if primitive is primitive_of(_set_at) and params["key"].key == (Hole.MASK,) and mine[2] and ndim_of(v) == mine[1]:
        return write_masked(x, v, indices[0])
    return write_batch(primitive, (x,), v, indices, mine[1:], n, params, x.ndim - 1)


def write_masked(x: Any, v: Any, mask: Any) -> Any:
    """Write one number wherever a mask holds; no shape depends on the mask."""
    if mask.shape != x.shape[: mask.ndim]:
        return None
    mask = reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim))
    v = astype(as_operand(v), x.dtype)
    return where(mask, pad_axes(v, x.ndim - 1) if v.ndim else v, x)


def write_batch(
    primitive: Primitive,
    target: tuple[Any, ...],
    v: Any,
    indices: Sequence[Any],
    mine: Sequence[bool],
    n: int,
    params: Params,
    x_ndim: int,
) -> Any:
    """Run scatter, set_at or add_at: write v at the indices of a key, in an array that has the batch."""
    if not n:
        return target[0] if target else numpy_of(v).zeros((0, *params["shape"]), v.dtype)
    key, moving = params["key"], mine[1:]
    axes = find_key_axes(key, element_ndims(indices, moving), x_ndim)
    v_ndim = ndim_of(v) - mine[0]
    if v_ndim > axes.ndim or (any(moving) and Hole.MASK in key.key):
        return None
    params = dict(params)
    if "shape" in params:
        params["shape"] = (n, *params["shape"])
        v = v if mine[0] else repeat_value(v, n)
    if "reuse" in params:
        params["reuse"] = False
    if v_ndim or mine[0] or "shape" in params:
        v = pad_axes(v if mine[0] or "shape" in params else expand_dims(v, 0), axes.ndim)
    if any(moving):
        params["key"], indices = add_row_index(key, indices, moving, n, axes.block)
        v = move_key_axes(v, axes) if ndim_of(v) else v
    else:
        params["key"] = key.after(slice(None))
        v = v if axes.together or not ndim_of(v) else moveaxis(v, 0, axes.block)
    return primitive.op(*target, v, *indices, **params)


@batching(_winners)
def batch_winners(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run winners: each element has its own row."""
    key, shape = params["key"], params["shape"]
    if Hole.MASK in key.key:
        return None
    axes = find_key_axes(key, element_ndims(values, mine), len(shape))
    key, indices = add_row_index(key, values, mine, n, axes.block)
    return move_key_axes(primitive.op(*indices, key=key, shape=(n, *shape)), axes, back=True)


# Sparse matrices. Those of a batch have their elements at the same positions, and are blocks of a larger one.


@batching(sparse_product, sparse_transpose_product)
def batch_sparse_product(
    primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params
) -> Any:
    """Run a product with a sparse matrix: with more columns, or with the blocks of a larger matrix."""
    data, x, columns, counts = values
    if are_tracked(values[2:], mine[2:]):
        return None
    rows, width = params["shape"]
    if not mine[0]:
        out = primitive.op(data, join_columns(x), columns, counts, shape=params["shape"])
        return split_columns(out, x.shape[0], x.shape[2:])
    x = x if mine[1] else repeat_value(x, n)
    out = primitive.op(
        reshape(data, (-1,)),
        reshape(x, (-1, *x.shape[2:])),
        *repeat_layout(columns, counts, width, n),
        shape=(n * rows, n * width),
    )
    return reshape(out, (n, -1 if n else 0, *x.shape[2:]))


def are_tracked(positions: Sequence[Any], mine: Sequence[bool]) -> bool:
    """Whether the positions of elements differ in this batch, or in one around it."""
    return any(mine) or any(isinstance(x, Array) for x in positions)


def join_columns(x: Any) -> Any:
    """A batch of vectors, or of matrices, as the columns of one matrix."""
    x = moveaxis(x, 0, 1)
    return reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def split_columns(x: Any, n: int, rest: tuple[int, ...]) -> Any:
    """The inverse of `join_columns`."""
    return moveaxis(reshape(x, (x.shape[0], n, *rest)), 1, 0)


def repeat_layout(columns: Any, counts: Any, width: int, n: int) -> tuple[Any, Any]:
    """The columns and counts of a matrix that has a sparse matrix n times along its diagonal."""
    return (columns + width * np.arange(n)[:, None]).reshape(-1), np.tile(counts, n)


@batching(APPLY_OPERATOR)
def batch_operator(primitive: Primitive, values: Sequence[Any], _mine: Sequence[bool], _n: int, params: Params) -> Any:
    """Run a linear operator, with more columns."""
    (x,) = values
    return split_columns(primitive.op(join_columns(x), **params), x.shape[0], x.shape[2:])


@batching(product_elements)
def batch_product_elements(
    primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params
) -> Any:
    """Run the elements of a product: those of blocks of a larger matrix."""
    if not n:
        return np.zeros((0, values[2].shape[-1]), np.result_type(values[0].dtype, values[1].dtype))
    if are_tracked(values[2:], mine[2:]):
        return None
    x, y = (v if m else repeat_value(v, n) for v, m in zip(values[:2], mine, strict=False))
    columns, counts, (rows, width) = values[2], values[3], params["shape"]
    out = primitive.op(
        *[reshape(v, (-1, *v.shape[2:])) for v in (x, y)],
        *repeat_layout(columns, counts, width, n),
        shape=(n * rows, n * width),
    )
    return reshape(out, (n, len(columns)))


@batching(sparse_solution)
def batch_sparse_solution(
    primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params
) -> Any:
    """Run the solution of a sparse system: with more columns, or with the blocks of a larger matrix."""
    data, b, columns, counts = values
    if not n:
        return np.zeros((0, *b.shape[mine[1] :]), np.result_type(data.dtype, b.dtype, np.float32))
    if are_tracked(values[2:], mine[2:]):
        return None
    if not mine[0]:
        return split_columns(primitive.op(data, join_columns(b), columns, counts, **params), b.shape[0], b.shape[2:])
    b = b if mine[1] else repeat_value(b, n)
    layout = repeat_layout(columns, counts, len(counts), n)
    return reshape(primitive.op(reshape(data, (-1,)), reshape(b, (-1, *b.shape[2:])), *layout, **params), b.shape)
