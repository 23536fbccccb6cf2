"""Operations that move elements: applied to numbered elements, they say where each comes from."""

from __future__ import annotations

from wengert.ops.indexing.subscripts import _getitem
from wengert.ops.shape.casting import _astype, _copy
from wengert.ops.shape.joining import _pad, _stack, _unstack
from wengert.ops.shape.rearranging import _concatenate, _diagonal, _embed_diagonal, _flip, _roll, _split, _tril, _triu
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims, _reshape, _transpose
from wengert.structure.incidence import Sets
from wengert.structure.propagation import OperationStep, propagate_moves, propagation

propagation.enter(
    propagate_moves, _reshape, _expand_dims, _transpose, _broadcast_to, _copy, _flip, _roll, _diagonal, _embed_diagonal,
    _tril, _triu, _concatenate, _split, _getitem, _stack, _unstack, _pad,
)  # fmt: skip


@propagation(_astype)
def propagate_unchanged(step: OperationStep) -> Sets:
    """Each element depends on the same element of the operand."""
    return step.live[0][1]
