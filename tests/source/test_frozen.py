"""Random numbers, clocks and files in functions that are traced: a warning names the line."""

from __future__ import annotations

import datetime
import inspect
import io
import os
import pathlib
import random
import secrets
import threading
import time
import uuid
import warnings

import numpy as np
import pytest
import scipy.stats

import wengert as wg

CAPTURED = np.random.default_rng(0)
LEGACY = np.random.RandomState(0)
PYTHON = random.Random(0)


def read_file(x):
    with open(__file__) as file:
        return x * len(file.read())


def draw_unseeded(x):
    rng = np.random.default_rng()
    return x * rng.normal()


def draw_in_branch(x):
    if x > 0:
        return x * np.random.normal()
    return x


def draw_in_loop(x):
    for _ in range(20):
        x = x * random.random()
    return x


def helper():
    return CAPTURED.normal()


class Noisy(wg.nn.Module):
    def forward(self, x):
        return x * np.random.normal()


FROZEN = {
    "numpy.random.normal": lambda x: x * np.random.normal(),
    "random.random": lambda x: x * random.random(),
    "random.uniform": lambda x: x * random.uniform(0.0, 1.0),
    "time.time": lambda x: x * time.time(),
    "time.perf_counter_ns": lambda x: x * time.perf_counter_ns(),
    "datetime.now": lambda x: x * datetime.datetime.now().second,
    "date.today": lambda x: x * datetime.date.today().day,
    "open": read_file,
    "input": lambda x: x * float(input()),
    "os.urandom": lambda x: x * os.urandom(1)[0],
    "uuid.uuid4": lambda x: x * uuid.uuid4().int,
    "secrets.randbelow": lambda x: x * secrets.randbelow(3),
    "SystemRandom.choice": lambda x: x * secrets.choice([1, 2]),
    "Generator.normal": lambda x: x * CAPTURED.normal(),
    "RandomState.rand": lambda x: x * LEGACY.rand(),
    "Random.gauss": lambda x: x * PYTHON.gauss(0.0, 1.0),
    "numpy.random.default_rng": draw_unseeded,
    "norm_gen.rvs": lambda x: x * scipy.stats.norm.rvs(),
    "Path.read_text": lambda x: x * len(pathlib.Path(__file__).read_text()),
    "normal in a branch": draw_in_branch,
    "random in a loop": draw_in_loop,
    "normal in a comprehension": lambda x: sum([x * CAPTURED.normal() for _ in range(3)]),
    "normal by map": lambda x: sum(map(lambda k: x * k * np.random.normal(), range(3))),  # noqa: C417  # the call by map is tested
    "normal in a function that is called": lambda x: x * helper(),
    "normal in a step": lambda x: wg.fori_loop(0, 3, lambda k, s: s * np.random.normal(), x),
    "normal in a scan": lambda x: wg.scan(lambda s, k: (s * CAPTURED.normal(), None), x, np.arange(3.0))[0],
    "normal in a checkpoint": wg.checkpoint(lambda x: x * np.random.normal()),
    "normal in a layer": Noisy(),
}


def frozen_lines(trace):
    """The warnings of a trace, which name lines of this file."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        trace()
    assert all(w.category is wg.FrozenValueWarning and w.filename == __file__ for w in found)
    assert all(f"test_frozen.py:{w.lineno}: it runs once" in str(w.message) for w in found)
    return [str(w.message) for w in found]


@pytest.mark.parametrize("name", FROZEN)
def test_calls_that_a_trace_freezes(name, monkeypatch):
    f = FROZEN[name]
    if name == "input":
        monkeypatch.setattr("sys.stdin", io.StringIO())
        with pytest.warns(wg.FrozenValueWarning, match="input is called"), pytest.raises(EOFError):
            wg.compile(f)(2.0)
        return
    for trace in (
        lambda: wg.trace(f, 2.0),
        lambda: wg.compile(f)(2.0),
        lambda: wg.compile(wg.grad(lambda x: f(x) * 1.0))(2.0),
        lambda: wg.grad(wg.compile(f))(2.0),
    ):
        (message,) = frozen_lines(trace)
        wanted = name if " in " not in name and " by " not in name else name.split()[0]
        assert wanted in message
        assert "wg.random.counter_rng" in message or "pass its result as an argument" in message
    assert not frozen_lines(lambda: wg.grad(lambda x: f(x) * 1.0)(2.0))  # eager


def test_the_warning_names_the_line():
    (message,) = frozen_lines(lambda: wg.compile(draw_unseeded)(1.0))
    assert f":{inspect.getsourcelines(draw_unseeded)[1] + 1}: " in message


def seeded(x):
    new, legacy, python = np.random.default_rng(3), np.random.RandomState(3), random.Random(3)
    other = np.random.Generator(np.random.PCG64(3))
    return x * other.normal() * new.normal() * legacy.rand() * python.random() * new.spawn(1)[0].normal()


def logs(x):
    with open(os.devnull, "w") as file:
        print("a line", file=file)
    time.sleep(0.0)
    return x


@pytest.mark.parametrize(
    "f",
    [
        seeded,
        logs,
        lambda x: x * scipy.stats.norm.rvs(random_state=3),
        lambda x: (CAPTURED.bit_generator, LEGACY.get_state(), x)[2],
        lambda x: x * datetime.timedelta(1).days * uuid.UUID(int=3).int,
    ],
)
def test_calls_that_are_the_same_in_every_call(f):
    assert not frozen_lines(lambda: wg.compile(f)(2.0))
    np.testing.assert_allclose(wg.compile(f)(2.0), f(2.0), rtol=1e-14)


def test_a_generator_made_from_a_captured_one_is_like_that_one():
    f = lambda x: x * np.random.Generator(CAPTURED.bit_generator).normal()
    assert len(frozen_lines(lambda: wg.compile(f)(2.0))) == 1


def test_the_warning_can_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.FrozenValueWarning)
        with pytest.raises(wg.FrozenValueWarning, match=r"test_frozen\.py"):
            wg.compile(lambda x: x * time.time())(2.0)


def test_a_second_trace_warns_again_and_a_second_call_does_not():
    f = wg.compile(lambda x: x.sum() * np.random.normal())
    assert len(frozen_lines(lambda: f(np.ones(2)))) == 1
    assert not frozen_lines(lambda: f(np.ones(2)))
    assert len(frozen_lines(lambda: f(np.ones(3)))) == 1


def test_draws_of_other_threads_are_no_concern():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            np.random.normal()
            random.random()

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        assert not frozen_lines(lambda: wg.compile(lambda x: np.sin(x) * seeded(x))(2.0))
    finally:
        stop.set()
        thread.join()


def test_lambdas_in_a_table_of_several_lines():
    table = {
        "first": lambda x: x * 2.0 if x > 0 else x, "second": lambda x: x * 3.0 if x > 0 else x,
        "third": lambda x: x * 4.0 if x > 0 else x,
    }  # fmt: skip
    assert [wg.compile(f)(1.0) for f in table.values()] == [2.0, 3.0, 4.0]
