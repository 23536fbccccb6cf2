"""Programs with arrays of 10^4 to 10^6 elements, on this computer's own record.

They show what shrunken machines cannot: sizes, caches and threads as they are. A program is compiled with 1, 2 and 4
threads, which have the same bits in every call, and agree with eager code on one thread without native code.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import wengert as wg
from tools.fuzz.gathers import GATHER_FAMILIES
from tools.fuzz.generate import LAYOUTS, finish, grow, numbers
from tools.fuzz.machines import Way, bits_of
from tools.fuzz.oracles import Difference, Run, to_numpy
from tools.fuzz.programs import Input, Program
from tools.fuzz.scope import Scope, Sizes
from tools.fuzz.statements import FAMILIES
from wengert.core import machine, native

THREADS = (1, 2, 4)
CALLS = 3
SIZES = Sizes(
    elements=2_000_000,
    number=1e6,
    indices=(1_000, 30_000, 100_000),
    extents=(30, 100, 200),
    signal=50_000,
    points=1,
)
OTHERS = ("arithmetic", "reduction")
"""Families of other statements, which take a short time and make no larger arrays of large ones."""
MEMORY = 8 << 30
"""Bytes that a process may take: a program that asks for more has an error instead of the machine."""


def generate_large(seed: int, index: int) -> Program:
    """The program of this number: few statements, with arrays and indices of many elements."""
    program = Program((seed, index), effort="fast", option=" --large")
    scope = Scope(program, np.random.default_rng([seed, index, 2]), SIZES)
    for i in range(scope.number(1, 2)):
        size = int(np.exp(scope.rng.uniform(np.log(1e4), np.log(1e6))))
        rows = scope.one_of([(), (1,), (2,), (3,), (4,), (7,), (16,), (33,), (100,), (3, 3), (8, 2)])
        shape = (size // int(np.prod(rows)), *rows)
        dtype = scope.one_of([np.float64] * 3 + [np.float32])
        program.inputs.append(Input(f"x{i}", numbers(scope, shape, dtype, 1), scope.one_of(LAYOUTS)))
    for name in ("i0", "i1"):
        program.inputs.append(Input(name, [scope.rng.integers(0, 10**7, max(SIZES.indices))]))
    for argument in program.inputs:
        scope.enter(argument.name, [argument.at(0)])
    scope.names, scope.unused = [[n for n in some if n[0] == "x"] for some in (scope.names, scope.unused)]
    families = {name: some for name, some in GATHER_FAMILIES.items() if name != "size" or scope.chance(0.3)}
    grow(scope, families | {name: FAMILIES[name] for name in OTHERS}, scope.number(1, 4))
    finish(program, scope, state=False)
    program.result = " + ".join(f"total({name})" for name in scope.unused) or "total(x0)"
    return program


def limit_memory() -> None:
    """Limit this process, and those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextmanager
def plain_code() -> Iterator[None]:
    """Eager code on one thread, by NumPy alone."""
    before = native.IS_ON
    with machine.using(threads=1):
        native.IS_ON = False
        try:
            yield
        finally:
            native.IS_ON = before


def check_large(run: Run) -> None:
    """Compiled with 1, 2 and 4 threads: equal bits, close to eager code."""
    way = Way(run)
    with plain_code():
        expected = to_numpy(way.reference(*way.args))
    known: set[bytes] = set()
    for count in THREADS:
        run.counts["machines"] += 1
        with machine.using(threads=count):
            g = wg.compile(way.f, effort=run.program.effort)
            found = to_numpy(g(*way.args))
            known |= {bits_of(found)}
            known |= {bits_of(to_numpy(g(*way.args))) for _ in range(CALLS if count > 1 else 1)}
        run.counts["comparisons"] += 1
        with plain_code():
            run.compare(f"{count} threads", found, expected, way.reference, way.args, way.order)
        if run.differences:
            return
        if len(known) > 1:
            run.differences.append(Difference("bits", f"{count} threads: {len(known)} different results"))
            return
