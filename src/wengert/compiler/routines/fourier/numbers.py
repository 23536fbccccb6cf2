"""How complex numbers of signals are read and written: neighbours in memory, or blocks of vectors.

A block has two vectors for each number, its real and its imaginary parts. Numbers that are neighbours in memory are
read in an order of lanes that takes one instruction for each vector: `lane_order`. Writing restores it, so that only
tables and transposes need to know it.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.compiler.machine.target import has_wide_vectors, sum_lanes, vector_lanes
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lane_operations import splat
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.transposes import shuffle
from wengert.compiler.simd.types import Type


def product(x: Complex, y: Complex) -> Complex:
    """The product of complex numbers, with fused multiply-adds where the processor has them."""
    real = multiply_add(x.real, y.real, -(x.imag * y.imag))
    return Complex(real, multiply_add(x.real, y.imag, x.imag * y.real))


def scaled(x: Complex, factor: float) -> Complex:
    """The product with a real number."""
    return x if factor == 1.0 else x.of_parts(lambda part: part * factor)


def swapped(x: Complex) -> Complex:
    """Real and imaginary parts exchanged. Around a transform, it makes the inverse of it."""
    return Complex(x.imag, x.real)


def multiply_add(x: Lanes, y: Lanes | float, z: Lanes) -> Lanes:
    """x * y + z, rounded once where the processor has an instruction for it."""
    return fma(x, y, z) if has_wide_vectors() else x * y + z


def most_lanes(kind: str, *extents: int) -> int:
    """The number of lanes of a vector, of at most as many elements as any of the extents."""
    return fit_lanes(vector_lanes(int(kind[1:]) // 8), *extents)


def planned_lanes(kind: str, *extents: int) -> int:
    """The lanes by which transforms are planned, whatever vectors the processor has: so all have the same steps."""
    return fit_lanes(sum_lanes(int(kind[1:]) // 8), *extents)


def fit_lanes(lanes: int, *extents: int) -> int:
    """As many lanes, or as the smallest of the extents has elements."""
    while lanes > min(extents):
        lanes //= 2
    return lanes


def lane_order(type: Type) -> list[int]:
    """Which of neighbouring numbers is in each lane: within 16 bytes, first those of one half, then of the other."""
    lanes, most = type.lanes, 64 // type.bits
    if lanes < 2 * most:
        return list(range(lanes))
    halves = [[start + i for i in range(most)] for start in range(0, lanes // 2, most)]
    return [i + offset for half in halves for offset in (0, lanes // 2) for i in half]


def load_neighbours(address: Lanes, type: Type) -> Complex:
    """Neighbouring complex numbers, in the order of `lane_order`."""
    code, lanes, align = address.code, type.lanes, type.bits // 8
    x = code.load(address, type, align)
    y = code.load(code.offset(address, lanes, type), type, align)
    if lanes == 1:
        return Complex(x, y)
    order = [2 * i for i in lane_order(type)]
    return Complex(shuffle(x, y, order), shuffle(x, y, [i + 1 for i in order]))


def store_neighbours(value: Complex, address: Lanes) -> None:
    """Store complex numbers that are in the order of `lane_order`."""
    code, type = address.code, value.real.type
    lanes, align = type.lanes, type.bits // 8
    x, y = value.real, value.imag
    if lanes > 1:
        order = lane_order(type)
        lane = [order.index(i) for i in range(lanes)]
        both = [part for i in lane for part in (i, i + lanes)]
        x, y = shuffle(x, y, both[:lanes]), shuffle(x, y, both[lanes:])
    code.store(x, address, align)
    code.store(y, code.offset(address, lanes, type), align)


def reversed_lanes(value: Complex) -> Complex:
    """The numbers in reverse order, in the order of `lane_order`."""
    type = value.real.type
    if type.lanes == 1:
        return value
    order = lane_order(type)
    lanes = [order.index(type.lanes - 1 - i) for i in order]
    return value.of_parts(lambda x: shuffle(x, x, lanes))


def load_block(block: Lanes, index: Lanes | int, type: Type) -> Complex:
    """One number for each lane, of a block."""
    code, start = block.code, index * (2 * type.lanes)
    align = type.lanes * type.bits // 8
    re = code.offset(block, start, type)
    return Complex(code.load(re, type, align), code.load(code.offset(re, type.lanes, type), type, align))


def store_block(value: Complex, block: Lanes, index: Lanes | int) -> None:
    """One number for each lane, into a block."""
    code, type = block.code, value.real.type
    align = type.lanes * type.bits // 8
    re = code.offset(block, index * (2 * type.lanes), type)
    code.store(value.real, re, align)
    code.store(value.imag, code.offset(re, type.lanes, type), align)


def load_same(address: Lanes, type: Type) -> Complex:
    """One complex number in every lane."""
    code, element = address.code, Type(type.kind)
    parts = [code.load(code.offset(address, i, element), element, type.bits // 8) for i in (0, 1)]
    return Complex(*[splat(x, type.lanes) if type.lanes > 1 else x for x in parts])


def load_reals(address: Lanes, type: Type) -> Lanes:
    """Neighbouring real numbers, in the order of `lane_order`."""
    x = address.code.load(address, type, type.bits // 8)
    return x if type.lanes == 1 else shuffle(x, x, lane_order(type))


def store_reals(x: Lanes, address: Lanes) -> None:
    """Store real numbers that are in the order of `lane_order`."""
    if x.type.lanes > 1:
        order = lane_order(x.type)
        x = shuffle(x, x, [order.index(i) for i in range(x.type.lanes)])
    address.code.store(x, address, x.type.bits // 8)


def for_vectors(code: Code, extent: int, kind: str, write: Callable[[Lanes, Type], None]) -> None:
    """A loop over the vectors of neighbouring numbers, each by `write` of its start and type."""
    type = Type(kind, most_lanes(kind, extent))
    with code.loop(0, -(-extent // type.lanes)) as group:
        write(last_start(group, extent, type.lanes), type)


def last_start(group: Lanes, extent: int, lanes: int) -> Lanes:
    """Where a vector starts; the last one ends with the extent."""
    start = group * lanes
    return start if extent % lanes == 0 else select(start < extent - lanes, start, extent - lanes)
