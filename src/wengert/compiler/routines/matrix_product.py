"""The sizes of a product of matrices, and how its operands are stored: what decides which code computes it."""

from __future__ import annotations

from typing import NamedTuple


class MatrixProduct(NamedTuple):
    """A product of an m x k matrix and a k x n matrix, of which each may be stored transposed.

    The rows in memory begin `x_stride` and `y_stride` elements after each other. With `initial_stride`, the product is
    added to a matrix whose rows are so far apart; if it is 0, to the same row everywhere.
    """

    kind: str
    m: int
    n: int
    k: int
    is_x_transposed: bool
    is_y_transposed: bool
    x_stride: int
    y_stride: int
    initial_stride: int | None = None
