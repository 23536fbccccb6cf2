"""Operations that NumPy or the user runs inside a program: operands outlive the call, exceptions are raised once."""

from __future__ import annotations

import contextlib
import gc
import signal
import textwrap
import threading
import weakref

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg
from wengert.core import machine
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec

SMALL = machine.current.max_bytes_of_copied_operand
SIZES = (5, SMALL // 8, SMALL // 8 + 1, 3 * SMALL)
"""Numbers of float64: copied, just so, and lent."""


def operation(impl, spec=lambda x: x):
    """An operation of the user's own, with a result like its operand; tracing does not run it."""
    op = wg.primitive(impl.__name__, impl, lambda t: t, kind="general", spec=spec)
    del TABLE[impl.__name__]  # other tests iterate over the table
    return op


def kept_by(*, view: bool = False):
    """An operation that keeps what it is given, and what it has kept."""
    kept = []

    @operation
    def keep(x):
        kept.append(x[::2] if view else x)
        return x + 1.0

    return keep, kept


def scribble(n: int) -> None:
    """Use the memory that is free, so that what lies in it is seen to change."""
    blocks = [np.full(n, np.nan) for _ in range(20)]
    del blocks


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("view", [False, True])
def test_what_is_kept_keeps_its_numbers(n, view):
    """Of intermediate results, inputs and outputs, in the middle of a program that goes on to use the memory."""
    keep, kept = kept_by(view=view)

    def f(x):
        y = np.sin(x)
        z = keep(y)
        w = np.sort(np.cos(z) * 2.0, kind="quicksort")
        return keep(x) + keep(w) + np.flip(np.sort(w * 3.0, kind="quicksort")), y, z + w

    x = np.linspace(0.0, 1.0, n)
    expected = f(x)
    arrays = [np.array(a) for a in kept]
    compiled = wg.compile(f)
    for _ in range(3):
        kept.clear()
        for out, same in zip(compiled(x.copy()), expected, strict=True):
            np.testing.assert_allclose(out, same, rtol=1e-14)
        scribble(n)
        assert len(kept) == len(arrays)
        assert not any(a.flags.writeable for a in kept)
        found = sorted(float(a.sum()) for a in kept)
        np.testing.assert_allclose(found, sorted(float(a.sum()) for a in arrays), rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_not_kept_is_freed(n):
    """The arena belongs to Python only while somebody has an array on it."""
    from wengert.compiler.entry import upcall

    keep, kept = kept_by()
    compiled = wg.compile(lambda x: np.sort(keep(np.sin(x)) * 2.0, kind="quicksort"))
    x = np.linspace(0.0, 1.0, n)
    compiled(x)
    gc.collect()
    arenas = []
    taken = upcall.Arena.__init__

    def take(self, pointer):
        taken(self, pointer)
        arenas.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(upcall.Arena, "__init__", take)
        kept.clear()
        compiled(x)
    held = [a for a in arenas if a() is not None]
    assert len(held) == (1 if n * 8 > SMALL else 0)
    kept.clear()
    assert all(a() is None for a in arenas)


@pytest.mark.parametrize("n", SIZES)
def test_operands_are_read_only(n):
    """Also where the caller's own array is not."""
    errors = []

    @operation
    def write(x):
        with pytest.raises(ValueError, match="read-only") as caught:
            x[0] = 7.0
        errors.append(caught.value)
        with contextlib.suppress(ValueError):
            x.flags.writeable = True
            errors.append(None)
        return x * 1.0

    x = np.ones(n)
    x.flags.writeable = False
    wg.compile(lambda x: write(x) + write(np.exp(x)))(x)
    assert len(errors) == 2
    np.testing.assert_array_equal(x, 1.0)


def test_constants_are_read_only():
    kept = []

    def both(x, y):
        kept.append(y)
        return x + y

    op = wg.primitive("both", both, lambda t: t, lambda t: t, kind="general", spec=lambda x, y: x)
    del TABLE["both"]
    constant = np.arange(3.0)
    compiled = wg.compile(lambda x: op(x, constant) + op(x * 2.0, np.array([2.0])))
    compiled(np.ones(3))
    assert [a.flags.writeable for a in kept] == [False, False]
    del compiled
    scribble(3)
    assert sorted(float(a.sum()) for a in kept) == [2.0, 3.0]


def test_a_view_of_an_operand_is_a_result():
    behind = operation(lambda x: x[1:], lambda x: Spec((x.shape[0] - 1,), x.dtype))
    x = np.linspace(0.0, 1.0, 3 * SMALL)
    compiled = wg.compile(lambda x: np.sort(behind(np.sin(x)) + behind(x), kind="quicksort"))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), np.sort((np.sin(x) + x)[1:], kind="quicksort"), rtol=1e-14)


def test_locals_of_a_traceback_are_whole():
    """Debuggers show the locals of all frames, after the program has ended."""

    @operation
    def fail(x):
        half = x[::2]
        raise ArithmeticError(f"no solution for {half.size}")

    n = 3 * SMALL
    compiled = wg.compile(lambda x: np.sort(fail(np.full_like(x, 2.0) * x), kind="quicksort"))
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="no solution") as caught:
            compiled(np.full(n, 3.0))
        scribble(n)
        frames = [entry.frame for entry in caught.traceback]
        shown = {
            name: value for frame in frames for name, value in frame.f_locals.items() if isinstance(value, np.ndarray)
        }
        assert set(shown) == {"x", "half"}
        assert all((value == 6.0).all() for value in shown.values())


def test_linalg_error_with_locals_in_another_process():
    """As a debugger does: every local of every frame is written out after the error."""
    code = """
    import numpy as np, wengert as wg
    n = 2600
    a = np.eye(n); a[-1, -1] = -1.0
    f = wg.compile(lambda a: np.linalg.cholesky(a * 1.0).sum())
    for attempt in range(2):
        try:
            f(a)
        except np.linalg.LinAlgError as error:
            trace, total = error.__traceback__, 0.0
        junk = [np.full((n, n), 7.0) for _ in range(3)]
        del junk
        while trace is not None:
            for name, value in list(trace.tb_frame.f_locals.items()):
                repr(value)
                if name == "a" and trace.tb_frame.f_code.co_name == "cholesky":
                    total += value.sum()
            trace = trace.tb_next
        print(total)
    """
    done = run_python(textwrap.dedent(code), check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["2598.0", "2598.0"]), done.stderr


class Stop(BaseException):
    pass


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, Stop, SystemExit, StopIteration])
def test_an_exception_is_raised_once_and_the_program_run_once(kind):
    runs = []

    @operation
    def fail(x):
        runs.append(x.size)
        if x[0] < 0:
            raise kind("negative")
        return x * 2.0

    compiled = wg.compile(lambda x: np.sort(fail(x + 0.0), kind="quicksort"))
    np.testing.assert_array_equal(compiled(np.ones(3)), 2.0 * np.ones(3))
    runs.clear()
    with pytest.raises(kind, match="negative"):
        compiled(-np.ones(3))
    assert runs == [3]
    np.testing.assert_array_equal(compiled(np.ones(3)), 2.0 * np.ones(3))


def test_nested_compiled_calls_run_once_each():
    runs = []

    @operation
    def innermost(x):
        runs.append("run")
        raise RuntimeError("at the bottom")

    f = wg.compile(lambda x: innermost(x) + 1.0)
    for _ in range(8):

        @operation
        def around(x, inner=f):
            return inner(x)

        f = wg.compile(lambda x, around=around: around(x * 2.0) + 1.0, static_argnames="around")
    for _ in range(2):
        runs.clear()
        with pytest.raises(RuntimeError, match="at the bottom"):
            f(np.ones(3))
        assert runs == ["run"]


def test_an_index_out_of_bounds_runs_the_program_once():
    runs = []

    @operation
    def seen(x):
        runs.append(1)
        return x * 1.0

    compiled = wg.compile(lambda x, i: seen(x)[i])
    assert compiled(np.arange(3.0), np.array([1])) == [1.0]
    runs.clear()
    with pytest.raises(IndexError, match=r"out of bounds in a compiled function, at .*test_upcall.py:\d+"):
        compiled(np.arange(3.0), np.array([7]))
    assert runs == [1]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of POSIX")
def test_an_interrupt_is_answered():
    """Ctrl-C during a program of many operations: the exception comes out, wherever it was raised."""
    here, rounds, is_armed = threading.get_ident(), [], False

    @operation
    def slow(x):
        rounds.append(1)
        if is_armed and len(rounds) == 20:
            signal.pthread_kill(here, signal.SIGINT)
        return x + 1.0

    def f(x):
        for _ in range(200):
            x = slow(x * 0.5)
        return x

    compiled = wg.compile(f)
    compiled(np.ones(3))
    is_armed = True
    for _ in range(5):
        rounds.clear()
        with pytest.raises(KeyboardInterrupt):
            compiled(np.ones(3))
        assert 20 <= len(rounds) <= 21


def test_recursion_through_python_is_bounded_by_python():
    @operation
    def again(x):
        return compiled(x - 1.0) if x[0] > 0 else x

    compiled = wg.compile(lambda x: again(x + 0.0) * 1.0)
    np.testing.assert_array_equal(compiled(np.full(4, 40.0)), np.zeros(4))
    with pytest.raises(RecursionError):
        compiled(np.full(4, 1e9))


def test_programs_leave_no_classes_for_the_garbage_collector():
    def run():
        wg.compile(lambda x: np.sort(np.sin(x), kind="quicksort") + 1.0)(np.arange(float(2 * SMALL)))

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert [x for x in gc.garbage if isinstance(x, type)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
