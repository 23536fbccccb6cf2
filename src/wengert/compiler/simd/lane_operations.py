"""Instructions that move lanes: between lanes, and between lanes and memory.

The parts of complex numbers alternate in memory: neighbours are read and written as twice as many floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.simd.complex_lanes import Complex, RunningState
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type

Fold = Callable[[Lanes, Lanes], Lanes]


def splat(x: Lanes, lanes: int) -> Lanes:
    """One value in every lane."""
    if lanes == 1:
        return x
    if isinstance(x, Complex):
        return x.of_parts(lambda part: splat(part, lanes))
    code, type = x.code, Type(x.type.kind, lanes)
    first = code.add(f"insertelement {type.text} poison, {x.typed}, i64 0", type)
    return code.add(f"shufflevector {first.typed}, {type.text} poison, <{lanes} x i32> zeroinitializer", type)


def pick_lanes(x: Lanes, indices: Sequence[int]) -> Lanes:
    """Some of the lanes, in this order."""
    if isinstance(x, Complex):
        return x.of_parts(lambda part: pick_lanes(part, indices))
    if x.type.lanes == 1:
        return splat(x, len(indices))
    if len(indices) == 1:
        return x.code.add(f"extractelement {x.typed}, i64 {indices[0]}", Type(x.type.kind))
    order = ", ".join(f"i32 {i}" for i in indices)
    type = Type(x.type.kind, len(indices))
    return x.code.add(f"shufflevector {x.typed}, {x.typed}, <{len(indices)} x i32> <{order}>", type)


def join_lanes(x: Lanes, y: Lanes) -> Lanes:
    """The lanes of two vectors of one type, one after the other."""
    type = Type(x.type.kind, 2 * x.type.lanes)
    order = ", ".join(f"i32 {i}" for i in range(type.lanes))
    return x.code.add(f"shufflevector {x.typed}, {y.typed}, <{type.lanes} x i32> <{order}>", type)


def join_elements(values: Sequence[Lanes]) -> Lanes:
    """A vector with a lane for each number."""
    code, type = values[0].code, Type(values[0].type.kind, len(values))
    found = values[0] if type.lanes == 1 else Lanes(code, "poison", type)
    for lane, value in enumerate(values if type.lanes > 1 else ()):
        found = code.add(f"insertelement {found.typed}, {value.typed}, i64 {lane}", type)
    return found


def count_lanes(code: Code, type: Type, step: int = 1) -> Lanes:
    """The integer 0 in the first lane, `step` in the next one, and so on."""
    steps = ", ".join(f"{type.scalar} {step * i}" for i in range(type.lanes))
    return Lanes(code, f"<{steps}>", type) if type.lanes > 1 else code.constant(0, type)


def first_lanes(code: Code, count: int, lanes: int) -> Lanes:
    """A mask of so many lanes."""
    bits = ", ".join(f"i1 {int(i < count)}" for i in range(lanes))
    return Lanes(code, f"<{bits}>" if lanes > 1 else str(int(count > 0)), Type("i1", lanes))


def fold_lanes(fold: Fold, x: Lanes) -> Lanes:
    """One value from all lanes: the two halves are folded until one lane is left."""
    while x.type.lanes > 1:
        half = x.type.lanes // 2
        x = fold(pick_lanes(x, range(half)), pick_lanes(x, range(half, 2 * half)))
    return x


def any_lane(condition: Lanes) -> Lanes:
    """Whether a condition holds in any lane."""
    if condition.type.lanes == 1:
        return condition
    return condition.code.intrinsic("vector.reduce.or", Type("i1"), condition, overload=condition.type.suffix)


def load_element(code: Code, address: Lanes, type: Type, align: int, is_overwritten: bool = False) -> Lanes:
    """Elements from memory, which the kernel does not write to unless `is_overwritten`."""
    if type.is_complex:
        return deinterleave(load_element(code, address, alternating(type), align, is_overwritten))
    if type.parts > 1:
        addresses = [code.offset(address, k, type.part) for k in range(type.parts)]
        return RunningState(*[load_element(code, at, type.part, align, is_overwritten) for at in addresses])
    return code.add(
        f"load {type.text}, {address.typed}, align {align}{'' if is_overwritten else ', !invariant.load !0'}", type
    )


def store_element(value: Lanes, address: Lanes, align: int) -> None:
    """Elements to memory."""
    if isinstance(value, RunningState):
        for k, part in enumerate(value.parts):
            store_element(part, value.code.offset(address, k, part.type), align)
        return
    value.code.store(interleave(value) if isinstance(value, Complex) else value, address, align)


def alternating(type: Type) -> Type:
    """The floats that complex numbers are in memory."""
    return Type(type.part.kind, 2 * type.lanes)


def deinterleave(x: Lanes) -> Complex:
    """Complex numbers from their parts in turn."""
    return Complex(pick_lanes(x, range(0, x.type.lanes, 2)), pick_lanes(x, range(1, x.type.lanes, 2)))


def interleave(x: Complex) -> Lanes:
    """The parts of complex numbers in turn."""
    lanes, type = x.type.lanes, alternating(x.type)
    if lanes == 1:
        first = x.code.add(f"insertelement {type.text} poison, {x.real.typed}, i64 0", type)
        return x.code.add(f"insertelement {first.typed}, {x.imag.typed}, i64 1", type)
    order = ", ".join(f"i32 {i // 2 + lanes * (i % 2)}" for i in range(2 * lanes))
    return x.code.add(f"shufflevector {x.real.typed}, {x.imag.typed}, <{2 * lanes} x i32> <{order}>", type)


def load_masked(address: Lanes, type: Type, align: int, mask: Lanes) -> Lanes:
    """Neighbouring elements from memory where the mask holds, zero elsewhere."""
    if type.is_complex:
        twice = pick_lanes(mask, [i // 2 for i in range(2 * type.lanes)])
        return deinterleave(load_masked(address, alternating(type), align, twice))
    code = address.code
    symbol = f"@llvm.masked.load.{type.suffix}.p0"
    code.declarations.setdefault(symbol, f"declare {type.text} {symbol}(ptr, i32, {mask.type.text}, {type.text})")
    return code.add(
        f"call {type.text} {symbol}({address.typed}, i32 {align}, {mask.typed}, {type.text} zeroinitializer)", type
    )


def gather_lanes(base: Lanes, indices: Lanes, type: Type, align: int) -> Lanes:
    """Each lane from an element of memory; both parts of a complex number at once."""
    code, lanes = base.code, type.lanes
    if type.is_complex:
        pair = Type(type.kind)
        at = [code.offset(base, pick_lanes(indices, [i]), pair) for i in range(lanes)]
        parts = [load_element(code, address, alternating(pair), align, is_overwritten=True) for address in at]
        while len(parts) > 1:
            parts = [join_lanes(x, y) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        return deinterleave(parts[0])
    pointers, every = Type("ptr", lanes), code.constant(True, Type("i1", lanes))
    addresses = code.add(f"getelementptr {type.scalar}, {base.typed}, {indices.typed}", pointers)
    symbol = f"@llvm.masked.gather.{type.suffix}.v{lanes}p0"
    code.declarations.setdefault(
        symbol, f"declare {type.text} {symbol}({pointers.text}, i32, {every.type.text}, {type.text})"
    )
    return code.add(
        f"call {type.text} {symbol}({addresses.typed}, i32 {align}, {every.typed}, {type.text} zeroinitializer)", type
    )


def scatter_lanes(value: Lanes, base: Lanes, indices: Lanes, align: int) -> None:
    """Each lane to an element of memory."""
    if isinstance(value, Complex):
        scatter_lanes(value.real, base, indices + indices, align)
        scatter_lanes(value.imag, base.code.offset(base, 1, value.real.type), indices + indices, align)
        return
    code, lanes = base.code, value.type.lanes
    pointers = Type("ptr", lanes)
    addresses = code.add(f"getelementptr {value.type.scalar}, {base.typed}, {indices.typed}", pointers)
    every = code.constant(True, Type("i1", lanes))
    symbol = f"@llvm.masked.scatter.{value.type.suffix}.v{lanes}p0"
    code.declarations.setdefault(
        symbol, f"declare void {symbol}({value.type.text}, {pointers.text}, i32, {every.type.text})"
    )
    code.do(f"call void {symbol}({value.typed}, {addresses.typed}, i32 {align}, {every.typed})")
