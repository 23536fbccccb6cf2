"""Settings of the C library's allocator that keep freed memory in the process.

A derivative allocates many arrays and frees them all, and the next derivative allocates them again. By default the C
library returns this memory to the operating system each time, page by page, which takes far longer than the arithmetic
(five times as long for functions of 100 000 variables). Before the first derivative, we ask it to keep freed memory.
"""

from __future__ import annotations

import ctypes
import os

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # parameters of mallopt, from malloc.h
SETTINGS = {TRIM_THRESHOLD: 256 << 20, TOP_PAD: 64 << 20, MMAP_THRESHOLD: 32 << 20}
"""Keep up to 256 MiB, grow by 64 MiB, and do so for arrays of up to 32 MiB."""

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
    for parameter, value in SETTINGS.items():
        mallopt(parameter, value)
