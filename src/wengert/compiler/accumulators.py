"""What reductions are computed in, and how the results of lanes and pieces become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.lanes import Code, Lanes, Type
from wengert.compiler.lowering import Reduction, lowering_of
from wengert.compiler.memory_plan import Memory, address
from wengert.graph.ir import Operation

Fold = Callable[[Lanes, Lanes], Lanes]


def accumulated(node: Operation, lanes: int) -> Type:
    """What a reduction is computed in."""
    return Type(Type.from_dtype(node.dtype).kind, lanes)


def across(fold: Fold, x: Lanes) -> Lanes:
    """One value from all lanes: halves on halves."""
    code = x.code
    while x.type.lanes > 1:
        half = x.type.lanes // 2
        parts = []
        for start in (0, half):
            if half > 1:
                order = ", ".join(f"i32 {start + i}" for i in range(half))
                parts.append(
                    code.add(f"shufflevector {x.typed}, {x.typed}, <{half} x i32> <{order}>", Type(x.type.kind, half))
                )
            else:
                parts.append(code.add(f"extractelement {x.typed}, i64 {start}", Type(x.type.kind)))
        x = fold(*parts)
    return x


def write_combination(code: Code, reductions: Sequence[Operation], memory: Memory, pieces: int) -> None:
    """Fold the results of all pieces, in order."""
    for node in reductions:
        fold, kind = lowering_of(node, Reduction).fold, accumulated(node, 1)
        stored = Type("i8") if kind.kind == "i1" else kind
        source, target = address(code, memory.partials[node]), address(code, memory.target(node))
        with code.loop(0, node.size) as e:
            total = code.variable(kind, code.load(code.offset(source, e, stored), stored).to(kind.kind))
            with code.loop(1, pieces) as piece:
                term = code.load(code.offset(source, piece * node.size + e, stored), stored).to(kind.kind)
                code.store(fold(code.load(total, kind), term), total)
            code.store(code.load(total, kind).to(stored.kind), code.offset(target, e, stored))
