"""CPython's and NumPy's objects as they lie in memory, and the addresses that native code needs to read and make them.

Offsets may stand in cached machine code, addresses may not: they differ from process to process and enter as symbols
when code is loaded. `supported` compares everything that is assumed here with live objects; where it says no, arrays go
by ctypes (`entry.Caller`).
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import cache
from typing import Any

import numpy as np

_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = tuple(map(np.dtype, (np.bool, *_INTEGERS, np.float16, np.float32, np.float64, np.complex64, np.complex128)))
"""The dtypes that native code can take and return."""

TYPE = 8
"""Where every object has its type; a Python float and a NumPy scalar go on with their number at `NUMBER`."""
NUMBER = 16
DATA, NDIM, SHAPE, DESCR, FLAGS = 16, 24, 32, 56, 64
"""Fields of an array, of which `NDIM` and `FLAGS` are C's int and the others pointers."""
BYTE_ORDER = 26
"""The field of a dtype with its character for the order of bytes."""

_USABLE = 0x101
"""NumPy's flags for data that are C-contiguous and aligned."""

_PYTHON = (
    *(
        "PyErr_Occurred",
        "PyEval_RestoreThread",
        "PyEval_SaveThread",
        "PyLong_AsLongLongAndOverflow",
        "PyLong_FromLongLong",
    ),
    *("PyLong_FromVoidPtr", "PyBytes_FromStringAndSize", "PyObject_CallObject", "PyObject_CallOneArg"),
    *("PyTuple_New", "PyTuple_SetItem", "Py_DecRef", "Py_IncRef"),
)
_NUMPY = {"PyArray_GetNDArrayCVersion": 0, "PyArray_Type": 2, "PyArray_Scalar": 60, "PyArray_NewFromDescr": 94}
"""Places in NumPy's table of C functions, which never change within one version of its binary interface."""
_BINARY_INTERFACE = 2
_ALLOCATE = 47
"""CPython's number of a type's slot `tp_alloc`."""


def symbol(name: str) -> str:
    """The name in LLVM's text of a function or an object that is outside."""
    return f"@wengert.entry.{name}"


def native(dtype: np.dtype) -> str:
    """The name of a dtype, as in the names of its objects; one that native code does not know is an error."""
    if dtype not in NUMBERS or not dtype.isnative:
        raise ValueError(f"native code has no numbers of dtype {dtype}")
    return dtype.name


@cache
def symbols() -> dict[str, int]:
    """The addresses of everything that the text of an entry may name, for `target.Loaded`."""
    table = _numpy_table()
    addresses = {name: _address(name) for name in _PYTHON} | {name: table[place] for name, place in _NUMPY.items()}
    addresses |= {"None": id(None), "NotImplemented": id(NotImplemented), "float": id(float), "int": id(int)}
    slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(("PyType_GetSlot", ctypes.pythonapi))
    for dtype in NUMBERS:
        addresses[f"{dtype.name}.new"] = slot(dtype.type, _ALLOCATE)
        addresses |= {
            f"{dtype.name}.dtype": id(dtype),
            f"{dtype.name}.type": id(dtype.type),
            f"{dtype.name}.new": slot(dtype.type, _ALLOCATE),
        }
    return {symbol(name)[1:]: address for name, address in addresses.items()}


def _address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address
    return address


def _numpy_table() -> Any:
    """NumPy's C functions and types: an array of addresses."""
    from numpy._core.multiarray import _ARRAY_API  # where C extensions find it, too

    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.cast(pointer(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@cache
def supported() -> bool:
    """Whether this interpreter and this NumPy are as native code assumes: tried on live objects."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if hasattr(sys, "gettotalrefcount") or object.__basicsize__ != NUMBER:  # a debug build, or one without the GIL
        return False
    try:
        table = _numpy_table()
        if ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_NUMPY["PyArray_GetNDArrayCVersion"]])() >> 24 != _BINARY_INTERFACE:
            return False
        if table[_NUMPY["PyArray_Type"]] != id(np.ndarray) or not all(symbols().values()):
            return False
    except (ImportError, AttributeError, ValueError):
        return False
    return all(map(_array_agrees, _sample_arrays())) and _numbers_agree()


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
    """Whether floats and NumPy's scalars have their numbers where they are expected, and dtypes are one object each."""
    scalars = [dtype.type(1) for dtype in NUMBERS]
    if any(np.zeros(1, dtype).dtype is not dtype for dtype in NUMBERS):
        return False
    number = 0.1
    if ctypes.c_double.from_address(id(number) + NUMBER).value != number:
        return False
    return all(ctypes.string_at(id(scalar) + NUMBER, scalar.itemsize) == scalar.tobytes() for scalar in scalars)


UNOPTIMISED = "noinline optnone"
"""Optimising an entry would save 3 of its 100 ns, and nearly double the time that a small program takes to compile."""

PIECES = re.sub(
    r"@(?!llvm)",
    "@wengert.entry.",
    f"""
@PyArray_Type = external global i8
@int = external global i8
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)

define internal ptr @number_data(ptr %given, ptr %expected) {UNOPTIMISED} {{
  %type.place = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.place
  %right = icmp eq ptr %type, %expected
  %data = getelementptr i8, ptr %given, i64 {NUMBER}
  %result = select i1 %right, ptr %data, ptr null
  ret ptr %result
}}

define internal ptr @int_data(ptr %given, ptr %number) {UNOPTIMISED} {{
  %overflow = alloca i32
  %type.place = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.place
  %right = icmp eq ptr %type, @int
  br i1 %right, label %convert, label %other
convert:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %given, ptr %overflow)
  store i64 %value, ptr %number
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  %result = select i1 %fits, ptr %number, ptr null
  ret ptr %result
other:
  ret ptr null
}}

define internal ptr @array_data(ptr %given, ptr %dtype, i32 %ndim, ptr %shape) {UNOPTIMISED} {{
entry:
  %type.place = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.place
  %right = icmp eq ptr %type, @PyArray_Type
  br i1 %right, label %layout, label %other
layout:
  %flags.place = getelementptr i8, ptr %given, i64 {FLAGS}
  %flags = load i32, ptr %flags.place
  %usable.flags = and i32 %flags, {_USABLE}
  %usable = icmp eq i32 %usable.flags, {_USABLE}
  %given.ndim.place = getelementptr i8, ptr %given, i64 {NDIM}
  %given.ndim = load i32, ptr %given.ndim.place
  %same.ndim = icmp eq i32 %given.ndim, %ndim
  %fits = and i1 %usable, %same.ndim
  br i1 %fits, label %dtypes, label %other
dtypes:
  %given.dtype.place = getelementptr i8, ptr %given, i64 {DESCR}
  %given.dtype = load ptr, ptr %given.dtype.place
  %identical = icmp eq ptr %given.dtype, %dtype
  br i1 %identical, label %shapes, label %compare
compare:
  %equal = call i1 @same_dtype(ptr %given.dtype, ptr %dtype)
  br i1 %equal, label %shapes, label %other
shapes:
  %given.shape.place = getelementptr i8, ptr %given, i64 {SHAPE}
  %given.shape = load ptr, ptr %given.shape.place
  br label %axes
axes:
  %axis = phi i32 [ 0, %shapes ], [ %next, %extents ]
  %more = icmp ult i32 %axis, %ndim
  br i1 %more, label %extents, label %same
extents:
  %given.place = getelementptr i64, ptr %given.shape, i32 %axis
  %place = getelementptr i64, ptr %shape, i32 %axis
  %given.extent = load i64, ptr %given.place
  %extent = load i64, ptr %place
  %next = add i32 %axis, 1
  %same.extent = icmp eq i64 %given.extent, %extent
  br i1 %same.extent, label %axes, label %other
same:
  %data.place = getelementptr i8, ptr %given, i64 {DATA}
  %data = load ptr, ptr %data.place
  ret ptr %data
other:
  ret ptr null
}}

; Arrays that were pickled have a dtype of their own: one of the same class and order of bytes is as good.
define internal i1 @same_dtype(ptr %given, ptr %expected) {UNOPTIMISED} {{
  %given.type.place = getelementptr i8, ptr %given, i64 {TYPE}
  %expected.type.place = getelementptr i8, ptr %expected, i64 {TYPE}
  %given.type = load ptr, ptr %given.type.place
  %expected.type = load ptr, ptr %expected.type.place
  %same.type = icmp eq ptr %given.type, %expected.type
  br i1 %same.type, label %orders, label %other
orders:
  %given.order.place = getelementptr i8, ptr %given, i64 {BYTE_ORDER}
  %expected.order.place = getelementptr i8, ptr %expected, i64 {BYTE_ORDER}
  %given.order = load i8, ptr %given.order.place
  %expected.order = load i8, ptr %expected.order.place
  %same.order = icmp eq i8 %given.order, %expected.order
  ret i1 %same.order
other:
  ret i1 false
}}

; The new array takes a reference to its dtype, even if it cannot be made.
define internal ptr @new_array(ptr %dtype, i32 %ndim, ptr %shape) {UNOPTIMISED} {{
  call void @Py_IncRef(ptr %dtype)
  %new = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %ndim, ptr %shape, ptr null, ptr null, i32 0, ptr null)
  ret ptr %new
}}

define internal void @drop(ptr %objects, i64 %count) {UNOPTIMISED} {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %end
body:
  %place = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %place
  call void @Py_DecRef(ptr %object)
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}}
""",
)
"""The functions that an entry is put together from."""

PLACE = "{ i64, i64, i64 }"
"""What an upcall is given: the entry of the table and the offset behind it, and how many bytes there are to copy, or
one of these:
"""
ADDRESS, NOTHING = -1, -2

UPCALL = re.sub(
    r"@(?!llvm)",
    "@wengert.entry.",
    f"""
; Calls a function of Python with the address of the table, and for each place its bytes, its address, or None.
define internal i32 @upcall(ptr %function, ptr %table, ptr %places, i64 %count) noinline {{
entry:
  %length = add i64 %count, 1
  %arguments = call ptr @PyTuple_New(i64 %length)
  %made = icmp ne ptr %arguments, null
  br i1 %made, label %begin, label %raised
begin:
  %table.address = call ptr @PyLong_FromVoidPtr(ptr %table)
  %first = call i32 @PyTuple_SetItem(ptr %arguments, i64 0, ptr %table.address)
  %first.fails = icmp eq ptr %table.address, null
  br i1 %first.fails, label %failed, label %head
head:
  %i = phi i64 [ 0, %begin ], [ %next, %put ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %full
body:
  %entry.at = getelementptr {PLACE}, ptr %places, i64 %i, i32 0
  %offset.at = getelementptr {PLACE}, ptr %places, i64 %i, i32 1
  %size.at = getelementptr {PLACE}, ptr %places, i64 %i, i32 2
  %entry.number = load i64, ptr %entry.at
  %offset = load i64, ptr %offset.at
  %size = load i64, ptr %size.at
  %base.at = getelementptr ptr, ptr %table, i64 %entry.number
  %base = load ptr, ptr %base.at
  %address = getelementptr i8, ptr %base, i64 %offset
  switch i64 %size, label %copy [ i64 {ADDRESS}, label %number
                                  i64 {NOTHING}, label %nothing ]
copy:
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr %address, i64 %size)
  br label %put
number:
  %long = call ptr @PyLong_FromVoidPtr(ptr %address)
  br label %put
nothing:
  call void @Py_IncRef(ptr @None)
  br label %put
put:
  %value = phi ptr [ %bytes, %copy ], [ %long, %number ], [ @None, %nothing ]
  %next = add i64 %i, 1
  %stored = call i32 @PyTuple_SetItem(ptr %arguments, i64 %next, ptr %value)
  %missing = icmp eq ptr %value, null
  br i1 %missing, label %failed, label %head
full:
  %out = call ptr @PyObject_CallObject(ptr %function, ptr %arguments)
  call void @Py_DecRef(ptr %arguments)
  %is.raised = icmp eq ptr %out, null
  br i1 %is.raised, label %raised, label %done
done:
  call void @Py_DecRef(ptr %out)
  ret i32 0
failed:
  call void @Py_DecRef(ptr %arguments)
  br label %raised
raised:
  ret i32 1
}}
""",
)
"""How native code calls Python; an exception stays set."""

NEEDED_BY_UPCALL = {
    symbol(name): f"declare {result} {symbol(name)}({arguments})"
    for name, result, arguments in (
        ("PyTuple_New", "ptr", "i64"),
        ("PyTuple_SetItem", "i32", "ptr, i64, ptr"),
        ("PyLong_FromVoidPtr", "ptr", "ptr"),
        ("PyBytes_FromStringAndSize", "ptr", "ptr, i64"),
        ("PyObject_CallObject", "ptr", "ptr, ptr"),
        ("Py_IncRef", "void", "ptr"),
        ("Py_DecRef", "void", "ptr"),
    )
} | {symbol("None"): f"{symbol('None')} = external global i8"}
"""The declarations that it needs."""
