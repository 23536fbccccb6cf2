"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.values import layered
from wengert.core.errors import user_error

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cartesian_prod", "cdist", "chain_matmul",
    "cosine_similarity", "cross", "dot", "einsum", "ger", "inner", "kron", "matmul", "mm", "mv", "outer", "pdist",
    "tensordot", "vdot",
]  # fmt: skip

matmul = wg.matmul


def check_axes(name: str, x: Any, y: Any, axes: tuple[int, int]) -> None:
    """Raise unless the operands have these numbers of axes."""
    if (x.ndim, y.ndim) != axes:
        raise user_error(
            RuntimeError, f"{name} of shapes {tuple(x.shape)} and {tuple(y.shape)}", "Use matmul, which broadcasts."
        )


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    check_axes("mm", input, mat2, (2, 2))
    return matmul(input, mat2)


def bmm(input: Any, mat2: Any) -> Any:
    """The products of two stacks of matrices."""
    check_axes("bmm", input, mat2, (3, 3))
    return matmul(input, mat2)


def mv(input: Any, vec: Any) -> Any:
    """The product of a matrix and a vector."""
    check_axes("mv", input, vec, (2, 1))
    return matmul(input, vec)


def dot(input: Any, tensor: Any) -> Any:
    """The inner product of two vectors."""
    check_axes("dot", input, tensor, (1, 1))
    return matmul(input, tensor)


def vdot(input: Any, other: Any) -> Any:
    """The inner product of two vectors, the first one conjugated."""
    return dot(wg.conj(input), other)


def scaled_sum(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`."""
    return wg.add(
        input if beta == 1 else wg.multiply(input, beta), product if alpha == 1 else wg.multiply(product, alpha)
    )


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * mat1 @ mat2`."""
    return scaled_sum(input, mm(mat1, mat2), beta, alpha)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * mat @ vec`."""
    return scaled_sum(input, mv(mat, vec), beta, alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * batch1 @ batch2`, for stacks of matrices."""
    return scaled_sum(input, bmm(batch1, batch2), beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (batch1 @ batch2)`, summed over the stack."""
    return scaled_sum(input, layered(lambda x: wg.sum(x, 0))(bmm(batch1, batch2)), beta, alpha)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    return scaled_sum(input, outer(vec1, vec2), beta, alpha)


@layered
def outer(input: Any, vec2: Any) -> Any:
    """All products of the elements of two vectors."""
    return wg.outer(input, vec2)


@layered
def inner(input: Any, other: Any) -> Any:
    """The inner products along the last axes."""
    return wg.inner(input, other)


@layered
def kron(input: Any, other: Any) -> Any:
    """The Kronecker product."""
    return wg.kron(input, other)


@layered
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The cross products of vectors with three elements, along the first axis of that length by default."""
    axis = next(i for i, n in enumerate(input.shape) if n == 3) if dim is None else dim
    return wg.cross(input, other, axis=axis)


@layered
def einsum(equation: str, *operands: Any) -> Any:
    """Sums of products, by Einstein's convention."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], tuple | list) else operands
    return wg.einsum(equation.replace(" ", ""), *given)


@layered
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sums of products over the last axes of one and the first of the other, or over those listed."""
    return wg.tensordot(a, b, dims)


@layered
def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices, in the best order."""
    return wg.linalg.multi_dot(matrices)


@layered
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """The distances of all pairs of rows."""
    return wg.linalg.vector_norm(wg.expand_dims(x1, -2) - wg.expand_dims(x2, -3), axis=-1, ord=p)


@layered
def pdist(input: Any, p: float = 2.0) -> Any:
    """The distances of all pairs of rows of one matrix, each pair once."""
    rows, columns = np.triu_indices(input.shape[0], 1)
    return wg.linalg.vector_norm(input[rows] - input[columns], axis=-1, ord=p)


@layered
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along an axis."""
    return wg.nn.functional.cosine_similarity(x1, x2, dim, eps)


@layered
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of the elements of vectors, one in each row."""
    if len(tensors) == 1:
        return tensors[0]
    return wg.stack([wg.reshape(x, -1) for x in wg.meshgrid(*tensors, indexing="ij")], axis=1)


ger = outer
