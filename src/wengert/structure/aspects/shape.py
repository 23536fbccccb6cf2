"""Operations that move elements: what they do to the numbers of the places says where each comes from."""

from __future__ import annotations

from wengert.ops.indexing.subscripts import _getitem
from wengert.ops.shape.casting import _astype, _copy
from wengert.ops.shape.joining import _pad, _stack, _unstack
from wengert.ops.shape.rearranging import _concatenate, _diagonal, _embed_diagonal, _flip, _roll, _split, _tril, _triu
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims, _reshape, _transpose
from wengert.structure.incidence import Sets
from wengert.structure.propagation import Step, moving, propagation

propagation.enter(
    moving, _reshape, _expand_dims, _transpose, _broadcast_to, _copy, _flip, _roll, _diagonal, _embed_diagonal, _tril, _triu, _concatenate,
    _split, _getitem, _stack, _unstack, _pad,
)  # fmt: skip


@propagation(_astype)
def unmoved(step: Step) -> Sets:
    return step.live[0][1]
