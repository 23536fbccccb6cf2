"""Indexing: keys without new axes, masks as choices, and what remains of elements that are overwritten."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.export.c_source.forms import c_expansion
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.predicates import equal
from wengert.ops.indexing import subscripts
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, reshape


@c_expansion(subscripts._winners)
def expand_winners(*indices: Any, key: Index, shape: tuple[int, ...]) -> Any:
    """The number of each element is written at its index, and read again: it is still there if it was the last."""
    numbers = subscripts.gather(np.zeros(shape, np.intp), *indices, key=key)
    order = np.arange(numbers.size).reshape(numbers.shape)
    last = subscripts._set_at(np.zeros(shape, np.intp), order, *indices, key=key, reuse=False)
    return equal(subscripts.gather(last, *indices, key=key), order)


@c_expansion(subscripts._scatter)
def expand_scatter(x: Any, *indices: Any, key: Index, shape: tuple[int, ...]) -> Any:
    """A key without new axes."""
    parts = key.parts(len(shape))
    if indices or None not in parts:
        return None
    kept = Index(tuple([part for part in parts if part is not None]), key.repeats)
    return subscripts._scatter(reshape(x, np.empty(shape, bool)[kept.key].shape), key=kept, shape=shape)


@c_expansion(subscripts._set_at)
def expand_set_at(x: Any, v: Any, *indices: Any, key: Index, reuse: bool) -> Any:
    """A number at a mask is a choice; a key has no new axes."""
    if key.key == (Hole.MASK,) and not v.ndim:
        (mask,) = indices
        return where(reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim)), astype(v, x.dtype), x)
    parts = key.parts(x.ndim)
    if indices or None not in parts:
        return None
    selected, kept = np.empty(x.shape, bool)[key.key].shape, Index(tuple([p for p in parts if p is not None]))
    value = reshape(v, v.shape[v.ndim - len(selected) :]) if v.ndim > len(selected) else v
    whole = reshape(broadcast_to(value, selected), np.empty(x.shape, bool)[kept.key].shape)
    return subscripts._set_at(x, whole, key=kept, reuse=reuse)
