"""LLVM functions that open containers among the arguments of an entry: tuples, lists and dicts of known keys.

A container is opened at once, before anything else can run: its children are put into a row of slots, each with a
reference of its own, because somebody else may change the container during the run.
"""

from __future__ import annotations

import re

from wengert.compiler.machine.python_calls import UNOPTIMISED
from wengert.compiler.machine.python_objects import TYPE

OBJECTS = "wengert.objects"
"""The table of the objects that an entry compares with what it is given: keys, and constant arguments."""
EQUAL = 2
"""CPython's number of the operator `==`."""

TREE_FUNCTIONS = re.sub(
    r"@(?!llvm|wengert)",
    "@wengert.entry.",
    f"""
@int = external global i8
@str = external global i8
@dict = external global i8
declare void @Py_IncRef(ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)

; Whether both are one object, or equal strings or ints, which are compared without running Python code.
define internal i1 @same_object(ptr %given, ptr %expected) {UNOPTIMISED} {{
  %identical = icmp eq ptr %given, %expected
  br i1 %identical, label %same, label %types
types:
  %given.type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %expected.type.at = getelementptr i8, ptr %expected, i64 {TYPE}
  %given.type = load ptr, ptr %given.type.at
  %expected.type = load ptr, ptr %expected.type.at
  %alike = icmp eq ptr %given.type, %expected.type
  %string = icmp eq ptr %given.type, @str
  %integer = icmp eq ptr %given.type, @int
  %plain = or i1 %string, %integer
  %comparable = and i1 %alike, %plain
  br i1 %comparable, label %compare, label %other
compare:
  %answer = call i32 @PyObject_RichCompareBool(ptr %given, ptr %expected, i32 {EQUAL})
  %equal = icmp eq i32 %answer, 1
  ret i1 %equal
same:
  ret i1 true
other:
  ret i1 false
}}

; Whether the names of keyword arguments, null if there are none, are the expected ones.
define internal i1 @same_names(ptr %names, i64 %count, ptr %expected) {UNOPTIMISED} {{
entry:
  %given = icmp ne ptr %names, null
  br i1 %given, label %sizes, label %other
sizes:
  %size = call i64 @PyTuple_Size(ptr %names)
  %same.size = icmp eq i64 %size, %count
  br i1 %same.size, label %head, label %other
head:
  %i = phi i64 [ 0, %sizes ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %same
body:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %i)
  %key.at = getelementptr ptr, ptr %expected, i64 %i
  %key = load ptr, ptr %key.at
  %equal = call i1 @same_object(ptr %name, ptr %key)
  %next = add i64 %i, 1
  br i1 %equal, label %head, label %other
same:
  ret i1 true
other:
  ret i1 false
}}

; Puts the items of a tuple or list into slots, if it has this type and so many.
define internal i1 @open_sequence(
  ptr %given, ptr %expected, ptr %size.of, ptr %item.of, i64 %count, ptr %slots) {UNOPTIMISED} {{
entry:
  %type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %right = icmp eq ptr %type, %expected
  br i1 %right, label %sizes, label %other
sizes:
  %size = call i64 %size.of(ptr %given)
  %same.size = icmp eq i64 %size, %count
  br i1 %same.size, label %head, label %other
head:
  %i = phi i64 [ 0, %sizes ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %opened
body:
  %item = call ptr %item.of(ptr %given, i64 %i)
  call void @Py_IncRef(ptr %item)
  %slot = getelementptr ptr, ptr %slots, i64 %i
  store ptr %item, ptr %slot
  %next = add i64 %i, 1
  br label %head
opened:
  ret i1 true
other:
  ret i1 false
}}

; Puts the values of a dict into slots, if it has these keys in this order.
define internal i1 @open_dict(ptr %given, i64 %count, ptr %keys, ptr %slots) {UNOPTIMISED} {{
entry:
  %position = alloca i64
  %key.at = alloca ptr
  %value.at = alloca ptr
  store i64 0, ptr %position
  %type.at = getelementptr i8, ptr %given, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %right = icmp eq ptr %type, @dict
  br i1 %right, label %sizes, label %other
sizes:
  %size = call i64 @PyDict_Size(ptr %given)
  %same.size = icmp eq i64 %size, %count
  br i1 %same.size, label %head, label %other
head:
  %i = phi i64 [ 0, %sizes ], [ %next, %store ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %opened
body:
  %found = call i32 @PyDict_Next(ptr %given, ptr %position, ptr %key.at, ptr %value.at)
  %is.found = icmp ne i32 %found, 0
  br i1 %is.found, label %keys.compare, label %other
keys.compare:
  %key = load ptr, ptr %key.at
  %expected.at = getelementptr ptr, ptr %keys, i64 %i
  %expected = load ptr, ptr %expected.at
  %equal = call i1 @same_object(ptr %key, ptr %expected)
  br i1 %equal, label %store, label %other
store:
  %value = load ptr, ptr %value.at
  call void @Py_IncRef(ptr %value)
  %slot = getelementptr ptr, ptr %slots, i64 %i
  store ptr %value, ptr %slot
  %next = add i64 %i, 1
  br label %head
opened:
  ret i1 true
other:
  ret i1 false
}}
""",
)
"""The functions that entries with trees, constants or keywords among their arguments call."""
