"""Recurrences along runs: each element from the one before it, unless a run begins, as in `ops/indexing`.

A run begins at the start of each row, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import FLOATS, Instructions, Routine, lowering
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import Type
from wengert.core.aspects import primitive_of
from wengert.graph.ir import Operation
from wengert.ops.indexing.repeated_updates import UPDATES

BYTE = Type("i8")

Step = Callable[[Lanes, Sequence[Lanes]], Lanes]
"""The next element, from the one before it and the numbers that stand beside that."""


def can_run(node: Operation) -> bool:
    """Whether all numbers are floats of one dtype, in memory."""
    *numbers, _ = node.args
    return (
        node.dtype in FLOATS and node.size > 0 and all(x.dtype == node.dtype and not is_immediate(x) for x in numbers)
    )


def write_runs(call: RoutineCall, step: Step) -> None:
    """All elements, one after the other."""
    code, kept = call.code, Type.from_dtype(call.node.dtype)
    start, *beside, first = [operand.pointer for operand in call.operands]
    element = code.variable(kept, code.constant(0.0, kept))
    before = [code.variable(kept, code.constant(0.0, kept)) for _ in beside]
    length = call.node.shape[-1]
    with code.loop(0, call.node.size // length) as row, code.loop(0, length) as j:
        i = row * length + j
        begins = code.load(code.offset(first, i, BYTE), BYTE).ne(0) | j.eq(0)
        stepped = step(code.load(element, kept), [code.load(x, kept) for x in before])
        value = select(begins, code.load(code.offset(start, i, kept), kept), stepped)
        code.store(value, element)
        code.store(value, code.offset(call.result, i, kept))
        for x, pointer in zip(before, beside, strict=True):
            code.store(code.load(code.offset(pointer, i, kept), kept), x)


def write_running(call: RoutineCall) -> None:
    """Updates by an operation of the table."""
    instructions = lowering.of(primitive_of(UPDATES[call.node.params["update"]]))
    assert isinstance(instructions, Instructions)
    kind = Type.from_dtype(call.node.dtype).kind
    write_runs(call, lambda element, before: instructions.write([element, *before], kind, {}))


def write_chain(call: RoutineCall) -> None:
    """Affine functions."""
    write_runs(call, lambda element, before: before[0] * element + before[1])


RUNNING, CHAIN = Routine(write_running, can_run), Routine(write_chain, can_run)
