"""LLVM text, written by Python: `Lanes` are neighbouring elements in one register, `Code` the lines of one function.

Operators on lanes write instructions, so that a formula reads as mathematics: `x * x + 1.0` writes a product and a sum.
Numbers on either side become constants of the other side's type. Nothing is reassociated or contracted: results are
rounded as in NumPy, and only `fma` writes a fused multiply-add.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.compiler.machine.target import machine_target
from wengert.compiler.simd.types import BOOL, I64, PTR, Number, Type, constant_text


class Code:
    """The lines of one function, and the functions that it calls.

    `calls` counts the calls of vector functions, and `halves` has those of the present block that are one of a pair, by
    name and argument: their lines and results. `declarations` are those of external functions, `blas_functions` the
    names of those that are BLAS's and LAPACK's. `hoisted` lines belong to the start of the function.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.hoisted: list[str] = []
        self.count = 0
        self.declarations: dict[str, str] = {}
        self.calls: dict[tuple[str, Type], int] = {}
        self.halves: dict[tuple[str, str], tuple[int, Lanes]] = {}
        self.blas_functions: set[str] = set()

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, text: str, type: Type) -> Lanes:
        """Add an instruction with a result."""
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return Lanes(self, name, type)

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(f"  {text}")

    def constant(self, value: Number, type: Type) -> Lanes:
        return Lanes(self, constant_text(value, type), type)

    def intrinsic(self, name: str, type: Type, *args: Lanes, overload: str = "") -> Lanes:
        """Call one of LLVM's intrinsics, such as `llvm.fma`, by the type of its result."""
        if f"{name}.{type.kind}" in machine_target().lacks:
            return MISSING[name](*args)
        symbol = f"@llvm.{name}.{overload or type.suffix}"
        return self.call(symbol, type, *args)

    def call(self, symbol: str, type: Type | None, *args: Lanes) -> Lanes:
        """Call a function of another module; without a type it has no result."""
        result = "void" if type is None else type.text
        if symbol not in self.declarations:
            self.declarations[symbol] = f"declare {result} {symbol}({', '.join(a.type.text for a in args)})"
        text = f"call {result} {symbol}({', '.join(a.typed for a in args)})"
        if type is not None:
            return self.add(text, type)
        self.do(text)
        return self.constant(0, I64)

    def call_blas(self, name: str, *addresses: Lanes) -> None:
        """Call a function of BLAS or LAPACK, whose arguments are all addresses."""
        self.blas_functions.add(name)
        self.call(f"@wengert.{name}", None, *addresses)

    # Blocks and memory

    def label(self, hint: str, runs: int = 1) -> str:
        """The name of a block, which tells whoever counts instructions that it runs so often at the least."""
        self.count += 1
        return f"{hint}{self.count}" if runs == 1 else f"{hint}.runs{runs}.{self.count}"

    def begin(self, label: str) -> None:
        """Start a block. The previous one must have ended with a jump."""
        self.halves.clear()
        self.lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: Lanes, then: str, otherwise: str) -> None:
        self.do(f"br {condition.typed}, label %{then}, label %{otherwise}")

    @contextmanager
    def loop(self, start: Lanes | int, stop: Lanes | int, step: Lanes | int = 1) -> Iterator[Lanes]:
        """A loop whose body is the code written in the `with` block; yields its counter."""
        slot = self.variable(I64, start)
        head, body, done = self.label("loop"), self.label("body"), self.label("done")
        self.jump(head)
        self.begin(head)
        i = self.load(slot, I64)
        self.branch(i < stop, body, done)
        self.begin(body)
        yield i
        self.store(i + step, slot)
        self.jump(head)
        self.begin(done)

    def variable(self, type: Type, value: Lanes | Number, count: int = 1) -> Lanes:
        """The address of a variable on the stack, which LLVM turns into a register; or of the first of an array."""
        name = self.name()
        self.hoisted.append(f"  {name} = alloca {type.text}" + (f", i64 {count}" if count > 1 else ""))
        address = Lanes(self, name, PTR)
        self.store(self.lift(value, type), address)
        return address

    def number(self, type: Type, value: Number) -> Lanes:
        """The address of a constant, for functions that take addresses."""
        text = constant_text(value, type)
        name = f'@"wengert.{type.kind}.{text}"'
        self.declarations[name] = f"{name} = private unnamed_addr constant {type.text} {text}"
        return Lanes(self, name, PTR)

    def numbers(self, type: Type, values: Sequence[Number]) -> Lanes:
        """The address of constants, one after the other."""
        name = f'@"wengert.{type.kind}s.{".".join(map(str, values))}"'
        texts = ", ".join(f"{type.text} {constant_text(value, type)}" for value in values)
        self.declarations[name] = f"{name} = private unnamed_addr constant [{len(values)} x {type.text}] [{texts}]"
        return Lanes(self, name, PTR)

    def lift(self, value: Lanes | Number, type: Type) -> Lanes:
        return value if isinstance(value, Lanes) else self.constant(value, type)

    def load(self, address: Lanes, type: Type, align: int = 0) -> Lanes:
        return self.add(f"load {type.text}, {address.typed}" + (f", align {align}" if align else ""), type)

    def store(self, value: Lanes, address: Lanes, align: int = 0) -> None:
        self.do(f"store {value.typed}, {address.typed}" + (f", align {align}" if align else ""))

    def update_shared(self, operation: str, address: Lanes, value: Lanes) -> None:
        """Change an integer in memory that other threads may change meanwhile, if there are any.

        `or` and `add`; on GPUs also `min` and `max`.
        """
        if machine_target().is_freestanding:
            known = self.load(address, value.type)
            self.store(self.add(f"{operation} {known.typed}, {value.text}", value.type), address)
        else:
            self.add(f"atomicrmw {operation} {address.typed}, {value.typed} monotonic", value.type)

    def copy(self, target: Lanes, source: Lanes, size: Lanes | int) -> None:
        """Copy bytes between addresses that do not overlap."""
        is_volatile = self.constant(False, BOOL)
        self.call("@llvm.memcpy.p0.p0.i64", None, target, source, self.lift(size, I64), is_volatile)

    def clear(self, target: Lanes, size: Lanes | int) -> None:
        """Fill bytes with zeros."""
        zero, is_volatile = self.constant(0, Type("i8")), self.constant(False, BOOL)
        self.call("@llvm.memset.p0.i64", None, target, zero, self.lift(size, I64), is_volatile)

    def array(self, type: Type, count: int) -> Lanes:
        """The address of an array on the stack."""
        name = self.name()
        self.hoisted.append(f"  {name} = alloca [{count} x {type.text}], align 64")
        return Lanes(self, name, PTR)

    @contextmanager
    def when(self, condition: Lanes, runs: int = 1) -> Iterator[None]:
        """Run the code written in the `with` block if a condition holds: so often at the least, in a loop."""
        then, done = self.label("then", runs), self.label("done")
        self.branch(condition, then, done)
        self.begin(then)
        yield
        self.jump(done)
        self.begin(done)

    def offset(self, pointer: Lanes, index: Lanes | int, type: Type) -> Lanes:
        """The address of the element with an index in an array of a type."""
        if index.__class__ is int and index == 0:
            return pointer
        return self.add(f"getelementptr {type.scalar}, {pointer.typed}, {self.lift(index, I64).typed}", PTR)


MISSING: dict[str, Callable[..., Lanes]] = {}
"""What stands for intrinsics that a target lacks (`missing_instructions.py`)."""

PAIRS: list[Callable[[Lanes, Lanes], Lanes]] = []
"""How two parts become a complex value; `complex_lanes.py`, which builds on this file, says it."""


class Lanes:
    """The values of neighbouring elements, or one value if its type has one lane."""

    __slots__ = ("code", "text", "type")

    def __init__(self, code: Code, text: str, type: Type):
        self.code, self.text, self.type = code, text, type

    @property
    def typed(self) -> str:
        return f"{self.type.text} {self.text}"

    @property
    def constant_value(self) -> float | None:
        """The value of a float that is a constant, else None."""
        if self.text[0] == "%":
            return None
        digits = self.text.split()[-1].rstrip(")")
        return float(struct.unpack("<d", struct.pack("<Q", int(digits, 16)))[0])

    def like(self, value: Lanes | Number) -> Lanes:
        """A number as a constant of this type."""
        return value if value.__class__ is Lanes else Lanes(self.code, constant_text(value, self.type), self.type)  # type: ignore[arg-type]  # a number

    def _binary(self, float_op: str, int_op: str, x: Any, y: Any) -> Lanes:
        op = float_op if self.type.is_float else int_op
        return self.code.add(f"{op} {self.type.text} {self.like(x).text}, {self.like(y).text}", self.type)

    def __add__(self, other: Any) -> Lanes:
        return self._binary("fadd", "add", self, other)

    def __radd__(self, other: Any) -> Lanes:
        return self._binary("fadd", "add", other, self)

    def __sub__(self, other: Any) -> Lanes:
        return self._binary("fsub", "sub", self, other)

    def __rsub__(self, other: Any) -> Lanes:
        return self._binary("fsub", "sub", other, self)

    def __mul__(self, other: Any) -> Lanes:
        return self._binary("fmul", "mul", self, other)

    def __rmul__(self, other: Any) -> Lanes:
        return self._binary("fmul", "mul", other, self)

    def __truediv__(self, other: Any) -> Lanes:
        return self._binary("fdiv", "", self, other)

    def __rtruediv__(self, other: Any) -> Lanes:
        return self._binary("fdiv", "", other, self)

    def __neg__(self) -> Lanes:
        if self.type.is_float:
            return self.code.add(f"fneg {self.typed}", self.type)
        return 0 - self

    # Integers and booleans

    def __and__(self, other: Any) -> Lanes:
        return self._binary("", "and", self, other)

    def __or__(self, other: Any) -> Lanes:
        return self._binary("", "or", self, other)

    def __xor__(self, other: Any) -> Lanes:
        return self._binary("", "xor", self, other)

    def __invert__(self) -> Lanes:
        return self ^ (True if self.type.kind == "i1" else -1)

    def __lshift__(self, other: Any) -> Lanes:
        return self._binary("", "shl", self, other)

    def __rshift__(self, other: Any) -> Lanes:
        """A shift to the right that keeps the sign."""
        return self._binary("", "ashr", self, other)

    def logical_right(self, other: Any) -> Lanes:
        """A shift to the right that fills with zeros."""
        return self._binary("", "lshr", self, other)

    # Comparisons: false with a NaN, except for `ne`.

    def _compare(self, float_predicate: str, int_predicate: str, other: Any) -> Lanes:
        op = f"fcmp {float_predicate}" if self.type.is_float else f"icmp {int_predicate}"
        return self.code.add(f"{op} {self.typed}, {self.like(other).text}", self.type.of("i1"))

    def __lt__(self, other: Any) -> Lanes:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Any) -> Lanes:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Any) -> Lanes:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Any) -> Lanes:
        return self._compare("oge", "sge", other)

    def eq(self, other: Any) -> Lanes:
        return self._compare("oeq", "eq", other)

    def ne(self, other: Any) -> Lanes:
        return self._compare("une", "ne", other)

    def eq_or_nan(self, other: Any) -> Lanes:
        """Whether floats are equal, or one of them is NaN."""
        return self._compare("ueq", "", other)

    def is_nan(self) -> Lanes:
        return self._compare("uno", "", self)

    # Conversions

    def bits(self) -> Lanes:
        """The bits of floats, as integers."""
        return self._cast("bitcast", self.type.of("i" + self.type.kind[1:]))

    def floats(self) -> Lanes:
        """Floats from their bits."""
        return self._cast("bitcast", self.type.of("f" + self.type.kind[1:]))

    def to(self, kind: str) -> Lanes:
        """Convert to another kind: floats are rounded, or truncated to integers; `i1` is true if not zero."""
        new = self.type.of(kind)
        if new == self.type:
            return self
        if new.is_complex:
            part = self.to(new.part.kind)
            return PAIRS[0](part, part.like(0.0))
        if kind == "i1":
            return self.ne(0)
        if self.type.is_float:
            if not new.is_float:
                return self._cast("fptosi", new)
            return self._cast("fpext" if new.bits > self.type.bits else "fptrunc", new)
        unsigned = self.type.kind == "i1"
        if new.is_float and not unsigned and self.text[0] != "%":  # a constant: `3`, or `splat (i64 3)`
            return self.code.constant(int(self.text.split()[-1].rstrip(")")), new)
        if new.is_float:
            return self._cast("uitofp" if unsigned else "sitofp", new)
        if new.bits < self.type.bits:
            return self._cast("trunc", new)
        return self._cast("zext" if unsigned else "sext", new)

    def _cast(self, op: str, new: Type) -> Lanes:
        return self.code.add(f"{op} {self.typed} to {new.text}", new)

    # Functions of one instruction, or few

    def abs(self) -> Lanes:
        return self.code.intrinsic("fabs", self.type, self)

    def sqrt(self) -> Lanes:
        return self.code.intrinsic("sqrt", self.type, self)

    def floor(self) -> Lanes:
        return self.code.intrinsic("floor", self.type, self)

    def ceil(self) -> Lanes:
        return self.code.intrinsic("ceil", self.type, self)

    def trunc(self) -> Lanes:
        return self.code.intrinsic("trunc", self.type, self)

    def rint(self) -> Lanes:
        """The nearest integer, ties to even, as a float."""
        return self.code.intrinsic("roundeven", self.type, self)

    def copysign(self, sign: Any) -> Lanes:
        return self.code.intrinsic("copysign", self.type, self, self.like(sign))

    def times_plus(self, factor: Lanes, term: Lanes) -> Lanes:
        return self.code.intrinsic("fma", self.type, self, factor, term)

    def where(self, condition: Lanes, other: Lanes) -> Lanes:
        return self.code.add(f"select {condition.typed}, {self.typed}, {other.typed}", self.type)


def fma(x: Lanes, y: Lanes | Number, z: Lanes | Number) -> Lanes:
    """x * y + z, rounded once; of complex numbers, once for each product of two parts."""
    return x.times_plus(x.like(y), x.like(z))


def split_index(number: Lanes, *inner: int) -> list[Lanes]:
    """The index along each axis of a number that counts elements in order; `inner` has all extents but the first."""
    code, found = number.code, []
    for n in reversed(inner):
        found.append(code.add(f"urem {number.typed}, {n}", number.type) if n > 1 else number.like(0))
        number = code.add(f"udiv {number.typed}, {n}", number.type) if n > 1 else number
    return [number, *reversed(found)]


def divide_usual(x: Lanes | Number, y: Lanes) -> Lanes:
    """x / y, where neither they nor the quotient can be very large or very small: a mark that a target may use."""
    return y.code.add(f"fdiv {y.like(x).typed}, {y.text}, !usual !{{}}", y.type)


def select(condition: Lanes, x: Lanes | Number, y: Lanes | Number) -> Lanes:
    """x where the condition holds, else y; at least one of them is `Lanes`."""
    like = x if isinstance(x, Lanes) else y
    assert isinstance(like, Lanes)
    return like.like(x).where(condition, like.like(y))


def polynomial(x: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    """A polynomial by Horner's rule with fused multiply-adds; the coefficient of the highest power comes first."""
    total: Lanes | float = coefficients[0]
    for c in coefficients[1:]:
        total = fma(x.like(total), x, c)
    return x.like(total)


def short_polynomial(x: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    """A polynomial by Estrin's scheme: pairs of terms first, so that a chain of half the length waits for x."""
    if len(coefficients) < 4:
        return polynomial(x, coefficients)
    padded = (0.0,) * (len(coefficients) % 2) + coefficients
    pairs = [fma(x, *pair) for pair in zip(padded[::2], padded[1::2], strict=True)]
    square, total = x * x, pairs[0]
    for pair in pairs[1:]:
        total = fma(total, square, pair)
    return total
