"""The parts of a soak."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import select
import signal
import sys
import threading
import time
from argparse import Namespace
from itertools import count
from typing import Any

import numpy as np

import wengert as wg
from tools.fuzz.work import work
from tools.soak.models import CompiledNetwork, GraphNetwork, Perceptron, bits, programs
from tools.soak.part import Part
from wengert.compiler.entry.native import NativeProgram
from wengert.core import machine

CALLERS = 8
SECONDS_OF_CHILD = 60


class Fuzz(Part):
    """Random programs in every mode."""

    unit = "programs"
    slack_bytes = 200 << 20
    bytes_per_item = 200_000.0
    kind: str | None = None
    seed = 35

    def __init__(self) -> None:
        self.numbers = count(time.time_ns() // 10**9 % 10**6 * 1000)

    def step(self) -> str | None:
        chosen = Namespace(kind=self.kind, seed=self.seed, without="", state=False)
        chosen.only, chosen.no_shrink = None, True
        *_, program, differences = work((next(self.numbers), chosen))
        return f"{program.script(differences[0].check)}\n{differences[0].message}" if differences else None


class FuzzMachines(Fuzz):
    """Random programs on shrunken machines."""

    kind = "machines"


class FuzzSchedules(Fuzz):
    """Random programs with random decisions about their loops."""

    kind = "schedules"


class FuzzLarge(Fuzz):
    """Random programs with large arrays."""

    kind = "large"
    slack_bytes = 600 << 20


class Compilations(Part):
    """Functions that are compiled, called and dropped."""

    unit = "compilations"
    bytes_per_item = 2_000.0

    def __init__(self) -> None:
        self.numbers = count(1)
        self.kept: int | None = None

    def step(self) -> str | None:
        k = next(self.numbers)
        x, indices = np.linspace(0.1, 1.0, 2 + k % 61), np.arange(k % 37 + 1) % (2 + k % 61)
        f = wg.value_and_grad(lambda x: np.sum(np.tanh(x * (1.0 + 1.0 / k))[indices] ** 2))
        value, slope = f(x)
        found, gradient = wg.compile(f, effort="fast")(x)
        if not (np.allclose(found, value, rtol=1e-12) and np.allclose(gradient, slope, rtol=1e-11, atol=1e-12)):
            return f"compilation {k}: {found} instead of {value}"
        return self.count_programs() if k % 500 == 0 else None

    def count_programs(self) -> str | None:
        """Programs that nothing uses are freed."""
        gc.collect()
        alive = sum(type(x) is NativeProgram for x in gc.get_objects())
        self.kept = alive if self.kept is None else self.kept
        return f"{alive} programs are alive, after the first 500 {self.kept}" if alive > self.kept + 50 else None


class Training(Part):
    """Warm training steps: the same steps from the same parameters have the same bits."""

    unit = "training steps"
    items_per_step = 3 * Perceptron.steps
    bytes_per_item = 20.0

    def __init__(self) -> None:
        self.models = [Perceptron(), GraphNetwork(), CompiledNetwork()]
        for model in self.models:  # until counters of warm code have decided
            for _ in range(10):
                model.train()
        self.expected = [model.train() for model in self.models]

    def step(self) -> str | None:
        for model, expected in zip(self.models, self.expected, strict=True):
            if model.train() != expected:
                return f"{type(model).__name__}: other bits after the same steps"
        return None


class Results:
    """The programs, compiled with two threads, and the bits of their results."""

    def __init__(self) -> None:
        self.programs = programs()
        self.compiled = [wg.compile(f) for f, _ in self.programs]
        with machine.using(threads=2):
            self.expected = self.compute()

    def compute(self) -> list[bytes]:
        return [bits(g(*args)) for g, (_, args) in zip(self.compiled, self.programs, strict=True)]

    def eager(self, k: int) -> bytes:
        f, args = self.programs[k]
        return bits(f(*args))


class Threads(Part):
    """Threads of Python that call, compile and differentiate at once."""

    unit = "rounds of 8 threads"
    bytes_per_item = 20_000.0

    def __init__(self) -> None:
        self.results = Results()
        numbers = range(len(self.results.programs))
        with machine.using(threads=2):
            for _ in range(200):  # until counters of warm code have decided
                self.eager = [self.results.eager(k) for k in numbers]

    def step(self) -> str | None:
        wrong: list[str] = []
        start = threading.Barrier(CALLERS)

        def call(number: int) -> None:
            try:
                start.wait()
                k = number % len(self.eager)
                f, args = self.results.programs[k]
                for _ in range(4):
                    if self.results.compute() != self.results.expected:
                        wrong.append("a compiled function has other bits on a thread")
                    if self.results.eager(k) != self.eager[k]:
                        wrong.append(f"program {k} has other bits on a thread, eagerly")
                if bits(wg.compile(f, effort="fast")(*args)) != self.results.expected[k]:
                    wrong.append(f"program {k} compiled on a thread has other bits")
            except BaseException as error:
                wrong.append(f"a thread: {error!r}")

        with machine.using(threads=2):
            callers = [threading.Thread(target=call, args=(k,)) for k in range(CALLERS)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
        return "; ".join(sorted(set(wrong))) or None


def compute_in_child(connection: Any) -> None:
    """The results of another process."""
    connection.send(Results().expected)


class Forks(Part):
    """Children that compute the same bits, and end."""

    unit = "children"

    def __init__(self) -> None:
        self.results, self.numbers = Results(), count()

    def step(self) -> str | None:
        with machine.using(threads=2):
            if self.results.compute() != self.results.expected:
                return "other bits in the parent"
            number = next(self.numbers)
            if number % 10 < 8:
                return self.fork()
        return self.start_process("fork" if number % 10 == 8 else "spawn")

    def fork(self) -> str | None:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                same = self.results.compute() == self.results.expected
                same = same and Results().expected == self.results.expected
                os.write(writer, b"y" if same else b"n")
            finally:
                os._exit(0)
        os.close(writer)
        answered = select.select([reader], [], [], SECONDS_OF_CHILD)[0]
        answer = os.read(reader, 1) if answered else b""
        os.close(reader)
        if not answered:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {b"y": None, b"n": "other bits in a child"}.get(answer, "a child hangs or ends without an answer")

    def start_process(self, method: str) -> str | None:
        context = multiprocessing.get_context(method)
        reader, writer = context.Pipe(False)
        child = context.Process(target=compute_in_child, args=(writer,))
        child.start()
        writer.close()
        try:
            if not reader.poll(SECONDS_OF_CHILD):
                return f"a process by {method} hangs"
            return None if reader.recv() == self.results.expected else f"other bits in a process by {method}"
        except EOFError:
            return f"a process by {method} ended with status {child.exitcode}"
        finally:
            child.join(SECONDS_OF_CHILD if not child.exitcode else 0)
            if child.is_alive():
                child.kill()


class Interrupts(Part):
    """KeyboardInterrupt at random moments: raised once, and everything can be used after it."""

    unit = "interrupts"
    bytes_per_item = 3_000.0

    def __init__(self) -> None:
        self.results, self.model = Results(), CompiledNetwork()
        self.model.train()
        self.trained = self.model.train()
        self.random = random.Random(7)
        self.calls = 0
        self.in_destructors = 0
        signal.signal(signal.SIGALRM, self.interrupt)
        sys.unraisablehook = self.note_destructor

    def interrupt(self, *_: Any) -> None:
        self.calls += 1
        raise KeyboardInterrupt

    def note_destructor(self, unraisable: Any) -> None:
        """Python drops what is raised while it frees an object."""
        self.in_destructors += unraisable.exc_type is KeyboardInterrupt

    def work(self) -> None:
        """Something that takes longer than the timer waits."""
        kind, end = self.random.randrange(4), time.monotonic() + 0.3
        while time.monotonic() < end:
            k = self.random.randrange(len(self.results.programs))
            if kind == 0:
                self.results.compute()
            elif kind == 1:
                self.results.eager(k)
            elif kind == 2:
                f, args = self.results.programs[k]
                wg.compile(f, effort="fast")(*args)
            else:
                self.model.step()

    def step(self) -> str | None:
        self.calls = self.in_destructors = raised = 0
        with machine.using(threads=2):
            try:
                signal.setitimer(signal.ITIMER_REAL, self.random.uniform(1e-4, 0.05))
                self.work()
            except KeyboardInterrupt:
                raised = 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if self.calls != raised + self.in_destructors:
                return f"{self.calls} interrupts, {raised} raised, {self.in_destructors} while an object was freed"
            if self.results.compute() != self.results.expected:
                return "other bits after an interrupt"
        return None if self.model.train() == self.trained else "other bits of training after an interrupt"


PARTS = [Fuzz, FuzzMachines, FuzzSchedules, FuzzLarge, Compilations, Training, Threads, Forks, Interrupts]
