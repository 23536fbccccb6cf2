"""Memory of a compiled training step: it writes into tensors that nothing else uses, and keeps nothing."""

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from tests.compiler.call.training_model import Model, X, Y, assert_same

import wengert as wg
from wengert.modes.tape import TapeNode
from wengert.modes.trace import Trace


def test_a_program_writes_into_the_memory_of_its_tensors():
    model = Model()
    step = wg.compile(model.step)
    step(X, Y)
    step(X, Y)
    tensors = [*model.parameters, *model.moments, model.count, *[p.grad for p in model.parameters]]
    before = [t.value.ctypes.data for t in tensors]
    versions = [t._version for t in (*model.parameters, *model.moments)]
    del tensors
    for _ in range(3):
        step(X, Y)
    tensors = [*model.parameters, *model.moments, model.count, *[p.grad for p in model.parameters]]
    assert [t.value.ctypes.data for t in tensors] == before
    assert [t._version for t in (*model.parameters, *model.moments)] == [n + 3 for n in versions]


def test_a_gradient_that_the_user_keeps_does_not_change():
    model = Model("never")
    step = wg.compile(model.step)
    step(X, Y)
    kept, numbers = model.w.grad, model.w.grad.numpy().copy()
    step(X, Y)
    np.testing.assert_array_equal(kept, numbers)
    assert not np.array_equal(model.w.grad, numbers)


def test_parameters_that_others_hold_do_not_change():
    model = Model()
    step = wg.compile(model.step)
    step(X, Y)
    kept = [p.numpy() for p in (model.w.detach(), model.moments[0])]
    numbers = [x.copy() for x in kept]
    saved = model.loss(X, Y)  # a history that needs the present parameters
    step(X, Y)
    for x, y in zip(kept, numbers, strict=True):
        np.testing.assert_array_equal(x, y)
    fresh = Model()
    fresh.step(X, Y)
    fresh.zero_grad()
    fresh.loss(X, Y).backward()
    model.zero_grad()
    saved.backward()
    np.testing.assert_allclose(model.w.grad, fresh.w.grad, rtol=1e-13)


@pytest.mark.parametrize("zero", ["start", "end", "never"])
def test_memory_does_not_grow(zero):
    model = Model(zero)
    step = wg.compile(model.step)
    for _ in range(10):
        step(X, Y)
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        for _ in range(100):
            step(X, Y)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            step(X, Y)
        assert tracemalloc.get_traced_memory()[0] - before < 1000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_threads_train_models_of_their_own_with_one_function():
    results = {}

    def train(name):
        model = Model()
        step = wg.compile(model.step)
        for _ in range(20):
            step(X, Y)
        results[name] = model.state()

    threads = [threading.Thread(target=train, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in (1, 2):
        assert_same(results[0], results[i])


def test_threads_that_share_a_step_do_not_corrupt_its_state():
    model = Model()
    step = wg.compile(model.step)
    step(X, Y)

    def train():
        for _ in range(50):
            step(X, Y)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.isfinite(x).all() for x in model.state()[0])
    assert 50 < model.count.item() <= 201


def test_arrays_have_the_dtype_objects_of_numpy():
    for _ in range(2):  # the second program comes from disk
        model = Model("never")
        step = wg.compile(model.step)
        for _ in range(3):
            loss = step(X, Y)
        for t in (*model.parameters, *model.moments, model.w.grad, loss):
            assert t.dtype is np.dtype(float)


def test_a_trace_with_a_tape_leaves_nothing_behind():
    count = lambda: sum(isinstance(x, Trace | TapeNode) for x in gc.get_objects())
    model = Model()
    gc.collect()
    before = count()
    gc.disable()
    try:
        step = wg.compile(model.step)
        step(X, Y)
        step(X, Y)
        assert count() == before
        kept = weakref.ref(step)
        del step
        assert kept() is None
    finally:
        gc.enable()
