"""Recording is switched in a context: tasks, generators and threads do not switch each other off, and leave their
blocks in any order.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import threading

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    saved_tensors_hooks,
    set_grad_enabled,
)
from wengert.modes import recording


@pytest.fixture(autouse=True)
def _state_is_restored():
    assert recording.active == 0
    yield
    gc.collect()  # contexts of finished tasks
    assert recording.is_recording()
    assert recording.active == 0


def recorded() -> bool:
    assert (wg.tensor(1.0, requires_grad=True) * 2.0).requires_grad == is_grad_enabled()
    return is_grad_enabled()


def blocks(make, steps=2):
    """A generator that is suspended inside a block."""
    with make():
        for _ in range(steps):
            yield recorded()
    yield recorded()


@pytest.mark.parametrize("make", [no_grad, inference_mode])
@pytest.mark.parametrize("order", ["abab", "abba", "aabb", "abbbaa", "aaabbb"])
def test_generators_that_take_turns(make, order):
    generators = {"a": blocks(make), "b": blocks(make)}
    found = {"a": [], "b": []}
    for name in order:
        found[name].append(next(generators[name]))
        assert recorded()
    for name, generator in generators.items():
        found[name] += generator
    assert found == {"a": [False, False, True], "b": [False, False, True]}
    assert recorded()


def test_a_suspended_block_does_not_act_on_others():
    def plain():
        while True:
            yield recorded()

    off, on = blocks(no_grad), plain()
    assert next(off) is False
    assert next(on) is True
    with no_grad():
        assert next(on) is False
        assert next(off) is False
        assert next(off) is False
    assert recorded()
    assert next(on) is True


def test_a_block_that_switches_on_is_suspended_too():
    with no_grad():
        generator = blocks(enable_grad)
        assert next(generator) is True
        assert not recorded()
        assert list(generator) == [True, False]
    assert recorded()


def test_what_a_generator_calls_is_inside_its_block():
    def inner():
        yield recorded()
        yield from blocks(enable_grad, 1)

    def outer():
        with no_grad():
            yield from inner()
            yield (lambda: recorded())()

    assert list(outer()) == [False, True, False, False]


def test_one_object_for_several_generators():
    shared = no_grad()
    first, second = blocks(lambda: shared), blocks(lambda: shared)
    assert [next(first), next(second), next(first), next(second)] == [False] * 4
    assert next(first) is True
    with pytest.raises(StopIteration):
        next(first)
    assert recorded()
    assert list(second) == [True]
    assert shared.blocks == []


@pytest.mark.parametrize("end", [lambda g: g.close(), lambda g: None])
def test_a_generator_that_is_given_up(end):
    generator = blocks(no_grad)
    next(generator)
    assert recording.active == 1
    end(generator)
    del generator
    assert recording.active == 0


def test_a_generator_closed_in_another_thread():
    generator = blocks(no_grad)
    next(generator)
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join()
    assert recorded()
    with no_grad():  # which puts what is left in order
        assert not recorded()


def test_context_managers_made_of_generators_act_on_their_body():
    @contextlib.contextmanager
    def evaluation():
        with no_grad():
            yield

    with evaluation():
        assert not recorded()
        with enable_grad():
            assert recorded()
    assert recorded()

    def suspended():
        with evaluation():
            yield recorded()

    generator = suspended()
    assert next(generator) is False
    assert recorded()
    generator.close()

    with contextlib.ExitStack() as stack:
        stack.enter_context(no_grad())
        stack.enter_context(evaluation())
        assert not recorded()
    assert recorded()


@pytest.fixture
def without_gradients():
    with no_grad():
        yield


def test_fixtures_act_on_their_test(without_gradients):
    assert not recorded()


def test_tasks():
    async def task(make, log, name):
        with make():
            log.append((name, recorded()))
            await asyncio.sleep(0)
            log.append((name, recorded()))
        await asyncio.sleep(0)
        log.append((name, recorded()))

    async def main():
        log = []
        await asyncio.gather(
            task(no_grad, log, "a"), task(contextlib.nullcontext, log, "b"), task(inference_mode, log, "c")
        )
        assert recorded()
        return log

    log = asyncio.run(main())
    assert [r for name, r in log if name == "a"] == [False, False, True]
    assert [r for name, r in log if name == "b"] == [True, True, True]
    assert [r for name, r in log if name == "c"] == [False, False, True]


def test_a_task_inherits_what_was_switched_when_it_was_made():
    async def child(started, released):
        started.set()
        await released.wait()
        return recorded()

    async def main():
        started, released = asyncio.Event(), asyncio.Event()
        with no_grad():
            task = asyncio.create_task(child(started, released))
            await started.wait()
        assert recorded()
        released.set()
        return await task

    assert asyncio.run(main()) is False


def test_for_good_in_one_task_only():
    async def off():
        set_grad_enabled(False)
        await asyncio.sleep(0)
        return recorded()

    async def on():
        await asyncio.sleep(0)
        return recorded()

    async def main():
        return await asyncio.gather(off(), on())

    assert asyncio.run(main()) == [False, True]


def test_asynchronous_generators():
    async def produce():
        with no_grad():
            yield recorded()
            await asyncio.sleep(0)
            yield recorded()

    @contextlib.asynccontextmanager
    async def evaluation():
        with no_grad():
            yield

    async def main():
        found = []
        async for inside in produce():
            found.append((inside, recorded()))
        async with evaluation():
            found.append(recorded())
        return found

    assert asyncio.run(main()) == [(False, True), (False, True), False]


def test_a_copied_context():
    with no_grad():
        copied = contextvars.copy_context()
    assert recorded()
    assert copied.run(recorded) is False
    assert contextvars.copy_context().run(recorded) is True
    del copied


def test_blocks_left_in_the_wrong_order():
    outer, inner = no_grad(), inference_mode()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert not recorded()
    inner.__exit__(None, None, None)
    assert recorded()


def test_what_was_set_for_good_inside_a_block_ends_with_it():
    with enable_grad():
        set_grad_enabled(False)
        assert not recorded()
    assert recorded()
    set_grad_enabled(False)
    with set_grad_enabled(True):
        assert recorded()
    assert not recorded()
    set_grad_enabled(True)


def test_hooks_and_anomalies_are_of_the_context_too():
    packed = []

    def generate():
        with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t), detect_anomaly():
            yield
            x = wg.tensor([1.0], requires_grad=True)
            yield (x * x).sum()

    generator = generate()
    next(generator)
    x = wg.tensor([2.0], requires_grad=True)
    y = (x * x).sum()
    assert packed == []
    assert not recording.current().check_nan
    next(generator)
    assert len(packed) == 2
    y.backward()
    np.testing.assert_array_equal(x.grad, [4.0])
    generator.close()
