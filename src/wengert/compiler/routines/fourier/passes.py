"""Passes over vectors of signals, by Stockham's algorithm: each lane is a signal, so that nothing moves between lanes.

A pass of radix r on numbers x[q + s (p + m j)] stores transforms of r numbers, times roots of unity, at
q + s (r p + j), for q < s and p < m. The first pass has s = 1, the last one m = 1; the numbers are in order after it.
Between them, they are in two blocks in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from wengert.compiler.machine.tables import Table
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.fourier import tables
from wengert.compiler.routines.fourier.butterflies import transform
from wengert.compiler.routines.fourier.numbers import load_block, load_same, product, store_block
from wengert.compiler.routines.fourier.plan import radices
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type

Source = Callable[[Lanes], Complex]
"""Reads the number with an index, of all lanes."""
Sink = Callable[[Complex, Lanes], None]
"""Stores the number with an index, of all lanes."""


def transform_lanes(
    call: RoutineCall, code: Code, n: int, type: Type, source: Source | None, sink: Sink | None, blocks: Sequence[Lanes]
) -> None:
    """Transform a signal of n numbers in each lane.

    Without a `source`, the signals are in the second block; without a `sink`, they are left in the first or second, the
    one that `block_of_result` says.
    """
    steps = radices(n)
    assert steps is not None
    current = 1
    s, m = 1, n
    for i, radix in enumerate(steps):
        m //= radix
        is_first, is_last = i == 0, i == len(steps) - 1
        read = source if is_first else None
        write = sink if is_last else None
        roots = None if m == 1 else call.table(code, Table(tables.pass_roots, (radix, m, type.kind)))
        if read is None and write is None and roots is not None:
            name = define_pass(call, radix, type)
            sizes = [code.constant(size, I64) for size in (s, m)]
            arguments = (blocks[current], blocks[1 - current], roots, *sizes)
            code.do(f"call void @{name}({', '.join(a.typed for a in arguments)})")
        else:
            read = read or partial(_from_block, blocks[current], type)
            write = write or partial(_into_block, blocks[1 - current])
            write_pass(code, radix, type, read, write, roots, s, m)
        current = 1 - current
        s *= radix


def block_of_result(n: int) -> int:
    """The block that the result of `transform_lanes` is in, if it has no sink."""
    steps = radices(n)
    assert steps is not None
    return (1 + len(steps)) % 2


def _from_block(block: Lanes, type: Type, index: Lanes) -> Complex:
    return load_block(block, index, type)


def _into_block(block: Lanes, value: Complex, index: Lanes) -> None:
    store_block(value, block, index)


def define_pass(call: RoutineCall, radix: int, type: Type) -> str:
    """The function of a pass from block to block: of two blocks, a table of roots of unity, and the sizes s and m."""
    name = f"wengert.fourier.pass.{radix}.{type.suffix}"

    def write(code: Code) -> None:
        source, target, roots = [Lanes(code, x, PTR) for x in ("%source", "%target", "%roots")]
        s, m = Lanes(code, "%s", I64), Lanes(code, "%m", I64)
        write_pass(code, radix, type, partial(_from_block, source, type), partial(_into_block, target), roots, s, m)

    pointers = ("ptr noalias %source", "ptr noalias %target", "ptr noalias %roots")
    call.define(name, (*pointers, "i64 %s", "i64 %m"), write, FEW_PASSES)
    return name


def write_pass(
    code: Code,
    radix: int,
    type: Type,
    source: Source,
    sink: Sink,
    roots: Lanes | None,
    s: Lanes | int,
    m: Lanes | int,
) -> None:
    """The loops of one pass; without `roots`, m is 1."""
    if roots is None:
        with code.loop(0, s) as q:
            indices = [q + s * j if j else q for j in range(radix)]
            for value, index in zip(transform([source(i) for i in indices]), indices, strict=True):
                sink(value, index)
        return
    step = m * s
    with code.loop(0, m) as p:
        at = code.offset(roots, p * (2 * (radix - 1)), Type(type.kind))
        factors = [load_same(code.offset(at, 2 * j, Type(type.kind)), type) for j in range(radix - 1)]

        def write_one(read: Lanes, written: Lanes) -> None:
            x = transform([source(read + step * j if j else read) for j in range(radix)])
            for j, value in enumerate(x):
                sink(product(value, factors[j - 1]) if j else value, written + s * j if j else written)

        if s == 1 and isinstance(s, int):
            write_one(p, p * radix)
        else:
            base, target = p * s, p * s * radix
            with code.loop(0, s) as q:
                write_one(base + q, target + q)
