"""Programs on shrunken machines, where tiny arrays take every path of large ones.

A machine record is a set of numbers by which code decides how it computes something (`wengert.core.machine`). A program
is compiled for this computer with one thread, and for records drawn at random: other threads, other widths of vectors,
all limits small. All have the same bits, in repeated calls and in calls from several threads of Python at once, and
agree with eager code within rounding. Some programs have two more records with another order of additions, which agree
with each other.

Most of the time goes to compilation. So a program has few records, LLVM runs no passes for most of them, and only those
with several threads are called again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from typing import Any
from unittest import mock

import numpy as np

import wengert as wg
from tools.fuzz.gathers import GATHER_FAMILIES
from tools.fuzz.generate import LAYOUTS, finish, grow, numbers
from tools.fuzz.oracles import Difference, Run, one_by_one, stacked, to_numpy
from tools.fuzz.programs import POINTS, Input, Program
from tools.fuzz.scope import Scope, Sizes
from tools.fuzz.statements import FAMILIES
from wengert.compiler.machine import translation
from wengert.core import machine
from wengert.core.machine.costs import LoopCostFields
from wengert.core.machine.record import ORDER_FIELDS, Machine

THREADS = (1, 2, 4, 8)
CALLS = 20
CALLERS = 4
DRAWN = 64
"""Fields are drawn between 1 and this."""
ORDERED = 0.5
"""The part of all programs that have two records with another order of additions."""
EAGER = 0.05
"""The part of all programs that run as eager code, too."""
EAGER_MACHINES = 2
"""The machines of such a program on which it does: this computer and a shrunken one, which compiles each operation."""
EAGER_CALLS = 4
"""Repeated calls of eager code on one thread: the second pass of a tape may be a program."""
BEST, QUICK = 0.06, 0.2
"""The parts of all programs whose code is translated with all passes, and with few; the others have none."""
VECTORS = (8, 16, 32, 64)
COSTS = frozenset(f.name for f in fields(LoopCostFields))
"""The fields that say what loops cost: with other ones, a policy decides otherwise."""
OTHERS = ("table", "arithmetic", "reduction", "shape", "index", "assignment", "sequence", "contraction", "dtype")
"""Families of other statements, one of them for some of those with gathers and scatters."""
Record = dict[str, int]


def generate_for_machines(seed: int, index: int) -> Program:
    """The program of this number: arrays of some hundred elements, indices, and the machines that it is run on."""
    program = Program((seed, index), option=" --machines")
    scope = Scope(program, np.random.default_rng([seed, index, 1]), Sizes(elements=600))
    for i in range(scope.number(1, 2)):
        shape = tuple(scope.number(5, 24) for _ in range(scope.one_of([1, 2, 2, 2])))
        if scope.chance(0.15):
            shape = (scope.number(3, 10), scope.number(2, 6), scope.number(2, 6))
        elif scope.chance(0.2):
            shape = (scope.number(90, 110),) if len(shape) == 1 else (scope.number(30, 50), scope.one_of([1, 3, 4, 9]))
        dtype = scope.one_of([np.float64] * 6 + [np.float32])
        program.inputs.append(Input(f"x{i}", numbers(scope, shape, dtype, POINTS), scope.one_of(LAYOUTS)))
    for name in ("i0", "i1"):
        program.inputs.append(Input(name, [scope.rng.integers(0, 1000, 40) for _ in range(POINTS)]))
    for argument in program.inputs:
        scope.enter(argument.name, [argument.at(point) for point in range(POINTS)])
    scope.names, scope.unused = [[n for n in some if n[0] == "x"] for some in (scope.names, scope.unused)]
    families = GATHER_FAMILIES | {name: FAMILIES[name] for name in [scope.one_of(OTHERS), "arithmetic"]}
    grow(scope, families, scope.number(2, scope.one_of([4, 7, 10])))
    finish(program, scope, state=False)
    program.result = " + ".join(f"total({name})" for name in scope.unused) or "total(x0)"
    program.records = draw_records(scope.rng)
    program.effort = None if scope.chance(BEST) else "fast"
    program.has_passes = program.effort is None or scope.chance(QUICK)
    return program


@contextmanager
def without_passes() -> Iterator[None]:
    """Translate code as it is, which takes half of the time; not if it is stored for other programs."""
    if os.environ.get("WENGERT_CACHE_DIR") != "off":
        yield
        return
    translate = translation.translate
    with mock.patch.object(translation, "translate", lambda text, _: translate(text, translation.Level.PLAIN)):
        yield


def draw_fields(rng: np.random.Generator, has_order: bool) -> Record:
    """Small numbers for the fields of the record, for those of the order of additions or for the others."""
    drawn = [f.name for f in fields(Machine) if type(f.default) is int or f.name in COSTS]
    names = [name for name in drawn if (name in ORDER_FIELDS) is has_order]
    highest = rng.choice([1, 4, 16, DRAWN], len(names))
    return {name: int(rng.integers(1, high + 1)) for name, high in zip(names, highest, strict=True)}


def draw_records(rng: np.random.Generator) -> tuple[Record, ...]:
    """This computer with one thread, two shrunken machines, and now and then two with another order of additions."""
    first, second, third = rng.choice(THREADS[1:], 3).tolist()
    records: list[Record] = [{"threads": 1}]
    records += [draw_fields(rng, False) | {"threads": count} for count in (int(rng.choice([1, first])), second)]
    if rng.random() < ORDERED:
        order = draw_fields(rng, True)
        records += [draw_fields(rng, False) | order | {"threads": count} for count in (1, third)]
    return tuple(record | {"vector_bytes": int(rng.choice(VECTORS))} for record in records)


def bits_of(results: Sequence[np.ndarray]) -> bytes:
    """The bytes of results, all NaN alike."""
    alike = lambda a: np.where(np.isnan(a), a.dtype.type(np.nan), a) if a.dtype.kind in "fc" else a
    return b"".join(alike(a).tobytes() for a in results)


class Way:
    """What is compiled: value and gradient, or now and then a second derivative or a batch."""

    def __init__(self, run: Run):
        self.f: Callable = run.value_and_grad
        self.reference, self.args, self.order = self.f, run.program.at(0), 1
        choice = np.random.default_rng([*run.program.seed, 5]).integers(8)
        if choice == 0:
            self.f = self.reference = run.forward_over_reverse
            self.order = 2
        elif choice == 1:
            self.f = self.reference = run.reverse_over_reverse
            self.order = 2
        elif choice == 2 and len(run.program.inputs[0].values) > 1:
            self.f, self.args = wg.vmap(run.value_and_grad), stacked(run)
            self.reference = one_by_one(run.value_and_grad)


def check_machines(run: Run) -> None:
    """Compiled for every record of a program: equal bits for equal orders of additions, and close to eager code.

    Some programs run as eager code on these machines, too, where kernels and programs of tapes take over at once.
    """
    way = Way(run)
    expected = to_numpy(way.reference(*way.args))
    known: dict[tuple, tuple[Record, bytes]] = {}
    is_eager = np.random.default_rng([*run.program.seed, 6]).random() < EAGER
    for number, record in enumerate(run.program.records):
        run.counts["machines"] += 1
        order = tuple(sorted((name, value) for name, value in record.items() if name in ORDER_FIELDS))
        with machine.using(**record), nullcontext() if run.program.has_passes else without_passes():
            faces = {"compiled": wg.compile(way.f, effort=run.program.effort), "eager": way.f}
            for face in faces if is_eager and number < EAGER_MACHINES else ("compiled",):
                g, where = faces[face], f"{face}, machine.using({show(record)})"
                found = to_numpy(g(*way.args))
                bits = bits_of(found)
                calls = CALLS if record["threads"] > 1 else EAGER_CALLS if face == "eager" else 1
                again = {bits_of(to_numpy(g(*way.args))) for _ in range(calls)}
                if record["threads"] > 1:
                    again |= call_at_once(g, way.args)
                run.counts["comparisons"] += 1
                run.counts[f"comparisons, {face}"] += 1
                run.compare("machine", found, expected, way.reference, way.args, way.order)
                if run.differences:
                    run.differences[-1] = run.differences[-1]._replace(
                        message=f"{where}:\n{run.differences[-1].message}"
                    )
                    return
                if again != {bits}:
                    message = f"{where}: repeated calls have {len(again | {bits})} different results"
                    run.differences.append(Difference("machine", message))
                    return
                first, others = known.setdefault((face, order), (record, bits))
                if bits != others:
                    message = (
                        f"{face}, machine.using({show(first)})\nand machine.using({show(record)}): not the same bits"
                    )
                    run.differences.append(Difference("bits", message))
                    return


def call_at_once(g: Callable, args: Sequence[Any]) -> set[bytes]:
    """The results of calls from several threads of Python."""
    found: list[bytes] = []
    start = threading.Barrier(CALLERS)

    def call() -> None:
        start.wait()
        for _ in range(CALLS // CALLERS):
            found.append(bits_of(to_numpy(g(*args))))

    callers = [threading.Thread(target=call) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return set(found) if len(found) == CALLS // CALLERS * CALLERS else {b"a call failed"}


def show(record: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in record.items())
