"""Signals one after the other: each is contiguous, or copied to memory where it is.

A real signal of odd length, or one whose whole spectrum is asked for, is made complex first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier import half
from wengert.compiler.routines.fourier.chirp import Chirp
from wengert.compiler.routines.fourier.line import Line
from wengert.compiler.routines.fourier.numbers import Pair, load_neighbours, store_neighbours
from wengert.compiler.routines.fourier.plan import is_smooth, signal_cost
from wengert.compiler.routines.fourier.task import STEP_PARAMETERS, Step, Task, run_step, step_arguments
from wengert.compiler.simd.lanes import I64, PTR, Code, Lanes, Type


class Signals(NamedTuple):
    """Transforms of any length, of one signal at a time."""

    task: Task

    @property
    def transform(self) -> Line | Chirp:
        """The transform of a complex signal."""
        task = self.task
        make = Line if is_smooth(task.length) else Chirp
        has_factor = not (task.is_halved and task.is_real_source)
        return make(task.length, task.kind, task.is_inverse, task.factor if has_factor else 1.0)

    @property
    def copies(self) -> tuple[int, int, int, int]:
        """The numbers of the copies of a signal that is not contiguous, of its complex form, and of both results."""
        task, is_apart = self.task, self.task.inner > 1
        is_made = task.is_real_target or (task.is_real_source and not task.is_halved)
        is_cut = (task.is_half and task.is_real_source) or (task.is_real_target and not task.is_halved)
        sizes = task.read * is_apart, task.length * is_made, task.length * is_cut, task.written * is_apart
        return tuple(-(-size // 8) * 8 for size in sizes)  # type: ignore[return-value]  # four

    @property
    def step(self) -> Step:
        """All signals."""
        memory = sum(self.copies) + self.transform.memory
        return Step(f"{self.task.name}.signals", self.task.outer * self.task.inner, -(-memory // 8) * 8)

    @property
    def is_split(self) -> bool:
        """Whether parts of one signal can run on all cores: there is only one."""
        transform = self.transform
        return self.step.extent == 1 and isinstance(transform, Line) and transform.split is not None

    @property
    def cost(self) -> float:
        """The cost of all signals."""
        task = self.task
        copied = sum(self.copies[::3]) + sum(self.copies[1:3]) * (1 if task.is_halved else 4)
        return self.step.extent * (signal_cost(task.length, task.kind) + 4 * copied)

    @property
    def memory(self) -> int:
        """The numbers that it needs besides source and target."""
        if not self.is_split:
            return self.step.all_memory
        assert isinstance(self.transform, Line)
        return sum(self.copies) + self.transform.between + max(s.all_memory for s in self.transform.steps)

    def write(self, call: RoutineCall, source: Lanes, target: Lanes, memory: Lanes, is_large: bool) -> None:
        """Run all transforms."""
        if self.is_split and is_large:
            SignalWriter(self, call, call.code, True).write(source, target, memory)
            return
        call.define(self.step.name, STEP_PARAMETERS, partial(self.write_signals, call))
        run_step(call, self.step, self.task.kind, [source, target, memory], is_large)

    def write_signals(self, call: RoutineCall, code: Code) -> None:
        """The loop over signals."""
        task = self.task
        source, target, scratch, begin, end = step_arguments(code)
        with code.loop(begin, end) as i:
            places = [i * task.read, i * task.written]
            if task.inner > 1:
                outer, inner = [code.add(f"{op} {i.typed}, {task.inner}", I64) for op in ("sdiv", "srem")]
                places = [outer * (size * task.inner) + inner for size in (task.read, task.written)]
            own = [
                task.offset(base, place, is_real)
                for base, place, is_real in zip(
                    (source, target), places, (task.is_real_source, task.is_real_target), strict=True
                )
            ]
            SignalWriter(self, call, code, False).write(*own, scratch)


class SignalWriter:
    """Writes the transform of one signal."""

    def __init__(self, signals: Signals, call: RoutineCall, code: Code, is_large: bool):
        self.signals, self.task, self.call, self.code, self.is_large = signals, signals.task, call, code, is_large
        self.element = Type(signals.task.kind)

    def write(self, source: Lanes, target: Lanes, memory: Lanes) -> None:
        """Copies, and the transform between them."""
        task, signals, code = self.task, self.signals, self.code
        places = []
        for size in signals.copies:
            places.append(memory if size else None)
            memory = code.offset(memory, 2 * size, self.element)
        copied, made, cut, apart = places
        if copied is not None:
            self.copy(task.read, source, task.inner, copied, 1, task.is_real_source)
            source = copied
        if made is not None:
            self.make_complex(source, made)
            source = made
        result = apart if apart is not None else target
        self.run_transform(source, cut if cut is not None else result, memory)
        if cut is not None:
            self.cut_result(cut, result)
        if apart is not None:
            self.copy(task.written, apart, 1, target, task.inner, task.is_real_target)

    def run_transform(self, source: Lanes, target: Lanes, memory: Lanes) -> None:
        """The transform of complex numbers."""
        transform = self.signals.transform
        if not self.is_large:
            self.call_function(transform.define(self.call), source, target, memory)
            return
        assert isinstance(transform, Line)
        scratch = self.code.offset(memory, 2 * transform.between, self.element)
        first, second = transform.define_steps(self.call)
        run_step(self.call, first, self.task.kind, [source, memory, scratch], True)
        run_step(self.call, second, self.task.kind, [memory, target, scratch], True)

    def call_function(self, name: str, *arguments: Lanes) -> None:
        """Call a function of the module."""
        self.code.do(f"call void @{name}({', '.join(a.typed for a in arguments)})")

    def copy(self, count: int, source: Lanes, step: int, target: Lanes, target_step: int, is_real: bool) -> None:
        """Copy numbers from one distance to another."""
        code, task, parts = self.code, self.task, 1 if is_real else 2
        with code.loop(0, count) as i:
            read, write = task.offset(source, i * step, is_real), task.offset(target, i * target_step, is_real)
            for part in range(parts):
                value = code.load(code.offset(read, part, self.element), self.element)
                code.store(value, code.offset(write, part, self.element))

    def halve(self, source: Lanes, target: Lanes, factor: float | None) -> None:
        """Between the spectra of a real signal, and of the complex one of its pairs."""
        name, vectors = half.define_for_line(self.call, self.task.length, self.task.kind, factor)
        if self.is_large and vectors:
            nothing = Lanes(self.code, "null", PTR)
            run_step(self.call, Step(name, vectors, 0), self.task.kind, [source, target, nothing], True)
            return
        bounds = [self.code.constant(i, I64) for i in (0, vectors)]
        self.call_function(name, source, target, Lanes(self.code, "null", PTR), *bounds)

    def make_complex(self, source: Lanes, target: Lanes) -> None:
        """The complex signal, of a real one, or the spectrum of which half is given."""
        task, code, element = self.task, self.code, self.element
        if task.is_halved:
            self.halve(source, target, None)
            return
        zero = code.constant(0.0, element)
        write = lambda value, i: store_neighbours(value, task.offset(target, i, False))
        if task.is_real_source:
            with code.loop(0, task.n) as i:
                write(Pair(code.load(task.offset(source, i, True), element), zero), i)
            return
        write(Pair(code.load(source, element), zero), code.constant(0, I64))
        with code.loop(1, task.read) as k:
            value = load_neighbours(task.offset(source, k, False), element)
            write(value, k)
            write(Pair(value.re, -value.im), task.n - k)

    def cut_result(self, source: Lanes, target: Lanes) -> None:
        """What is asked for: half of a spectrum, or the real parts of a signal."""
        task, code, element = self.task, self.code, self.element
        if task.is_halved:
            self.halve(source, target, task.factor)
            return
        parts: Callable = lambda value: value if not task.is_real_target else value[:1]
        with code.loop(0, task.written) as i:
            value = load_neighbours(task.offset(source, i, False), element)
            at = task.offset(target, i, task.is_real_target)
            for number, part in enumerate(parts(value)):
                code.store(part, code.offset(at, number, element))
