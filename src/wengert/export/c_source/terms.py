"""Expressions of C: a `Term` is one value, with the operators of SIMD lanes, and writes C instead of LLVM text.

So the lowerings of elementwise operations (`compiler/aspects/`) and the folds of reductions serve C as well, with one
lane. A term keeps its operands, and its string is made when it is needed, with as few parentheses as C requires and
compilers do not warn about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Number, Type

CHOICE, OR, AND, BITS, EQUALITY, ORDER, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(11)
"""What binds more tightly is larger, as in C; operators on bits are always in parentheses among others."""

C_TYPES = {"f64": "double", "f32": "float", "i64": "int64_t", "i32": "int32_t", "i8": "int", "i1": "int"}
"""The types of values in expressions: booleans and comparisons are `int`, as in C."""
STORED_TYPES = {**C_TYPES, "i1": "uint8_t", "i8": "uint8_t"}
"""The types of elements in arrays."""
INTRINSICS = {
    **{name: name for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "copysign", "fma")},
    "roundeven": "rint",
}
"""LLVM's intrinsics as functions of <math.h>; `rint` rounds ties to even in the default mode."""
LARGEST_INT = 2**31 - 1


class CCode(Code):
    """Writes constants and calls as terms: what lowerings ask of the code around them."""

    def constant(self, value: Number, type: Type) -> Term:
        text = literal(value, type)
        return Term(self, text, type, (), UNARY if text[0] == "-" else ATOM)

    def intrinsic(self, name: str, type: Type, *args: Lanes, overload: str = "") -> Term:  # noqa: ARG002  # as LLVM's code has it
        return self.function(INTRINSICS[name] + ("f" if type.kind == "f32" else ""), type, args)

    def function(self, name: str, type: Type, args: Sequence[Lanes]) -> Term:
        """A call of a function of C."""
        pattern = f"{name}({', '.join(f'{{{i}}}' for i in range(len(args)))})"
        return Term(self, pattern, type, tuple(args), ATOM, (CHOICE,) * len(args))

    def atom(self, text: str, type: Type) -> Term:
        """A variable, or an element of an array."""
        return Term(self, text, type)


class Term(Lanes):
    """An expression: a pattern for its operands, which must bind at least as tightly as `needs` says."""

    __slots__ = ("needs", "operands", "precedence")

    def __init__(
        self,
        code: Code,
        pattern: str,
        type: Type,
        operands: tuple[Any, ...] = (),
        precedence: int = ATOM,
        needs: tuple[int, ...] = (),
    ):
        super().__init__(code, pattern, type)
        self.operands, self.precedence, self.needs = operands, precedence, needs

    def __str__(self) -> str:
        if not self.operands:
            return self.text
        parts = [
            str(x) if x.precedence >= least else f"({x})" for x, least in zip(self.operands, self.needs, strict=True)
        ]
        return self.text.format(*parts)

    @property
    def as_value(self) -> str:
        """The expression where it is assigned: a macro such as `isnan` gives any number that is not zero."""
        is_call = self.type.kind == "i1" and bool(self.operands) and self.precedence == ATOM
        return f"{self} != 0" if is_call else str(self)

    def count(self, part: Term) -> int:
        """How often a part occurs in the expression."""
        return 1 if self is part else sum([x.count(part) for x in self.operands])

    def infix(self, symbol: str, x: Any, y: Any, precedence: int, needs: tuple[int, int], type: Type) -> Term:
        """An operator between two operands."""
        operands = self.like(x), self.like(y)
        return Term(self.code, f"{{0}} {symbol} {{1}}", type, operands, precedence, needs)

    def like(self, value: Any) -> Term:
        return value if isinstance(value, Term) else self.code.constant(value, self.type)  # type: ignore[return-value]  # this code writes terms

    def _binary(self, float_op: str, int_op: str, x: Any, y: Any) -> Term:
        op = float_op if self.type.is_float else int_op
        if self.type.kind == "i1" and op in LOGICAL:
            symbol, precedence = LOGICAL[op]
            least = {"and": EQUALITY, "or": EQUALITY, "xor": ATOM}[op]  # compilers want parentheses around && in ||
            return self.infix(symbol, x, y, precedence, (AND if op == "and" else least, least), self.type)
        symbol, precedence = ARITHMETIC[op]
        needs = (ATOM, ATOM) if precedence in (BITS, SHIFT) else (precedence, precedence + 1)
        return self.infix(symbol, x, y, precedence, needs, self.type)

    def __neg__(self) -> Term:
        return Term(self.code, "-{0}", self.type, (self,), UNARY, (ATOM,))

    def __invert__(self) -> Term:
        symbol = "!" if self.type.kind == "i1" else "~"
        return Term(self.code, f"{symbol}{{0}}", self.type, (self,), UNARY, (ATOM,))

    def logical_right(self, other: Any) -> Term:
        raise NotImplementedError("the aspect `c_function` says how operations on bits are written in C")

    def _compare(self, float_predicate: str, int_predicate: str, other: Any) -> Term:
        if float_predicate == "uno":
            return self.code.function("isnan", Type("i1"), (self,))  # type: ignore[attr-defined]  # this code writes terms
        if int_predicate == "ne" and other.__class__ is int and not other and self.is_widened:
            return self.operands[0]
        if int_predicate == "slt" and other.__class__ is int and not other and self.is_widened:
            return self.code.constant(False, Type("i1"))  # type: ignore[return-value]  # this code writes terms
        symbol = COMPARISONS[int_predicate]
        precedence = EQUALITY if symbol in ("==", "!=") else ORDER
        return self.infix(symbol, self, other, precedence, (SHIFT, SHIFT), Type("i1"))

    @property
    def is_widened(self) -> bool:
        """Whether it is a condition, taken as an integer."""
        return self.text == "{0}" and self.operands[0].type.kind == "i1"

    def is_nan(self) -> Term:
        return self._compare("uno", "", self)

    def bits(self) -> Term:
        raise NotImplementedError("the aspect `c_function` says how operations on bits are written in C")

    def floats(self) -> Term:
        raise NotImplementedError("the aspect `c_function` says how operations on bits are written in C")

    def to(self, kind: str) -> Term:
        if kind == self.type.kind:
            return self
        if kind == "i1":
            return self.ne(0)  # type: ignore[return-value]  # a term
        new = Type(kind)
        if not self.operands and self.precedence >= UNARY and is_plain_number(self.text) and self.type.kind != "f32":
            number = float(self.text) if self.type.is_float else int(self.text)
            if new.is_float:
                return self.code.constant(number, new)  # type: ignore[return-value]  # this code writes terms
        if C_TYPES[kind] == C_TYPES[self.type.kind]:
            return Term(self.code, "{0}", new, (self,), self.precedence, (CHOICE,))
        return Term(self.code, f"({C_TYPES[kind]}){{0}}", new, (self,), UNARY, (ATOM,))

    def where(self, condition: Lanes, other: Lanes) -> Term:
        operands = (condition, self, other)
        return Term(self.code, "{0} ? {1} : {2}", self.type, operands, CHOICE, (ATOM, OR, OR))


LOGICAL = {"and": ("&&", AND), "or": ("||", OR), "xor": ("!=", EQUALITY)}
ARITHMETIC = {
    "fadd": ("+", SUM),
    "fsub": ("-", SUM),
    "fmul": ("*", PRODUCT),
    "fdiv": ("/", PRODUCT),
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "and": ("&", BITS),
    "or": ("|", BITS),
    "xor": ("^", BITS),
    "shl": ("<<", SHIFT),
    "ashr": (">>", SHIFT),
}
COMPARISONS = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}


def stored_type(dtype: np.dtype) -> str:
    """The type of the elements of an array."""
    return STORED_TYPES[Type.from_dtype(dtype).kind]


def is_plain_number(text: str) -> bool:
    """Whether a text is a number that both Python and C read."""
    return text.lstrip("-")[:1].isdigit()


def literal(value: Any, type: Type) -> str:
    """A number in C: exactly the same one, in its type."""
    if type.kind == "i1":
        return "1" if value else "0"
    if not type.is_float:
        return integer_literal(int(value))
    number = float(np.float32(value)) if type.kind == "f32" else float(value)
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    text = np.format_float_positional(np.float32(number), trim="0") if type.kind == "f32" else repr(number)
    if type.kind == "f32" and len(text) > len(short := np.format_float_scientific(np.float32(number), trim="0")):
        text = short
    return f"{text}f" if type.kind == "f32" else text


def integer_literal(value: int) -> str:
    """An integer in C; the least one of 64 bits has no literal."""
    if value == -(1 << 63):
        return "INT64_MIN"
    return str(value) if abs(value) <= LARGEST_INT else f"INT64_C({value})"
