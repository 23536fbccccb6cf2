"""Kernels on all cores: a pool of native threads, which take parts of the outermost loop.

The pool is a module of its own, loaded once in a process and never unloaded, because its threads wait in it. A kernel
is a job of several parts. Whoever is free takes the next part: the caller, and threads that it wakes. Which thread runs
a part changes no result. After a job, threads look for another one for some microseconds before they sleep, so that the
kernels of one program follow each other quickly. If the pool works for another caller, the caller runs all parts
itself. Before a fork the threads end, and they start again when they are needed.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

from wengert.compiler.machine.fingerprint import CacheEntry
from wengert.compiler.machine.target import Loaded, read_code
from wengert.compiler.machine.translation import Level, object_code
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR
from wengert.compiler.threads.placement import FALLS_ASLEEP, IS_AWAKE, MOST_THREADS, MOVE_AWAY, PLACEMENT
from wengert.core import machine, parallel


class Limits(ctypes.Structure):
    """What native code reads of the machine record."""

    threads: int
    operations_per_thread: int
    operations_to_wake: int
    looks: int

    _fields_ = [(name, ctypes.c_int64) for name in ("threads", "operations_per_thread", "operations_to_wake", "looks")]


LIMITS = Limits(1, 1, 1, 1)
"""Those of this process, set when a program is loaded."""
PAUSES = 16
"""The instructions between two looks for work, which let another thread of the same core run."""
SET_MASK = 2 if platform.system() == "Linux" else 3

PAUSE = {"x86_64": "llvm.x86.sse2.pause()", "AMD64": "llvm.x86.sse2.pause()"}.get(platform.machine())
DECLARE_PAUSE, WAIT = (f"declare void @{PAUSE}", f"call void @{PAUSE}") if PAUSE else ("", "fence seq_cst")

NEWLINE = "\n"
JOB = "{ ptr, ptr, i64, i64 }"
"""The kernel, its table, the length of a part, and the extent of the loop."""

POOL = f"""\
@wengert.limits = external global [4 x i64]
{DECLARE_PAUSE}
declare i32 @getpid()
declare i32 @sched_yield()
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; The number of the job, times 65536, and how many of its parts nobody has taken yet.
@left = internal global i64 0, align 64
@done = internal global i64 0, align 64
@busy = internal global i64 0, align 64
@sleeping = internal global i64 0, align 64
@missed = internal global i64 0
@ending = internal global i64 0
@job = internal global {JOB} zeroinitializer, align 64
@process = internal global i32 0
@started = internal global i64 0
@handles = internal global [{MOST_THREADS} x i64] zeroinitializer
@mutex = internal global [128 x i8] zeroinitializer, align 64
@condition = internal global [128 x i8] zeroinitializer, align 64

{PLACEMENT}
define internal void @pause() {{
{f"  {WAIT}{NEWLINE}" * PAUSES}  ret void
}}

; Runs parts until none is left. The job cannot change while one of its parts is taken and not done.
define internal void @work() {{
entry:
  br label %look
look:
  %seen = load atomic i64, ptr @left seq_cst, align 8
  %parts = and i64 %seen, 65535
  %none = icmp eq i64 %parts, 0
  br i1 %none, label %end, label %take
take:
  %less = sub i64 %seen, 1
  %pair = cmpxchg ptr @left, i64 %seen, i64 %less seq_cst seq_cst
  %taken = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %taken, label %run, label %look
run:
  %kernel.at = getelementptr {JOB}, ptr @job, i32 0, i32 0
  %table.at = getelementptr {JOB}, ptr @job, i32 0, i32 1
  %step.at = getelementptr {JOB}, ptr @job, i32 0, i32 2
  %extent.at = getelementptr {JOB}, ptr @job, i32 0, i32 3
  %kernel = load ptr, ptr %kernel.at
  %table = load ptr, ptr %table.at
  %step = load i64, ptr %step.at
  %extent = load i64, ptr %extent.at
  %part = sub i64 %parts, 1
  %begin = mul i64 %part, %step
  %far = add i64 %begin, %step
  %stop = call i64 @llvm.smin.i64(i64 %far, i64 %extent)
  call void %kernel(ptr %table, i64 %begin, i64 %stop)
  %before = atomicrmw add ptr @done, i64 1 seq_cst
  br label %look
end:
  ret void
}}

define internal ptr @live(ptr %number) {{
entry:
  br label %awake
awake:
  call void @work()
  br label %spin
spin:
  %spins = phi i64 [ 0, %awake ], [ %spins.next, %idle ]
  %word = load atomic i64, ptr @left seq_cst, align 8
  %parts = and i64 %word, 65535
  %some = icmp ne i64 %parts, 0
  br i1 %some, label %awake, label %idle
idle:
  call void @pause()
  %yielded = call i32 @sched_yield()
  %spins.next = add i64 %spins, 1
  %looks = load i64, ptr getelementptr (i64, ptr @wengert.limits, i64 3)
  %more = icmp ult i64 %spins.next, %looks
  br i1 %more, label %spin, label %sleep
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %before = atomicrmw add ptr @sleeping, i64 1 seq_cst
  {FALLS_ASLEEP}
  %ending = load atomic i64, ptr @ending seq_cst, align 8
  %word.now = load atomic i64, ptr @left seq_cst, align 8
  %parts.now = and i64 %word.now, 65535
  %reasons = or i64 %ending, %parts.now
  %none = icmp eq i64 %reasons, 0
  br i1 %none, label %wait, label %wake
wait:
  %waited = call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %wake
wake:
  %after = atomicrmw sub ptr @sleeping, i64 1 seq_cst
  {IS_AWAKE}
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %ending.now = load atomic i64, ptr @ending seq_cst, align 8
  %goes.on = icmp eq i64 %ending.now, 0
  br i1 %goes.on, label %awake, label %end
end:
  ret ptr null
}}

; Forgets threads of the process that this one was forked from.
define internal void @begin_process() {{
entry:
  %now = call i32 @getpid()
  %known = load i32, ptr @process
  %same = icmp eq i32 %now, %known
  br i1 %same, label %end, label %new
new:
  store i32 %now, ptr @process
  store i64 0, ptr @started
  store i64 0, ptr @sleeping
  store i64 0, ptr @left
  store i64 0, ptr @ending
  %mutex.made = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %condition.made = call i32 @pthread_cond_init(ptr @condition, ptr null)
  store atomic i64 0, ptr @busy seq_cst, align 8
  br label %end
end:
  ret void
}}

; Starts threads until there are so many; fewer if the system allows no more. Signals are for Python's threads.
define internal void @start(i64 %wanted) {{
entry:
  %every = alloca [32 x i64]
  %mask = alloca [32 x i64]
  %filled = call i32 @sigfillset(ptr %every)
  %masked = call i32 @pthread_sigmask(i32 {SET_MASK}, ptr %every, ptr %mask)
  br label %next
next:
  %count = load i64, ptr @started
  %more = icmp slt i64 %count, %wanted
  br i1 %more, label %one, label %end
one:
  %handle = getelementptr i64, ptr @handles, i64 %count
  %number = inttoptr i64 %count to ptr
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @live, ptr %number)
  %made = icmp eq i32 %failed, 0
  br i1 %made, label %counted, label %end
counted:
  %grown = add i64 %count, 1
  store i64 %grown, ptr @started
  br label %next
end:
  %unmasked = call i32 @pthread_sigmask(i32 {SET_MASK}, ptr %mask, ptr null)
  ret void
}}

define internal void @wake() {{
entry:
  %sleeping = load atomic i64, ptr @sleeping seq_cst, align 8
  %some = icmp ne i64 %sleeping, 0
  br i1 %some, label %call, label %end
call:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  {MOVE_AWAY}
  %woken = call i32 @pthread_cond_broadcast(ptr @condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %end
end:
  ret void
}}

; Whether threads sleep that this work is not worth waking for. Short kernels that follow each other are, together.
define internal i1 @is_short(i64 %work) {{
entry:
  %sleeping = load atomic i64, ptr @sleeping seq_cst, align 8
  %started = load i64, ptr @started
  %awake = icmp slt i64 %sleeping, %started
  br i1 %awake, label %share, label %count
count:
  %before = atomicrmw add ptr @missed, i64 %work seq_cst
  %missed = add i64 %before, %work
  %wake = load i64, ptr getelementptr (i64, ptr @wengert.limits, i64 2)
  %few = icmp slt i64 %missed, %wake
  br i1 %few, label %alone, label %share
share:
  store atomic i64 0, ptr @missed seq_cst, align 8
  ret i1 false
alone:
  ret i1 true
}}

; Runs a kernel of so much work on all cores.
define void @wengert.parallel(ptr %kernel, ptr %table, i64 %extent, i64 %grain, i64 %work) {{
entry:
  %known = load i64, ptr @wengert.limits
  %least = load i64, ptr getelementptr (i64, ptr @wengert.limits, i64 1)
  %most = sdiv i64 %work, %least
  %useful = call i64 @llvm.smin.i64(i64 %known, i64 %most)
  %few = call i64 @llvm.smin.i64(i64 %useful, i64 {MOST_THREADS})
  %threads = call i64 @llvm.smax.i64(i64 %few, i64 1)
  %grown = add i64 %extent, %threads
  %less = sub i64 %grown, 1
  %share = sdiv i64 %less, %threads
  %up = add i64 %share, %grain
  %up1 = sub i64 %up, 1
  %grains = sdiv i64 %up1, %grain
  %step = mul i64 %grains, %grain
  %far = add i64 %extent, %step
  %far1 = sub i64 %far, 1
  %parts = sdiv i64 %far1, %step
  %several = icmp sgt i64 %parts, 1
  br i1 %several, label %ask, label %alone
ask:
  call void @begin_process()
  %short = call i1 @is_short(i64 %work)
  br i1 %short, label %alone, label %try
try:
  %pair = cmpxchg ptr @busy, i64 0, i64 1 seq_cst seq_cst
  %free = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %free, label %share.work, label %alone
alone:
  call void %kernel(ptr %table, i64 0, i64 %extent)
  ret void
share.work:
  %others = sub i64 %threads, 1
  call void @start(i64 %others)
  %kernel.at = getelementptr {JOB}, ptr @job, i32 0, i32 0
  %table.at = getelementptr {JOB}, ptr @job, i32 0, i32 1
  %step.at = getelementptr {JOB}, ptr @job, i32 0, i32 2
  %extent.at = getelementptr {JOB}, ptr @job, i32 0, i32 3
  store ptr %kernel, ptr %kernel.at
  store ptr %table, ptr %table.at
  store i64 %step, ptr %step.at
  store i64 %extent, ptr %extent.at
  store atomic i64 0, ptr @done seq_cst, align 8
  %old = load atomic i64, ptr @left seq_cst, align 8
  %job.old = or i64 %old, 65535
  %job.new = add i64 %job.old, 1
  %word = or i64 %job.new, %parts
  store atomic i64 %word, ptr @left seq_cst, align 8
  call void @wake()
  call void @work()
  br label %join
join:
  %done = load atomic i64, ptr @done seq_cst, align 8
  %all = icmp eq i64 %done, %parts
  br i1 %all, label %end, label %wait
wait:
  call void @pause()
  %yielded = call i32 @sched_yield()
  br label %join
end:
  store atomic i64 0, ptr @busy seq_cst, align 8
  ret void
}}

; Ends all threads, before a fork, unless they work.
define void @wengert.end_threads() {{
entry:
  call void @begin_process()
  %pair = cmpxchg ptr @busy, i64 0, i64 1 seq_cst seq_cst
  %free = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %free, label %call, label %end
call:
  store atomic i64 1, ptr @ending seq_cst, align 8
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr @condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %next
next:
  %count = load i64, ptr @started
  %more = icmp sgt i64 %count, 0
  br i1 %more, label %one, label %all
one:
  %last = sub i64 %count, 1
  store i64 %last, ptr @started
  %handle.at = getelementptr i64, ptr @handles, i64 %last
  %handle = load i64, ptr %handle.at
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  br label %next
all:
  store atomic i64 0, ptr @ending seq_cst, align 8
  store atomic i64 0, ptr @busy seq_cst, align 8
  br label %end
end:
  ret void
}}
"""


DECLARE_PARALLEL = "declare void @wengert.parallel(ptr, ptr, i64, i64, i64)"


def share_work(code: Code, name: str, table: Lanes, extent: int, grain: int, work: int) -> None:
    """Call a function of (ptr %table, i64 %begin, i64 %end) for parts of a range, on all cores if that is worthwhile.

    Parts are multiples of `grain`; `work` is the number of scalar operations of the whole.
    """
    code.do(f"call void @wengert.parallel(ptr @{name}, {table.typed}, i64 {extent}, i64 {grain}, i64 {work})")


def read_part(code: Code, count: int) -> tuple[list[Lanes], Lanes, Lanes]:
    """So many addresses of the table of a function of a part, and the bounds of the part."""
    table, begin, end = Lanes(code, "%table", PTR), Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
    return [code.load(code.offset(table, i, PTR), PTR) for i in range(count)], begin, end


def update_limits() -> None:
    """Let native code read the present machine record."""
    now = machine.current
    LIMITS.threads = parallel.num_threads()
    LIMITS.operations_per_thread, LIMITS.operations_to_wake = now.min_operations_per_thread, now.min_operations_to_wake
    LIMITS.looks = now.looks_before_sleep


machine.on_change(update_limits)


@cache
def parallel_address() -> int:
    """The address of the function that runs kernels on all cores; loads the pool when first asked."""
    kept = CacheEntry(POOL)
    code = kept.load(read_code)
    if code is None:
        code = object_code(POOL, Level.PLAIN)  # which mostly waits for memory that threads share
        kept.store(code)
    pool = Loaded(code, {"wengert.limits": ctypes.addressof(LIMITS)})
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))  # never unloaded: its threads wait in it
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=ctypes.CFUNCTYPE(None)(pool.address("wengert.end_threads")))
    return pool.address("wengert.parallel")
