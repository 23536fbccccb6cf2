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
    operations_of_scatter: int = 3
    """Scalar operations that take as long as writing or adding an element at a computed index; with them, a loop
    reaches the operations from which its sums and additions are cut into pieces.
    """
    sum_accumulators: int = 4
    """Independent accumulators of a sum with a short body: an addition takes four cycles until the next can begin."""
    short_body_operations: int = 8
    """Scalar operations for each element up to which a body is short: longer ones hide the wait for an addition."""
    max_stack_bytes_of_lanes: int = 4 << 20
    """Bytes that the values of a very long body may take on the stack; with more, fewer lanes are used."""
    sum_bytes: int = 64
    """Bytes of the vector whose lanes are added up side by side in a sum, whatever vectors the processor has."""
