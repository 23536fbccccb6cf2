"""A fingerprint of what machine code depends on besides the program: sources, versions, and the processor."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from wengert.compiler.machine.target import machine_target
from wengert.core import IMPORTED
from wengert.core.blas import integer_bits

PACKAGE = Path(__file__).parent.parent.parent
COARSE = 0.01
"""Seconds by which the clock of a file system may be late."""


def surroundings() -> str | None:
    """A hash of everything that machine code depends on, for the keys of the disk cache.

    None if the sources of this package cannot be read, or have changed since this process imported them.
    """
    try:
        parts = contents(), versions(), machine_target()
        return hashlib.sha256(repr(parts).encode()).hexdigest() if is_unchanged(len(sys.modules)) else None
    except OSError:  # the package is no folder of files
        return None


@lru_cache(1)
def is_unchanged(_modules: int) -> bool:
    """Whether no source has changed since the package was imported; cached for a number of imported modules."""
    files = list(source_files(PACKAGE))
    return bool(files) and max([change_time(file) for file in files]) <= IMPORTED - COARSE


def source_files(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """All Python files in a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from source_files(entry.path)
            elif entry.name.endswith(".py"):
                yield entry


def change_time(file: os.DirEntry[str]) -> float:
    """When a file was last changed; tools that install files set `st_mtime`, but not `st_ctime`."""
    status = file.stat()
    return status.st_mtime if sys.platform == "win32" else status.st_ctime


@cache
def contents() -> str:
    """A hash of the sources, read once: after a change, `is_unchanged` says so."""
    digest, start = hashlib.sha256(), len(str(PACKAGE))
    for path in sorted(file.path for file in source_files(PACKAGE)):
        with open(path, "rb", 0) as file:  # five hundred files: pathlib would take longer than reading them
            data = file.read()
        digest.update(f"{path[start:]} {len(data)}\n".encode() + data)
    return digest.hexdigest()


@cache
def versions() -> tuple:
    """The versions of Python, NumPy, SciPy, LLVM and BLAS, and the layout of numbers and objects."""
    scipy = find_spec("scipy")
    known = Path(scipy.origin).with_name("version.py") if scipy is not None and scipy.origin is not None else None
    python = sys.implementation.cache_tag, platform.python_version(), getattr(sys, "abiflags", "")
    features = getattr(np._core._multiarray_umath, "__cpu_features__", None)  # type: ignore[attr-defined]  # private
    return (
        *(*python, sys.byteorder, sys.maxsize),
        *(np.__version__, features, os.environ.get("OPENBLAS_CORETYPE")),
        known.read_text() if known is not None and known.exists() else None,
        *(llvmlite.__version__, llvm.llvm_version_info),
        ("BLAS", integer_bits()),
    )
