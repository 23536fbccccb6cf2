"""Operations of the table as NumPy runs them; numbers that change last digits are in `order.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class OperationFields:
    """How operations are run in eager code."""

    min_elements_of_bitwise_choice: int = 256
    """Elements from which a choice between a value and zero is computed on bits: NumPy branches at each element, which
    costs more.
    """
    min_rows_added_together: int = 400
    """Short rows from which `np.einsum` adds them to each other: with fewer, the call takes longer than what it saves.
    """
    min_elements_of_short_rows: int = 256
    """Elements of an array from which short rows are added column by column, and rows to each other by `np.einsum`, in
    a tenth to a half of the time.
    """
    max_columns_scattered_alone: int = 8
    """Columns of rows that are added at indices column by column; of more, the indices of all elements are computed."""
    min_elements_of_flat_scatter: int = 64
    """Elements from which additions at indices are made in a flat array: `np.add.at` is fast there, but the indices
    must be computed.
    """
    min_elements_of_single_run: int = 32
    """Values that meet one element of an array from which they are applied by themselves, one after the other. Fewer
    are applied together with those of other elements, in calls of NumPy that take about as long as 32 steps of Python.
    """
    max_elements_multiplied_for_shape: int = 4_095
    """Elements of matrices that are multiplied to learn the shape of their product, with NumPy's errors; for larger
    ones, the rule is written out.
    """
    block_words_of_random_numbers: int = 1 << 14
    """Words that are hashed at a time: 128 KiB, which stay in the cache."""
    block_singles_of_erf: int = 1 << 14
    """Elements of which the error function is computed at a time, in double precision: they stay in the cache."""
