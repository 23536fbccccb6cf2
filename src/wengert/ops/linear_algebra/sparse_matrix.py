"""SparseMatrix: a matrix with few stored elements, as an operand of `@` and of `solve`.

Matrices of `scipy.sparse` are constants: `S @ x`, `x @ S` and `wg.linalg.solve(S, b)` take them as they are. A
SparseMatrix is a tree, whose leaf is the vector of its elements: these may be tracked.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.core.tree import Branch
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _scatter, gather
from wengert.ops.linear_algebra.sparse import (
    Shape,
    matrix_of,
    sparse_product,
    sparse_solution,
    sparse_transpose_product,
)
from wengert.ops.shape.reshaping import swapaxes

__all__ = ["SparseMatrix", "sparse"]


def own_integers(x: np.ndarray) -> np.ndarray:
    """Integers that nobody can change, so that they are copied once, and not by each operation that keeps them."""
    if x.flags.writeable or x.base is not None:
        x = x.copy()
        x.flags.writeable = False
    return x


class Positions:
    """Where the elements of a sparse matrix are: their columns, row by row, and how many each row has.

    If it is `transposed`, they are those of the transpose.
    """

    def __init__(self, columns: np.ndarray, counts: np.ndarray, shape: Shape, transposed: bool = False):
        self.columns, self.counts = own_integers(columns), own_integers(counts)
        self.stored_shape, self.transposed = shape, transposed

    @property
    def shape(self) -> Shape:
        """The numbers of rows and columns of the matrix."""
        return self.stored_shape[::-1] if self.transposed else self.stored_shape

    def transpose(self) -> Positions:
        """The positions of the transpose, with the same elements."""
        return Positions(self.columns, self.counts, self.stored_shape, not self.transposed)

    @cached_property
    def digest(self) -> bytes:
        """A hash of all numbers."""
        digest = hashlib.blake2b(repr((self.stored_shape, self.transposed)).encode(), digest_size=16)
        for part in (self.columns, self.counts):
            digest.update(np.ascontiguousarray(part, np.int64).data)
        return digest.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Positions) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    cls = property(lambda self: SparseMatrix)
    __name__ = property(lambda self: "SparseMatrix")  # of what it makes

    def __call__(self, parts: dict[str, Any]) -> SparseMatrix:
        return SparseMatrix(parts["data"], self)


class SparseMatrix(Branch):
    """A sparse matrix whose elements `data` may be tracked; `wg.sparse` makes it.

    It is a tree with the leaf `data`, so it can be an argument and a result of every transform. Gradients with respect
    to it are sparse matrices with the same positions.

    >>> S = sparse(([2.0, 3.0], ([0, 1], [1, 0])))
    >>> S @ np.array([1.0, 10.0]), S.T @ np.array([1.0, 10.0])
    (array([20.,  3.]), array([30.,  2.]))
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave `x @ S` to this class
    __array_priority__ = 100.0

    def __init__(self, data: Any, positions: Positions):
        self.data, self.positions = data, positions

    def open_branch(self) -> tuple[Any, dict[str, Any]]:
        return self.positions, {"data": self.data}

    @property
    def shape(self) -> Shape:
        """The numbers of rows and columns."""
        return self.positions.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        dtype: np.dtype = self.data.dtype
        return dtype

    @property
    def T(self) -> SparseMatrix:  # noqa: N802  # NumPy's name
        """The transpose, which shares the elements."""
        return SparseMatrix(self.data, self.positions.transpose())

    def with_data(self, data: Any) -> SparseMatrix:
        """A matrix with other elements at the same positions, in the order of `data`: row by row."""
        data = as_operand(data)
        if data.shape != self.positions.columns.shape:
            raise user_error(
                ValueError, f"The matrix has {len(self.positions.columns)} elements, and was given shape {data.shape}"
            )
        return SparseMatrix(data, self.positions)

    def __matmul__(self, x: Any) -> Any:
        x, positions = as_operand(x), self.positions
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise user_error(
                ValueError,
                f"The product of a sparse matrix of shape {self.shape} and an array of shape {x.shape}",
                "It must have one or two axes, the first as long as the matrix has columns.",
            )
        product = sparse_transpose_product if positions.transposed else sparse_product
        return product(self.data, x, positions.columns, positions.counts, shape=positions.stored_shape)

    def __rmatmul__(self, x: Any) -> Any:
        x = as_operand(x)
        return self.T @ x if x.ndim < 2 else swapaxes(self.T @ swapaxes(x, 0, 1), 0, 1)

    def __mul__(self, factor: Any) -> SparseMatrix:
        if np.ndim(factor):
            raise user_error(TypeError, "A sparse matrix times an array", "The product of matrices is S @ x.")
        return SparseMatrix(self.data * factor, self.positions)

    __rmul__ = __mul__

    def __neg__(self) -> SparseMatrix:
        return SparseMatrix(-self.data, self.positions)

    def solve(self, b: Any) -> Any:
        """The x with `S x = b`, by a sparse LU factorisation; b has one or two axes."""
        b, n = as_operand(b), self.shape[0]
        if self.shape != (n, n) or b.ndim not in (1, 2) or b.shape[0] != n:
            raise user_error(
                ValueError, f"A system with a sparse matrix of shape {self.shape} and b of shape {b.shape}"
            )
        positions = self.positions
        return sparse_solution(self.data, b, positions.columns, positions.counts, transposed=positions.transposed)

    def toarray(self) -> Any:
        """The matrix as an array."""
        positions = self.positions
        rows = np.repeat(np.arange(positions.stored_shape[0]), positions.counts)
        key = Index((Hole.ARRAY, Hole.ARRAY), False)
        full = _scatter(self.data, rows, positions.columns, key=key, shape=positions.stored_shape)
        return full.T if positions.transposed else full

    def tocsr(self) -> Any:
        """The numbers as an array of `scipy.sparse`."""
        positions = self.positions
        plain = matrix_of(np.array(self.data), positions.columns, positions.counts, positions.stored_shape)
        return plain.T.tocsr() if positions.transposed else plain

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<sparse matrix {rows} x {columns}, {len(self.positions.columns)} elements, {self.dtype}>"


def is_scipy_sparse(x: Any) -> bool:
    """Whether x is a matrix or an array of `scipy.sparse`, which is not imported to find out."""
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocsr")


def sparse(matrix: Any, shape: Shape | None = None) -> SparseMatrix:
    """A sparse matrix whose elements can be tracked.

    `matrix` is a matrix of `scipy.sparse`, or `(values, (rows, columns))`, of which the values may be tracked; those at
    the same position are added. Its attribute `data` has the elements row by row; `with_data` replaces them.

    >>> values, rows, columns = np.array([4.0, 1.0, 3.0]), [0, 1, 1], [0, 0, 1]
    >>> S = sparse((values, (rows, columns)))
    >>> S, S @ np.ones(2), S.solve(np.array([4.0, 7.0]))
    (<sparse matrix 2 x 2, 3 elements, float64>, array([4., 4.]), array([1., 2.]))
    """
    if isinstance(matrix, SparseMatrix):
        return matrix
    if is_scipy_sparse(matrix):
        rows = matrix.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return SparseMatrix(rows.data, Positions(rows.indices, np.diff(rows.indptr), rows.shape))
    try:
        values, (at_rows, at_columns) = matrix
    except (TypeError, ValueError):
        raise user_error(
            TypeError,
            f"wg.sparse takes a matrix of scipy.sparse or (values, (rows, columns)), and was given a "
            f"{type(matrix).__name__}",
        ) from None
    return from_triplets(as_operand(values), np.asarray(at_rows), np.asarray(at_columns), shape)


def from_triplets(values: Any, rows: np.ndarray, columns: np.ndarray, shape: Shape | None) -> SparseMatrix:
    """The matrix with these values at these positions."""
    if values.ndim != 1 or rows.shape != values.shape or columns.shape != values.shape:
        raise user_error(
            ValueError, f"Values, rows and columns of shapes {values.shape}, {rows.shape}, {columns.shape}"
        )
    if shape is None:
        shape = (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
    height, width = shape
    if rows.size and not (rows.min() >= 0 and rows.max() < height and columns.min() >= 0 and columns.max() < width):
        raise user_error(ValueError, f"A sparse matrix of shape {shape} has no element at one of the positions")
    offsets, slots = np.unique(rows.astype(np.int64) * width + columns, return_inverse=True)
    counts = np.bincount(offsets // max(width, 1), minlength=height)
    positions = Positions(offsets % max(width, 1), counts, (height, width))
    if len(offsets) == len(slots):
        data = gather(values, np.argsort(slots), key=Index((Hole.ARRAY,)))
    else:
        data = _scatter(values, slots, key=Index((Hole.ARRAY,), True), shape=offsets.shape)
    return SparseMatrix(data, positions)


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse matrix, of SciPy or of this module."""
    return isinstance(x, SparseMatrix) or is_scipy_sparse(x)
