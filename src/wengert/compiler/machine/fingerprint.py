"""A fingerprint of what machine code depends on besides the program: sources, versions, and the processor."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.machine import cache as disk
from wengert.compiler.machine.sources import contents
from wengert.compiler.machine.target import machine_target
from wengert.core.blas import integer_bits


class CacheEntry:
    """What is compiled from some strings, in the disk cache, and from what is around them.

    If the cache is empty, the key is not needed before something is stored, and the sources are hashed meanwhile, by a
    thread that has a core to itself while LLVM works.
    """

    def __init__(self, *parts: str):
        self.parts = parts
        self.hashing: threading.Thread | None = None

    def load(self) -> bytes | None:
        """What was stored, if there is a cache and it has it."""
        if disk.is_used() and disk.is_empty():
            self.hashing = start_hashing(len(sys.modules))
            return None
        key = self.key()
        return None if key is None else disk.load(key)

    def store(self, data: bytes) -> None:
        """Keep what was compiled, if the sources are those that this process runs."""
        if self.hashing is not None:
            self.hashing.join()
        key = self.key()
        if key is not None:
            disk.store(key, data)

    def key(self) -> str | None:
        """The key; None if there is none, because nothing can be kept."""
        around = surroundings() if disk.is_used() else None
        return None if around is None else hashlib.sha256("\n".join((*self.parts, around)).encode()).hexdigest()


def surroundings() -> str | None:
    """A hash of everything that machine code depends on.

    None if the sources of this package cannot be read, or have changed since this process imported them.
    """
    sources = known_contents(len(sys.modules))
    if sources is None:
        return None
    return hashlib.sha256(repr((sources, versions(), machine_target())).encode()).hexdigest()


known_contents = lru_cache(1)(lambda _modules: contents())
"""The contents of the sources, for a number of imported modules."""


@lru_cache(1)
def start_hashing(modules: int) -> threading.Thread:
    """The thread that hashes the sources, which all entries wait for."""
    thread = threading.Thread(target=known_contents, args=(modules,))
    thread.start()
    return thread


@cache
def versions() -> tuple:
    """The versions of Python, NumPy, SciPy, LLVM and BLAS, and the layout of numbers and objects."""
    scipy = find_spec("scipy")
    known = Path(scipy.origin).with_name("version.py") if scipy is not None and scipy.origin is not None else None
    python = sys.implementation.cache_tag, sys.version, getattr(sys, "abiflags", "")
    features = getattr(np._core._multiarray_umath, "__cpu_features__", None)  # type: ignore[attr-defined]  # private
    return (
        *(*python, sys.byteorder, sys.maxsize),
        *(np.__version__, features, os.environ.get("OPENBLAS_CORETYPE")),
        known.read_text() if known is not None and known.exists() else None,
        *(llvmlite.__version__, llvm.llvm_version_info),
        ("BLAS", integer_bits()),
    )
