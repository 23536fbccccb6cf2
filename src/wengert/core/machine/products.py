"""Products of matrices: tiles, panels and copies, whose sizes do not change a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class ProductFields:
    """How products of matrices are cut for caches, registers and threads."""

    multiplications_per_operation: int = 4
    """Multiplications of a product that take as long as one scalar operation of a kernel: threads count in these."""
    operations_of_packed_element: int = 3
    """Scalar operations that take as long as copying one element of the right operand into a panel."""
    rows_of_product_part: int = 8
    """Rows of one small product of which the parts for threads are multiples: about those of a block in registers."""
    chunk_bytes_of_packed_product: int = 1 << 11
    """Bytes of a row of the left operand in one chunk of the sum: the rows of a tile stay in the first cache."""
    block_bytes_of_packed_product: int = 1 << 17
    """Bytes of rows of the left operand that stay in the second cache while all panels pass."""
    rows_of_vector_product: int = 8
    """Rows that are added at once to a panel of the result of a transposed matrix times a vector: fewer read and write
    the panel more often, more take more registers than there are.
    """
    panel_bytes_of_vector_product: int = 1 << 13
    """Bytes of the result that rows are added to before the next rows are read: a quarter of the first cache."""
    rows_of_mirrored_tile: int = 16
    """Rows and columns of a symmetric matrix that are mirrored together, so that both are in the first cache."""
    products_per_cycle: float = 2.0
    """Products of vectors that a core adds up in one cycle: of the estimates by which tiles are chosen."""
    reads_per_cycle: float = 2.0
    """Vectors that a core reads in one cycle."""
    cycles_of_dependent_sum: float = 4.0
    """Cycles until a sum can be added to again."""
