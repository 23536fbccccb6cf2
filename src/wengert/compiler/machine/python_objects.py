"""The memory layout of CPython's and NumPy's objects, and the addresses with which native code reads and makes them.

Offsets may be part of cached machine code; addresses differ between processes, and are symbols that are resolved when
code is loaded. `is_supported` compares all assumptions with live objects; if they do not hold, arrays are passed by
ctypes (`ctypes_call.py`).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor

USER_LEVEL = 0
"""The level of tensors of users, an object that is always the same."""

_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = tuple(map(np.dtype, (np.bool, *_INTEGERS, np.float16, np.float32, np.float64, np.complex64, np.complex128)))
"""The dtypes of arguments and results of native code."""

TYPE = 8
"""The offset of the type in every object; Python floats and NumPy scalars have their value at `NUMBER`."""
NUMBER = 16
DATA, NDIM, SHAPE, DESCR, FLAGS = 16, 24, 32, 56, 64
"""The offsets of the fields of an array: `NDIM` and `FLAGS` are C's int, the others pointers."""
BYTE_ORDER = 26
"""The offset of the byte order, a character, in a dtype."""

SCALAR_TYPE = 16
"""The offset of the type of its scalars in a dtype."""

USABLE, OWNED = 0x101, 0x404
"""NumPy's flags of C-contiguous and aligned data, and of data that an array owns and may be written."""

CHANGED, GRADIENT, EXTRA, LEVEL, PAYLOAD = 16, 24, 32, 40, 48
"""The offsets of the slots of a tensor; an object begins with its number of references."""
INSTANCE_SIZE = 32
"""The offset of the size of its instances in a type: that of tensors, if a class that is derived adds no fields."""

_PYTHON = (
    *(
        "PyErr_CheckSignals",
        "PyErr_Clear",
        "PyErr_Occurred",
        "PyEval_RestoreThread",
        "PyEval_SaveThread",
        "PyGILState_Ensure",
        "PyGILState_Release",
        "PyLong_AsLongLongAndOverflow",
        "PyLong_FromLongLong",
    ),
    *("PyLong_FromVoidPtr", "PyBytes_FromStringAndSize", "PyObject_CallObject", "PyObject_CallOneArg"),
    *("PyTuple_New", "PyTuple_Size", "PyTuple_GetItem", "PyTuple_SetItem"),
    *("PyList_New", "PyList_Size", "PyList_GetItem", "PyList_SetItem"),
    *("PyDict_Copy", "PyDict_Size", "PyDict_Next", "PyDict_SetItem"),
    *("PyObject_RichCompareBool", "PyType_IsSubtype", "Py_DecRef", "Py_IncRef"),
)
_NUMPY = {"PyArray_GetNDArrayCVersion": 0, "PyArray_Type": 2, "PyArray_Scalar": 60, "PyArray_NewFromDescr": 94}
"""Indices in NumPy's table of C functions, which are fixed in one version of its binary interface."""
_BINARY_INTERFACE = 2
_ALLOCATE = 47
"""CPython's number of the slot `tp_alloc` of a type."""


PREFIX = "wengert.entry."
"""What the names of all external functions and objects begin with."""


def python_symbol(name: str) -> str:
    """The name of an external function or object in LLVM text."""
    return f"@{PREFIX}{name}"


def dtype_name(dtype: np.dtype) -> str:
    """The name of a dtype in the names of its objects; it must be one of `NUMBERS`."""
    if dtype not in NUMBERS or not dtype.isnative:
        raise user_error(ValueError, f"Native code does not support dtype {dtype}")
    return dtype.name


def python_addresses(code: Iterable[bytes] | None = None) -> dict[str, int]:
    """The addresses of external functions and objects, for `target.Loaded`: those that machine code names, or all.

    Most programs name none or a few, and to find all of them takes longer than to load a program.
    """
    named = None if code is None else {name for part in code for name in _names_in(part)}
    if named == set():
        return {}
    every = [*_PYTHON, *_NUMPY, *_objects(), *_allocated_types()]
    return {python_symbol(name)[1:]: _address(name) for name in every if named is None or name.encode() in named}


def _names_in(code: bytes) -> list[bytes]:
    """The names of external functions and objects, and of functions of an entry, among the symbols of machine code."""
    return [following.partition(b"\0")[0] for following in code.split(PREFIX.encode())[1:]]


@cache
def _objects() -> dict[str, Any]:
    """Objects that native code refers to."""
    kinds = {kind.__name__: kind for kind in (float, int, str, tuple, list, dict)}
    dtypes = {f"{dtype.name}.dtype": dtype for dtype in NUMBERS} | {f"{x.name}.type": x.type for x in NUMBERS}
    others = {"None": None, "NotImplemented": NotImplemented, "zero": USER_LEVEL, "Tensor.type": Tensor}
    return kinds | dtypes | others


@cache
def _allocated_types() -> dict[str, type]:
    """The types of which native code makes instances."""
    return {f"{dtype.name}.new": dtype.type for dtype in NUMBERS} | {"Tensor.new": Tensor}


@cache
def _address(name: str) -> int:
    """The address of an object, of the function that allocates instances of a type, or of a function."""
    if name in _objects():
        return id(_objects()[name])
    if name in _allocated_types():
        slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(("PyType_GetSlot", ctypes.pythonapi))
        return slot(_allocated_types()[name], _ALLOCATE)
    if name in _NUMPY:
        return _numpy_table()[_NUMPY[name]]
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address
    return address


@cache
def _numpy_table() -> Any:
    """NumPy's C functions and types: an array of addresses."""
    from numpy._core.multiarray import _ARRAY_API  # where C extensions find it, too

    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.cast(pointer(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@cache
def is_supported() -> bool:
    """Whether the assumptions hold for this interpreter and this NumPy, tried on live objects."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if hasattr(sys, "gettotalrefcount") or object.__basicsize__ != NUMBER:  # a debug build, or one without the GIL
        return False
    try:
        table = _numpy_table()
        if ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_NUMPY["PyArray_GetNDArrayCVersion"]])() >> 24 != _BINARY_INTERFACE:
            return False
        if table[_NUMPY["PyArray_Type"]] != id(np.ndarray) or not all(python_addresses().values()):
            return False
    except (ImportError, AttributeError, ValueError):
        return False
    return all(map(_array_agrees, _sample_arrays())) and _numbers_agree() and _tensors_agree()


def _sample_arrays() -> list[np.ndarray]:
    whole = np.zeros((3, 4, 5))
    fixed = np.zeros(7, np.float32)
    fixed.flags.writeable = False
    shifted = np.zeros(17, np.int8)[1:].view(np.float64)
    swapped = np.zeros(3, np.dtype(np.int32).newbyteorder())
    return [
        whole,
        whole[::2, 1:, ::-1],
        whole.T,
        whole[0, 0, :1],
        whole[:0],
        np.zeros((), np.bool),
        fixed,
        shifted,
        swapped,
    ]


def _array_agrees(array: np.ndarray) -> bool:
    def pointer(offset: int) -> int:
        return ctypes.c_void_p.from_address(id(array) + offset).value or 0

    def number(offset: int) -> int:
        return ctypes.c_int.from_address(id(array) + offset).value

    if pointer(TYPE) != id(np.ndarray) or pointer(DESCR) != id(array.dtype) or number(NDIM) != array.ndim:
        return False
    order = ctypes.c_char.from_address(id(array.dtype) + BYTE_ORDER).value.decode()
    if (
        pointer(DATA) != array.__array_interface__["data"][0]
        or number(FLAGS) != array.flags.num
        or order != array.dtype.byteorder
    ):
        return False
    return array.ndim == 0 or (ctypes.c_ssize_t * array.ndim).from_address(pointer(SHAPE))[:] == list(array.shape)


def _numbers_agree() -> bool:
    """Whether floats and NumPy's scalars have their values at `NUMBER`, and each dtype is one object."""
    scalars = [dtype.type(1) for dtype in NUMBERS]
    if any(np.zeros(1, dtype).dtype is not dtype for dtype in NUMBERS):
        return False
    number = 0.1
    if ctypes.c_double.from_address(id(number) + NUMBER).value != number:
        return False
    if any(ctypes.c_void_p.from_address(id(dtype) + SCALAR_TYPE).value != id(dtype.type) for dtype in NUMBERS):
        return False
    return all(ctypes.string_at(id(scalar) + NUMBER, scalar.itemsize) == scalar.tobytes() for scalar in scalars)


def _tensors_agree() -> bool:
    """Whether tensors have their slots at the known offsets, and objects their number of references at the start."""
    array = np.zeros(3)
    tensor = Tensor(array)
    tensor._grad, tensor._changes = Tensor(array), 10**9
    slots = {PAYLOAD: array, LEVEL: USER_LEVEL, EXTRA: None, GRADIENT: tensor._grad, CHANGED: tensor._changes}
    if any(ctypes.c_void_p.from_address(id(tensor) + at).value != id(value) for at, value in slots.items()):
        return False
    if ctypes.c_ssize_t.from_address(id(Tensor) + INSTANCE_SIZE).value != Tensor.__basicsize__:
        return False
    owners = [tensor, array]
    return ctypes.c_ssize_t.from_address(id(array)).value == sys.getrefcount(owners[1]) - 1
