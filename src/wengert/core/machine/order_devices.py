"""The order of additions on GPUs: which thread adds what. It depends on shapes, and not on the device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class DeviceOrderFields:
    """How elements and terms are shared among the threads of a GPU."""

    threads_of_busy_device: int = 1 << 18
    """Threads that keep a device busy: a reduction to fewer elements is cut into pieces. An H200 has room for 270 000.
    """
    min_terms_per_device_thread: int = 8
    """Terms that a thread folds before others help, unless a few take long: to combine threads takes some steps."""
    terms_read_at_once_on_device: int = 4
    """Terms of a reduction whose elements a thread reads at once, if they call no functions: more take registers."""
    states_combined_at_once_on_device: int = 8
    """Terms that a running reduction folds at once: combining states costs more than adding terms."""
    max_operations_of_short_device_body: int = 80
    """Scalar operations of a body up to which threads wait for memory, and have several elements."""
    max_operations_of_device_body: int = 400
    """Scalar operations of a body beyond which registers matter more than what is read twice."""
    max_elements_of_device_tile: int = 16
    """Elements along a short axis that one thread has, each in registers."""
    min_threads_of_tiled_device: int = 1 << 15
    """Threads that must be left if each has several elements: a device is not busy with fewer."""
    device_operations_per_turn: int = 2
    """Scalar operations that a multiprocessor does for all threads of a warp while they take one turn at memory."""
    worthwhile_share_of_turns: float = 0.7
    """The share of the turns at memory that tiles may leave, to be worth the registers that they take."""
    min_rows_per_target_of_shared_device_scatter: int = 64
    """Rows for each target of a scatter, on average, from which on several threads add those of one target."""
    max_shared_bytes_of_device_rows: int = 1 << 15
    """Bytes of shared memory that the rows of a block have in a row kernel: with 32 KB, seven blocks fit on an H200."""
    max_terms_of_device_column: int = 64
    """Terms of each of several sums of one row that are part of a row kernel: one thread folds all of them."""
    max_numbers_of_device_trajectory: int = 96
    """Numbers of all states of a loop that one thread runs by itself, in its registers."""
