"""Routines: factorisations, convolutions, attention, Fourier transforms, sorting, selection, and stacks of windows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class RoutineFields:
    """How routines are cut for caches, registers and threads."""

    # Factorisations

    vectors_of_eliminated_column: int = 4
    """Vectors of a column that are updated at once in an elimination, a power of two: they hide the wait for memory."""
    columns_of_solved_panel: int = 4
    """Columns of a panel that are solved with a triangle at once, a divisor of those of a block: a single one mostly
    waits for its sum.
    """
    parts_of_matrix_stack: int = 16
    """Parts of a stack of matrices, each with a workspace of its own; threads share them."""
    min_multiplications_of_shared_stack: int = 1 << 22
    """Multiplications from which threads share a stack of matrices: LAPACK has threads of its own, which wait."""
    min_multiplications_of_shared_stack_in_loop: int = 1 << 25
    """The same in the body of a loop, where threads are woken again and again."""
    max_rows_of_shared_matrices: int = 128
    """Rows of matrices of a stack that threads share: larger ones use the threads of BLAS, one after the other."""

    # Sorting, selection, search and counts

    bits_of_sorted_digit: int = 8
    """Bits of a digit by which rows are sorted, or searched: its table of counts, with a value for each, stays in the
    first cache. At most 12 are used.
    """
    max_elements_of_insertion_sort: int = 48
    """Elements of a row that is sorted by insertion: digits of longer ones take less time than to move elements."""
    parts_of_sorted_rows: int = 16
    """Parts of a stack of rows that are sorted or selected from, each with a workspace; threads share them."""
    min_elements_of_shared_sort: int = 1 << 15
    """Elements of all rows from which threads share them."""
    nanoseconds_of_element_sorted_by_digits: int = 9
    """Nanoseconds that native code takes for an element of a row that it sorts, roughly."""
    nanoseconds_of_sorted_vector: int = 32
    """Nanoseconds that NumPy takes for a vector of numbers that it sorts without their indices, roughly."""
    max_elements_of_sorted_selection: int = 1 << 12
    """Elements of a row that NumPy sorts to find few of them: it partitions longer ones."""
    nanoseconds_of_library_call: int = 1000
    """Nanoseconds of a call of NumPy in what a program leaves to it, besides what it does with elements."""
    lanes_of_search: int = 2
    """Lanes of the vectors of a binary search, a power of two: they are read one by one, which is faster than a gather
    of more of them; single numbers would have branches.
    """
    vectors_of_search: int = 8
    """Vectors that are searched at once, a power of two, so that the reads of one hide behind those of others."""
    operations_of_search_step: int = 4
    """Scalar operations that take as long as a comparison of a search with the read before it."""
    operations_of_counted_number: int = 50
    """Scalar operations that take as long as counting a number: a guess, two comparisons, and an addition in memory."""
    max_bins_per_thread: int = 1 << 12
    """Bins of a histogram up to which each thread has counts of its own, on its stack; otherwise one thread counts."""

    # Scans, sparse products and windows

    rows_of_scan: int = 4
    """Rows along which running sums are added up at a time: each addition waits for the one before it."""
    operations_of_scanned_element: int = 2
    """Scalar operations that take as long as an element of a running sum."""
    operations_of_sparse_term: int = 4
    """Scalar operations that take as long as a term of a product with a sparse matrix, whose column is looked up."""
    max_elements_of_placed_window: int = 64
    """Elements of windows whose largest ones are found natively, all in one expression; NumPy takes larger ones."""
    operations_of_placed_element: int = 3
    """Scalar operations that take as long as an element of such a window."""
    max_elements_of_spread_window: int = 64
    """Elements of windows along one axis, and steps between them, up to which gradients of their sums are slices that
    are added up: LLVM's time is proportional to them.
    """

    # Convolutions

    source_bytes_of_convolution_strip: int = 1 << 18
    """Bytes of the source that a strip of the target should need: they stay in the second cache."""
    min_rows_of_convolution_strip: int = 4
    """Rows of the target up to which a strip that needs more is not cut further: strips share rows of the source."""
    max_channels_of_convolution_block: int = 8
    """Channels of the target whose sums are in registers together."""
    max_vectors_of_convolution_block: int = 4
    """Vectors of each of these channels: more have no registers left for factors."""
    max_vectors_of_one_channel: int = 8
    """Vectors of a block that has one channel."""
    max_filters_of_sum_block: int = 8
    """Filters of a block of their cotangents, each with sums of its own for all taps."""
    cycles_of_tap: float = 0.5
    """Cycles of a tap of filters besides its products and reads."""
    max_unrolled_taps: int = 12
    """Taps of filters that are written out one after the other; others are in loops, which compile faster."""
    max_unrolled_products_of_filter_row: int = 72
    """Products of a row that are written out in the cotangents of filters; others are in a loop."""
    max_bytes_of_cached_filters: int = 1 << 14
    """Bytes of filters that stay in the first cache with the rows that they are multiplied by: they are read again for
    each row.
    """
    max_step_of_copied_vectors: int = 4
    """Elements from one that is read to the next, up to which they are picked from vectors; others are copied one by
    one.
    """
    parts_of_convolution: int = 32
    """Parts of a convolution, each with a buffer of its own; threads share them."""
    products_per_operation: int = 2
    """Products of a convolution that take as long as one scalar operation of a kernel: threads count in these."""

    # Fourier transforms

    min_instructions_of_shared_transforms: int = 1 << 16
    """Instructions on vectors from which threads share transforms."""
    operations_of_transform_instruction: int = 2
    """Scalar operations that take as long as an instruction of a transform: threads count in these."""
    parts_of_transforms: int = 32
    """Parts of transforms, each with memory of its own; threads share them."""

    # Attention

    parts_of_attention: int = 64
    """Parts of attentions, each with buffers of its own; threads share them."""
