"""The transform of a signal whose length has large prime factors: a convolution with a chirp, by Bluestein's algorithm.

With c[j] = exp(-pi i j^2 / n), frequency k is c[k] times the sum over j of x[j] c[j] conj(c[k - j]), because 2 j k is
j^2 + k^2 - (k - j)^2. The convolution is periodic with a smooth length, so it is a product of transforms.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.machine.tables import Table
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier import tables
from wengert.compiler.routines.fourier.line import Line, load_in_direction, store_in_direction, transform_name
from wengert.compiler.routines.fourier.numbers import (
    for_vectors,
    load_neighbours,
    product,
    scaled,
    store_neighbours,
    swapped,
)
from wengert.compiler.routines.fourier.plan import convolution_length
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import PTR, Type


class Chirp(NamedTuple):
    """A transform of n neighbouring complex numbers, times a factor; the inverse one if `is_inverse`."""

    n: int
    kind: str
    is_inverse: bool
    factor: float

    @property
    def length(self) -> int:
        """The period of the convolution."""
        return convolution_length(self.n, self.kind)

    @property
    def line(self) -> Line:
        """The transform of the convolution. The inverse one is the same, with real and imaginary parts exchanged."""
        return Line(self.length, self.kind, False, 1.0)

    @property
    def memory(self) -> int:
        """The numbers that one run needs: the signal, its transform, and what that needs."""
        return 2 * self.length + self.line.memory

    def define(self, call: RoutineCall) -> str:
        """The function of addresses of the signal, the result, and memory."""
        name = transform_name(*self)
        call.define(
            name,
            ("ptr noalias %source", "ptr noalias %target", "ptr noalias %memory"),
            lambda code: self.write(call, code),
            FEW_PASSES,
        )
        return name

    def write(self, call: RoutineCall, code: Code) -> None:
        """Multiply by the chirp, convolve, and multiply by the chirp again."""
        n, length, element = self.n, self.length, Type(self.kind)
        source, target, signal = [Lanes(code, x, PTR) for x in ("%source", "%target", "%memory")]
        spectrum = code.offset(signal, 2 * length, element)
        memory = code.offset(spectrum, 2 * length, element)
        chirp = call.table(code, Table(tables.chirp, (n, self.kind)))
        filter_ = call.table(code, Table(tables.chirp_spectrum, (n, length, self.kind)))
        at = lambda base, i: code.offset(base, i * 2, element)
        transform = self.line.define(call)
        run = lambda x, y: code.do(f"call void @{transform}({x.typed}, {y.typed}, {memory.typed})")

        def begin(i: Lanes, type: Type) -> None:
            x = load_in_direction(at(source, i), type, self.is_inverse)
            store_neighbours(product(x, load_neighbours(at(chirp, i), type)), at(signal, i))

        def fill(i: Lanes, type: Type) -> None:
            zero = code.constant(0.0, type)
            store_neighbours(Complex(zero, zero), at(signal, i + n))

        def filter_one(i: Lanes, type: Type) -> None:
            x = product(load_neighbours(at(spectrum, i), type), load_neighbours(at(filter_, i), type))
            store_neighbours(swapped(x), at(signal, i))

        def finish(i: Lanes, type: Type) -> None:
            x = product(swapped(load_neighbours(at(spectrum, i), type)), load_neighbours(at(chirp, i), type))
            store_in_direction(scaled(x, self.factor), at(target, i), self.is_inverse)

        for_vectors(code, n, self.kind, begin)
        for_vectors(code, length - n, self.kind, fill)
        run(signal, spectrum)
        for_vectors(code, length, self.kind, filter_one)
        run(signal, spectrum)
        for_vectors(code, n, self.kind, finish)
