"""Memory of the process: the C library's allocator, and what is kept to be found again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class MemoryFields:
    """What is kept."""

    bytes_kept_by_allocator: int = 256 << 20
    """Bytes of freed memory that the process keeps, for the next derivative: more would be missed by others."""
    bytes_added_by_allocator: int = 64 << 20
    """Bytes that the process asks the system for at once."""
    max_bytes_of_kept_array: int = 32 << 20
    """Bytes of an array that the process keeps when it is freed, the most that glibc allows; others are returned. One
    larger arena of a program is kept for the next call.
    """
    max_functions_with_known_lines: int = 1024
    """Functions whose instructions are known by line; beyond, all are read again."""
