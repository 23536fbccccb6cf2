"""Matrices and stacks of matrices as operands: transposes, and which stacks fit together."""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np

from wengert.graph.ir import Node, Operation, is_a
from wengert.ops.shape.reshaping import _transpose


def is_matrix_transpose(node: Node) -> TypeGuard[Operation]:
    """Whether a view exchanges the last two axes, and only these."""
    lead = range(node.ndim - 2)
    return is_a(node, _transpose) and tuple(node.params["axes"]) == (*lead, node.ndim - 1, node.ndim - 2)


def is_stack(matrices: Node) -> bool:
    """Whether there are several matrices."""
    return math.prod(matrices.shape[:-2]) > 1


def are_float_stacks(node: Operation) -> bool:
    """Whether the operands are matrices of one real or complex dtype, or stacks of them without broadcasting."""
    stack = node.shape[:-2]
    return node.dtype.kind in "fc" and all(
        a.ndim >= 2 and a.dtype == node.dtype and (math.prod(a.shape[:-2]) == 1 or a.shape[:-2] == stack)
        for a in node.args
    )


def is_gram(node: Operation) -> bool:
    """Whether the operands of a product are a real matrix and its transpose, in any order."""
    x, y = node.args
    is_pair = any(is_matrix_transpose(a) and a.args[0] is b for a, b in ((x, y), (y, x)))
    return is_pair and node.ndim == 2 and node.dtype.kind == "f"


def blas_letter(dtype: np.dtype) -> str:
    """How the names of the functions for a dtype begin: dgemm, zgemm."""
    return {"f": "s", "d": "d", "F": "c", "D": "z"}[dtype.char]
