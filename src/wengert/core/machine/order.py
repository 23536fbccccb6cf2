"""Numbers that say in which order others are added: the only ones that may change the last digits of a result.

They are the same on every machine and for every number of threads, so that results are, too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class OrderFields:
    """The order of additions."""

    sum_pieces: int = 32
    """Pieces of a long sum, each added up by itself; threads share them. More would make the last step, which one
    thread does, longer; 32 divide well among up to 16 threads.
    """
    sum_pieces_below_results: int = 16
    """Results of a sum below which it is cut into pieces; threads share the results of others."""
    sum_pieces_from_operations: int = 180_000
    """Scalar operations from which a sum to few elements is added up in pieces: two threads share no smaller one."""
    scatter_pieces_from_operations: int = 400_000
    """Scalar operations from which additions at computed indices of few elements are made in pieces."""
    scatter_terms_per_target: int = 2
    """Additions for each element of all pieces from which on a scatter is cut: fewer cost less than adding pieces."""
    sum_accumulators: int = 4
    """Independent accumulators of a sum with a short body: an addition takes four cycles until the next can begin."""
    short_body_operations: int = 8
    """Scalar operations for each element up to which a body is short: longer ones hide the wait for an addition."""
    max_stack_bytes_of_lanes: int = 4 << 20
    """Bytes that the values of a very long body may take on the stack; with more, fewer lanes are used."""
    sum_bytes: int = 64
    """Bytes of the vector whose lanes are added up side by side in a sum, whatever vectors the processor has."""

    # Products of matrices: which code computes one, and in which order it adds

    max_multiplications_of_own_product: int = 1 << 21
    """Multiplications of a product up to which a function of its own is faster than BLAS, unless its right operand
    stays in the first cache: BLAS copies its operands, which pays for larger ones.
    """
    max_right_bytes_of_any_own_product: int = 1 << 15
    """Bytes of a right operand that stays in the first cache: a product of any size has a function of its own."""
    max_right_bytes_of_own_product: int = 1 << 18
    """Bytes of the right operand of a product with a function of its own: it is read once for each block of rows."""
    max_rows_of_wide_own_product: int = 16
    """Rows of a result that has few blocks of rows, so that its right operand may be larger."""
    max_right_bytes_of_wide_own_product: int = 1 << 20
    """Bytes of the right operand of a product with so few rows."""
    direct_blas_from_multiplications: int = 1 << 10
    """Multiplications from which BLAS has kernels without copies and threads: partly empty vectors do not pay there."""
    direct_blas_to_multiplications: int = 10**6
    """Multiplications up to which BLAS has such kernels."""
    min_filled_lanes_of_own_product: float = 0.65
    """The part of all lanes that must have elements of the result where BLAS has such kernels, outside of loops."""
    min_columns_of_own_product: int = 4
    """Columns of the result of a function of its own: fewer leave most lanes empty, and BLAS is faster."""
    max_elements_of_transposed_operand: int = 1 << 11
    """Elements of a right operand stored by columns that is transposed for each product: larger ones are read along
    the sum, in lanes.
    """
    product_pieces_from_terms: int = 1 << 11
    """Terms of the sums of a product from which they are cut into pieces, which threads share."""
    product_pieces_from_terms_per_side: int = 8
    """Terms for each row, or column, of the result from which they are: others have enough rows for all threads."""
    max_results_of_product_pieces: int = 4096
    """Elements of a result whose sums are cut into pieces: each piece has as many, which are added up at the end."""
    min_terms_of_product_piece: int = 256
    """Terms of a piece: adding up shorter ones takes longer than their products."""
    max_product_pieces: int = 128
    """Pieces of a sum: they divide well among up to 64 threads."""
    min_multiplications_of_packed_product: int = 1 << 20
    """Multiplications from which a product with a copied right operand, on all cores, is faster than BLAS."""
    min_rows_of_packed_product: int = 64
    """Rows of the result from which copying a right operand that fits in the cache pays."""
    max_right_bytes_of_packed_product: int = 1 << 22
    """Bytes of the right operand, which all cores read from the third cache; BLAS cuts larger ones."""
    min_processor_vector_bytes: int = 32
    """Bytes of the vectors of the processor from which large products and factorisations are native: processors with
    shorter ones have no fused multiply-adds, and BLAS is faster on them.
    """
    narrow_product_sums: int = 8
    """Rows of a narrow transposed matrix that are added to sums of their own, in a product with a vector."""
    max_vectors_of_narrow_product: int = 4
    """Vectors of `sum_bytes` of a result that stay in registers, one after the other, in a product with a vector."""
    max_bytes_of_narrow_product: int = 1 << 15
    """Bytes of the matrix of such a product: it is read again for each vector, from the first cache."""

    # Factorisations: blocks, and which matrices native code factors

    block_columns_of_factorization: int = 32
    """Columns of a block of a native factorisation, a multiple of 16, the lanes of the longest vector: the products of
    fewer wait for memory, and the triangle of more takes longer on one thread.
    """
    max_columns_of_blocked_factorization: int = 1024
    """Columns of a matrix that native code factors: larger ones do not stay in the cache while a block passes."""
    min_columns_of_blocked_cholesky_pull: int = 24
    """Columns from which the derivative of Cholesky's factorisation is native: fewer do not fill a block."""
    max_columns_of_blocked_cholesky_pull: int = 512
    """Columns up to which it is: of larger matrices, the caches hold too little while a block passes."""
    cholesky_pull_block_rows: int = 32
    """Rows of a block of that derivative where BLAS multiplies, in small matrices."""
    large_cholesky_pull_block_rows: int = 64
    """Rows of a block in large matrices: BLAS is faster at larger products."""
    cholesky_pull_large_from_rows: int = 256
    """Rows of a matrix above which its blocks are large."""
    max_cholesky_pull_blocks: int = 32
    """Blocks of that derivative, each of which is written out: the rows of blocks grow with larger matrices."""

    # Convolutions

    bytes_of_filter_sums: int = 7 << 12
    """Bytes of signals and cotangents that a block of filters reads before the lanes of its sums are added up: they
    stay in the first cache.
    """
    filter_sum_registers: int = 32
    """Registers of the processor by which the filters of such a block are counted, whatever it has."""
    max_phases_of_convolution: int = 16
    """Phases of the cotangents of signals, each with loops of its own: with more, products of matrices add them up."""

    # Fourier transforms: costs by which their steps are planned, in instructions on vectors

    instructions_of_transform_pass: int = 8
    """Instructions of a pass for each number besides its transforms: reads, writes, products with roots."""
    instructions_of_transposed_vector: int = 6
    """Instructions that transpose a vector."""
    instructions_of_large_transform_blocks: tuple[tuple[int, float], ...] = (
        (1 << 15, 2.0),
        (1 << 17, 1.5),
        (1 << 18, 3.0),
        (1 << 19, 6.0),
    )
    """Instructions that a pass takes more for each number, if both blocks have more than so many bytes."""
    instructions_of_apart_copy: int = 4
    """Instructions that copy a number to or from where it is not a neighbour; others are copied as vectors."""

    # Attention

    queries_of_attention_block: int = 64
    """Queries of a block, a multiple of 16, the lanes of the longest vector: with the keys, their scores and operands
    stay in the second cache.
    """
    keys_of_attention_block: int = 132
    """Keys of a block: after each, what was added up is multiplied by the change of the largest score."""
    keys_of_attention_tile: int = 6
    """Keys that the blocks of keys are multiples of: those of a tile that stays in registers."""
    attention_pieces: int = 8
    """Pieces into which the queries of few attentions are cut in the derivative, each with sums of its own."""
