"""Real signals of even length n, as complex ones of length h = n / 2: even numbers are real parts, odd ones imaginary.

Of the transform Z of that signal, frequency k of the real one is E + w^k O, with the transforms of the even and of the
odd numbers, E = (Z[k] + conj(Z[h - k])) / 2 and O = (Z[k] - conj(Z[h - k])) / 2i, and w = exp(-2 pi i / n). Frequency
h - k is conj(E - w^k O). The inverse goes the same way back.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.compiler.program.program import Table
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier import tables
from wengert.compiler.routines.fourier.numbers import (
    Pair,
    last_start,
    load_neighbours,
    load_same,
    multiply_add,
    reversed_lanes,
    store_neighbours,
)
from wengert.compiler.routines.fourier.plan import most_lanes
from wengert.compiler.simd.lanes import I64, PTR, Code, Lanes, Type

Read = Callable[[Lanes | int], Pair]
Write = Callable[[Pair, Lanes | int], None]


def real_frequencies(x: Pair, y: Pair, root: Pair, factor: float) -> tuple[Pair, Pair]:
    """Frequencies k and h - k of the real signal, times a factor, from those of the complex one."""
    even = Pair(x.re + y.re, x.im - y.im).scaled(factor / 2)
    odd = Pair(x.im + y.im, y.re - x.re).scaled(factor / 2).times(root)
    return even + odd, Pair(even.re - odd.re, odd.im - even.im)


def complex_frequencies(x: Pair, y: Pair, root: Pair) -> tuple[Pair, Pair]:
    """Frequencies k and h - k of the complex signal, times 2, from those of the real one."""
    even, difference = Pair(x.re + y.re, x.im - y.im), Pair(x.re - y.re, x.im + y.im)
    odd = Pair(
        multiply_add(root.im, difference.re, -(root.re * difference.im)),
        multiply_add(root.re, difference.re, root.im * difference.im),
    )
    return even + odd, Pair(even.re - odd.re, odd.im - even.im)


def real_ends(x: Pair, factor: float) -> tuple[Pair, Pair]:
    """Frequencies 0 and h of the real signal."""
    zero = x.re.like(0.0)
    return Pair(x.re + x.im, zero).scaled(factor), Pair(x.re - x.im, zero).scaled(factor)


def complex_end(x: Pair, y: Pair) -> Pair:
    """Frequency 0 of the complex signal, times 2. The imaginary parts at 0 and h play no part."""
    return Pair(x.re + y.re, x.re - y.re)


def write_for_lanes(
    call: RoutineCall, code: Code, h: int, type: Type, read: Read, write: Write, factor: float | None
) -> None:
    """Real frequencies, or without a factor complex ones, of a signal in each lane."""
    if factor is None:
        write(complex_end(read(0), read(h)), 0)
    else:
        for value, k in zip(real_ends(read(0), factor), (0, h), strict=True):
            write(value, k)
    if h == 1:
        return
    roots = call.table(code, Table(tables.first_roots, (h // 2 + 1, 2 * h, type.kind)))
    with code.loop(1, h // 2 + 1) as k:
        root = load_same(code.offset(roots, k * 2, Type(type.kind)), type)
        other = h - k
        x, y = read(k), read(other)
        made = complex_frequencies(x, y, root) if factor is None else real_frequencies(x, y, root, factor)
        write(made[0], k)
        write(made[1], other)


def define_for_line(call: RoutineCall, h: int, kind: str, factor: float | None) -> tuple[str, int]:
    """The function that does the same for neighbouring frequencies of one signal, and how many vectors it has.

    It takes addresses of source, target and nothing, and the vectors that it begins and ends with.
    """
    name = f"wengert.fourier.half.{kind}.{h}" + ("" if factor is None else "." + factor.hex().replace("+", ""))
    pairs = h // 2
    type = Type(kind, most_lanes(kind, max(pairs, 1)))

    def write(code: Code) -> None:
        source, target, element = Lanes(code, "%source", PTR), Lanes(code, "%target", PTR), Type(kind)
        at = lambda base, k: code.offset(base, k * 2, element)
        read = lambda k: load_neighbours(at(source, k), element)
        if factor is None:
            store_neighbours(complex_end(read(0), read(h)), target)
        else:
            for value, k in zip(real_ends(read(0), factor), (0, h), strict=True):
                store_neighbours(value, at(target, k))
        if not pairs:
            return
        roots = call.table(code, Table(tables.first_roots, (pairs + 1, 2 * h, kind)))
        with code.loop(Lanes(code, "%begin", I64), Lanes(code, "%end", I64)) as group:
            k = last_start(group, pairs, type.lanes) + 1
            other = (h + 1 - type.lanes) - k
            x, y = load_neighbours(at(source, k), type), reversed_lanes(load_neighbours(at(source, other), type))
            root = load_neighbours(at(roots, k), type)
            made = complex_frequencies(x, y, root) if factor is None else real_frequencies(x, y, root, factor)
            store_neighbours(made[0], at(target, k))
            store_neighbours(reversed_lanes(made[1]), at(target, other))

    parameters = ("ptr noalias %source", "ptr noalias %target", "ptr %scratch", "i64 %begin", "i64 %end")
    call.define(name, parameters, write)
    return name, -(-pairs // type.lanes)
