"""Large arenas: the last one of the process is kept for the next call.

The C library returns blocks of more than 32 MiB to the operating system when they are freed, and a loop that keeps
values for its backward pass would spend more time on getting new pages than on arithmetic. So one block, of a limited
size, is kept for whichever program asks next. Threads take and return it by an atomic exchange. Linux is asked for huge
pages, as NumPy does for large arrays.
"""

from __future__ import annotations

import ctypes
import sys

from wengert.core import allocator, machine

KEPT = (ctypes.c_int64 * 2)(0, 0)
"""The address of the block that is kept, or zero, and the largest size that may be; native code reads both."""


def allow_kept_memory() -> None:
    """Set the largest size, unless the user wants no memory to be kept."""
    KEPT[1] = machine.current.bytes_kept_by_allocator if allocator.may_keep_memory() else 0


machine.on_change(allow_kept_memory)


HUGE_PAGE = 1 << 21
MADV_HUGEPAGE = 14
ADVISE = f"%advised = call i32 @madvise(ptr %fresh, i64 %whole, i32 {MADV_HUGEPAGE})" if sys.platform == "linux" else ""

TAKE_AND_RETURN = f"""\
@wengert.kept = external global [2 x i64]

define internal ptr @wengert.take_memory(i64 %size) noinline nounwind {{
entry:
  %old = atomicrmw xchg ptr @wengert.kept, i64 0 seq_cst
  %none = icmp eq i64 %old, 0
  br i1 %none, label %new, label %found
found:
  %block = inttoptr i64 %old to ptr
  %known = load i64, ptr %block
  %fits = icmp sge i64 %known, %size
  br i1 %fits, label %use, label %small
use:
  %kept = getelementptr i8, ptr %block, i64 64
  ret ptr %kept
small:
  call void @free(ptr %block)
  br label %new
new:
  %whole = add i64 %size, 64
  %fresh = call ptr @aligned_alloc(i64 {HUGE_PAGE}, i64 %whole)
  %missing = icmp eq ptr %fresh, null
  br i1 %missing, label %failed, label %made
failed:
  ret ptr null
made:
  {ADVISE}
  store i64 %size, ptr %fresh
  %start = getelementptr i8, ptr %fresh, i64 64
  ret ptr %start
}}

define internal void @wengert.return_memory(ptr %start) noinline nounwind {{
entry:
  %block = getelementptr i8, ptr %start, i64 -64
  %size = load i64, ptr %block
  %limit = load i64, ptr getelementptr ([2 x i64], ptr @wengert.kept, i64 0, i64 1)
  %large = icmp sgt i64 %size, %limit
  br i1 %large, label %drop, label %keep
drop:
  call void @free(ptr %block)
  ret void
keep:
  %address = ptrtoint ptr %block to i64
  %old = atomicrmw xchg ptr @wengert.kept, i64 %address seq_cst
  %before = inttoptr i64 %old to ptr
  call void @free(ptr %before)
  ret void
}}"""
NEEDED_BY_TAKE = {
    "@aligned_alloc": "declare ptr @aligned_alloc(i64, i64)",
    "@free": "declare void @free(ptr)",
    "@madvise": "declare i32 @madvise(ptr, i64, i32)",
}
