"""Real signals of even length n, as complex ones of length h = n / 2: even numbers are real parts, odd ones imaginary.

Of the transform Z of that signal, frequency k of the real one is E + w^k O, with the transforms of the even and of the
odd numbers, E = (Z[k] + conj(Z[h - k])) / 2 and O = (Z[k] - conj(Z[h - k])) / 2i, and w = exp(-2 pi i / n). Frequency
h - k is conj(E - w^k O). The inverse goes the same way back. It makes the frequencies in reverse order: their transform
is the inverse one, so that both directions use the same function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from wengert.compiler.machine.tables import Table
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier import tables
from wengert.compiler.routines.fourier.numbers import (
    last_start,
    load_neighbours,
    load_same,
    most_lanes,
    multiply_add,
    product,
    reversed_lanes,
    scaled,
    store_neighbours,
)
from wengert.compiler.routines.fourier.task import STEP_PARAMETERS, Pass, step_arguments
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type

Read = Callable[[Lanes | int], Complex]
Write = Callable[[Complex, Lanes | int], None]


class Half(NamedTuple):
    """From frequencies of the complex signal to those of the real one, times a factor, or back if `is_inverse`."""

    h: int
    kind: str
    is_inverse: bool
    factor: float

    @property
    def pairs(self) -> int:
        """The number of pairs of frequencies k and h - k, besides 0 and h."""
        return self.h // 2

    def frequencies(self, x: Complex, y: Complex, root: Complex) -> tuple[Complex, Complex]:
        """Frequencies k and h - k, from those of the other signal, and w^k."""
        even, difference = Complex(x.real + y.real, x.imag - y.imag), Complex(x.real - y.real, x.imag + y.imag)
        if self.is_inverse:
            even, difference = scaled(even, self.factor), scaled(difference, self.factor)
            odd = Complex(
                multiply_add(root.imag, difference.real, -(root.real * difference.imag)),
                multiply_add(root.real, difference.real, root.imag * difference.imag),
            )
            return Complex(even.real - odd.real, odd.imag - even.imag), even + odd
        even = scaled(even, self.factor / 2)
        odd = product(scaled(Complex(difference.imag, -difference.real), self.factor / 2), root)
        return even + odd, Complex(even.real - odd.real, odd.imag - even.imag)

    def write_ends(self, read: Read, write: Write) -> None:
        """Frequencies 0 and h. The imaginary parts that are given there play no part."""
        x = read(0)
        if self.is_inverse:
            y = read(self.h)
            write(scaled(Complex(x.real + y.real, x.real - y.real), self.factor), 0)
            return
        zero = x.real.like(0.0)
        write(scaled(Complex(x.real + x.imag, zero), self.factor), 0)
        write(scaled(Complex(x.real - x.imag, zero), self.factor), self.h)

    def roots(self, call: RoutineCall, code: Code) -> Lanes:
        """The address of the powers of w."""
        return call.table(code, Table(tables.first_roots, (self.pairs + 1, 2 * self.h, self.kind)))

    def write_for_lanes(self, call: RoutineCall, code: Code, type: Type, read: Read, write: Write) -> None:
        """All frequencies, of a signal in each lane."""
        self.write_ends(read, write)
        if not self.pairs:
            return
        roots = self.roots(call, code)
        with code.loop(1, self.pairs + 1) as k:
            root = load_same(code.offset(roots, k * 2, Type(self.kind)), type)
            other = self.h - k
            first, second = self.frequencies(read(k), read(other), root)
            write(first, k)
            write(second, other)

    def define(self, call: RoutineCall) -> Pass:
        """All frequencies of one signal, which are neighbours: a step over vectors of them."""
        direction, number = "whole" if self.is_inverse else "half", self.factor.hex().replace("+", "")
        lanes = most_lanes(self.kind, max(self.pairs, 1))
        vectors = -(-self.pairs // lanes)
        step = Pass(f"wengert.fourier.{direction}.{self.kind}.{self.h}.{number}", max(vectors, 1), 0, 16 * vectors)
        write = lambda code: self.write_step(call, code, Type(self.kind, lanes))
        call.define(step.name, STEP_PARAMETERS, write, FEW_PASSES)
        return step

    def write_step(self, call: RoutineCall, code: Code, type: Type) -> None:
        """A part of the vectors; every part writes frequencies 0 and h."""
        source, target, _, begin, end = step_arguments(code)
        element, lanes = Type(self.kind), type.lanes
        at = lambda base, k: code.offset(base, k * 2, element)
        self.write_ends(
            lambda k: load_neighbours(at(source, k), element), lambda x, k: store_neighbours(x, at(target, k))
        )
        if not self.pairs:
            return
        roots = self.roots(call, code)
        with code.loop(begin, end) as group:
            k = last_start(group, self.pairs, lanes) + 1
            other = (self.h + 1 - lanes) - k
            x, y = load_neighbours(at(source, k), type), load_neighbours(at(source, other), type)
            first, second = self.frequencies(x, reversed_lanes(y), load_neighbours(at(roots, k), type))
            store_neighbours(first, at(target, k))
            store_neighbours(reversed_lanes(second), at(target, other))
