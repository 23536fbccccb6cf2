"""Colourings on disk, where compiled programs are: in a second process, a compiled derivative does not colour again.

To colour a pattern of thousands of entries, in several orders, takes longer than to load the program that uses it.
"""

from __future__ import annotations

import hashlib
import pickle

from wengert.structure.coloring import Coloring, color
from wengert.structure.patterns import Pattern


def load_or_color(pattern: Pattern, by: str) -> Coloring:
    """The colouring of a pattern, from disk if it was found before. It needs the compiler, whose cache it is in."""
    from wengert.compiler.machine.fingerprint import CacheEntry  # LLVM is loaded when something is compiled

    kept = CacheEntry("coloring", hash_pattern(pattern), by)
    stored = kept.load(lambda stored: Coloring(*pickle.loads(stored)))
    if stored is not None:
        return stored
    found = color(pattern, by)
    kept.store(pickle.dumps((found.kind, found.columns, found.rows)))
    return found


def hash_pattern(pattern: Pattern) -> str:
    """A hash of the entries of a pattern, and of what else its colouring depends on."""
    matrix = pattern.matrix
    digest = hashlib.sha256(repr((pattern.shape, pattern.symmetric)).encode())
    for numbers in (matrix.indptr, matrix.indices):
        digest.update(numbers.astype("<i8").tobytes())
    return digest.hexdigest()
