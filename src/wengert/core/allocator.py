"""Settings of the C library's allocator that keep freed memory in the process.

A derivative allocates many arrays and frees them all, and the next derivative allocates them again. By default the C
library returns this memory to the operating system each time, page by page, which takes far longer than the arithmetic
(five times as long for functions of 100 000 variables). Before the first derivative, we ask it to keep freed memory.
"""

from __future__ import annotations

import ctypes
import os

from wengert.core import machine

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # parameters of mallopt, from malloc.h

is_configured = False


def may_keep_memory() -> bool:
    """Whether the user's environment leaves the settings of the allocator to us."""
    own = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    return not own and os.environ.get("WENGERT_KEEP_MEMORY") != "0"


def keep_freed_memory() -> None:
    """Configure glibc's allocator. Other C libraries, and settings in the user's environment, stay as they are."""
    global is_configured
    is_configured = True
    if not may_keep_memory():
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # another C library
    now = machine.current
    mallopt(TRIM_THRESHOLD, now.bytes_kept_by_allocator)
    mallopt(TOP_PAD, now.bytes_added_by_allocator)
    mallopt(MMAP_THRESHOLD, now.max_bytes_of_kept_array)
