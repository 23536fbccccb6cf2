"""Eager code on large arrays, and code that comes again and again: from when native code runs it.

No field here changes a bit: what these numbers switch has the same bits before and after. The sizes from which native
code computes functions and sums, whose bits are its own, are fields of the order of additions (`order.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class WarmFields:
    """What native code takes over from NumPy, and when."""

    nanoseconds_before_kernel: int = 1 << 26
    """Nanoseconds that NumPy spends on calls of one kind before a kernel is compiled: about as long as that takes."""
    operations_of_kernel: int = 32
    """Operations that take as long to compile as all that is around them."""
    operations_of_routine: int = 8
    """Operations of a kernel that take as long to compile as one routine, such as a product or a sort."""

    min_elements_of_native_arithmetic: int = 1 << 18
    """Elements of a result of arithmetic, roots and extremes from which kernels are faster than NumPy, which has vector
    code for them, with all that is around a kernel.
    """
    min_elements_of_native_choice: int = 1 << 14
    """The same for exact operations without vector code, such as `where`."""
    min_elements_of_growing_operand: int = 1 << 11
    """Elements of an operand of arithmetic whose result may be larger than all operands."""
    min_elements_of_native_growth: int = 1 << 20
    """Elements of such a result from which a kernel is faster: its rows are short."""
    min_elements_of_native_extreme: int = 1 << 16
    """Elements of an array whose extremes, or whether all or any are true, a program finds."""
    min_elements_of_native_sort: int = 1 << 12
    """Elements of an array that a program sorts."""
    min_elements_of_native_key: int = 1 << 12
    """Elements of the last array of a key at which a program reads."""
    min_elements_shared: int = 1 << 18
    """Elements from which threads share NumPy's functions: each part is as long as handing it over, several times."""
    min_expensive_elements_shared: int = 1 << 16
    """The same for functions that cost more for each element than to read it."""

    nanoseconds_of_cheap_element: int = 1
    """Nanoseconds that NumPy takes for an element of arithmetic, roughly."""
    nanoseconds_of_choice_element: int = 8
    """The same for operations without vector code."""
    nanoseconds_of_composed_element: int = 16
    """The same for operations of which NumPy needs several, or that it does not have."""
    nanoseconds_of_pulled_element: int = 6
    """Nanoseconds that NumPy takes for an element in the rules of one operation, roughly."""
    nanoseconds_of_reduced_element: int = 2
    """Nanoseconds that NumPy takes for an element of a reduction, roughly."""
    nanoseconds_of_sorted_element: int = 64
    """Nanoseconds that NumPy takes for an element of a stable sort, roughly."""
    nanoseconds_of_element_at_key: int = 16
    """Nanoseconds that NumPy takes to read or add an element at a key with arrays, roughly."""
    nanoseconds_of_node: int = 1 << 13
    """Nanoseconds that a node of a tape takes in the backward pass, whatever its size."""

    max_signatures_counted: int = 256
    """Signatures of one operation whose time is counted: each is a dictionary's entry."""
    max_operations_of_pulled_run: int = 48
    """Nodes of a run of elementwise operations: a longer kernel has more values than registers, and compiles slowly."""
    max_runs_counted: int = 1024
    """Different runs of elementwise nodes whose time is counted."""
    elements_of_numpy_block: int = (1 << 13) - 1
    """Elements of one block of a run that NumPy pulls: they fit in the cache."""

    max_nodes_of_compiled_tape: int = 2048
    """Nodes of the longest tape that is compiled: a longer one would take many seconds."""
    min_nodes_of_long_tape: int = 64
    """Nodes of a tape that is worth a program even if its arrays are not large."""
    min_elements_of_long_tape: int = 64
    """Elements of its arrays, on average."""
    max_nodes_sampled: int = 64
    """Nodes of a tape whose elements are counted: the others are like them."""
    max_tapes_counted: int = 64
    """Different tapes whose time is counted, and that are recognised."""
    max_tapes_alike: int = 4
    """Known tapes with one last operation: each of them may be compared with a tape."""
    new_tapes_before_sampling: int = 16
    """Tapes of small arrays of which none had come before, after which only one in as many is outlined."""
    outlined_runs_between_matches: int = 256
    """Runs on outlined tapes after which code that recognises the last of them is written again."""
    max_tape_programs: int = 64
    """Programs of tapes that are kept in memory."""
    max_parts_of_tape_program: int = 24
    """Different native parts of the program of a tape: each takes as long to compile as a kernel."""
    min_operations_of_tape_part: int = 2
    """Exact operations of a native part: NumPy is as fast as the call of a part for fewer, if arrays are small."""
    min_elements_of_single_part: int = 1 << 15
    """Elements of an operation that is a native part alone: to share it among threads pays."""

    max_calls_kept: int = 256
    """Programs of single operations and of compositions that are kept in memory."""
    max_kernels_kept: int = 512
    """Kernels of single operations and of runs that are kept in memory."""
    max_call_plans: int = 2048
    """Plans of calls of kernels, for shapes, strides and dtypes."""
    max_blocks_run_again: int = 64
    """Blocks that NumPy runs again one by one to warn as it does; for more, it runs all."""
    max_layouts_kept: int = 1024
    """Shapes with strides whose order of axes is kept."""

    elements_of_block: int = 2048
    """Elements of a block of a kernel: a few microseconds of work, and all arrays of a block fit in the first cache."""
    elements_of_shortest_block: int = 32
    """Elements of the shortest block, for short rows; a block is a quarter of the next longer one."""
    elements_of_block_call: int = 24
    """Elements that take as long as the call of a block."""
    matrices_of_block: int = 32
    """Matrices of a block of a stack: two to four vectors of them run at once."""
    operations_of_block_element: int = 24
    """Scalar operations of one element, as threads see them; most programs have a mathematical function."""
