"""Signals one after the other: each is contiguous, or copied to memory where it is.

A real signal of odd length is made complex first.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier.chirp import Chirp
from wengert.compiler.routines.fourier.half import Half
from wengert.compiler.routines.fourier.line import Line
from wengert.compiler.routines.fourier.numbers import (
    for_vectors,
    load_neighbours,
    load_reals,
    store_neighbours,
    store_reals,
)
from wengert.compiler.routines.fourier.plan import has_small_factors, signal_cost
from wengert.compiler.routines.fourier.task import STEP_PARAMETERS, Pass, Task, is_shared, run_step, step_arguments
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Code, Lanes, split_index
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine


class Signals(NamedTuple):
    """Transforms of any length, of one signal at a time."""

    task: Task

    @property
    def transform(self) -> Line | Chirp:
        """The transform of a complex signal."""
        task = self.task
        make = Line if has_small_factors(task.length) else Chirp
        if task.is_halved:
            return make(task.length, task.kind, False, 1.0)
        return make(task.length, task.kind, task.is_inverse, task.factor)

    @property
    def copies(self) -> tuple[int, int, int, int]:
        """The numbers of the copies of a signal that is not contiguous, of its complex form, and of both results."""
        task, is_apart = self.task, self.task.inner > 1
        is_made = task.is_real_target or (task.is_real_source and not task.is_halved)
        is_cut = task.is_real_source or (task.is_real_target and not task.is_halved)
        sizes = task.read * is_apart, task.length * is_made, task.length * is_cut, task.written * is_apart
        return tuple(-(-size // 8) * 8 for size in sizes)  # type: ignore[return-value]  # four

    @property
    def step(self) -> Pass:
        """All signals."""
        memory = sum(self.copies) + self.transform.memory
        count = self.task.outer * self.task.inner
        return Pass(f"{self.task.name}.signals", count, -(-memory // 8) * 8, count * self.signal_cost)

    @property
    def is_split(self) -> bool:
        """Whether parts of one signal can run on all cores: there is only one."""
        transform = self.transform
        return self.step.extent == 1 and isinstance(transform, Line) and transform.split is not None

    @property
    def signal_cost(self) -> float:
        """The cost of one signal."""
        copied, made, cut, apart = self.copies
        copying = machine.current.instructions_of_apart_copy * (copied + apart) + made + cut
        return signal_cost(self.task.length, self.task.kind) + copying

    @property
    def cost(self) -> float:
        """The cost of all signals."""
        return self.step.cost

    @property
    def memory(self) -> int:
        """The numbers that it needs besides source and target."""
        if not is_shared(self.cost):
            return self.step.memory
        if not self.is_split:
            return self.step.all_memory
        assert isinstance(self.transform, Line)
        return sum(self.copies) + self.transform.between + max(s.all_memory for s in self.transform.steps)

    def write(self, call: RoutineCall, source: Lanes, target: Lanes, memory: Lanes, is_large: bool) -> None:
        """Run all transforms."""
        if self.is_split and is_large:
            SignalWriter(self, call, call.code, True).write(source, target, memory)
            return
        call.define(self.step.name, STEP_PARAMETERS, partial(self.write_signals, call), FEW_PASSES)
        run_step(call, self.step, self.task.kind, [source, target, memory], is_large)

    def write_signals(self, call: RoutineCall, code: Code) -> None:
        """The loop over signals."""
        task = self.task
        source, target, scratch, begin, end = step_arguments(code)
        with code.loop(begin, end) as i:
            places = [i * task.read, i * task.written]
            if task.inner > 1:
                outer, inner = split_index(i, task.inner)
                places = [outer * (size * task.inner) + inner for size in (task.read, task.written)]
            read = task.offset(source, places[0], task.is_real_source)
            written = task.offset(target, places[1], task.is_real_target)
            SignalWriter(self, call, code, False).write(read, written, scratch)


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

    def halve(self, source: Lanes, target: Lanes) -> None:
        """Between the spectra of a real signal, and of the complex one of its pairs."""
        task = self.task
        step = Half(task.length, task.kind, task.is_inverse, task.factor).define(self.call)
        pointers = [source, target, Lanes(self.code, "null", PTR)]
        if self.is_large:
            run_step(self.call, step, task.kind, pointers, True)
        else:
            bounds = [self.code.constant(i, I64) for i in (0, step.extent)]
            self.call_function(step.name, *pointers, *bounds)

    def make_complex(self, source: Lanes, target: Lanes) -> None:
        """The complex signal, of a real one, or the spectrum of which half is given."""
        task, code, element = self.task, self.code, self.element
        if task.is_halved:
            self.halve(source, target)
            return
        if task.is_real_source:
            for_vectors(code, task.n, task.kind, lambda i, type: self.widen(source, target, i, type))
            return
        zero = code.constant(0.0, element)
        write = lambda value, i: store_neighbours(value, task.offset(target, i, False))
        write(Complex(code.load(source, element), zero), code.constant(0, I64))
        with code.loop(1, task.read) as k:
            value = load_neighbours(task.offset(source, k, False), element)
            write(value, k)
            write(value.conj(), task.n - k)

    def widen(self, source: Lanes, target: Lanes, i: Lanes, type: Type) -> None:
        """Real numbers as complex ones."""
        value = load_reals(self.task.offset(source, i, True), type)
        store_neighbours(Complex(value, value.like(0.0)), self.task.offset(target, i, False))

    def cut_result(self, source: Lanes, target: Lanes) -> None:
        """What is asked for: half of a spectrum, or the real parts of a signal."""
        task, code = self.task, self.code
        if task.is_halved:
            self.halve(source, target)
        elif task.is_real_target:
            real = lambda i, type: load_neighbours(task.offset(source, i, False), type).real
            write = lambda i, type: store_reals(real(i, type), task.offset(target, i, True))
            for_vectors(code, task.written, task.kind, write)
        else:
            code.copy(target, source, task.written * task.number_bytes)
