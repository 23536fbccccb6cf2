"""Keeping freed memory in the process.

A derivative allocates many arrays, frees them all, and the next one allocates them again. By default the C library
hands each of these over to the operating system and asks for it again, page by page, which takes far longer than the
arithmetic (for functions of 100 000 variables, five times as long). So, before the first derivative is computed, it is
told to keep some of what is freed.
"""

from __future__ import annotations

import ctypes
import os

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # the names of mallopt's parameters, from malloc.h
SETTINGS = {TRIM_THRESHOLD: 256 << 20, TOP_PAD: 64 << 20, MMAP_THRESHOLD: 32 << 20}
"""Up to 256 MiB stay with the process, and it grows by 64 MiB; arrays of up to 32 MiB take part in it."""

settled = False


def keep_freed() -> None:
    """Tell the C library once, where it is glibc; the user's own settings, in the environment, stay."""
    global settled
    settled = True
    own = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if own or os.environ.get("WENGERT_KEEP_MEMORY") == "0":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # another C library, with another policy
    for parameter, value in SETTINGS.items():
        mallopt(parameter, value)
