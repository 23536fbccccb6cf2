"""Programs with random decisions: loops in any legal order, with any lanes, threads, stages and bodies.

A program is compiled once as the policy decides, and with several random policies on random machines, with 1 to 8
threads. All have the same bits in repeated calls, and agree with eager code within rounding. The reference interpreter
(`compiler/nests/evaluate.py`), which knows no decisions, has the same bits where it does the same arithmetic, and
agrees within rounding where it does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

import wengert as wg
from tools.fuzz.gathers import GATHER_FAMILIES
from tools.fuzz.generate import LAYOUTS, finish, grow, numbers
from tools.fuzz.machines import OTHERS, QUICK, THREADS, VECTORS, Record, Way, bits_of, draw_fields, show, without_passes
from tools.fuzz.oracles import Difference, Run, to_numpy
from tools.fuzz.programs import POINTS, Input, Program
from tools.fuzz.scope import Scope, Sizes
from tools.fuzz.statements import FAMILIES
from wengert.compiler.forms.classify import Form
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.legality import given, legal
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.order import has_row_sums
from wengert.compiler.nests.text import show_nest
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_plan import make_plan, nests_of
from wengert.compiler.program.reference import run_by_reference
from wengert.core import machine
from wengert.core.machine.record import ORDER_FIELDS, Machine
from wengert.core.tree import flatten
from wengert.graph.graph import is_traced
from wengert.graph.ir import Operation

SCHEDULES = 5
CALLS = 3
MOST = 5
"""Decisions of a nest."""
AXIS = 40
"""The most elements of an axis."""
EXACT = {
    "add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square", "reciprocal", "sign", "maximum",
    "minimum", "where", "sum", "max", "min", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal",
    "logical_and", "logical_or", "logical_not", "isnan", "getitem", "gather", "scatter", "reshape", "broadcast_to",
    "transpose", "concatenate", "stack", "pad", "roll", "flip", "copy",
}  # fmt: skip
"""Operations for which compiled code does the arithmetic of NumPy."""


class RandomPolicy:
    """Random legal decisions: the same ones for the same nest."""

    def __init__(self, seed: Sequence[int]):
        self.seed = seed

    def __call__(self, nest: Nest, _: Machine) -> list[Decision]:
        rng = np.random.default_rng([*self.seed, zlib.crc32(show_nest(nest).encode())])
        found = given(nest)
        for _ in range(rng.integers(MOST + 1)):
            possible = legal(nest, found)
            if not possible:
                break
            kinds = sorted({d.kind for d in possible})
            kind = kinds[rng.integers(len(kinds))]
            some = [d for d in possible if d.kind == kind]
            found.append(some[rng.integers(len(some))])
        return found


def generate_for_schedules(seed: int, index: int) -> Program:
    """The program of this number, on arrays with 0 to 40 elements along an axis."""
    program = Program((seed, index), option=" --schedules")
    scope = Scope(program, np.random.default_rng([seed, index, 3]), Sizes(elements=1600))
    for i in range(scope.number(1, 2)):
        ndim = scope.one_of([1, 2, 2, 2, 3])
        shape = tuple(scope.number(1, AXIS if ndim < 3 else 9) for _ in range(ndim))
        if scope.chance(0.02):
            shape = (*shape[:-1], 0)
        dtype = scope.one_of([np.float64] * 5 + [np.float32])
        program.inputs.append(Input(f"x{i}", numbers(scope, shape, dtype, POINTS), scope.one_of(LAYOUTS)))
    for name in ("i0", "i1"):
        program.inputs.append(Input(name, [scope.rng.integers(0, 1000, 40) for _ in range(POINTS)]))
    for argument in program.inputs:
        scope.enter(argument.name, [argument.at(point) for point in range(POINTS)])
    scope.names, scope.unused = [[n for n in some if n[0] == "x"] for some in (scope.names, scope.unused)]
    gathers = GATHER_FAMILIES if scope.chance(0.5) else {}
    families = gathers | {name: FAMILIES[name] for name in ("arithmetic", "reduction", "shape", scope.one_of(OTHERS))}
    grow(scope, families, scope.number(1, 6))
    finish(program, scope, state=False)
    program.result = " + ".join(f"total({name})" for name in scope.unused) or "total(x0)"
    order = draw_fields(scope.rng, True) if scope.chance(0.5) else {}
    program.records = tuple(draw_record(scope.rng, order) for _ in range(SCHEDULES))
    program.effort, program.has_passes = "fast", scope.chance(QUICK)
    return program


def draw_record(rng: np.random.Generator, order: Record) -> Record:
    """A random machine with an order of additions; nothing is too short for threads."""
    fields = draw_fields(rng, False) | order
    return fields | {"threads": int(rng.choice(THREADS)), "vector_bytes": int(rng.choice(VECTORS))}


def check_schedules(run: Run) -> None:
    """Random decisions have the bits of those of the policy, which are those of the reference interpreter."""
    way = Way(run)
    expected = to_numpy(way.reference(*way.args))
    known: dict[tuple, bytes] = {}
    for number, record in enumerate(({"threads": 1}, *run.program.records)):
        run.counts["machines"] += 1
        order = {name: value for name, value in record.items() if name in ORDER_FIELDS}
        policy = RandomPolicy((*run.program.seed, number)) if number else None
        with machine.using(**record), nullcontext() if run.program.has_passes else without_passes():
            g = wg.compile(way.f, effort=run.program.effort, decide=policy)
            found = to_numpy(g(*way.args))
            bits = {bits_of(found), *(bits_of(to_numpy(g(*way.args))) for _ in range(CALLS))}
            where = f"schedule {number}, machine.using({show(record)})"
            run.counts["schedules"] += 1
            run.compare("schedule", found, expected, way.reference, way.args, way.order)
            if run.differences:
                run.differences[-1] = run.differences[-1]._replace(message=f"{where}:\n{run.differences[-1].message}")
                return
            if len(bits) > 1:
                run.differences.append(Difference("schedule", f"{where}: repeated calls differ"))
                return
            key = tuple(sorted(order.items()))
            if known.setdefault(key, min(bits)) not in bits:
                run.differences.append(Difference("bits", f"{where}: not the bits of another schedule"))
                return
            if number in (0, 1):
                compare_with_reference(run, way, g, found, where)
                if run.differences:
                    return


def compare_with_reference(run: Run, way: Way, g: wg.Compiled, found: list[np.ndarray], where: str) -> None:
    """The reference interpreter: equal bits if all arithmetic is that of NumPy, else close."""
    graph = g.trace(*way.args)
    plan = make_plan(prepare(graph), (), "")
    leaves = [x for x in flatten((way.args, {}))[0] if is_traced(x)]
    if len(leaves) != len(graph.inputs):
        return
    try:
        results = run_by_reference(plan, leaves)
    except NotImplementedError:
        run.counts["without a reference"] += 1
        return
    is_exact = all(map(has_exact_arithmetic, nests_of(plan))) and len(list(nests_of(plan))) == len(plan.schedule.steps)
    run.counts["references, bit by bit" if is_exact else "references, within rounding"] += 1
    if is_exact and bits_of(results) != bits_of(found):
        run.differences.append(Difference("reference", f"{where}: not the bits of the reference interpreter"))
    run.compare("reference", results, found, way.reference, way.args, way.order)


def has_exact_arithmetic(nest: Nest) -> bool:
    """Whether the elements of a nest are computed as NumPy computes them: no function, and no fused multiplication."""
    operations = [x for x in (*nest.computed_nodes, *nest.kernel.folds) if isinstance(x, Operation)]
    forms = nest.schedule.forms
    is_plain = all(x.primitive.name.strip("_") in EXACT and forms[x] is not Form.MATRIX for x in operations)
    return is_plain and not has_row_sums(nest)
