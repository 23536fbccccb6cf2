"""Choices: elements that are computed, or read, at one of several positions, by guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import Guard, Position, Read, lane_stride
from wengert.compiler.forms.classify import Form
from wengert.compiler.simd.complex_lanes import constant
from wengert.compiler.simd.lane_operations import gather_lanes, load_element
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import Type
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.kernels.element import Elements


def choose(elements: Elements, node: Operation, reads: Sequence[Read]) -> Lanes:
    """The element of the first read whose guards hold; all of them are known."""
    kind = Type.from_dtype(node.dtype).kind
    value: Lanes | None = None
    for read in reversed(reads):
        known = None if read.operand is None else elements.known[node.args[read.operand], read.position]
        part = constant(elements.code, 0, Type(kind)) if known is None else known.to(kind)
        if value is None:
            value = part
            continue
        condition = do_hold(elements, read.guards)
        assert condition is not None
        condition, part, value = elements.align([condition, part, value])
        value = select(condition, part, value)
    assert value is not None
    return value


def do_hold(elements: Elements, guards: Sequence[Guard]) -> Lanes | None:
    """Whether all guards hold; None if there are none."""
    condition: Lanes | None = None
    for guard in guards:
        n = elements.evaluate(guard.value, True)
        condition = elements.both(condition, n.eq(0) if guard.is_zero else n >= 0)
    return condition


def read_chosen(elements: Elements, node: Node, position: Position) -> Lanes | None:
    """An element of a choice between elements of one array in memory: its index is chosen, and read once."""
    if elements.schedule.forms[node] is not Form.CHOICE or elements.is_stored(node):
        return None
    assert isinstance(node, Operation)
    reads = elements.reads(node, position)
    operands = {node.args[r.operand] if r.operand is not None else None for r in reads}
    source = operands.pop()
    if len(reads) < 2 or operands or source is None or not elements.is_stored(source) or source.size == 1:
        return None
    found = [elements.find_source(source, elements.memory_index(source, r.position)) for r in reads]
    conditions = [do_hold(elements, r.guards) for r in reads]
    (stride, lanes), *others = [lane_stride(element.at) for element in found]
    is_same = stride in (0, 1) and all(other == (stride, lanes) for other in others)
    is_together = is_same and all(c is None or c.type.lanes == 1 for c in conditions)  # one index for all lanes
    index = elements.evaluate(found[-1].at, not is_together)
    for element, condition in zip(found[-2::-1], conditions[-2::-1], strict=True):
        assert condition is not None
        i = elements.evaluate(element.at, not is_together)
        condition, i, index = elements.align([condition, i, index])
        index = select(condition, i, index)
    type, base, code = Type.from_dtype(source.dtype).in_memory, found[0].base, elements.code
    if is_together:
        address = code.offset(base, index, type)
        value = load_element(code, address, Type(type.kind, lanes), type.align, found[0].is_overwritten)
    else:
        value = gather_lanes(base, index, Type(type.kind, index.type.lanes), type.align)
    value = value.ne(0) if source.dtype.kind == "b" else value
    return value.to(Type.from_dtype(node.dtype).kind)
