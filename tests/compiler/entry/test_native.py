"""Compiled functions on disk, in other processes, in threads, after forks, and when they are deleted."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.entry import native
from wengert.compiler.machine import cache, sources
from wengert.compiler.machine.translation import object_code

X = np.linspace(0.5, 2.0, 7)
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_stored", {})
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    """The programs in a cache, which also has the hash of the sources."""
    cache.finish_storing()
    return sorted([path for path in folder.glob("*.wengert") if path.stem != sources.stored_key()])


def in_new_process(code: str, **environment: str):
    """What a new interpreter prints as JSON, last."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=os.environ | environment
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.strip().splitlines()[-1])


PROGRAM = """
import json, numpy as np, wengert as wg
x = np.linspace(0.5, 2.0, 7)
f = wg.compile(wg.value_and_grad(lambda x: (np.tanh(x) * np.sort(x, kind="quicksort")[::-1]).sum() + np.argmax(x)))
value, gradient = f(x)
print(json.dumps([f.report(x).is_warm, float(value), gradient.tolist()]))
"""


def test_a_second_process_loads_what_the_first_compiled(folder):
    cold, *first = in_new_process(PROGRAM, PYTHONHASHSEED="1")
    files = {path: path.read_bytes() for path in entries(folder)}
    assert files
    warm, *second = in_new_process(PROGRAM, PYTHONHASHSEED="2")
    assert (cold, warm) == (False, True)
    assert first == second
    assert {path: path.read_bytes() for path in entries(folder)} == files


@pytest.mark.parametrize("damage", ["shortened", "changed", "emptied"])
def test_a_damaged_entry_is_compiled_again(folder, damage):
    x = X.copy()
    make = lambda: wg.compile(lambda x: np.sin(x) * 3.0 + x)
    make()(x)
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    middle = len(whole) // 2
    spoiled = {"shortened": whole[:middle], "changed": whole[:middle] + b"??" + whole[middle + 2 :], "emptied": b""}[
        damage
    ]
    entry.write_bytes(spoiled)
    f = make()
    np.testing.assert_allclose(f(x), np.sin(x) * 3.0 + x, rtol=1e-15)
    assert not f.report(x).is_warm
    again = make()
    np.testing.assert_allclose(again(x), np.sin(x) * 3.0 + x, rtol=1e-15)
    assert again.report(x).is_warm


def test_what_differs_does_not_collide(folder):
    table = np.arange(7.0)
    programs = [
        (lambda x: x * 2.0, X),
        (lambda x: x * 3.0, X),
        (lambda x: x * -0.0, X),
        (lambda x: x * 0.0, X),
        (lambda x: x + 2.0, X),
        (lambda x: x * table, X),
        (lambda x: x * (table + 1.0), X),
        (lambda x: x * table.astype(np.float32), X),
        (lambda x: x * 2.0, X.astype(np.float32)),
        (lambda x: x * 2.0, np.arange(7)),
        (lambda x: x * 2.0, np.arange(7, dtype=np.int32)),
        (lambda x: x * 2.0, 2),
        (lambda x: x * 2.0, 2.0),
        (lambda x: x * 2.0, np.float64(2.0)),
        (lambda x: x * 2.0, np.float32(2.0)),
        (lambda x: x * 2, X.reshape(1, 7)),
        (lambda x: x[::2], X),
        (lambda x: x[1::2], X),
        (lambda x: x.sum(axis=0), X.reshape(7, 1)),
        (lambda x: x.sum(axis=1), X.reshape(7, 1)),
        (lambda x: (x, x + 1.0), X),
        (lambda x: [x, x + 2.0], X),
        (lambda x: (x + 1.0, x), X),
    ]
    for expected in (False, True):
        warm = []
        for f, x in programs:
            compiled = wg.compile(f)
            got, want = compiled(x), f(x)
            warm.append(compiled.report(x).is_warm)
            for a, b in zip(*[y if isinstance(y, tuple | list) else (y,) for y in (got, want)], strict=True):
                a, b = np.asarray(a), np.asarray(b)
                assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())
        assert warm == [expected] * len(programs)


def test_static_values_are_different_programs(folder):
    f = wg.compile(lambda x, n: sum([x] * n), static_argnums=1)
    for n in (1, 2, 3):
        assert np.array_equal(f(X, n), n * X)
    assert len(entries(folder)) == 3


def test_the_cache_can_be_off(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        f = wg.compile(lambda x: x - 5.0)
        assert np.array_equal(f(X), X - 5.0)
        assert not f.report(X).is_warm
    assert not list(tmp_path.iterdir())
    assert cache.info().folder is None


OWN = """
import json, numpy as np, wengert as wg
own = wg.primitive("own", lambda x: x * FACTOR, lambda t: t * FACTOR, kind="linear")
f = wg.compile(lambda x: own(x) + 1.0)
print(json.dumps([f.report(np.ones(2)).is_warm, f(np.ones(2)).tolist()]))
"""


def test_operations_of_the_users_own_are_not_stored(folder):
    for factor in (2.0, 3.0):
        assert in_new_process(OWN.replace("FACTOR", str(factor))) == [False, [factor + 1.0] * 2]
    assert not entries(folder)


def test_all_operations_of_the_package_are_known_as_such():
    code = """
import json, wengert as wg
from wengert.core.primitive import TABLE
table = dict(TABLE)
own = wg.primitive("own", lambda x: x, lambda t: t, kind="linear")
from wengert.compiler.entry.native import own_operations
print(json.dumps([[name for name, p in table.items() if p not in own_operations()], own.primitive in own_operations()]))
"""
    assert in_new_process(code) == [[], False]


def test_threads_do_not_change_results():
    code = """
import json, numpy as np, wengert as wg
from wengert.compiler.threads import pool as threads
x = np.linspace(0.1, 3.0, 300_001)
f = wg.compile(lambda x: (np.sin(x), (np.exp(-x) * x).sum()))
a, b = f(x)
print(json.dumps([threads.LIMITS.threads, float(a.sum()), float(b)]))
"""
    results = [in_new_process(code, WENGERT_NUM_THREADS=n) for n in ("1", "2", "3")]
    assert [r[0] for r in results] == [1, 2, 3]
    assert results[0][1:] == results[1][1:] == results[2][1:]


# Pickling


@wg.compile
def decorated(x):
    return np.sin(x) * 2.0


def plain(x, n):
    return x**n


called = wg.compile(plain, static_argnums=1)


class Holder:
    @wg.compile
    def method(self, x):
        return x + 1.0


def test_pickling():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(Holder.method)) is Holder.method
    assert pickle.loads(pickle.dumps(called)) is not None
    again = pickle.loads(pickle.dumps(wg.compile(plain, static_argnames="n")))
    assert np.array_equal(again(X, 3), X**3)
    assert np.array_equal(again(X, n=2), X**2)
    x = wg.symbol("x", 7)
    function = pickle.loads(pickle.dumps(wg.function([x], [np.sin(x), x * 2.0])))
    assert np.array_equal(function(X)[1], 2 * X)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(wg.compile(lambda x: x))


def apply(f, *args):
    return f(*args)


def test_a_spawned_process():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        got = pool.submit(apply, decorated, X).result(), pool.submit(apply, called, X, 2).result()
    np.testing.assert_array_equal(got[0], decorated(X))
    np.testing.assert_array_equal(got[1], called(X, 2))


MAIN = """
import pickle, subprocess, sys
import cloudpickle, numpy as np
import wengert as wg

SCALE = 3.0

@wg.compile
def scaled(x):
    return np.sin(x) * SCALE

@wg.compile
def product(x):
    return x[:1] * product(x[1:])[:1] if len(x) > 1 else x

class Model:
    @wg.compile
    def loss(self, x):
        return (x * SCALE).sum()

slope = wg.compile(wg.grad(lambda x: scaled(x).sum()))
assert pickle.loads(pickle.dumps(scaled)) is scaled
data = cloudpickle.dumps((scaled, slope, product, scaled))
code = "import sys, pickle, numpy as np; f, g, h, again = pickle.load(sys.stdin.buffer); x = np.ones(3);"
code += "right = [np.allclose(f(x), 3.0 * np.sin(x)), np.allclose(g(x), 3.0 * np.cos(x))];"
code += "print([*right, h(2.0 * x).tolist(), f is again])"
done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
assert done.returncode == 0, done.stderr.decode()
print(done.stdout.decode().replace("True", "true"))
"""


def test_functions_of_main_go_by_cloudpickle_into_another_process():
    pytest.importorskip("cloudpickle")
    assert in_new_process(MAIN) == [True, True, [8.0], True]


# Forks and threads


def forked(work) -> None:
    """Run in a child and expect it to end well, soon."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_after_a_fork():
    large = np.linspace(0.0, 1.0, 400_000)
    f = wg.compile(lambda x: np.exp(x) * 2.0 + x)
    before = f(X), f(large)

    def work():
        assert np.array_equal(f(X), before[0])  # compiled before
        assert np.array_equal(f(large), before[1])  # on all cores
        g = wg.compile(lambda x: np.exp(x) * 3.0 + np.sort(x, kind="quicksort"))
        np.testing.assert_allclose(g(X), np.exp(X) * 3.0 + X, rtol=1e-15)  # compiled in the child
        np.testing.assert_allclose(wg.grad(lambda x: f(x).sum())(X), np.exp(X) * 2.0 + 1.0, rtol=1e-15)

    forked(work)
    assert np.array_equal(f(X), before[0])


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_compiles():
    stop = threading.Event()
    decorated(X)

    def compiling():
        k = 0.0
        while not stop.is_set():
            k += 1.0
            wg.compile(lambda x, k=k: np.sin(x) * k)(X)

    thread = threading.Thread(target=compiling)
    thread.start()
    try:
        for k in range(5):
            forked(lambda k=k: np.testing.assert_array_equal(wg.compile(lambda x: x * k)(X), X * k))
    finally:
        stop.set()
        thread.join()


def test_threads_that_call_and_compile_at_once(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    shared = wg.compile(lambda x, n: np.sort(np.sin(x) * n, kind="quicksort"))
    start = threading.Barrier(8)
    wrong = []

    def work(number):
        try:
            start.wait()
            for k in range(12):
                x = np.linspace(0.0, 1.0, 3 + (number + k) % 4)
                np.testing.assert_allclose(shared(x, 2.0), np.sin(x) * 2.0, rtol=1e-14)
                own = wg.compile(lambda x, k=k: np.exp(x) * (number + k))
                np.testing.assert_allclose(own(x), np.exp(x) * (number + k), rtol=1e-14)
                np.testing.assert_allclose(wg.grad(lambda x: shared(x, 3.0).sum())(x), np.cos(x) * 3.0, rtol=1e-14)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    assert len(shared.known) == 4


def test_errors_in_one_thread_are_not_seen_in_another():
    f = wg.compile(lambda x, i: np.sort(x, kind="quicksort")[i])
    x = np.arange(5.0)
    f(x, 1)
    wrong = []

    def work(bad):
        for _ in range(300):
            try:
                if f(x, 9 if bad else 2) != 2.0:
                    wrong.append("value")
            except IndexError:
                if not bad:
                    wrong.append("error")

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Memory


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_many_compilations_do_not_leak():
    """In a fresh process: one that has run other tests has memory in pieces, and takes more of it at any time."""
    script = """
import gc, os
from pathlib import Path
import numpy as np
import wengert as wg

def compile_some(n, first):
    for k in range(n):
        scope = {}
        exec(f"def f(x):\\n    y = x * {first + k}.5\\n    return y + {k}.25", scope)  # a code object of its own
        assert wg.compile(scope["f"])(np.float64(3.0)) == 3.0 * (first + k + 0.5) + k + 0.25
    gc.collect()

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

compile_some(300, 0)  # caches are full then
before = resident()
compile_some(300, 1000)
print((resident() - before) / 300)
"""
    environment = os.environ | {"WENGERT_CACHE_DIR": "off"}
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert float(found.stdout) < 6_000, found.stdout


def test_the_entry_is_translated_for_the_second_call_once_for_a_signature(monkeypatch):
    translated = []
    monkeypatch.setattr(native, "object_code", lambda *module: translated.append(module) or object_code(*module))
    monkeypatch.setenv("WENGERT_CACHE_DIR", "off")
    native.entry_code.cache_clear()
    x = np.linspace(0.0, 1.0, 13)
    for f in (np.sin, np.cos):
        compiled = wg.compile(f)
        for call in range(3):
            np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14)
            assert len(translated) == (0 if f is np.sin and call == 0 else 1)


@pytest.mark.parametrize("is_on", [True, False])
def test_the_garbage_collector_is_as_before_after_a_compilation(is_on, monkeypatch):
    during = []
    prepare = native.prepare

    def watch(*args):
        during.append(gc.isenabled())
        if len(args[0].operations) > 2:
            raise KeyboardInterrupt
        return prepare(*args)

    monkeypatch.setattr(native, "prepare", watch)
    (gc.enable if is_on else gc.disable)()
    try:
        wg.compile(lambda x: x * (2.5 + is_on))(3.0)
        assert gc.isenabled() is is_on
        with pytest.raises(KeyboardInterrupt):
            wg.compile(lambda x: x * 2.5 + np.sin(x) * 0.75)(3.0)
        assert gc.isenabled() is is_on
    finally:
        gc.enable()
    assert during == [False, False]
