"""Python in native loops: operations of NumPy, exceptions, interrupts and threads."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.compiler.program.evaluated_graphs import assert_same, total

import wengert as wg
from wengert.core.definition import Definition
from wengert.core.primitive import Primitive

rng = np.random.default_rng(14)
LINE = rng.uniform(0.1, 1.0, 9)


def by_numpy(a, x):
    """A body with operations that have no native code, in branches and in a loop within it."""

    def body(x, k):
        x = np.sort(np.sin(x) * a, kind="quicksort")
        x = wg.cond(x[0] > 0.1, lambda x: np.sinc(x) * 0.3, lambda x: x, x)
        x = wg.fori_loop(0, 2, lambda j, x: np.nextafter(x, 9.0) * (j + k), x)
        return x, np.sort(x, kind="quicksort")[::-1]

    return wg.scan(body, x, np.linspace(0.5, 1.0, 4))


def test_numpy_in_bodies():
    f = wg.compile(by_numpy)
    assert_same(f(0.7, LINE), wg.trace(by_numpy, 0.7, LINE).evaluate(0.7, LINE))
    report = f.report(0.7, LINE)
    assert any("loop of 4" in step for step in report.steps)
    assert {"sinc", "nextafter"} <= set(report.fallbacks)
    large = rng.uniform(0.1, 0.5, 20_000)  # operands that are not small are copied, too: Python may keep them
    assert_same(f(0.7, large), wg.trace(by_numpy, 0.7, large).evaluate(0.7, large))


def test_gradient_of_numpy_in_bodies():
    g = wg.value_and_grad(lambda a, x: total(by_numpy(a, x)), (0, 1))
    assert_same(wg.compile(g)(0.7, LINE), wg.trace(g, 0.7, LINE).evaluate(0.7, LINE))


def test_numpy_in_a_condition():
    f = lambda x: wg.while_loop(lambda x: np.nextafter(x, 99.0)[-1] < 30.0, lambda x: x * 1.5, x)
    assert_same(wg.compile(f)(LINE), wg.trace(f, LINE).evaluate(LINE))


class Refused(Exception):
    """Raised by an operation of these tests."""


def refuse(x):
    calls.append(1)
    if x > 3.0:
        raise Refused(f"{x}")
    return np.sin(x)


calls: list[int] = []
refusing = Primitive(
    Definition(name="refusing", impl=refuse, kind="elementwise", inputs=("x",), rules=(lambda t, x: t * np.cos(x),))
).op


def test_exceptions_in_bodies():
    """An exception ends all loops around it at once, and the program can be called again."""

    def f(x):
        step = lambda i, x: wg.fori_loop(0, 3, lambda j, x: refusing(x) + x + 1.0, x)
        return wg.fori_loop(0, 1_000, step, x)

    compiled = wg.compile(f)
    for _ in range(2):  # the first time, shapes are inferred by a call
        calls.clear()
        with pytest.raises(Refused, match=r"4\.13"):
            compiled(1.0)
    assert len(calls) == 3
    assert wg.compile(lambda x: wg.fori_loop(0, 2, lambda i, x: refusing(x), x))(0.5) == np.sin(np.sin(0.5))


def test_index_out_of_bounds_in_a_body():
    """Reading and writing; what a loop kept until then is freed."""
    for f in (
        lambda x, n: wg.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0))[1],
        lambda x, n: wg.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1].at[s[0]].set(1.0)), (0, x))[1].sum(),
    ):
        for g in (wg.compile(f), wg.compile(wg.grad(f))):
            g(LINE, 9)
            with pytest.raises(IndexError):
                g(LINE, 1_000_000)
            g(LINE, 9)


INTERRUPTED = {
    "small steps": "lambda x: wg.while_loop(lambda s: s[0] > -1.0, lambda s: np.sin(s) + 0.5, x)[0]",
    "steps that are kept": "wg.grad(lambda x: wg.while_loop(lambda s: s[0] > -1.0, lambda s: np.sin(s), x)[0])",
    "known length": "lambda x: wg.scan(lambda s, _: (np.sin(s) + 0.5, None), x, length=10**12)[0]",
    "loops in a loop": "lambda x: wg.while_loop(lambda s: s[0] > -1.0, lambda s: wg.fori_loop(0, 50, lambda i, s: "
    "np.sin(s), s), x)",
    "loops of known length around": "lambda x: wg.fori_loop(0, 10**9, lambda i, s: wg.while_loop(lambda t: t > -1.0, "
    "lambda t: np.sin(t) + 0.5, s), x[0])",
    "on all cores": "lambda x: wg.while_loop(lambda s: s[0] > -1.0, lambda s: np.sin(np.exp(np.cos(s))), "
    "np.broadcast_to(x[0], (400_000,)))",
    "by NumPy": "lambda x: wg.while_loop(lambda s: s[0] > -1.0, lambda s: np.sinc(s) * 0.5, x)[0]",
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_interrupt(name):
    """Ctrl-C ends a native loop, whichever way it is called, while other threads run."""
    script = f"""
        import os, signal, threading, time
        import numpy as np
        import wengert as wg

        def interrupt():
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
        f = wg.compile({INTERRUPTED[name]})
        for x in (np.ones(3), np.ones(6)[::2]):
            try:
                threading.Thread(target=interrupt).start()
                while True:
                    f(x)
            except KeyboardInterrupt:
                print("interrupted")
        """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.stdout.split() == ["interrupted", "interrupted"], found.stderr


def test_loop_in_another_thread():
    """The main thread goes on while a loop without an end runs in another one."""
    script = """
        import os, threading, time
        import wengert as wg

        f = wg.compile(lambda x: wg.while_loop(lambda s: s > -1.0, lambda s: s * 0.5, x))
        threading.Thread(target=f, args=(1.0,), daemon=True).start()
        for _ in range(5):
            time.sleep(0.05)
        print("done", flush=True)
        os._exit(0)
        """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.stdout.split() == ["done"], found.stderr
