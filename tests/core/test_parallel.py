from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

from wengert.core import machine, parallel

LARGE = machine.current.min_elements_shared


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setenv("WENGERT_NUM_THREADS", "2")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("layout", [lambda x: x, np.asfortranarray, lambda x: x[::2], lambda x: x.T])
def test_same_numbers_to_the_last_bit(two_threads, dtype, layout):
    x = layout(np.random.default_rng(0).normal(size=(2 * LARGE // 16 + 3, 17)).astype(dtype))
    np.testing.assert_array_equal(parallel.run_shared(np.sin, x), np.sin(x))
    assert parallel.run_shared(np.sin, x).dtype == np.sin(x).dtype


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
def test_two_operands(two_threads, ufunc):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, LARGE + 5))
    operands = [
        y,
        2.0,
        True,
        np.float32(2),
        np.broadcast_to(3.0, x.shape),
        y.astype(np.float32),
        y[:1],
        np.ones((2, 1)),
        np.arange(x.size),
        y[::-1],
    ]
    for other in operands:
        for pair in ((x, other), (other, x)):
            result, expected = parallel.run_shared(ufunc, *pair), ufunc(*pair)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)


def test_integers_are_promoted(two_threads):
    x = np.arange(LARGE + 1)
    np.testing.assert_array_equal(parallel.run_shared(np.sin, x), np.sin(x))


def test_warnings_and_error_states_are_those_of_the_caller(two_threads):
    x = np.full(LARGE, -1.0)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel.run_shared(np.log, x)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        parallel.run_shared(np.log, x)


def _child(queue):
    x = np.ones(LARGE)
    queue.put(float(parallel.run_shared(np.exp, x)[-1]))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # by JAX, if another test has imported it
def test_survives_a_fork(two_threads):
    parallel.run_shared(np.exp, np.ones(LARGE))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,))
    process.start()
    assert queue.get(timeout=300) == np.exp(1.0)
    process.join()


@pytest.mark.parametrize("asked", ["abc", "0", "-1", "1.5", "1e3", "", "99999999999", "9" * 5000])
def test_an_invalid_number_of_threads_warns_once(monkeypatch, asked):
    monkeypatch.setattr(parallel, "_warned", set())
    monkeypatch.delenv("WENGERT_NUM_THREADS", raising=False)
    cores = parallel.num_threads()
    monkeypatch.setenv("WENGERT_NUM_THREADS", asked)
    with pytest.warns(
        RuntimeWarning,
        match=f"WENGERT_NUM_THREADS is '{asked[:40]}', which is not an integer from 1 to 1024: all cores",
    ):
        assert parallel.num_threads() == cores
    assert parallel.num_threads() == cores


@pytest.mark.parametrize("asked", ["1", "2", " 3 ", "1024"])
def test_numbers_of_threads(monkeypatch, asked):
    monkeypatch.setenv("WENGERT_NUM_THREADS", asked)
    assert parallel.num_threads() == int(asked)


@pytest.mark.parametrize("asked", ["abc", "-1"])
def test_one_message_in_a_whole_program(asked):
    code = """
import numpy as np, wengert as wg
x = np.ones(1 << 19)
assert float(wg.exp(x)[-1]) == np.exp(1.0)
assert float(wg.compile(lambda x: (x * 2).sum())(x)) == 2 << 19
assert float(wg.grad(lambda x: np.exp(x).sum())(x)[0]) == np.exp(1.0)
"""
    environment = os.environ | {"WENGERT_NUM_THREADS": asked}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("WENGERT_NUM_THREADS") == 1 == len(done.stderr.splitlines())


AT_THE_END = """
import atexit, builtins, sys
import numpy as np, wengert as wg

way, is_started = sys.argv[1], sys.argv[2] == "started"
x = wg.tensor(np.ones(1 << 19))
compiled = wg.compile(lambda x: np.exp(x).sum())
compiled(np.ones(1 << 19))
if is_started:
    np.exp(x)

def work():
    assert float(np.exp(x)[-1]) == np.exp(1.0)
    assert float(wg.grad(lambda x: np.exp(x).sum())(np.ones(1 << 19))[0]) == np.exp(1.0)
    assert abs(float(compiled(np.ones(1 << 19))) / np.exp(1.0) - (1 << 19)) < 1.0
    print("done", flush=True)

class AtTheEnd:
    def __del__(self):
        work()

if way == "atexit":
    atexit.register(work)
else:
    last = AtTheEnd()
    if way == "cycle":
        last.itself = last
    if way == "builtins":
        builtins.last = last
"""


@pytest.mark.parametrize("is_started", ["started", "not started"])
@pytest.mark.parametrize("way", ["atexit", "module", "cycle", "builtins"])
def test_large_operations_at_the_end_of_the_interpreter(way, is_started):
    environment = os.environ | {"WENGERT_NUM_THREADS": "2"}
    command = [sys.executable, "-c", AT_THE_END, way, is_started]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_threads_that_cannot_be_started(two_threads, monkeypatch):
    parallel._forget_pool()

    def refuse(self):
        raise RuntimeError("can't start new thread")

    x = np.linspace(0.0, 1.0, LARGE)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    np.testing.assert_array_equal(parallel.run_shared(np.exp, x), np.exp(x))
    parallel._forget_pool()


def test_every_part_is_over_when_an_error_is_raised(two_threads):
    ended = []

    def work(start, stop):
        if start == 0:
            raise KeyboardInterrupt
        threading.Event().wait(0.05)
        ended.append(start)

    with pytest.raises(KeyboardInterrupt):
        parallel.share(work, LARGE)
    assert ended == [LARGE // 2]
