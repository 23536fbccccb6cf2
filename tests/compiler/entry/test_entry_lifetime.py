"""Native entries over time: references, memory, threads, forks and other processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from tests.compiler.entry.entry_programs import copies, identity_entry, load_entry, needs_support

from wengert.compiler.entry import entry
from wengert.compiler.entry.ctypes_call import Caller
from wengert.compiler.entry.entry import callable_from
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine.translation import object_code
from wengert.core.spec import Spec

X = np.arange(6.0).reshape(2, 3)


@needs_support
def test_references_and_memory():
    resource = pytest.importorskip("resource")
    y, scale = np.arange(500.0), 3.25
    result = (Spec((2, 3), X.dtype), (Spec((500,), X.dtype), (Spec((), X.dtype),), Spec((), np.dtype(np.bool))), ())
    f = identity_entry([X, y, scale, np.True_], result)
    stopped = identity_entry([X, y, scale, np.True_], result, status=1)
    watched = [
        X,
        y,
        scale,
        np.True_,
        None,
        NotImplemented,
        X.dtype,
        np.dtype(np.bool),
        np.ndarray,
        np.float64,
        (),
        f,
        stopped,
    ]

    def loop(times):
        for _ in range(times):
            f(X, y, scale, np.True_)
            f(X, y, scale)
            f(y, X, scale, np.True_)
            stopped(X, y, scale, np.True_)

    loop(20_000)
    gc.collect()
    counts, peak = [sys.getrefcount(value) for value in watched], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loop(250_000)
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert max(abs(sys.getrefcount(value) - count) for value, count in zip(watched, counts, strict=True)) < 20
    assert growth * (1 if sys.platform == "darwin" else 1024) < 4_000_000


@needs_support
def test_results_belong_to_the_caller():
    f = identity_entry([X])
    (kept,) = f(X)
    assert sys.getrefcount(kept) == 2
    kept[...] = 7.0
    (other,) = f(X)
    np.testing.assert_array_equal(other, X)
    assert gc.is_tracked(f(X))


@needs_support
def test_code_lives_as_long_as_the_function():
    signature = EntrySignature([Argument.of(X)], Spec.of(X))
    loaded = load_entry(copies([Spec.of(X)]), signature)
    code = weakref.ref(loaded)
    f = callable_from(loaded, signature, "squares")
    del loaded
    gc.collect()
    assert code() is not None
    assert f.__name__ == "squares"
    np.testing.assert_array_equal(f(X), X)
    del f
    assert code() is None


@needs_support
@pytest.mark.parametrize("release_gil", [False, True])
def test_threads(release_gil):
    f = identity_entry([X, 1.0], release_gil=release_gil)
    wrong = []

    def work(number):
        x = np.full((2, 3), float(number))
        for i in range(20_000):
            out, scale = f(x, number + i / 7)
            if not (np.array_equal(out, x) if i % 50 == 0 else out[1, 2] == number) or scale != number + i / 7:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


WAIT = """
define i32 @wengert.run(ptr %inputs, ptr %outputs) {
entry:
  %mine = load ptr, ptr %inputs
  store volatile i64 1, ptr %mine
  %other.at = getelementptr ptr, ptr %inputs, i64 1
  %other = load ptr, ptr %other.at
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %next = add i64 %i, 1
  %seen = load volatile i64, ptr %other
  %here = icmp eq i64 %seen, 1
  %late = icmp ugt i64 %next, 20000000000
  %done = or i1 %here, %late
  br i1 %done, label %end, label %again
end:
  %status = select i1 %here, i32 0, i32 1
  ret i32 %status
}
"""


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_support), False])
def test_two_runs_at_once(native):
    """Each run waits until the other has begun, which ends only if neither holds the GIL."""
    a, b = np.zeros(1, np.int64), np.zeros(1, np.int64)
    signature = EntrySignature([Argument.of(a), Argument.of(b)], ())
    loaded = load_entry(WAIT, signature, release_gil=True)
    f = (
        callable_from(loaded, signature)
        if native
        else lambda *args: Caller(loaded, [Spec.of(a)] * 2, [], release_gil=True)(args)
    )
    results = []
    threads = [
        threading.Thread(target=lambda args=args: results.append(f(*args)), daemon=True) for args in ((a, b), (b, a))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == ([(), ()] if native else [(0, []), (0, [])])


@needs_support
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork():
    """In a fresh process, because one with threads should not fork."""
    code = """
import os, numpy as np
from tests.compiler.entry.entry_programs import identity_entry
x = np.arange(6.0).reshape(2, 3)
f = identity_entry([x, 1.0], release_gil=True)
child = os.fork()
out, scale = f(x, 2.0)
good = np.array_equal(out, x) and scale == 2.0 and f(1) is NotImplemented
good = good and np.array_equal(identity_entry([x])(x)[0], x)
if child == 0:
    os._exit(0 if good else 1)
assert good and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=Path(__file__).parents[3])


@needs_support
def test_code_from_another_process():
    """Addresses are not in the code: what one process compiled, another loads."""
    run = copies([Spec.of(X)])
    code = object_code(entry.write_entry(EntrySignature([Argument.of(X)], (Spec.of(X),))) + run)
    script = """
import sys, numpy as np
from wengert.compiler.entry import entry
from wengert.compiler.machine import python_objects
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine import target
from wengert.core.spec import Spec
x = np.arange(6.0).reshape(2, 3) + 1
signature = EntrySignature([Argument.of(x)], (Spec.of(x),))
loaded = target.Loaded(sys.stdin.buffer.read(), python_objects.python_addresses())
f = entry.callable_from(loaded, signature)
assert np.array_equal(f(x)[0], x) and f(1) is NotImplemented
"""
    subprocess.run([sys.executable, "-c", script], input=code, check=True, timeout=120)


@needs_support
def test_garbage_frees_functions_before_their_definitions():
    """The collector clears the owner first here; memory that is freed is overwritten, by settings of glibc."""
    script = """
import gc
import numpy as np
from tests.compiler.entry.entry_programs import copies, load_entry
from wengert.compiler.entry.entry import callable_from
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.core.spec import Spec

class Program:
    pass

x = np.ones(3)
signature = EntrySignature([Argument.of(x)], (Spec.of(x),))
loaded = load_entry(copies([Spec.of(x)]), signature)

def forget():
    run = callable_from(loaded, signature, error=lambda status: program)
    program, other = Program(), Program()
    program.run, program.other, other.program = run, other, program

for _ in range(20):
    forget()
    gc.collect()
"""
    overwriting = {
        "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "2", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
    }  # fmt: skip
    command = [sys.executable, "-X", "faulthandler", "-c", script]
    subprocess.run(command, check=True, timeout=120, cwd=Path(__file__).parents[3], env=os.environ | overwriting)
