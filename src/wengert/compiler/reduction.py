"""What reductions fold, where they start, and how partial results become one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from wengert.compiler.lanes import Code, Lanes, Type, select
from wengert.compiler.memory import Memory, address
from wengert.compiler.scalar import maximum, minimum
from wengert.graph.ir import Operation

Fold = Callable[[Lanes, Lanes], Lanes]


def larger(x: Lanes, y: Lanes) -> Lanes:
    """The larger one, NaN if there is one, and 0.0 rather than -0.0, in whatever order numbers are compared."""
    if not x.type.is_float:
        return maximum(x, y)
    return select(x.eq(y), (x.bits() & y.bits()).floats(), maximum(x, y))


def smaller(x: Lanes, y: Lanes) -> Lanes:
    if not x.type.is_float:
        return minimum(x, y)
    return select(x.eq(y), (x.bits() | y.bits()).floats(), minimum(x, y))


FOLDS: dict[str, Fold] = {
    "sum": lambda x, y: x | y if x.type.kind == "i1" else x + y,
    "prod": lambda x, y: x & y if x.type.kind == "i1" else x * y,
    "max": larger,
    "min": smaller,
    "all": lambda x, y: x & y,
    "any": lambda x, y: x | y,
}
"""How two partial results become one."""

IDENTITIES: dict[str, Callable[[Type], Any]] = {
    "sum": lambda type: 0,
    "prod": lambda type: 1,
    "max": lambda type: -math.inf if type.is_float else False if type.kind == "i1" else -(1 << (type.bits - 1)),
    "min": lambda type: math.inf if type.is_float else True if type.kind == "i1" else (1 << (type.bits - 1)) - 1,
    "all": lambda type: True,
    "any": lambda type: False,
}
"""What a reduction starts with."""


def accumulated(node: Operation, lanes: int) -> Type:
    """What a reduction is computed in."""
    return Type("i1" if node.primitive.name in ("all", "any") else Type.from_dtype(node.dtype).kind, lanes)


def across(fold: Fold, x: Lanes) -> Lanes:
    """One value from all lanes: halves on halves."""
    code = x.code
    while x.type.lanes > 1:
        half = x.type.lanes // 2
        parts = []
        for start in (0, half):
            if half > 1:
                order = ", ".join(f"i32 {start + i}" for i in range(half))
                parts.append(code.add(f"shufflevector {x.typed}, {x.typed}, <{half} x i32> <{order}>", Type(x.type.kind, half)))
            else:
                parts.append(code.add(f"extractelement {x.typed}, i64 {start}", Type(x.type.kind)))
        x = fold(*parts)
    return x


def write_combination(code: Code, reductions: Sequence[Operation], memory: Memory, pieces: int) -> None:
    """Fold the results of all pieces, in order."""
    for node in reductions:
        fold, kind = FOLDS[node.primitive.name], accumulated(node, 1)
        stored = Type("i8") if kind.kind == "i1" else kind
        source, target = address(code, memory.partials[node]), address(code, memory.target(node))
        with code.loop(0, node.size) as e:
            total = code.variable(kind, code.load(code.offset(source, e, stored), stored).to(kind.kind))
            with code.loop(1, pieces) as piece:
                term = code.load(code.offset(source, piece * node.size + e, stored), stored).to(kind.kind)
                code.store(fold(code.load(total, kind), term), total)
            code.store(code.load(total, kind).to(stored.kind), code.offset(target, e, stored))
