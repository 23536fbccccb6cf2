"""Compiled programs: their memory, their text, how they are called, and what is kept on disk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class ProgramFields:
    """How programs are written, compiled, called and kept."""

    max_stack_bytes_of_arena: int = 1 << 15
    """Bytes of an arena that is on the stack; larger ones are allocated, which takes a fraction of their time."""
    max_stack_bytes_of_program_loops: int = 1 << 11
    """Bytes on the stack for the states and intermediate results of all loops of a program."""
    max_stack_bytes_of_body_loops: int = 1 << 14
    """The same of a body: it should not allocate memory in each step."""
    max_stack_pointers_of_table: int = 256
    """Pointers of a table that is on the stack; larger ones are allocated."""
    min_kernels_of_shared_function: int = 8
    """Equal kernels that share a function, which reads their numbers from a list: fewer are compiled as quickly each,
    and run faster. Estimated.
    """
    first_slices_of_growing_sequence: int = 64
    """Slices for which a sequence that grows in a loop has memory at first; it doubles when it is full."""
    nests_tried: int = 3
    """Loop nests of a program, those with most work, whose decisions are measured with the effort "best"."""
    trials_per_nest: int = 6
    """Other lists of decisions that are measured for each: each takes as long as to compile the program."""
    min_operations_of_tried_nest: int = 30_000
    """Scalar operations, about ten microseconds, of a nest from which that is worth its time."""
    max_bytes_of_tried_program: int = 1 << 28
    """Bytes of all inputs of such a program, for which numbers are drawn."""
    milliseconds_per_trial: int = 10
    """Milliseconds for which a program is run again and again: the shortest run counts."""
    seconds_of_trials: int = 10
    """Seconds after which no more decisions are tried."""
    percent_gained_by_trial: int = 3
    """Percent of the time by which other decisions are faster if they are taken: times vary by as much."""
    max_bytes_of_copied_state: int = 64
    """Bytes of a state that is copied after a step if the body is part of the loop: LLVM makes registers of both."""
    max_operations_of_uninterrupted_loop: int = 1 << 20
    """Scalar operations, less than a millisecond, of a loop that does not look for signals such as Ctrl-C."""
    operations_between_clock_looks: int = 1 << 15
    """Scalar operations, some 20 microseconds, after which a longer loop looks at the clock, rounded down to a power of
    two of steps.
    """
    min_lines_of_long_program: int = 4000
    """Lines of a program from which kernels of a few microseconds are compiled quickly, with few optimisations."""
    min_lines_of_long_kernel: int = 400
    """Lines of a kernel from which it is compiled quickly if it mostly calls functions, which are compiled before."""
    max_lines_of_optimized_kernel: int = 2500
    """Lines of a kernel from which it has few passes: nothing of a body that long stays in registers, and the time of
    LLVM's other passes grows with the square of what a loop reads and writes.
    """
    min_lines_of_module: int = 500
    """Lines of kernels that are worth a module of their own, which another thread compiles: some tens of milliseconds.
    """
    lines_of_shared_kernel: int = 10
    """Lines that a kernel counts for which shares its function with others."""
    max_bytes_of_copied_operand: int = 1 << 15
    """Bytes of an operand that is copied for Python: that is faster than to find out whether Python kept it."""
    max_tried_native_entries: int = 4
    """Native entries of a function that are tried, from the last one on, before its arguments are examined."""
    max_values_of_native_entry: int = 1024
    """Arguments and results of a native entry, with their containers, which are on the stack; other calls are by
    `ctypes`.
    """
    max_states_of_native_entry: int = 4096
    """Captured tensors of a native entry, which are on the stack."""
    max_bytes_of_state_kept_on_stack: int = 512
    """Bytes of a captured array that is copied to the stack and back, in less time than a new one is made."""
    max_stack_bytes_of_states: int = 1 << 15
    """Bytes of all such copies of a call."""
    max_unrolled_arrays_of_entry: int = 8
    """Neighbouring arrays that an entry reads or makes one by one, which is faster; of more, a loop is compiled faster.
    """
    nanoseconds_between_signal_looks: int = 20_000_000
    """Nanoseconds between two looks at signals: no one notices less, and a look takes the lock of Python."""
    min_characters_of_translation_thread: int = 20_000
    """Characters of a module that is worth a thread: it takes tens of milliseconds to compile."""
    seconds_of_file_clock: float = 0.01
    """Seconds by which the clock of a file system may be late: files that changed since are read again."""
    max_bytes_of_disk_cache: int = 256 << 20
    """Bytes of all programs on disk, unless `WENGERT_CACHE_SIZE` says another number."""
    percent_kept_of_disk_cache: int = 80
    """Percent of the allowed bytes that remain when old programs are removed, so that this is not done each time."""
    checks_of_full_disk_cache: int = 16
    """Times that the size is asked for while the allowed bytes are written: it takes a look at every file."""
    seconds_of_unfinished_file: float = 3600.0
    """Seconds after which the writer of an unfinished file is taken to have died."""
