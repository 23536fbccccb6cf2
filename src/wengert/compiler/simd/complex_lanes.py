"""Complex numbers in lanes: two registers, with the real and the imaginary parts; and partial states of reductions.

In memory they alternate, as in NumPy. Products are those of the formula, so infinities and NaN are NumPy's: a real
factor counts as a complex one with the imaginary part zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.compiler.simd.lanes import PAIRS, Code, Lanes, fma, select
from wengert.compiler.simd.types import Number, Type


class Complex(Lanes):
    """The values of neighbouring complex elements, or one value; it has no text of its own, its parts have."""

    __slots__ = ("imag", "real")

    def __init__(self, real: Lanes, imag: Lanes):
        self.code, self.real, self.imag = real.code, real, imag
        self.type = Type(f"c{2 * real.type.bits}", real.type.lanes)

    def of_parts(self, function: Callable[[Lanes], Lanes]) -> Complex:
        """The same function of both parts."""
        return Complex(function(self.real), function(self.imag))

    def like(self, value: Lanes | Number | complex) -> Complex:
        if isinstance(value, Complex):
            return value
        if isinstance(value, Lanes):
            return Complex(value, value.like(0.0))
        number = complex(value)
        return Complex(self.real.like(number.real), self.imag.like(number.imag))

    def __add__(self, other: Any) -> Complex:
        other = self.like(other)
        return Complex(self.real + other.real, self.imag + other.imag)

    def __radd__(self, other: Any) -> Complex:
        return self.like(other) + self

    def __sub__(self, other: Any) -> Complex:
        other = self.like(other)
        return Complex(self.real - other.real, self.imag - other.imag)

    def __rsub__(self, other: Any) -> Complex:
        return self.like(other) - self

    def __mul__(self, other: Any) -> Complex:
        """As NumPy's loops: the second product of each part is rounded, the first one is not where there is an fma."""
        other, code, type = self.like(other), self.code, self.real.type
        add_product = lambda x, y, z: code.intrinsic("fmuladd", type, x, y, z)
        real = add_product(self.real, other.real, -(self.imag * other.imag))
        return Complex(real, add_product(self.real, other.imag, self.imag * other.real))

    def __rmul__(self, other: Any) -> Complex:
        return self.like(other) * self

    def __truediv__(self, other: Any) -> Complex:
        """Smith's algorithm: the smaller part of the divisor over the larger one does not overflow."""
        other = self.like(other)
        is_wide = other.real.abs() >= other.imag.abs()
        larger, smaller = select(is_wide, other.real, other.imag), select(is_wide, other.imag, other.real)
        ratio = smaller / larger
        scale = 1.0 / (larger + smaller * ratio)
        first, second = select(is_wide, self.real, self.imag), select(is_wide, self.imag, self.real)
        product = first * ratio
        real = (first + second * ratio) * scale
        imag = (select(is_wide, second, product) - select(is_wide, product, second)) * scale
        # NumPy divides both parts by a zero
        is_zero = is_wide & other.real.eq(0.0)
        return Complex(select(is_zero, self.real * math.inf, real), select(is_zero, self.imag * math.inf, imag))

    def __rtruediv__(self, other: Any) -> Complex:
        return self.like(other) / self

    def __neg__(self) -> Complex:
        return self.of_parts(lambda part: -part)

    def conj(self) -> Complex:
        return Complex(self.real, -self.imag)

    def eq(self, other: Any) -> Lanes:
        other = self.like(other)
        return self.real.eq(other.real) & self.imag.eq(other.imag)

    def ne(self, other: Any) -> Lanes:
        other = self.like(other)
        return self.real.ne(other.real) | self.imag.ne(other.imag)

    def is_nan(self) -> Lanes:
        return self.real.is_nan() | self.imag.is_nan()

    def to(self, kind: str) -> Lanes:
        """Convert to another precision, or to whether a number is not zero."""
        return self.ne(0.0) if kind == "i1" else self.with_parts(self.type.of(kind).part.kind)

    def with_parts(self, kind: str) -> Complex:
        """The same numbers in another precision."""
        return self.of_parts(lambda part: part.to(kind))

    def times_plus(self, factor: Lanes, term: Lanes) -> Complex:
        factor, term = self.like(factor), self.like(term)
        real = fma(self.real, factor.real, fma(-self.imag, factor.imag, term.real))
        return Complex(real, fma(self.real, factor.imag, fma(self.imag, factor.real, term.imag)))

    def where(self, condition: Lanes, other: Lanes) -> Complex:
        other = self.like(other)
        return Complex(select(condition, self.real, other.real), select(condition, self.imag, other.imag))


PAIRS.append(Complex)


class RunningState(Lanes):
    """The numbers that a reduction has found so far, of one element: two or four floats."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Lanes):
        self.code, self.parts = parts[0].code, parts
        self.type = Type(f"{'d' if len(parts) == 2 else 'q'}{len(parts) * parts[0].type.bits}")

    def to(self, kind: str) -> RunningState:
        assert kind == self.type.kind, kind
        return self

    def where(self, condition: Lanes, other: Lanes) -> RunningState:
        assert isinstance(other, RunningState)
        return RunningState(*[select(condition, x, y) for x, y in zip(self.parts, other.parts, strict=True)])


class Variable:
    """A variable on the stack, which LLVM turns into registers: one for each part of complex numbers.

    It may be one of `count` variables in an array, of which the first has the value.
    """

    def __init__(self, code: Code, type: Type, value: Lanes | Number | complex | tuple[float, ...], count: int = 1):
        first = value if isinstance(value, Lanes) else constant(code, value, type)
        self.code, self.type = code, type
        self.addresses = self.arrays = [code.variable(type.part, part, count) for part in parts_of(first)]

    def go_to(self, index: Lanes) -> None:
        """Be the variable of the array that begins with the lane `index` of all."""
        self.addresses = [self.code.offset(array, index, self.type.part) for array in self.arrays]

    def load(self) -> Lanes:
        """Its value."""
        return from_parts([self.code.load(address, self.type.part) for address in self.addresses], self.type)

    def store(self, value: Lanes) -> None:
        """Replace its value."""
        for part, address in zip(parts_of(value), self.addresses, strict=True):
            self.code.store(part, address)


def constant(code: Code, value: Number | complex | tuple[float, ...], type: Type) -> Lanes:
    """A constant of any type; those of states are tuples."""
    if isinstance(value, tuple):
        return RunningState(*[code.constant(part, type.part) for part in value])
    if isinstance(value, complex) or type.is_complex:
        return Complex(*[code.constant(part, type.part) for part in (complex(value).real, complex(value).imag)])
    return code.constant(value, type)


def parts_of(x: Lanes) -> list[Lanes]:
    """The real and the imaginary part, the numbers of a state, or the value itself if it is one number."""
    if isinstance(x, RunningState):
        return list(x.parts)
    return [x.real, x.imag] if isinstance(x, Complex) else [x]


def from_parts(parts: list[Lanes], type: Type) -> Lanes:
    """The inverse of `parts_of`."""
    if type.is_complex:
        return Complex(*parts)
    return RunningState(*parts) if type.parts > 1 else parts[0]
