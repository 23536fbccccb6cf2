"""Threads of the pool wake on another core than the caller's.

Linux wakes a thread on the core where it ran last, or on that of whoever wakes it, unless it knows that another one is
idle. On a virtual machine it does not: a core that rests looks like one that the host took away. A thread that wakes on
the caller's core waits there for milliseconds, until the system balances its cores, while the caller does all the work.
So a sleeping thread that ran last where the caller runs now may not use that core until it is awake.
"""

from __future__ import annotations

import platform

MOST_THREADS = 64
"""The largest number of threads, the caller among them."""
CORES = 8192
"""The number of cores that a set of cores has room for."""
AWAKE, MOVED = -2, -3
"""What stands for the core of a thread that does not sleep, and of one that may not use the caller's."""

LINUX = f"""\
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

; The core on which each thread fell asleep, the cores of the last caller, and these without its own.
@cores = internal global [{MOST_THREADS} x i32] zeroinitializer, align 64
@allowed = internal global [{CORES // 8} x i8] zeroinitializer, align 64
@others = internal global [{CORES // 8} x i8] zeroinitializer, align 64

; All three are called by a thread that holds the mutex.
define internal void @falls_asleep(ptr %number) {{
  %i = ptrtoint ptr %number to i64
  %core.at = getelementptr i32, ptr @cores, i64 %i
  %core = call i32 @sched_getcpu()
  store i32 %core, ptr %core.at
  ret void
}}

define internal void @is_awake(ptr %number) {{
entry:
  %i = ptrtoint ptr %number to i64
  %core.at = getelementptr i32, ptr @cores, i64 %i
  %core = load i32, ptr %core.at
  store i32 {AWAKE}, ptr %core.at
  %moved = icmp eq i32 %core, {MOVED}
  br i1 %moved, label %free, label %end
free:
  %failed = call i32 @sched_setaffinity(i32 0, i64 {CORES // 8}, ptr @allowed)
  br label %end
end:
  ret void
}}

define internal void @move_away() {{
entry:
  %here = call i32 @sched_getcpu()
  %count = load i64, ptr @started
  %known = icmp ult i32 %here, {CORES}
  br i1 %known, label %next, label %end
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %done ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %look, label %end
look:
  %core.at = getelementptr i32, ptr @cores, i64 %i
  %core = load i32, ptr %core.at
  %same = icmp eq i32 %core, %here
  br i1 %same, label %ask, label %done
ask:
  %failed.allowed = call i32 @sched_getaffinity(i32 0, i64 {CORES // 8}, ptr @allowed)
  %failed.others = call i32 @sched_getaffinity(i32 0, i64 {CORES // 8}, ptr @others)
  %failed = or i32 %failed.allowed, %failed.others
  %asked = icmp eq i32 %failed, 0
  br i1 %asked, label %move, label %end
move:
  %byte = lshr i32 %here, 3
  %byte.at = getelementptr i8, ptr @others, i32 %byte
  %before = load i8, ptr %byte.at
  %place = and i32 %here, 7
  %place.byte = trunc i32 %place to i8
  %own = shl i8 1, %place.byte
  %without = xor i8 %own, -1
  %after = and i8 %before, %without
  store i8 %after, ptr %byte.at
  %handle.at = getelementptr i64, ptr @handles, i64 %i
  %handle = load i64, ptr %handle.at
  %refused = call i32 @pthread_setaffinity_np(i64 %handle, i64 {CORES // 8}, ptr @others)
  %moved = icmp eq i32 %refused, 0
  br i1 %moved, label %note, label %done
note:
  store i32 {MOVED}, ptr %core.at
  br label %done
done:
  %i.next = add i64 %i, 1
  br label %next
end:
  ret void
}}
"""

IS_LINUX = platform.system() == "Linux"
PLACEMENT = LINUX if IS_LINUX else ""
FALLS_ASLEEP = "call void @falls_asleep(ptr %number)" if IS_LINUX else ""
IS_AWAKE = "call void @is_awake(ptr %number)" if IS_LINUX else ""
MOVE_AWAY = "call void @move_away()" if IS_LINUX else ""
