"""LLVM functions that read and make Python objects, for entries, and that call Python, for upcalls."""

from __future__ import annotations

import re

from wengert.compiler.machine.python_objects import (
    BYTE_ORDER,
    DATA,
    DESCR,
    FLAGS,
    NDIM,
    NUMBER,
    SHAPE,
    TYPE,
    USABLE,
    python_symbol,
)

UNOPTIMISED = "noinline optnone"
"""Optimisation would save 3 of the 100 ns of an entry, and nearly double the compile time of a small program."""

LAYOUT = "{ ptr, i32, ptr }"
"""The dtype of an array, its number of axes and the address of its shape."""

ENTRY_FUNCTIONS = re.sub(
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
  %type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %right = icmp eq ptr %type, %expected
  %data = getelementptr i8, ptr %given, i64 {NUMBER}
  %result = select i1 %right, ptr %data, ptr null
  ret ptr %result
}}

define internal ptr @int_data(ptr %given, ptr %number) {UNOPTIMISED} {{
  %overflow = alloca i32
  %type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.at
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
  %type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %right = icmp eq ptr %type, @PyArray_Type
  br i1 %right, label %layout, label %other
layout:
  %flags.at = getelementptr i8, ptr %given, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %usable.flags = and i32 %flags, {USABLE}
  %usable = icmp eq i32 %usable.flags, {USABLE}
  %given.ndim.at = getelementptr i8, ptr %given, i64 {NDIM}
  %given.ndim = load i32, ptr %given.ndim.at
  %same.ndim = icmp eq i32 %given.ndim, %ndim
  %fits = and i1 %usable, %same.ndim
  br i1 %fits, label %dtypes, label %other
dtypes:
  %given.dtype.at = getelementptr i8, ptr %given, i64 {DESCR}
  %given.dtype = load ptr, ptr %given.dtype.at
  %identical = icmp eq ptr %given.dtype, %dtype
  br i1 %identical, label %shapes, label %compare
compare:
  %equal = call i1 @same_dtype(ptr %given.dtype, ptr %dtype)
  br i1 %equal, label %shapes, label %other
shapes:
  %given.shape.at = getelementptr i8, ptr %given, i64 {SHAPE}
  %given.shape = load ptr, ptr %given.shape.at
  br label %axes
axes:
  %axis = phi i32 [ 0, %shapes ], [ %next, %extents ]
  %more = icmp ult i32 %axis, %ndim
  br i1 %more, label %extents, label %same
extents:
  %given.extent.at = getelementptr i64, ptr %given.shape, i32 %axis
  %extent.at = getelementptr i64, ptr %shape, i32 %axis
  %given.extent = load i64, ptr %given.extent.at
  %extent = load i64, ptr %extent.at
  %next = add i32 %axis, 1
  %same.extent = icmp eq i64 %given.extent, %extent
  br i1 %same.extent, label %axes, label %other
same:
  %data.at = getelementptr i8, ptr %given, i64 {DATA}
  %data = load ptr, ptr %data.at
  ret ptr %data
other:
  ret ptr null
}}

; Stores the data of arrays, and the arrays that own it, if all have their layouts.
define internal i1 @read_arrays(ptr %given, i64 %count, ptr %layouts, ptr %data, ptr %owners) {UNOPTIMISED} {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %found ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %all
body:
  %object.at = getelementptr ptr, ptr %given, i64 %i
  %dtype.at = getelementptr {LAYOUT}, ptr %layouts, i64 %i, i32 0
  %ndim.at = getelementptr {LAYOUT}, ptr %layouts, i64 %i, i32 1
  %shape.at = getelementptr {LAYOUT}, ptr %layouts, i64 %i, i32 2
  %object = load ptr, ptr %object.at
  %dtype = load ptr, ptr %dtype.at
  %ndim = load i32, ptr %ndim.at
  %shape = load ptr, ptr %shape.at
  %address = call ptr @array_data(ptr %object, ptr %dtype, i32 %ndim, ptr %shape)
  %fits = icmp ne ptr %address, null
  br i1 %fits, label %found, label %other
found:
  %data.at = getelementptr ptr, ptr %data, i64 %i
  %owner.at = getelementptr ptr, ptr %owners, i64 %i
  store ptr %address, ptr %data.at
  store ptr %object, ptr %owner.at
  %next = add i64 %i, 1
  br label %head
all:
  ret i1 true
other:
  ret i1 false
}}

; Unpickled arrays have a dtype object of their own: one of the same class and byte order is as good.
define internal i1 @same_dtype(ptr %given, ptr %expected) {UNOPTIMISED} {{
  %given.type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %expected.type.at = getelementptr i8, ptr %expected, i64 {TYPE}
  %given.type = load ptr, ptr %given.type.at
  %expected.type = load ptr, ptr %expected.type.at
  %same.type = icmp eq ptr %given.type, %expected.type
  br i1 %same.type, label %orders, label %other
orders:
  %given.order.at = getelementptr i8, ptr %given, i64 {BYTE_ORDER}
  %expected.order.at = getelementptr i8, ptr %expected, i64 {BYTE_ORDER}
  %given.order = load i8, ptr %given.order.at
  %expected.order = load i8, ptr %expected.order.at
  %same.order = icmp eq i8 %given.order, %expected.order
  ret i1 %same.order
other:
  ret i1 false
}}

; PyArray_NewFromDescr steals a reference to the dtype, even if it fails.
define internal ptr @new_array(ptr %dtype, i32 %ndim, ptr %shape) {UNOPTIMISED} {{
  call void @Py_IncRef(ptr %dtype)
  %new = call ptr @PyArray_NewFromDescr(
    ptr @PyArray_Type, ptr %dtype, i32 %ndim, ptr %shape, ptr null, ptr null, i32 0, ptr null)
  ret ptr %new
}}

; Puts new arrays on a list, and stores their data and the arrays; false if an exception is set.
define internal i1 @new_arrays(i64 %count, ptr %layouts, ptr %list, ptr %data, ptr %owners) {UNOPTIMISED} {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %made ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %all
body:
  %dtype.at = getelementptr {LAYOUT}, ptr %layouts, i64 %i, i32 0
  %ndim.at = getelementptr {LAYOUT}, ptr %layouts, i64 %i, i32 1
  %shape.at = getelementptr {LAYOUT}, ptr %layouts, i64 %i, i32 2
  %dtype = load ptr, ptr %dtype.at
  %ndim = load i32, ptr %ndim.at
  %shape = load ptr, ptr %shape.at
  %new = call ptr @new_array(ptr %dtype, i32 %ndim, ptr %shape)
  %is.made = icmp ne ptr %new, null
  br i1 %is.made, label %made, label %failed
made:
  %new.at = getelementptr ptr, ptr %list, i64 %i
  %data.at = getelementptr ptr, ptr %data, i64 %i
  %owner.at = getelementptr ptr, ptr %owners, i64 %i
  %address.at = getelementptr i8, ptr %new, i64 {DATA}
  %address = load ptr, ptr %address.at
  store ptr %new, ptr %new.at
  store ptr %address, ptr %data.at
  store ptr %new, ptr %owner.at
  %next = add i64 %i, 1
  br label %head
all:
  ret i1 true
failed:
  ret i1 false
}}

define internal void @drop(ptr %objects, i64 %count) {UNOPTIMISED} {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %end
body:
  %object.at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.at
  call void @Py_DecRef(ptr %object)
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}}
""",
)
"""The functions that entries call."""

UPCALL_OPERAND = "{ i64, i64, i64 }"
"""An operand of an upcall: an entry of the table, an offset from there, and the number of bytes to copy or one of:"""
ADDRESS, NOTHING = -1, -2

UPCALL = re.sub(
    r"@(?!llvm)",
    "@wengert.entry.",
    f"""
; Calls a Python function with the address of the table, and for each operand its bytes, its address, or None.
define internal i32 @upcall(ptr %function, ptr %table, ptr %operands, i64 %count) noinline {{
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
  %entry.at = getelementptr {UPCALL_OPERAND}, ptr %operands, i64 %i, i32 0
  %offset.at = getelementptr {UPCALL_OPERAND}, ptr %operands, i64 %i, i32 1
  %size.at = getelementptr {UPCALL_OPERAND}, ptr %operands, i64 %i, i32 2
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
"""The function with which native code calls Python; it returns 1 if that raised an exception, which stays set."""

NEEDED_BY_UPCALL = {
    python_symbol(name): f"declare {result} {python_symbol(name)}({arguments})"
    for name, result, arguments in (
        ("PyTuple_New", "ptr", "i64"),
        ("PyTuple_SetItem", "i32", "ptr, i64, ptr"),
        ("PyLong_FromVoidPtr", "ptr", "ptr"),
        ("PyBytes_FromStringAndSize", "ptr", "ptr, i64"),
        ("PyObject_CallObject", "ptr", "ptr, ptr"),
        ("Py_IncRef", "void", "ptr"),
        ("Py_DecRef", "void", "ptr"),
    )
} | {python_symbol("None"): f"{python_symbol('None')} = external global i8"}
"""The declarations for `UPCALL`."""


INTERRUPTED = f"""
; Runs the handlers of signals such as Ctrl-C if the last look was long ago; 1 if one of them raised an exception.
; Then other threads of Python run: the main thread, too, which is the one that is interrupted.
define internal i32 @wengert.interrupted(ptr %last, i64 %patience) noinline cold {{
entry:
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 0, ptr %time)
  %nanoseconds.at = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %nanoseconds = load i64, ptr %nanoseconds.at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  %before = load i64, ptr %last
  %first = icmp eq i64 %before, 0
  %passed = sub i64 %now, %before
  %due = icmp ugt i64 %passed, %patience
  br i1 %due, label %note, label %nothing
note:
  store i64 %now, ptr %last
  br i1 %first, label %nothing, label %look
look:
  %state = call i32 {python_symbol("PyGILState_Ensure")}()
  %raised = call i32 {python_symbol("PyErr_CheckSignals")}()
  %calm = icmp eq i32 %raised, 0
  br i1 %calm, label %others, label %done
others:
  %thread = call ptr {python_symbol("PyEval_SaveThread")}()
  call void {python_symbol("PyEval_RestoreThread")}(ptr %thread)
  br label %done
done:
  call void {python_symbol("PyGILState_Release")}(i32 %state)
  %status = zext i1 %calm to i32
  %result = xor i32 %status, 1
  ret i32 %result
nothing:
  ret i32 0
}}
"""
"""The function with which long loops look at signals.

`%last` is the time of the last look, 0 at first, and `%patience` are the nanoseconds between two looks.
"""

NEEDED_BY_INTERRUPTED = {"@clock_gettime": "declare i32 @clock_gettime(i32, ptr)"} | {
    python_symbol(name): f"declare {result} {python_symbol(name)}({arguments})"
    for name, result, arguments in (
        ("PyErr_CheckSignals", "i32", ""),
        ("PyGILState_Ensure", "i32", ""),
        ("PyGILState_Release", "void", "i32"),
        ("PyEval_SaveThread", "ptr", ""),
        ("PyEval_RestoreThread", "void", "ptr"),
    )
}
"""The declarations for `INTERRUPTED`."""

RELEASED = f"""
declare ptr {python_symbol("PyEval_SaveThread")}()
declare void {python_symbol("PyEval_RestoreThread")}(ptr)

define i32 @wengert.run.released(ptr %inputs, ptr %outputs) {UNOPTIMISED} {{
  %thread = call ptr {python_symbol("PyEval_SaveThread")}()
  %status = call i32 @wengert.run(ptr %inputs, ptr %outputs)
  call void {python_symbol("PyEval_RestoreThread")}(ptr %thread)
  ret i32 %status
}}
"""
"""The program, while other threads of Python run."""

DECLARE_RUN = "declare i32 @wengert.run(ptr, ptr)\n"
"""What calls the program is a module of its own, which is compiled quickly."""
