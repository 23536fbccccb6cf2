"""What the loops of a kernel cost: the numbers of `compiler/nests/cost.py`, none of which changes a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class LoopCostFields:
    """The time of instructions, of bytes, and of threads, measured on one core of an AMD Zen 5 with AVX-512.

    Of decisions about one loop only the ratios matter, which differ less between processors than the numbers.
    """

    cycles_per_nanosecond: float = 4.2
    """Cycles of a nanosecond: an addition of two cycles waits 0.48 nanoseconds (`benchmarks/latencies.py`)."""
    cycles_of_operation: float = 0.3
    """Cycles of an addition or a product of vectors, beside loads and stores: a processor begins two in a cycle, and
    others beside them (`benchmarks/instruction_rates.py`).
    """
    cycles_of_long_operation: float = 0.75
    """Cycles of each of the operations that quotients, roots and functions count as (`benchmarks --cost`)."""
    cycles_of_load: float = 0.5
    """Cycles of a vector that is read from the nearest cache (`benchmarks/peaks.py`)."""
    cycles_of_store: float = 1.0
    """Cycles of a vector that is written to the nearest cache (`benchmarks/peaks.py`)."""
    cycles_of_near_column: float = 1.5
    """Cycles of a vector of elements that are a few elements apart: vectors that are read and exchanged."""
    cycles_of_lane: float = 1.0
    """Cycles of a lane that is read or written by itself, with its address (`benchmarks/index_rates.py`)."""
    cycles_of_chosen_lane: float = 4.0
    """Cycles of a lane whose element a guard chooses: its index is computed, and it is read by itself."""
    cycles_of_updated_lane: float = 4.0
    """Cycles of a lane that is added to an element at a computed index, through the stack."""
    cycles_of_row_in_range: float = 4.0
    """Cycles of asking whether a row of a scatter is in the range of a thread, with a branch that is often unexpected.
    """
    operations_of_computed_index: int = 2
    """Scalar operations of the address of an element at a computed index."""
    cycles_of_step: float = 1.0
    """Cycles of a step of a loop beside its body."""
    cycles_of_loop: float = 15.0
    """Cycles of the beginning and the end of a long inner loop, whose last branch is not predicted."""
    operations_ahead: int = 100
    """Scalar operations on vectors that a processor looks ahead, some 450 instructions: functions of several vectors
    are computed at once within them.
    """
    cycles_of_chained_operation: float = 3.0
    """Cycles of an operation that the next one of a chain waits for."""
    cycles_of_stored_sum: float = 8.0
    """Cycles from an addition to a number on the stack to the next one: it is stored, and read again."""
    bytes_of_nearest_cache: int = 1 << 15
    """Bytes of the nearest cache that a loop may count on."""
    bytes_of_second_cache: int = 3 << 18
    """The same of the second cache, of which each core has one."""
    bytes_of_shared_cache: int = 1 << 25
    """The same of the cache that all cores share."""
    picoseconds_of_line_from_second_cache: int = 280
    """Picoseconds of a cache line that is read or written in order where the second cache holds all of them
    (`benchmarks/peaks.py`).
    """
    picoseconds_of_line_from_shared_cache: int = 530
    """The same where the cache that all cores share holds them."""
    picoseconds_of_line_from_memory: int = 1_600
    """The same where they come from memory."""
    bytes_read_ahead: int = 1 << 11
    """Bytes between reads up to which a processor knows the next one: longer steps leave the page."""
    lines_of_unexpected_line: float = 1.5
    """Lines that are read in order in the time of one that the processor does not know before: many are on their way at
    once (`benchmarks/index_rates.py`).
    """
    percent_not_overlapped: int = 12
    """Percent of the shorter ones of instructions, chains and bytes that are not hidden behind the longest."""
    picoseconds_per_operation: int = 33
    """Picoseconds of a scalar operation on eight lanes at once, one for each cycle: threads count in these."""
    picoseconds_of_text: int = 1_500
    """Picoseconds of a run that an element in the text of a body must gain: LLVM takes some 150 microseconds for it,
    and a program is called some hundred thousand times.
    """
    percent_gained_by_decision: int = 1
    """Percent of the cost that a decision saves if it is taken: a smaller difference may not be there."""
    percent_of_shared_scatter_in_each_thread: int = 60
    """Percent of the work of a scatter that each thread does although they share the result: on two cores, gradients
    along 4 000 to 10^6 edges took 0.57 to 0.65 of the time of one thread between neighbours in memory, and 0.91 to 1.07
    between random numbers.
    """
    speed_of_two_threads: float = 1.8
    """Times as fast as one thread that two are which share caches and memory, beside what the hand-over takes: 1.7 to
    1.9 for gradients along edges, on two idle cores.
    """
