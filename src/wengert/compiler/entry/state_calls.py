"""LLVM functions that read and write tensors which a program captures: their numbers, gradients and versions.

A table has one record for each such tensor or gradient (`program_state.py`). Before a run, `bind_states` checks that it
is what the program was made for, and passes the addresses of its data to the program. After the run, `release_states`
gives tensors their new arrays, where the program has not written into their own ones.
"""

from __future__ import annotations

import re

from wengert.compiler.machine.python_objects import (
    CHANGED,
    DATA,
    EXTRA,
    FLAGS,
    GRADIENT,
    INSTANCE_SIZE,
    NUMBER,
    OWNED,
    PAYLOAD,
    SCALAR_TYPE,
    TYPE,
)

RECORD = "{ ptr, ptr, i64, ptr, i64, ptr, i64, i64, i64, i64 }"
"""Tensor, its node, what to do, dtype, number of axes, shape, number of the input, number of the output, offset of its
part of the memory of the run, size in bytes.
"""

OF_GRADIENT, ABSENT, READS, OVERWRITES, REPLACES, COPIES, COUNTS = 1, 2, 4, 8, 16, 32, 64
"""What to do: with the gradient instead of the tensor; only check that there is none; pass the numbers to the program;
let it write into the same memory; into a new array; into memory of the run, which is copied if it succeeds; and count
the change.
"""

HELD, HELD_SIZE = "{ ptr, ptr, ptr }", 24
"""The tensor or gradient, its array, and its new array, to which the run has references."""

EACH_RECORD = """\
entry:
  %table = load ptr, ptr @wengert.states
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %done ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %end
body:
  %next = add i64 %i, 1"""
"""The beginning of a loop over `%count` records: number `%i` is at `%next` in the table, and `done` ends its turn."""

STATE_FUNCTIONS = re.sub(
    r"@(?!llvm|wengert)",
    "@wengert.entry.",
    f"""
@Tensor.type = external global i8
@None = external global i8
@wengert.active = external global i64
@wengert.changes = external global i64
@wengert.states = global ptr null
declare ptr @PyLong_FromLongLong(i64)
declare void @PyErr_Clear()
declare i32 @PyType_IsSubtype(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Whether everything is recorded as usual, and nothing has changed that guards are about.
define internal i1 @is_usual() noinline {{
  %active = load i64, ptr @wengert.active
  %plain = icmp eq i64 %active, 0
  %states = load ptr, ptr @wengert.states
  %known = load i64, ptr %states
  %changes = load i64, ptr @wengert.changes
  %same = icmp eq i64 %known, %changes
  %usual = and i1 %plain, %same
  ret i1 %usual
}}

; Whether an object is a tensor and has this node. A class that is derived may say how a tensor behaves, as those of
; PyTorch's names do; if it has fields of its own, as a part of another tensor has, Python must know of each change.
define internal i1 @is_tensor(ptr %object, ptr %node) alwaysinline {{
  %type.at = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %exact = icmp eq ptr %type, @Tensor.type
  br i1 %exact, label %right, label %derived
derived:
  %found = call i32 @PyType_IsSubtype(ptr %type, ptr @Tensor.type)
  %is.derived = icmp ne i32 %found, 0
  %size.at = getelementptr i8, ptr %type, i64 {INSTANCE_SIZE}
  %size = load i64, ptr %size.at
  %tensor.size.at = getelementptr i8, ptr @Tensor.type, i64 {INSTANCE_SIZE}
  %tensor.size = load i64, ptr %tensor.size.at
  %same.size = icmp eq i64 %size, %tensor.size
  %is.plain = and i1 %is.derived, %same.size
  br i1 %is.plain, label %right, label %wrong
right:
  %node.at = getelementptr i8, ptr %object, i64 {EXTRA}
  %own.node = load ptr, ptr %node.at
  %same = icmp eq ptr %own.node, %node
  ret i1 %same
wrong:
  ret i1 false
}}

; The data of an array, or of a NumPy scalar that is only read.
define internal ptr @state_data(ptr %array, ptr %dtype, i64 %ndim, ptr %shape, i1 %writes) noinline {{
entry:
  %axes = trunc i64 %ndim to i32
  %data = call ptr @array_data(ptr %array, ptr %dtype, i32 %axes, ptr %shape)
  %found = icmp ne ptr %data, null
  br i1 %found, label %fits, label %scalar
fits:
  %count = load i64, ptr %array
  %sole = icmp eq i64 %count, 1
  %flags.at = getelementptr i8, ptr %array, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %owned.flags = and i32 %flags, {OWNED}
  %owned = icmp eq i32 %owned.flags, {OWNED}
  %own = and i1 %sole, %owned
  %reads = xor i1 %writes, true
  %good = or i1 %own, %reads
  %result = select i1 %good, ptr %data, ptr null
  ret ptr %result
scalar:
  %none = icmp eq i64 %ndim, 0
  %only.read = xor i1 %writes, true
  %may = and i1 %none, %only.read
  br i1 %may, label %types, label %other
types:
  %type.at = getelementptr i8, ptr %array, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %expected.at = getelementptr i8, ptr %dtype, i64 {SCALAR_TYPE}
  %expected = load ptr, ptr %expected.at
  %right = icmp eq ptr %type, %expected
  br i1 %right, label %number, label %other
number:
  %number.data = getelementptr i8, ptr %array, i64 {NUMBER}
  ret ptr %number.data
other:
  ret ptr null
}}

; 0; 1 if something is not as expected; 2 if an exception is set. What is held must be released in any case.
define internal i32 @bind_states(
  i64 %count, ptr %inputs, i64 %input.count, ptr %outputs, i64 %output.count, ptr %held, ptr %memory) noinline {{
{EACH_RECORD}
  %record = getelementptr {RECORD}, ptr %table, i64 %next
  %tensor = load ptr, ptr %record
  %node.at = getelementptr {RECORD}, ptr %record, i64 0, i32 1
  %node = load ptr, ptr %node.at
  %kind.at = getelementptr {RECORD}, ptr %record, i64 0, i32 2
  %kind = load i64, ptr %kind.at
  %known = call i1 @is_tensor(ptr %tensor, ptr %node)
  br i1 %known, label %which, label %other
which:
  %of.gradient = and i64 %kind, {OF_GRADIENT | ABSENT}
  %is.gradient = icmp ne i64 %of.gradient, 0
  br i1 %is.gradient, label %gradient, label %numbers
gradient:
  %grad.at = getelementptr i8, ptr %tensor, i64 {GRADIENT}
  %grad = load ptr, ptr %grad.at
  %unset = icmp eq ptr %grad, null
  %none = icmp eq ptr %grad, @None
  %missing = or i1 %unset, %none
  %absent.bit = and i64 %kind, {ABSENT}
  %absent = icmp ne i64 %absent.bit, 0
  %expected = icmp eq i1 %missing, %absent
  br i1 %expected, label %present, label %other
present:
  br i1 %absent, label %done, label %owner
owner:
  %plain = call i1 @is_tensor(ptr %grad, ptr @None)
  br i1 %plain, label %shared, label %other
shared:
  %grad.count = load i64, ptr %grad
  %grad.sole = icmp eq i64 %grad.count, 1
  %changes.bits = and i64 %kind, {OVERWRITES | REPLACES | COPIES}
  %unchanged = icmp eq i64 %changes.bits, 0
  %free = or i1 %grad.sole, %unchanged
  br i1 %free, label %numbers, label %other
numbers:
  %object = phi ptr [ %tensor, %which ], [ %grad, %shared ]
  %use.bits = and i64 %kind, {READS | OVERWRITES | REPLACES | COPIES}
  %used = icmp ne i64 %use.bits, 0
  br i1 %used, label %layout, label %done
layout:
  %array.at = getelementptr i8, ptr %object, i64 {PAYLOAD}
  %array = load ptr, ptr %array.at
  %dtype.at = getelementptr {RECORD}, ptr %record, i64 0, i32 3
  %dtype = load ptr, ptr %dtype.at
  %ndim.at = getelementptr {RECORD}, ptr %record, i64 0, i32 4
  %ndim = load i64, ptr %ndim.at
  %shape.at = getelementptr {RECORD}, ptr %record, i64 0, i32 5
  %shape = load ptr, ptr %shape.at
  %input.at = getelementptr {RECORD}, ptr %record, i64 0, i32 6
  %input = load i64, ptr %input.at
  %output.at = getelementptr {RECORD}, ptr %record, i64 0, i32 7
  %output = load i64, ptr %output.at
  %held.object.at = getelementptr {HELD}, ptr %held, i64 %i
  %held.array.at = getelementptr {HELD}, ptr %held, i64 %i, i32 1
  %held.new.at = getelementptr {HELD}, ptr %held, i64 %i, i32 2
  call void @Py_IncRef(ptr %object)
  store ptr %object, ptr %held.object.at
  %reads.bits = and i64 %kind, {READS | OVERWRITES | COPIES}
  %reads = icmp ne i64 %reads.bits, 0
  br i1 %reads, label %data, label %replace
data:
  %overwrites.bit = and i64 %kind, {OVERWRITES | COPIES}
  %overwrites = icmp ne i64 %overwrites.bit, 0
  %address = call ptr @state_data(ptr %array, ptr %dtype, i64 %ndim, ptr %shape, i1 %overwrites)
  %fits = icmp ne ptr %address, null
  br i1 %fits, label %hold, label %other
hold:
  call void @Py_IncRef(ptr %array)
  store ptr %array, ptr %held.array.at
  %is.input = icmp sge i64 %input, 0
  br i1 %is.input, label %pass, label %write
pass:
  %input.data.at = getelementptr ptr, ptr %inputs, i64 %input
  store ptr %address, ptr %input.data.at
  %input.owner = add i64 %input, %input.count
  %input.owner.at = getelementptr ptr, ptr %inputs, i64 %input.owner
  store ptr %array, ptr %input.owner.at
  br label %write
write:
  br i1 %overwrites, label %own, label %replace
own:
  %copies.bit = and i64 %kind, {COPIES}
  %copies = icmp ne i64 %copies.bit, 0
  %offset.at = getelementptr {RECORD}, ptr %record, i64 0, i32 8
  %offset = load i64, ptr %offset.at
  %part = getelementptr i8, ptr %memory, i64 %offset
  %target = select i1 %copies, ptr %part, ptr %address
  %own.data.at = getelementptr ptr, ptr %outputs, i64 %output
  store ptr %target, ptr %own.data.at
  %own.owner = add i64 %output, %output.count
  %own.owner.at = getelementptr ptr, ptr %outputs, i64 %own.owner
  store ptr %array, ptr %own.owner.at
  br label %done
replace:
  %replaces.bit = and i64 %kind, {REPLACES}
  %replaces = icmp ne i64 %replaces.bit, 0
  br i1 %replaces, label %make, label %done
make:
  %axes = trunc i64 %ndim to i32
  %new = call ptr @new_array(ptr %dtype, i32 %axes, ptr %shape)
  %made = icmp ne ptr %new, null
  br i1 %made, label %keep, label %failed
keep:
  store ptr %new, ptr %held.new.at
  %new.data.at = getelementptr i8, ptr %new, i64 {DATA}
  %new.data = load ptr, ptr %new.data.at
  %output.data.at = getelementptr ptr, ptr %outputs, i64 %output
  store ptr %new.data, ptr %output.data.at
  %output.owner = add i64 %output, %output.count
  %output.owner.at = getelementptr ptr, ptr %outputs, i64 %output.owner
  store ptr %new, ptr %output.owner.at
  br label %done
done:
  br label %head
end:
  ret i32 0
other:
  ret i32 1
failed:
  ret i32 2
}}

define internal void @count_change(ptr %tensor) noinline {{
entry:
  %overflow = alloca i32
  %at = getelementptr i8, ptr %tensor, i64 {CHANGED}
  %old = load ptr, ptr %at
  %known = icmp ne ptr %old, null
  br i1 %known, label %convert, label %make
convert:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %old, ptr %overflow)
  br label %make
make:
  %before = phi i64 [ 0, %entry ], [ %value, %convert ]
  %after = add i64 %before, 1
  %new = call ptr @PyLong_FromLongLong(i64 %after)
  %made = icmp ne ptr %new, null
  br i1 %made, label %put, label %failed
put:
  store ptr %new, ptr %at
  call void @Py_DecRef(ptr %old)
  ret void
failed:
  call void @PyErr_Clear()
  ret void
}}

; Gives up what a run holds; if it has succeeded, the new arrays become those of the tensors first.
define internal void @release_states(i64 %count, ptr %held, ptr %memory, i1 %succeeded) noinline {{
{EACH_RECORD}
  %object.at = getelementptr {HELD}, ptr %held, i64 %i
  %array.at = getelementptr {HELD}, ptr %held, i64 %i, i32 1
  %new.at = getelementptr {HELD}, ptr %held, i64 %i, i32 2
  %object = load ptr, ptr %object.at
  %array = load ptr, ptr %array.at
  %new = load ptr, ptr %new.at
  %is.held = icmp ne ptr %object, null
  br i1 %is.held, label %clear, label %done
clear:
  store ptr null, ptr %object.at
  store ptr null, ptr %array.at
  store ptr null, ptr %new.at
  br i1 %succeeded, label %commit, label %drop
commit:
  %kind.at = getelementptr {RECORD}, ptr %table, i64 %next, i32 2
  %kind = load i64, ptr %kind.at
  %copies.bit = and i64 %kind, {COPIES}
  %copies = icmp ne i64 %copies.bit, 0
  br i1 %copies, label %copy, label %renew
copy:
  %offset.at = getelementptr {RECORD}, ptr %table, i64 %next, i32 8
  %offset = load i64, ptr %offset.at
  %size.at = getelementptr {RECORD}, ptr %table, i64 %next, i32 9
  %size = load i64, ptr %size.at
  %part = getelementptr i8, ptr %memory, i64 %offset
  %data.at = getelementptr i8, ptr %array, i64 {DATA}
  %data = load ptr, ptr %data.at
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %part, i64 %size, i1 false)
  br label %changes
renew:
  %is.new = icmp ne ptr %new, null
  br i1 %is.new, label %replace, label %changes
replace:
  %value.at = getelementptr i8, ptr %object, i64 {PAYLOAD}
  %old = load ptr, ptr %value.at
  store ptr %new, ptr %value.at
  call void @Py_DecRef(ptr %old)
  br label %changes
changes:
  %counts.bit = and i64 %kind, {COUNTS}
  %counts = icmp ne i64 %counts.bit, 0
  br i1 %counts, label %count.change, label %release
count.change:
  call void @count_change(ptr %object)
  br label %release
drop:
  call void @Py_DecRef(ptr %new)
  br label %release
release:
  call void @Py_DecRef(ptr %array)
  call void @Py_DecRef(ptr %object)
  br label %done
done:
  br label %head
end:
  ret void
}}
""",
)
"""The functions that entries of programs with captured tensors call."""
