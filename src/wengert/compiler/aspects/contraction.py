"""Products of matrices: multiplications and sums if they are small, else calls of BLAS."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.forms.matrices import is_matrix_transpose
from wengert.compiler.products.product import PRODUCT_SUM
from wengert.compiler.products.routine import MATMUL, MATMUL_SUM
from wengert.core import machine
from wengert.graph.costs import flops, product_flops
from wengert.modes.symbolic import Symbol
from wengert.ops.contraction import products as ops
from wengert.ops.contraction.einsum import _einsum, layout
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape, transpose

lowering.enter(MATMUL, ops.matmul)
lowering.enter(MATMUL_SUM, PRODUCT_SUM)
flops.enter(lambda node: product_flops(node) * node.size * node.args[1].shape[-1], PRODUCT_SUM)


@expansion(ops._cross)
def expand_cross(x: Any, y: Any) -> Any:
    """By products of components."""
    x, y = broadcast_to(x, shape := np.broadcast_shapes(x.shape, y.shape)), broadcast_to(y, shape)
    part = lambda v, i: v[..., i]
    terms = [
        part(x, (i + 1) % 3) * part(y, (i + 2) % 3) - part(x, (i + 2) % 3) * part(y, (i + 1) % 3) for i in range(3)
    ]
    return stack(terms, axis=-1)


@expansion(ops.matmul)
def expand_matmul(x: Any, y: Any) -> Any:
    """Products and sums if small, else one call of BLAS on matrices."""
    if x.dtype.kind == "b" or y.dtype.kind == "b":
        return None
    if x.ndim == 1 and y.ndim == 1:
        return sum_(x * y)
    if x.ndim == 1:
        if y.ndim == 2:
            return vector_product(transpose(y), x)
        return reshape(product(expand_dims(x, 0), y), (*y.shape[:-2], y.shape[-1]))
    if y.ndim == 1:
        return vector_product(x, y, may_stay=True)
    return product(x, y, may_stay=True)


def vector_product(x: Any, y: Any, may_stay: bool = False) -> Any:
    """A product of a matrix, or a stack of them, and a vector; None if it `may_stay` as it is and does."""
    *_, m, k = x.shape
    dtype = np.result_type(x.dtype, y.dtype)
    is_single = dtype.kind == "f" and x.ndim == 2
    if dtype.kind == "i" or m * k <= most_terms(dtype, x) or is_tall(m, k, is_single):
        return write_out(x, y)
    if is_tall(k, m, is_single) and (is_single or is_matrix_transpose(x.node)):
        return write_out(x, y, is_over_rows=True)
    if x.ndim > 2:
        return reshape(vector_product(reshape(x, (math.prod(x.shape[:-1]), k)), y), x.shape[:-1])
    if may_stay and x.dtype == y.dtype:
        return None
    return ops.matmul(astype(x, dtype, copy=False), astype(y, dtype, copy=False))


def product(x: Any, y: Any, may_stay: bool = False) -> Any:
    """A product of matrices, or of stacks of them; None if it `may_stay` as it is and does."""
    m, k, n = x.shape[-2], x.shape[-1], y.shape[-1]
    dtype = np.result_type(x.dtype, y.dtype)
    if not k:
        return np.zeros((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), m, n), dtype)
    is_single = dtype.kind == "f" and x.ndim == y.ndim == 2
    if dtype.kind == "i" or m * k * n <= most_terms(dtype, x, y) or is_tall(m, k, is_single, n):
        return write_out(x, y)
    if is_tall(k, m, is_single, n) and is_matrix_transpose(x.node):
        return write_out(x, y, is_over_rows=True)
    if y.ndim == 2 and x.ndim > 2:
        rows = reshape(x, (math.prod(x.shape[:-1]), k))
        return reshape(product(rows, y), (*x.shape[:-1], n))
    stack_shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    uniform = all(math.prod(a.shape[:-2]) == 1 or a.shape[:-2] == stack_shape for a in (x, y))
    if may_stay and uniform and x.dtype == y.dtype:
        return None
    if not uniform:
        x, y = broadcast_to(x, (*stack_shape, m, k)), broadcast_to(y, (*stack_shape, k, n))
    return ops.matmul(astype(x, dtype, copy=False), astype(y, dtype, copy=False))


def write_out(x: Any, y: Any, is_over_rows: bool = False) -> Any:
    """A product as multiplications and a sum: along rows of x, or over those of its transpose, one after the other."""
    if is_over_rows:
        tall = Symbol(x.node.args[0]) if is_matrix_transpose(x.node) else x.swapaxes(-1, -2)
        if y.ndim == 1:
            return sum_(multiply(tall, expand_dims(y, -1)), -2)
        return sum_(multiply(expand_dims(tall, -1), expand_dims(y, -2)), -3)
    if y.ndim == 1:
        return sum_(multiply(x, y), -1)
    return sum_(multiply(expand_dims(x, -1), y if y.ndim == 2 else expand_dims(y, -3)), -2)


def most_terms(dtype: np.dtype, *operands: Any) -> int:
    """The most terms of a product that becomes multiplications and sums."""
    is_single = dtype.kind == "f" and all(math.prod(x.shape[:-2]) == 1 for x in operands)
    now = machine.current
    return now.max_terms_of_fused_product if is_single else now.max_terms_of_fused_stacked_product


def is_tall(rows: int, columns: int, is_single: bool, others: int = 1) -> bool:
    """Whether a product with a tall matrix becomes multiplications and sums, in a loop that reads each row once.

    The matrix has so many rows and columns, the other one so many `others`.
    """
    now = machine.current
    is_narrow = is_single and columns * others <= now.max_products_of_narrow_row and 4 * columns <= rows
    is_short = max(columns, others) <= now.max_columns_of_fused_tall_product
    return (is_short or is_narrow) and rows >= now.min_rows_of_fused_tall_product


@expansion(_einsum)
def expand_einsum(x: Any, y: Any, subscripts: str) -> Any:
    """A matrix product, a multiplication if nothing is summed, or sums for each element of a small matrix."""
    if x.dtype.kind == "b" or y.dtype.kind == "b":
        return None
    unrolled = unroll_einsum(x, y, subscripts)
    if unrolled is not None:
        return unrolled
    plan = layout(subscripts)
    if plan.is_exchanged:
        x, y = y, x
    x, y = transpose(x, plan.x_order), transpose(y, plan.y_order)
    stack_, rows, columns = plan.stack, plan.rows, plan.columns
    shape = x.shape[: stack_ + rows] + y.shape[y.ndim - columns :]
    summed = math.prod(x.shape[stack_ + rows :])
    if len(plan.x_order) == stack_ + rows:
        x = reshape(x, (*x.shape, *(1,) * columns))
        y = reshape(y, (*y.shape[:stack_], *(1,) * rows, *y.shape[stack_:]))
        return transpose(x * y, plan.out_order)
    x = reshape(x, (*x.shape[:stack_], math.prod(x.shape[stack_ : stack_ + rows]), summed))
    y = reshape(y, (*y.shape[:stack_], summed, math.prod(y.shape[y.ndim - columns :])))
    return transpose(reshape(product(x, y), shape), plan.out_order)


def unroll_einsum(x: Any, y: Any, subscripts: str) -> Any:
    """Sums for each element of a small matrix, with the axes of the other arrays where they are; None for others.

    A product of a small matrix with one axis of a long array is a stack of sums of few terms. Two long arrays that have
    a small matrix as product have one long sum for each of its elements. One loop computes all of these sums.
    """
    labels, out = subscripts.split("->")
    x_labels, y_labels = labels.split(",")
    dtype, plan = np.result_type(x.dtype, y.dtype), layout(subscripts)
    summed = [c for c in x_labels if c not in out]
    if plan.stack or not summed or len(summed) != sum(c not in out for c in y_labels) or dtype.kind not in "fc":
        return None
    x, y = astype(x, dtype, copy=False), astype(y, dtype, copy=False)
    most = machine.current.max_elements_of_unrolled_small_matrix
    least = machine.current.min_rows_of_fused_tall_product
    for small, s, large, t in ((x, x_labels, y, y_labels), (y, y_labels, x, x_labels)):
        if len(s) <= len(summed) + 1 and small.size <= most and large.size >= least * small.size:
            return apply_small_matrix(small, s, large, t, summed, out)
    terms = math.prod([x.shape[x_labels.index(c)] for c in summed])
    size = x.size * y.size // max(terms, 1) ** 2
    if plan.rows <= 1 and plan.columns <= 1 and size <= most and terms >= least:
        return sum_elements(x, x_labels, y, y_labels, summed, out)
    return None


def apply_small_matrix(small: Any, s: str, large: Any, t: str, summed: list[str], out: str) -> Any:
    """The product of a small matrix or vector with a long array: a stack of sums of few terms, or one of them."""
    row = [c for c in s if c in out]
    kept = [c for c in out if c not in row]
    factors = transpose(small, [s.index(c) for c in (*row, *summed)])
    factors = reshape(factors, (*factors.shape, *(1,) * len(kept)))
    terms = transpose(large, [t.index(c) for c in (*summed, *kept)])
    axes = tuple(range(len(summed)))
    if not row:
        return sum_(multiply(factors, terms), axes)
    rows = [sum_(multiply(factors[i], terms), axes) for i in range(factors.shape[0])]
    return stack(rows, axis=out.index(row[0]))


def sum_elements(x: Any, x_labels: str, y: Any, y_labels: str, summed: list[str], out: str) -> Any:
    """The product of two long arrays that is a small matrix: one sum for each of its elements."""
    if out and out[0] in y_labels:
        x, x_labels, y, y_labels = y, y_labels, x, x_labels
    lengths = dict(zip(x_labels + y_labels, x.shape + y.shape, strict=True))
    parts = []
    for a, labels in ((x, x_labels), (y, y_labels)):
        kept = [c for c in labels if c in out]
        ordered = transpose(a, [labels.index(c) for c in (*kept, *summed)])
        parts.append([ordered[i] for i in range(lengths[kept[0]])] if kept else [ordered])
    sums = [sum_(multiply(u, v)) for u in parts[0] for v in parts[1]]
    return reshape(stack(sums), tuple([lengths[c] for c in out]))
