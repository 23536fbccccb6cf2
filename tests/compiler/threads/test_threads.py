"""The pool of threads: kernels in a row, callers at once, and forks while it works."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import Loaded
from wengert.compiler.machine.translation import Level, object_code
from wengert.compiler.threads import pool as threads

X = np.linspace(0.1, 3.0, 300_000)


@pytest.fixture
def three_threads(monkeypatch):
    """A function on three threads, whatever the number of cores."""
    monkeypatch.setenv("WENGERT_NUM_THREADS", "3")
    yield wg.compile(lambda x: np.exp(np.sin(x)) * x)
    threads.LIMITS.threads = 1


def test_many_jobs_in_a_row_give_the_same_bits(three_threads):
    expected = np.exp(np.sin(X)) * X
    first = three_threads(X)
    np.testing.assert_allclose(first, expected, rtol=1e-14)
    for _ in range(200):
        assert np.array_equal(three_threads(X), first)


def test_callers_at_once_do_not_wait_for_the_pool(three_threads):
    first, results = three_threads(X), []

    def work() -> None:
        for _ in range(20):
            results.append(np.array_equal(three_threads(X), first))

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert results == [True] * 80


FORK = """
import os, time, numpy as np, wengert as wg
from wengert.compiler.machine import cache
f = wg.compile(lambda x: np.exp(np.sin(x)) * x)
x = np.linspace(0.1, 3.0, 3_000_000)

def count(expected):  # when threads that have ended have left the table of the system
    end = time.monotonic() + 60
    while (found := len(os.listdir("/proc/self/task"))) > expected and time.monotonic() < end:
        time.sleep(0.01)
    return found

first = f(x)
cache.finish_storing()
counts = [count(3)]
pid = os.fork()
if not pid:
    os._exit(0 if count(1) == 1 and np.array_equal(f(x), first) and count(3) == 3 else 1)
counts.append(count(1))
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(counts, status, np.array_equal(f(x), first), count(3))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_threads_end_before_a_fork_and_start_again():
    """In a process of its own, whose other threads are known."""
    environment = os.environ | {"WENGERT_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=300, env=environment)
    assert done.stdout.split("\n")[0] == "[3, 1] 0 True 3", done.stderr


def test_short_kernels_that_follow_each_other_wake_threads(three_threads):
    """Two hundred microseconds of work, in kernels of some ten, are worth threads."""
    short = np.linspace(0.1, 3.0, 20_000)
    f = wg.compile(lambda x: np.sin(x) * x)
    results = [f(short) for _ in range(50)]
    assert all(np.array_equal(out, results[0]) for out in results)
    assert "on all cores" in str(f.report(short))


POOL_OF_ONE = f"""{threads.POOL.replace("@sleeping = internal", "@sleeping =")}
define void @test.start() {{
  call void @begin_process()
  call void @start(i64 1)
  ret void
}}
define void @test.wake() {{
  call void @wake()
  ret void
}}
"""


def test_a_thread_that_is_woken_too_late_looks_for_the_next_job():
    """It has nothing to do, and is awake nevertheless."""
    pool = Loaded(object_code(POOL_OF_ONE, Level.PLAIN), {"wengert.threads": ctypes.addressof(ctypes.c_int64(2))})
    call = lambda name: ctypes.CFUNCTYPE(None)(pool.address(name))()
    sleeping = ctypes.c_int64.from_address(pool.address("sleeping"))

    def wait_for(number: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while sleeping.value != number and time.monotonic() < end:
            pass
        return sleeping.value == number

    call("test.start")
    try:
        assert wait_for(1, 60)
        for _ in range(100):  # this thread may not run while the other one is awake
            call("test.wake")
            if was_awake := wait_for(0, 0.1):
                break
        assert was_awake
        assert wait_for(1, 60)
    finally:
        call("wengert.end_threads")
