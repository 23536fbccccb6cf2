"""GPUs: their memory and their code; how threads share additions is in `order_devices.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class DeviceFields:
    """What the code for a GPU is cut into. At most eight blocks of 256 threads fit on a multiprocessor."""

    max_bytes_of_small_device_results: int = 1 << 11
    """Bytes of all results of a call that are parts of a block of memory, as to allocate each takes a microsecond."""
    bytes_of_device_result_block: int = 1 << 16
    """Bytes of such a block, which many calls share; at least those of one call are allocated."""
    max_constants_of_device_table: int = 4096
    """Numbers in the table of constants, 32 of the 64 KB that a module has; others are in instructions."""
    max_inlined_calls_of_device_module: int = 64
    """Calls of mathematical functions in one module that are inlined; with more, LLVM is slow."""
    bytes_of_device_sort_tile: int = 1 << 15
    """Bytes of targets that a block sorts at once, 32 for each value of a digit; at least four for each thread are."""
    max_blocks_of_device_sort: int = 1 << 11
    """Blocks that sort targets: each has several tiles if there are many rows, so that there are few counts."""
    resident_blocks_of_device_sort: int = 2
    """Blocks that sort, on one multiprocessor: as many as their rows in registers allow."""
    max_operations_of_one_function_on_device: int = 32
    """Scalar operations of a body with one function, which needs few registers."""
    resident_blocks_of_one_function: int = 8
    """Blocks on one multiprocessor with such a body in double precision: its calls would take their registers."""
    resident_blocks_of_functions: int = 4
    """Blocks with other bodies that call functions, in double precision."""
    resident_blocks_of_narrow_functions: int = 5
    """Blocks with such bodies in single precision."""
    resident_blocks_of_tiles: int = 2
    """Blocks whose threads have several elements each, in registers."""
    resident_blocks_of_short_rows: int = 6
    """Blocks of row kernels that call functions and have short bodies."""
    resident_blocks_of_rows: int = 4
    """Blocks of all other row kernels on one multiprocessor."""
    min_row_elements_of_device_scatter: int = 4
    """Elements of a row from which neighbouring threads write it: shorter ones take longer than single elements."""
