"""The loops of kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class KernelFields:
    """How the loops of a kernel are written."""

    max_segments_with_bodies: int = 4
    """Segments between the borders of a stencil that have a body of their own: LLVM's time is proportional to the text.
    Estimated.
    """
    max_elements_of_segmented_body: int = 1500
    """Elements of a body that is written once for each segment; longer ones take LLVM too long."""
    max_block_bytes_of_column_sums: int = 1 << 13
    """Bytes of the sums of a block of columns, which stay in the nearest cache."""
    vectors_of_stage_block: int = 4
    """Vectors that a stage of a long body computes before the next stage does: what it keeps is then still in the
    nearest cache.
    """
    min_blocks_of_stages: int = 8
    """Blocks of the shortest loop for which stages are proposed: the first block waits, which the cost does not know.
    """
    min_operations_of_kept_element: int = 4
    """Scalar operations of an element from which a stage keeps it for later ones, rather than that they compute it
    again.
    """
    min_terms_of_staged_sum: int = 16
    """Terms of a sum along a row from which it counts as a function, and has a stage of its own."""
    max_functions_of_stage: int = 4
    """Functions of a body of which none waits for another, up to which they have a stage: with more, a processor has
    enough to do while it waits for one.
    """
    max_functions_of_staged_body: int = 64
    """Functions of a body with stages: LLVM's time is proportional to the text, and what stages keep stays in the
    nearest cache. Bodies of 12 and 36 functions took 0.87 and 0.65 of the time with stages (one core, AVX-512).
    """
    steps_between_state_comparisons: int = 8
    """Steps of a loop in registers after which states are compared with those of the last time, rounded down to a power
    of two: states that come again with such a period need no further steps.
    """
    min_steps_of_compared_states: int = 32
    """Steps of the shortest loop in registers that compares its states: a comparison costs about one step."""
    min_elements_of_blocked_row: int = 5
    """Elements of a row from which blocks of its columns are read and exchanged; shorter rows are read as one vector,
    of which each column is every n-th element. At most 8 are used: longer vectors take LLVM too long.
    """
    max_elements_of_transposed_row: int = 256
    """Elements of rows whose columns are read in blocks; elements of longer rows are gathered."""
    max_unrolled_elements_of_matrix: int = 16
    """Elements of a small matrix whose columns are written out, so that they stay in registers; others are loops."""
    max_inlined_calls_of_module: int = 12
    """Calls of vector functions in one module that are inlined; with more, LLVM is slow."""
    lines_of_called_function: int = 12
    """Lines of a kernel for each of its calls below which vector functions do most of its work. Estimated."""
