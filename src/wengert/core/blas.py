"""The BLAS that NumPy uses, found without importing SciPy.

SciPy ships another copy of BLAS. If both are used on large matrices in turn, the threads of one spin while those of the
other work, and everything takes several times as long.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache, partial

import numpy as np


class Blas:
    """The functions of BLAS and LAPACK: `find` gives the address of one, `bits` is the width of their integers."""

    def __init__(self, find: Callable[[str], int], bits: int):
        self.address, self.bits = cache(find), bits


@cache
def blas() -> Blas:
    """NumPy's BLAS, or SciPy's where NumPy does not ship one."""
    return find_bundled() or find_scipy_blas()


def integer_bits() -> int:
    """The width of BLAS's integers in bits, without importing SciPy."""
    return 32 if find_bundled() is None else 64


def bundled_libraries() -> tuple[str, list[str]]:
    """The folder of the libraries of NumPy's wheels, and the files of its OpenBLAS, whose names have a hash of them."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    return folder, sorted(name for name in names if name.startswith("libscipy_openblas64_"))


@cache
def find_bundled() -> Blas | None:
    """The OpenBLAS of NumPy's wheels, which is loaded already."""
    folder, names = bundled_libraries()
    for name in names:
        library = ctypes.CDLL(os.path.join(folder, name))
        if hasattr(library, "scipy_dgemm_64_"):
            return Blas(partial(address_in, library), 64)
    return None


def address_in(library: ctypes.CDLL, name: str) -> int:
    """The address of a function of NumPy's OpenBLAS."""
    return ctypes.cast(getattr(library, f"scipy_{name}_64_"), ctypes.c_void_p).value or 0


def find_scipy_blas() -> Blas:
    """The BLAS and LAPACK that SciPy was built with, from its tables for Cython."""
    from scipy.linalg import cython_blas, cython_lapack  # slow to import, so only where they are needed

    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsules = cython_lapack.__pyx_capi__ | cython_blas.__pyx_capi__
    return Blas(lambda name: get_pointer(capsules[name], get_name(capsules[name])), 32)


@cache
def solver(char: str) -> Callable[[np.ndarray, np.ndarray, bool, bool, bool], None]:
    """trsm for arrays of this dtype: solves a triangular system and overwrites its right-hand sides.

    Both arrays are stored by rows. BLAS reads them as transposes stored by columns, so it solves from the right.
    """
    known = blas()
    integer = ctypes.c_int64 if known.bits == 64 else ctypes.c_int32
    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[char]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)(known.address(f"{letter}trsm"))
    one = np.ones(1, char)

    def solve(x: np.ndarray, y: np.ndarray, lower: bool, transposed: bool, unit_diagonal: bool) -> None:
        letters = [
            ctypes.c_char(c)
            for c in (b"R", b"U" if lower else b"L", b"T" if transposed else b"N", b"U" if unit_diagonal else b"N")
        ]
        rows, columns = integer(y.shape[0]), integer(y.shape[1])
        parts = (
            *map(ctypes.byref, (*letters, columns, rows)),
            one.ctypes.data,
            x.ctypes.data,
            ctypes.byref(rows),
            y.ctypes.data,
        )
        call(*parts, ctypes.byref(columns))

    return solve
