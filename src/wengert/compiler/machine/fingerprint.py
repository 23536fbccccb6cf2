"""A fingerprint of what machine code depends on besides the program: sources, versions, and the processor."""

from __future__ import annotations

import hashlib
import os
import sys
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


def cache_key(*parts: str) -> str | None:
    """The key in the disk cache of what is compiled from these parts; None if it cannot be kept."""
    around = surroundings() if disk.is_used() else None
    return None if around is None else hashlib.sha256("\n".join((*parts, around)).encode()).hexdigest()


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
