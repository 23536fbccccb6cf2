"""Threads of the pool wake on another core than the caller's, and may use all cores when they are awake."""

import ctypes
import os
import threading
from collections.abc import Iterator

import pytest

from wengert.compiler.machine.target import Loaded
from wengert.compiler.machine.translation import Level, object_code
from wengert.compiler.threads.placement import FALLS_ASLEEP, IS_AWAKE, MOVE_AWAY, PLACEMENT

pytestmark = pytest.mark.skipif(not PLACEMENT or len(os.sched_getaffinity(0)) < 2, reason="needs Linux, and two cores")

POOL = f"""
@started = global i64 1
@handles = global [1 x i64] zeroinitializer
{PLACEMENT}
define void @test.falls_asleep(ptr %number) {{
  {FALLS_ASLEEP}
  ret void
}}
define void @test.is_awake(ptr %number) {{
  {IS_AWAKE}
  ret void
}}
define void @test.move_away() {{
  {MOVE_AWAY}
  ret void
}}
"""


class Sleeper(threading.Thread):
    """The only thread of a pool, which sleeps until it is told to wake."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = Loaded(object_code(POOL, Level.PLAIN), {})
        self.asleep, self.told = threading.Event(), threading.Event()
        self.cores_when_awake: set[int] = set()
        self.core = min(os.sched_getaffinity(0))

    def call(self, name: str, *numbers: int) -> None:
        ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(numbers))(self.pool.address(f"test.{name}"))(*numbers)

    def run(self) -> None:
        everywhere = os.sched_getaffinity(0)
        ctypes.c_int64.from_address(self.pool.address("handles")).value = threading.get_ident()
        os.sched_setaffinity(0, {self.core})
        self.call("falls_asleep", 0)
        os.sched_setaffinity(0, everywhere)
        self.asleep.set()
        self.told.wait()
        self.call("is_awake", 0)
        self.cores_when_awake = os.sched_getaffinity(0)

    @property
    def cores(self) -> set[int]:
        assert self.native_id is not None
        return os.sched_getaffinity(self.native_id)


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    everywhere, thread = os.sched_getaffinity(0), Sleeper()
    thread.start()
    thread.asleep.wait()
    yield thread
    os.sched_setaffinity(0, everywhere)
    thread.told.set()
    thread.join()


def test_a_thread_that_fell_asleep_on_the_core_of_the_caller_wakes_on_another_one(sleeper):
    everywhere = os.sched_getaffinity(0)
    for _ in range(1000):  # the system may move the caller between the lines
        os.sched_setaffinity(0, {sleeper.core})
        os.sched_setaffinity(0, everywhere)
        sleeper.call("move_away")
        if sleeper.cores != everywhere:
            break
    assert sleeper.cores == everywhere - {sleeper.core}
    sleeper.told.set()
    sleeper.join()
    assert sleeper.cores_when_awake == everywhere


def test_a_thread_that_fell_asleep_elsewhere_stays(sleeper):
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, everywhere - {sleeper.core})
    sleeper.call("move_away")
    assert sleeper.cores == everywhere


def test_a_thread_stays_if_the_caller_may_use_one_core_only(sleeper):
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sleeper.core})
    sleeper.call("move_away")
    assert sleeper.cores == everywhere
