"""Products and systems with sparse matrices, differentiable with respect to the vectors and to the stored elements.

A matrix is given by its elements row by row, their columns, and the number of elements in each row. The
product y = S x and the cotangents of S and x are the three derivatives of one trilinear form, the sum of t_i S_ij x_j:
three operations that are each other's transposes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.kinds import case, general, multilinear
from wengert.core.spec import Spec

Shape = tuple[int, int]

COLUMNS, COUNTS, SHAPE = np.array([0, 2, 1, 0, 3]), np.array([2, 0, 3]), (3, 4)
REGULAR = np.array([2.0, -0.5, 3.0, 0.7, 1.5])
"""The elements of a regular matrix, with the columns and counts below."""
SQUARE = np.array([0, 2, 1, 0, 2]), np.array([2, 1, 2])


def matrix_of(data: Any, columns: Any, counts: Any, shape: Shape) -> Any:
    """The matrix as an array of SciPy."""
    from scipy.sparse import csr_array  # imported when it is used

    matrix = csr_array(shape, dtype=data.dtype)
    starts = np.zeros(len(counts) + 1, columns.dtype)
    np.cumsum(counts, out=starts[1:])
    matrix.data, matrix.indices, matrix.indptr = data, columns, starts  # which were checked before
    return matrix


def _product(data: Any, x: Any, columns: Any, counts: Any, shape: Shape) -> Any:
    return matrix_of(data, columns, counts, shape) @ x


def _transpose_product(data: Any, x: Any, columns: Any, counts: Any, shape: Shape) -> Any:
    return matrix_of(data, columns, counts, shape).T @ x


def _elements_of_product(t: Any, x: Any, columns: Any, counts: Any, shape: Shape) -> Any:
    rows = np.repeat(np.arange(shape[0]), counts)
    products = t[rows] * x[columns]
    return np.sum(products, 1, dtype=products.dtype) if products.ndim > 1 else products


def _sparse_operation(
    name: str, implementation: Any, *rules: Any, inputs: tuple[str, str], result: Any, cases: Sequence[Any]
) -> Any:
    """An operation that is linear in two arrays, and has the columns and counts of a sparse matrix besides.

    `result` gives the shape of the result, from those of the second array, of the columns and of the matrix.
    """

    def spec(x: Any, y: Any, columns: Any, counts: Any, shape: Shape) -> Spec:
        return Spec(result(y.shape, columns.shape, shape), np.result_type(x.dtype, y.dtype))

    return multilinear(
        name,
        implementation,
        *rules,
        None,
        None,
        inputs=(*inputs, "columns", "counts"),
        takes_params=True,
        spec=spec,
        cases=tuple([case(*shapes, COLUMNS, COUNTS, shape=SHAPE) for shapes in cases]),
    )


sparse_product: Any = _sparse_operation(
    "sparse_product",
    _product,
    lambda t, x, columns, counts, shape: product_elements(t, x, columns, counts, shape=shape),
    lambda t, data, columns, counts, shape: sparse_transpose_product(data, t, columns, counts, shape=shape),
    inputs=("data", "x"),
    result=lambda x, columns, matrix: (matrix[0], *x[1:]),
    cases=(((5,), (4,)), ((5,), (4, 2))),
)
sparse_transpose_product: Any = _sparse_operation(
    "sparse_transpose_product",
    _transpose_product,
    lambda t, x, columns, counts, shape: product_elements(x, t, columns, counts, shape=shape),
    lambda t, data, columns, counts, shape: sparse_product(data, t, columns, counts, shape=shape),
    inputs=("data", "x"),
    result=lambda x, columns, matrix: (matrix[1], *x[1:]),
    cases=(((5,), (3,)), ((5,), (3, 2))),
)
product_elements: Any = _sparse_operation(
    "product_elements",
    _elements_of_product,
    lambda t, y, columns, counts, shape: sparse_product(t, y, columns, counts, shape=shape),
    lambda t, x, columns, counts, shape: sparse_transpose_product(t, x, columns, counts, shape=shape),
    inputs=("x", "y"),
    result=lambda x, columns, matrix: columns,
    cases=(((3,), (4,)), ((3, 2), (4, 2))),
)


# Systems of equations


class Factored:
    """A matrix, to be factored; two with the same numbers are equal."""

    def __init__(self, *parts: Any):
        self.parts = parts
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(repr((part.shape, part.dtype.str)).encode())
            digest.update(np.ascontiguousarray(part).data)
        self.digest = digest.digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factored) and self.digest == other.digest


@lru_cache(8)
def factor(matrix: Factored) -> Any:
    """The sparse LU factorisation, which serves the solution and its derivatives."""
    from scipy.sparse.linalg import splu

    data, columns, counts = matrix.parts
    n = len(counts)
    try:
        return splu(matrix_of(data, columns, counts, (n, n)).tocsc())
    except RuntimeError as error:
        raise user_error(np.linalg.LinAlgError, "The sparse matrix of a system is singular") from error


def _solve(data: Any, b: Any, columns: Any, counts: Any, transposed: bool) -> Any:
    dtype = np.result_type(data.dtype, b.dtype, np.float32)
    if not b.size:
        return np.zeros(b.shape, dtype)
    # SuperLU has copies of the numbers, and one precision for matrix and vectors.
    factors = factor(Factored(np.array(data, dtype), np.array(columns), np.array(counts)))
    return factors.solve(np.asarray(b, dtype), "T" if transposed else "N")


def _pull_matrix(t: Any, out: Any, data: Any, columns: Any, counts: Any, transposed: bool) -> Any:
    n = counts.shape[0]
    u = -sparse_solution(data, t, columns, counts, transposed=not transposed)
    return product_elements(*((out, u) if transposed else (u, out)), columns, counts, shape=(n, n))


def _push_matrix(t: Any, out: Any, data: Any, columns: Any, counts: Any, transposed: bool) -> Any:
    n = counts.shape[0]
    product = sparse_transpose_product if transposed else sparse_product
    return -sparse_solution(
        data, product(t, out, columns, counts, shape=(n, n)), columns, counts, transposed=transposed
    )


sparse_solution: Any = general(
    "sparse_solution",
    _solve,
    _pull_matrix,
    lambda t, data, columns, counts, transposed: sparse_solution(data, t, columns, counts, transposed=not transposed),
    None,
    None,
    inputs=("data", "b", "columns", "counts"),
    jvps=(
        _push_matrix,
        lambda t, data, columns, counts, transposed: sparse_solution(data, t, columns, counts, transposed=transposed),
        None,
        None,
    ),
    spec=lambda data, b, columns, counts, transposed: Spec(b.shape, np.result_type(data.dtype, b.dtype, np.float32)),
    cases=(
        case(REGULAR, (3,), *SQUARE, transposed=False),
        case(REGULAR, (3, 2), *SQUARE, transposed=True),
    ),
)
