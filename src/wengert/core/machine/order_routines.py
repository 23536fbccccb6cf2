"""The order of additions in routines: products of matrices, factorisations, convolutions, transforms and attention."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class RoutineOrderFields:
    """Which routine computes something, and in which blocks it adds."""

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
    """Bytes of the right operand of a product with such a result."""
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
    max_terms_of_fused_product: int = 32
    """Terms of a product of two real matrices that becomes multiplications and sums, which fuse with other operations:
    for larger ones, there are functions of their own.
    """
    max_terms_of_fused_stacked_product: int = 512
    """The same for complex matrices, which have no such functions, and for matrices in stacks, where lanes are
    neighbours.
    """
    max_columns_of_fused_tall_product: int = 16
    """Columns of tall matrices whose product becomes multiplications and sums."""
    min_rows_of_fused_tall_product: int = 64
    """Rows of the shortest matrix that is tall."""
    max_elements_of_unrolled_small_matrix: int = 9
    """Elements of a matrix that is multiplied with a long array, or consists of long sums, element by element."""
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

    # Convolutions

    bytes_of_filter_sums: int = 7 << 12
    """Bytes of signals and cotangents that a block of filters reads before the lanes of its sums are added up: they
    stay in the first cache.
    """
    filters_of_filter_sums: int = 2
    """Filters whose cotangents count in these bytes, if there are as many: about those of a block."""
    min_positions_of_filter_strip: int = 4
    """Rows of signals up to which a block that reads too much is not cut further: each has an end of its own."""
    max_phases_of_convolution: int = 16
    """Phases of the cotangents of signals, each with loops of its own: with more, products of matrices add them up."""

    # Fourier transforms: costs by which their steps are planned, in instructions on vectors

    instructions_of_transform_pass: int = 8
    """Instructions of a pass for each number besides its transforms: reads, writes, products with roots."""
    instructions_of_transposed_vector: int = 6
    """Instructions on vectors that transpose one, by exchanges with others."""
    instructions_of_large_transform_blocks: tuple[tuple[int, float], ...] = (
        (1 << 15, 2.0),
        (1 << 17, 1.5),
        (1 << 18, 3.0),
        (1 << 19, 6.0),
    )
    """Bytes of both blocks, and the instructions that a pass of larger ones takes more for each number: the caches."""
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
