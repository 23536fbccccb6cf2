"""Batching: Batched, many values of one shape that are computed at once.

The batch is the first axis of the payload, and what a program sees is one element of it. Each operation runs once for the whole batch: on
each element of aligned arrays, with the metadata that its `batch` in the table gives, or by one of the rules here. What none of them
covers runs in a loop over the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_line
from wengert.core.kinds import unchanged
from wengert.core.primitive import Primitive, operand
from wengert.core.spec import Spec
from wengert.ops.einsum import LETTERS
from wengert.ops.elementwise import where
from wengert.ops.join import stack, unstack
from wengert.ops.key import Hole, Index
from wengert.ops.shape import astype, broadcast_to, expand_dims, moveaxis, reshape, squeeze

Params = dict[str, Any]


class Batched(Array):
    """A batch of values; shape and rank are those of one."""

    __slots__ = ()

    def __init__(self, value: Any, level: int):
        self.value, self.level, self.extra = value, level, None

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: Params) -> Any:
        mine = [isinstance(a, Batched) and a.level == level for a in args]
        values = [a.value if m else a for a, m in zip(args, mine, strict=True)]
        out = run(primitive, values, mine, params)
        return Batched(out, level) if primitive.outputs == 1 else tuple([Batched(o, level) for o in out])

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape[1:]

    @property
    def ndim(self) -> int:
        return self.value.ndim - 1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_live(self) -> bool:
        return False  # a batch is differentiated at other levels

    def _plain(self, what: str) -> np.ndarray:
        raise TrackedValueError(
            f"{what} needs one number or array, but under vmap this value is a batch of {self.value.shape[0]}, at {user_line()}. "
            f"Use an operation of wengert or NumPy instead; to choose between values, wg.where(condition, x, y)."
        )

    def __bool__(self) -> bool:
        return bool(self._plain("The truth of a value (`if`, `while`, `and`, `or`, `not`)"))

    def numpy(self) -> np.ndarray:
        return self._plain("numpy()")

    def item(self, *index: Any) -> Any:
        return self._plain("item()")

    def tolist(self) -> Any:
        return self._plain("tolist()")

    def __format__(self, spec: str) -> str:
        return format(self._plain(f"A number in the format {spec!r}") if spec and self.size == 1 else repr(self), spec)

    def detach(self) -> Batched:
        """The same batch, without what is known of it at lower levels."""
        return Batched(self.value.detach() if isinstance(self.value, Array) else self.value, self.level)

    def __repr__(self) -> str:
        return f"batched({self.value!r})"


def run(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], params: Params) -> Any:
    """An operation on all elements; `mine` says which values have the batch as their first axis, as the result has."""
    if primitive.kind == "elementwise" or primitive.batch is unchanged:
        return primitive.op(*aligned(values, mine), **params)
    n = next(v.shape[0] for v, m in zip(values, mine, strict=True) if m)
    rule = RULES.get(primitive.name) or (by_metadata if primitive.batch else None)
    out = rule(primitive, values, mine, n, params) if rule else None
    return loop(primitive, values, mine, n, params) if out is None else out


def aligned(values: Sequence[Any], mine: Sequence[bool], rank: int = 0) -> list:
    """The values, with axes of length one behind the batch, so that elements broadcast as they would alone."""
    rank = max(rank, *[rank_of(v) - m for v, m in zip(values, mine, strict=True)])
    return [with_rank(v, rank) if m else v for v, m in zip(values, mine, strict=True)]


def rank_of(x: Any) -> int:
    return getattr(x, "ndim", 0)


def with_rank(x: Any, rank: int) -> Any:
    missing = rank + 1 - x.ndim
    return reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])) if missing > 0 else x


def repeated(x: Any, n: int) -> Any:
    """The same value for each element of the batch."""
    x = operand(x)
    return broadcast_to(x, (n, *x.shape))


def by_metadata(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """The operation with what `batch` says of its metadata."""
    assert primitive.batch is not None
    code = primitive.batch.__code__
    known = params | {"n": n, "rank": max(rank_of(v) - m for v, m in zip(values, mine, strict=True))}
    changed = primitive.batch(*[known[name] for name in code.co_varnames[: code.co_argcount]])
    if changed is None:
        return None
    return primitive.op(*[v if m else repeated(v, n) for v, m in zip(values, mine, strict=True)], **params | changed)


def loop(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """The operation on one element after the other. For an empty batch, on zeros, to learn the shape of the result."""
    if "reuse" in params:
        params = params | {"reuse": False}
    if n:
        rows = zip(*[unstack(v) if m else repeat(v) for v, m in zip(values, mine, strict=True)], strict=False)
        outs = [primitive.op(*row, **params) for row in rows]
        join = lambda results: joined(primitive, results)
    else:
        outs = [primitive.op(*[np.zeros(v.shape[1:], v.dtype) if m else v for v, m in zip(values, mine, strict=True)], **params)]
        join = lambda results: np.zeros((0, *Spec.of(results[0]).shape), Spec.of(results[0]).dtype)
    return join(outs) if primitive.outputs == 1 else tuple(map(join, zip(*outs, strict=True)))


def joined(primitive: Primitive, outs: Sequence[Any]) -> Any:
    shapes = {Spec.of(out).shape for out in outs}
    if len(shapes) > 1:
        raise ValueError(
            f"{primitive.name} has results of different shapes, {' and '.join(map(str, sorted(shapes)))}, for elements of one batch, "
            f"at {user_line()}. Under vmap a shape cannot depend on numbers; wg.where can choose between values of one shape."
        )
    return stack(outs)


# Products


def batch_matmul(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    x, y = map(operand, values)
    x_rank, y_rank = x.ndim - mine[0], y.ndim - mine[1]
    if not x_rank or not y_rank:
        return None  # which has NumPy's error
    if not mine[1] and y_rank <= 2:
        return primitive.op(x, y)
    if not mine[0] and x_rank <= 2 and y_rank == 1:
        return primitive.op(y, x.T)  # one product of matrices, not a stack of small ones
    x = expand_dims(x, -2) if x_rank == 1 else x
    y = expand_dims(y, -1) if y_rank == 1 else y
    out = primitive.op(*aligned((x, y), mine))
    return squeeze(out, (-2,) * (x_rank == 1) + (-1,) * (y_rank == 1))


def batch_einsum(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    label = next((c for c in LETTERS if c not in params["subscripts"]), None)
    if label is None:
        return None
    terms, out = params["subscripts"].split("->")
    terms = ",".join(label + term if m else term for term, m in zip(terms.split(","), mine, strict=True))
    return primitive.op(*values, subscripts=f"{terms}->{label}{out}")


# Arrays of a given shape


def batch_broadcast_to(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    return primitive.op(with_rank(values[0], len(params["shape"])), shape=(n, *params["shape"]))


def batch_full_like(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    x, fill = values
    shape = params["shape"] if params["shape"] is not None else x.shape[mine[0] :]
    return primitive.op(x, with_rank(fill, len(shape)) if mine[1] else fill, **params | {"shape": (n, *shape)})


def batch_searchsorted(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    return None if mine[0] else primitive.op(*values, **params)


# Indexing. Where the arrays of a key stand together, the axes that they make take their place; otherwise these come first.


class Place(NamedTuple):
    """Where the axes are that the arrays of a key make: `block` of them, the first at `start`, in a result of this rank."""

    rank: int
    block: int
    start: int
    together: bool


def place_of(key: Index, ranks: Sequence[int], x_rank: int) -> Place:
    """The place for an array of this rank and indices of these ranks, all without the batch."""
    parts = key.key if isinstance(key.key, tuple) else (key.key,)
    remaining = iter(ranks)
    arrays = [i for i, part in enumerate(parts) if isinstance(part, Hole | int)]
    dots = parts.index(...) if ... in parts else len(parts)
    block, used, before, basic = 0, 0, 0, 0
    for i, part in enumerate(parts):
        if i in arrays:
            rank = next(remaining) if isinstance(part, Hole) else 0
            is_mask = part is Hole.MASK
            block = max(block, 1 if is_mask else rank)
            used += rank if is_mask else 1
        elif i != dots:
            basic += 1
            before += i < arrays[0] if arrays else 0
            used += part is not None
    rest = x_rank - used  # axes that the dots stand for, or that the key does not reach
    together = not arrays or arrays[-1] - arrays[0] + 1 == len(arrays)
    start = before + (rest if arrays and dots < arrays[0] else 0)
    return Place(block + basic + rest, block, start if together else 0, together)


def with_rows(key: Index, indices: Sequence[Any], mine: Sequence[bool], n: int, block: int) -> tuple[Index, list]:
    """A key, some of whose arrays have the batch, for an array that has it: element i is read from row i."""
    rows = np.arange(n).reshape(n, *(1,) * block)
    spread = [Hole.ARRAY if isinstance(part, Hole) else part for part in key.key]
    return Index((Hole.ARRAY, *spread), key.repeats), [rows, *aligned(indices, mine, block)]


def block_first(x: Any, place: Place, back: bool = False) -> Any:
    """x with the axes that the arrays of a key make moved from their place to right behind the batch, or back."""
    here, there = range(1 + place.start, 1 + place.start + place.block), range(1, 1 + place.block)
    if not place.start or not place.block:
        return x
    return moveaxis(x, there, here) if back else moveaxis(x, here, there)


def batch_gather(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    x, *indices = values
    key, moving = params["key"], mine[1:]
    place = place_of(key, element_ranks(indices, moving), rank_of(x) - mine[0])
    if not any(moving):
        out = primitive.op(x, *indices, key=key.after(slice(None)))
        return out if place.together else moveaxis(out, place.block, 0)
    if Hole.MASK in key.key:
        return None
    if mine[0]:
        key, indices = with_rows(key, indices, moving, n, place.block)
        return block_first(primitive.op(x, *indices, key=key), place, back=True)
    spread = Index(tuple([Hole.ARRAY if isinstance(part, Hole) else part for part in key.key]), key.repeats)
    out = primitive.op(x, *aligned(indices, moving, place.block), key=spread)
    return moveaxis(out, place.start, 0) if place.start else out


def element_ranks(indices: Sequence[Any], mine: Sequence[bool]) -> list[int]:
    return [rank_of(i) - m for i, m in zip(indices, mine, strict=True)]


def batch_scatter(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    return written(primitive, (), values[0], values[1:], mine, n, params, len(params["shape"]))


def batch_write(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    x, v, *indices = values
    x = x if mine[0] else repeated(x, n)
    if primitive.name == "set_at" and params["key"].key == (Hole.MASK,) and mine[2] and rank_of(v) == mine[1]:
        return where_mask(x, v, indices[0])
    return written(primitive, (x,), v, indices, mine[1:], n, params, x.ndim - 1)


def where_mask(x: Any, v: Any, mask: Any) -> Any:
    """One number written wherever a mask holds: no shape depends on the mask."""
    if mask.shape != x.shape[: mask.ndim]:
        return None
    mask = reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim))
    v = astype(operand(v), x.dtype)
    return where(mask, with_rank(v, x.ndim - 1) if v.ndim else v, x)


def written(
    primitive: Primitive, target: tuple, v: Any, indices: Sequence[Any], mine: Sequence[bool], n: int, params: Params, x_rank: int
) -> Any:
    """What scatter, set_at and add_at have in common: v goes to the place of a key in an array that has the batch."""
    if not n:
        return target[0] if target else np.zeros((0, *params["shape"]), v.dtype)
    key, moving = params["key"], mine[1:]
    place = place_of(key, element_ranks(indices, moving), x_rank)
    v_rank = rank_of(v) - mine[0]
    if v_rank > place.rank or (any(moving) and Hole.MASK in key.key):
        return None
    params = dict(params)
    if "shape" in params:
        params["shape"] = (n, *params["shape"])
        v = v if mine[0] else repeated(v, n)
    if "reuse" in params:
        params["reuse"] = False
    if v_rank or mine[0] or "shape" in params:
        v = with_rank(v if mine[0] or "shape" in params else expand_dims(v, 0), place.rank)
    if any(moving):
        params["key"], indices = with_rows(key, indices, moving, n, place.block)
        v = block_first(v, place) if rank_of(v) else v
    else:
        params["key"] = key.after(slice(None))
        v = v if place.together or not rank_of(v) else moveaxis(v, 0, place.block)
    return primitive.op(*target, v, *indices, **params)


def batch_winners(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    key, shape = params["key"], params["shape"]
    if Hole.MASK in key.key:
        return None
    place = place_of(key, element_ranks(values, mine), len(shape))
    key, indices = with_rows(key, values, mine, n, place.block)
    return block_first(primitive.op(*indices, key=key, shape=(n, *shape)), place, back=True)


RULES: dict[str, Callable] = {
    "matmul": batch_matmul,
    "einsum": batch_einsum,
    "broadcast_to": batch_broadcast_to,
    "full_like": batch_full_like,
    "searchsorted": batch_searchsorted,
    "gather": batch_gather,
    "scatter": batch_scatter,
    "set_at": batch_write,
    "add_at": batch_write,
    "winners": batch_winners,
}
"""Operations of several arrays, or whose array must be aligned first."""
