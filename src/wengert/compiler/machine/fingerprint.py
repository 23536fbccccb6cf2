"""A fingerprint of what machine code depends on besides the program: sources, versions, and the processor."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import TypeVar

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.machine import cache as disk
from wengert.compiler.machine.sources import contents
from wengert.compiler.machine.target import Target, machine_target
from wengert.core import machine
from wengert.core.blas import bundled_libraries

T = TypeVar("T")


class CacheEntry:
    """What is compiled from some strings, in the disk cache, and from what is around them."""

    def __init__(self, *parts: str):
        self.parts, self.changes = parts, machine.describe_changes()

    def load(self, read: Callable[[bytes], T]) -> T | None:
        """What `read` makes of the stored bytes, if there is a cache and it has them.

        What cannot be read is discarded, so that it is compiled again and stored anew. If the cache is empty, the key
        is not needed.
        """
        if disk.is_empty():
            return None
        key = self.key(machine_target())
        stored = None if key is None else disk.load(key)
        if key is None or stored is None:
            return None
        try:
            return read(stored)
        except Exception:  # whatever the bytes are
            disk.discard(key)
            return None

    def store(self, data: bytes) -> None:
        """Keep what was compiled, if the sources are those that this process runs, and the machine record is as before.

        That happens in the background: to hash the sources takes as long as to compile a small program.
        """
        if disk.is_used() and machine.describe_changes() == self.changes:
            disk.store_later(partial(self.key, machine_target()), data)

    def key(self, made_for: Target) -> str | None:
        """The key of code for a target and the machine record; None if there is none: nothing can be kept."""
        around = surroundings(made_for) if disk.is_used() else None
        if around is None:
            return None
        return hashlib.sha256("\n".join((*self.parts, self.changes, around)).encode()).hexdigest()


def surroundings(made_for: Target) -> str | None:
    """A hash of everything that machine code for a target depends on.

    None if the sources of this package cannot be read, or have changed since this process imported them.
    """
    sources = known_contents(len(sys.modules))
    if sources is None:
        return None
    return hashlib.sha256(repr((sources, versions(), made_for)).encode()).hexdigest()


known_contents = lru_cache(1)(lambda _modules: contents())
"""The contents of the sources, for a number of imported modules."""


def read_beside(path: str, name: str) -> bytes | None:
    """A file in the folder of another one; None if there is none."""
    try:
        with open(os.path.join(os.path.dirname(path), name), "rb") as file:
            return file.read()
    except OSError:
        return None


@cache
def versions() -> tuple:
    """The versions of Python, NumPy, SciPy, LLVM and BLAS, and the layout of numbers and objects."""
    scipy = find_spec("scipy")
    python = sys.implementation.cache_tag, sys.version, getattr(sys, "abiflags", "")
    features = getattr(np._core._multiarray_umath, "__cpu_features__", None)  # type: ignore[attr-defined]  # private
    return (
        *(*python, sys.byteorder, sys.maxsize),
        *(np.__version__, features, os.environ.get("OPENBLAS_CORETYPE")),
        read_beside(scipy.origin, "version.py") if scipy is not None and scipy.origin is not None else None,
        *(llvmlite.__version__, llvm.llvm_version_info),
        ("BLAS", *bundled_libraries()),  # or SciPy's; to ask a library for its integers would take longer
    )
