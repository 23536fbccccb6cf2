"""Kernels on all cores: each thread runs a part of the outermost loop.

Threads are started for a kernel and end with it, which takes some ten microseconds, so only large kernels use them. So
a process can fork at any time, and two threads of the user do not wait for each other.
"""

PARALLEL = """\
@wengert.threads = external global i64
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define internal ptr @wengert.start(ptr %context) {
  %kernel.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 0
  %table.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 1
  %begin.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 2
  %end.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 3
  %kernel = load ptr, ptr %kernel.at
  %table = load ptr, ptr %table.at
  %begin = load i64, ptr %begin.at
  %end = load i64, ptr %end.at
  call void %kernel(ptr %table, i64 %begin, i64 %end)
  ret ptr null
}

define internal void @wengert.parallel(ptr %kernel, ptr %table, i64 %extent, i64 %grain) noinline {
entry:
  %handles = alloca [64 x i64]
  %contexts = alloca [64 x { ptr, ptr, i64, i64 }]
  %known = load i64, ptr @wengert.threads
  %few = call i64 @llvm.smin.i64(i64 %known, i64 64)
  %threads = call i64 @llvm.smax.i64(i64 %few, i64 1)
  %grown = add i64 %extent, %threads
  %less = sub i64 %grown, 1
  %share = sdiv i64 %less, %threads
  %up = add i64 %share, %grain
  %up1 = sub i64 %up, 1
  %grains = sdiv i64 %up1, %grain
  %step = mul i64 %grains, %grain
  br label %starting
starting:
  %t = phi i64 [ 1, %entry ], [ %t.next, %started ]
  %b = mul i64 %t, %step
  %more.threads = icmp slt i64 %t, %threads
  %more.work = icmp slt i64 %b, %extent
  %more = and i1 %more.threads, %more.work
  br i1 %more, label %start, label %own
start:
  %e.far = add i64 %b, %step
  %e = call i64 @llvm.smin.i64(i64 %e.far, i64 %extent)
  %context = getelementptr { ptr, ptr, i64, i64 }, ptr %contexts, i64 %t
  %kernel.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 0
  %table.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 1
  %begin.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 2
  %end.at = getelementptr { ptr, ptr, i64, i64 }, ptr %context, i32 0, i32 3
  store ptr %kernel, ptr %kernel.at
  store ptr %table, ptr %table.at
  store i64 %b, ptr %begin.at
  store i64 %e, ptr %end.at
  %handle = getelementptr i64, ptr %handles, i64 %t
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @wengert.start, ptr %context)
  %alone = icmp ne i32 %failed, 0
  br i1 %alone, label %itself, label %started
itself:
  store i64 0, ptr %handle
  call void %kernel(ptr %table, i64 %b, i64 %e)
  br label %started
started:
  %t.next = add i64 %t, 1
  br label %starting
own:
  %own.end = call i64 @llvm.smin.i64(i64 %step, i64 %extent)
  call void %kernel(ptr %table, i64 0, i64 %own.end)
  br label %joining
joining:
  %j = phi i64 [ 1, %own ], [ %j.next, %joined ]
  %joins = icmp slt i64 %j, %t
  br i1 %joins, label %join, label %done
join:
  %handle.j = getelementptr i64, ptr %handles, i64 %j
  %thread = load i64, ptr %handle.j
  %was = icmp ne i64 %thread, 0
  br i1 %was, label %wait, label %joined
wait:
  call i32 @pthread_join(i64 %thread, ptr null)
  br label %joined
joined:
  %j.next = add i64 %j, 1
  br label %joining
done:
  ret void
}
"""
"""The function that runs a kernel. If a thread cannot be started, the caller runs its part."""

NEEDED_BY_PARALLEL = {f"@llvm.{name}.i64": f"declare i64 @llvm.{name}.i64(i64, i64)" for name in ("smin", "smax")}
"""The declarations for `PARALLEL`."""
