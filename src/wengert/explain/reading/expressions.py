"""Formulas as people type them, turned into Python functions that can be differentiated and explained.

The parser knows numbers, names, operators, indices, lists and the functions of the vocabulary, and nothing else. Its
result is a syntax tree that Python compiles, so a formula has lines, columns and names like any function. Numbers are
floats, and operations on constants are computed at once by NumPy: no formula creates an integer of a million digits or
raises an error for a division by zero.
"""

from __future__ import annotations

import ast
import keyword
import linecache
import math
import re
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from wengert.explain.reading.tokens import CLOSING, OPENING, ExpressionError, Token, statements
from wengert.explain.reading.vocabulary import CONSTANTS, OF_SEVERAL, functions, suggestion
from wengert.ops.shape.joining import stack

DEEPEST = 50
"""The most brackets, signs and powers inside each other."""
LONGEST = 400
"""The most operations in a row, each on the result of the one before: Python's compiler recurses over them."""

BINARY: dict[str, tuple[int, Any]] = {
    "<": (1, ast.Lt),
    "<=": (1, ast.LtE),
    ">": (1, ast.Gt),
    ">=": (1, ast.GtE),
    "==": (1, ast.Eq),
    "!=": (1, ast.NotEq),
    "+": (2, ast.Add),
    "-": (2, ast.Sub),
    "*": (3, ast.Mult),
    "/": (3, ast.Div),
    "//": (3, ast.FloorDiv),
    "%": (3, ast.Mod),
    "@": (3, ast.MatMult),
}
"""The precedence of an operator, and its node."""
ARITHMETIC: dict[Any, Callable] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.Pow: np.power,
}

_formulas = count(1)


def expression(text: str, names: Sequence[str] | None = None) -> Callable:
    """The function of a formula. Its parameters are `names`, or else the variables of the formula in order.

    A formula may have several statements. Assigned values keep their names, and the last statement is the result.

    >>> f = expression("ln(x1) + x1*x2 - sin(x2)")
    >>> f"{f(2.0, 5.0):.3f}", f.__code__.co_varnames
    ('11.652', ('x1', 'x2'))
    >>> expression("s = w*x + b; 1 / (1 + exp(-s))", ["w", "b", "x"])(1.0, 2.0, -2.0)
    np.float64(0.5)
    """
    parser = Parser(text, names)
    try:
        body = parser.program()
        code = compile(ast.Module([parser.definition(body)], []), filename := f"<formula {next(_formulas)}>", "exec")
    except RecursionError:
        raise ExpressionError(
            "The formula is nested too deeply for a program that is itself nested deeply.", text, 0
        ) from None
    space: dict[str, Any] = {"__builtins__": {}, "__name__": "formula", **parser.used}
    exec(code, space)
    lines = [f"def f({', '.join(parser.parameters)}):\n", *[f"{line}\n" for line in parser.lines]]
    linecache.cache[filename] = sum(map(len, lines)), None, lines, filename
    weakref.finalize(space["f"].__code__, linecache.cache.pop, filename, None).atexit = False
    return space["f"]


def set_position(node: Any, line: int, start: int, stop: int) -> Any:
    """Set the line and the columns of a node of a syntax tree."""
    node.lineno = node.end_lineno = line
    node.col_offset, node.end_col_offset = start, stop
    return node


class Parser:
    """Parses one formula by recursive descent, and operators by precedence."""

    def __init__(self, text: str, names: Sequence[str] | None):
        self.text, self.is_open = text, names is None
        self.parameters = list(names or ())
        self.assigned: set[str] = set()
        self.used: dict[str, Callable] = {}
        self.lines: list[str] = []
        self.tokens: list[Token] = []
        self.position = self.depth = 0

    def program(self) -> list[ast.stmt]:
        """The body of the function."""
        parts = list(statements(self.text))
        if not parts:
            raise ExpressionError("The formula is empty.", self.text or " ", 0)
        body: list[ast.stmt] = []
        for i, (self.tokens, line, name) in enumerate(parts, 1):
            if name is None and i < len(parts):
                raise self.error(
                    "Only the last statement is a result. Give this one a name, as in s = w*x.", self.tokens[0]
                )
            self.position = 2 if name else 0
            value: Any = self.whole()
            number, stop = i + 1, value.end_col_offset
            self.lines.append(line)
            if name is None:
                return [*body, set_position(ast.Return(value), number, 4, stop)]
            self.check_name(name)
            self.assigned.add(name.text)
            result = name
            target = set_position(ast.Name(name.text, ast.Store()), number, name.start, name.stop)
            body.append(set_position(ast.Assign([target], value), number, 4, stop))
        self.lines.append(f"    return {result.text}")
        value = set_position(ast.Name(result.text, ast.Load()), number + 1, 11, 11 + result.stop - result.start)
        return [*body, set_position(ast.Return(value), number + 1, 4, value.end_col_offset)]

    def definition(self, body: list[ast.stmt]) -> ast.stmt:
        parameters = [set_position(ast.arg(name), 1, 0, 0) for name in self.parameters]
        arguments = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
        define: Any = ast.FunctionDef(name="f", args=arguments, body=body, decorator_list=[])
        define.type_params = []
        return set_position(define, 1, 0, 0)

    # Positions and errors

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def last(self) -> Token:
        return self.tokens[self.position - 1]

    def at(self, node: Any, first: Any, last: Any = None, length: int = 1) -> Any:
        """A node that spans from one token or node to another, `length` operations after the variables."""
        if length > LONGEST:
            raise self.error(
                f"The formula has more than {LONGEST} operations in a row. Write it as a function in a file.", self.last
            )
        node.length = length
        start = first.start if isinstance(first, Token) else first.col_offset
        last = last or first
        return set_position(
            node, len(self.lines) + 2, start, last.stop if isinstance(last, Token) else last.end_col_offset
        )

    def error(self, message: str, token: Token) -> ExpressionError:
        return ExpressionError(message, self.text, token.at, len(token.text))

    def missing(self, wanted: str) -> ExpressionError:
        """An error: something else was expected at this token."""
        token = self.token
        if token.kind == "end":
            return self.error(f"The formula ends too early: {wanted} is missing.", token)
        if wanted == "an operator" and (token.kind != "sign" or token.text in OPENING):
            return self.error(f"An operator is missing before {token.text!r}. A product is written with *.", token)
        return self.error(f"{token.text!r} is not expected here: {wanted} is missing.", token)

    def check_name(self, token: Token) -> None:
        if keyword.iskeyword(token.text) or token.text.startswith("__"):
            raise self.error(f"{token.text!r} has a meaning in Python and cannot be a variable.", token)

    def enter_nesting(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(
                f"The formula is nested deeper than {DEEPEST} levels. Give parts of it names: s = w*x; sin(s).", token
            )

    # Operators

    def whole(self) -> ast.expr:
        """A whole statement."""
        self.depth = 0
        value = self.binary(1)
        if self.token.text in CLOSING:
            raise self.error(f"{self.token.text!r} closes nothing.", self.token)
        if self.token.kind != "end":
            raise self.missing("an operator")
        return value

    def binary(self, level: int) -> ast.expr:
        """Operators of at least this precedence, from left to right."""
        left = self.sign()
        while (found := BINARY.get(self.token.text, (0, None)))[0] >= level:
            token, (binds, kind) = self.token, found
            if binds == 1 and isinstance(left, ast.Compare):
                raise self.error("Comparisons are not chained. Write logical_and(0 < x, x < 1).", token)
            self.position += 1
            left = self.apply_operator(left, kind(), self.binary(binds + 1))
        return left

    def apply_operator(self, left: Any, kind: Any, right: Any) -> ast.expr:
        """An operation on two operands; on two constants, its result."""
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant) and type(kind) in ARITHMETIC:
            with np.errstate(all="ignore"):
                value = ARITHMETIC[type(kind)](np.float64(left.value), np.float64(right.value))  # type: ignore[arg-type]  # both are floats
            return self.at(ast.Constant(float(value)), left, right)
        node = ast.Compare(left, [kind], [right]) if isinstance(kind, ast.cmpop) else ast.BinOp(left, kind, right)
        return self.at(node, left, right, 1 + max(left.length, right.length))

    def sign(self) -> ast.expr:
        """An operand with a sign, which has a lower precedence than a power, or without one."""
        token = self.token
        if token.text not in ("-", "+"):
            return self.power()
        self.position += 1
        self.enter_nesting(token)
        value: Any = self.sign()
        self.depth -= 1
        if isinstance(value, ast.Constant):
            return self.at(ast.Constant(-value.value if token.text == "-" else value.value), token, value)  # type: ignore[operator]  # a number
        return self.at(
            ast.UnaryOp(ast.USub() if token.text == "-" else ast.UAdd(), value), token, value, 1 + value.length
        )

    def power(self) -> ast.expr:
        """A power, from right to left."""
        base = self.subscript()
        if self.token.text != "**":
            return base
        self.enter_nesting(self.token)
        self.position += 1
        exponent = self.sign()
        self.depth -= 1
        return self.apply_operator(base, ast.Pow(), exponent)

    # Operands

    def subscript(self) -> ast.expr:
        value: Any = self.operand()
        while self.token.text == "[":
            opening = self.token
            parts = self.brackets(self.index)
            if not parts:
                raise self.error("An index is missing, as in x[0].", opening)
            index = parts[0] if len(parts) == 1 else self.at(ast.Tuple(parts, ast.Load()), parts[0], parts[-1])
            value = self.at(ast.Subscript(value, index, ast.Load()), value, self.last, 1 + value.length)
        return value

    def operand(self) -> ast.expr:
        token = self.token
        if token.text in OPENING:
            items = self.brackets(lambda: self.binary(1))
            if token.text == "[":
                return self.make_list(items, token)
            if len(items) != 1:
                raise self.error("Round brackets hold one value. Lists are written [1, 2].", token)
            return self.at(items[0], token, self.last, items[0].length)
        if token.kind not in ("number", "name"):
            raise self.missing("a number, a name or a bracket")
        self.position += 1
        if token.kind == "number":
            number = float(token.text)
            if math.isinf(number):
                raise self.error("The number is larger than any floating-point number; infinity is written inf.", token)
            return self.at(ast.Constant(number), token)
        return self.call(token) if self.token.text == "(" else self.variable(token)

    def brackets(self, item: Callable[[], Any]) -> list[Any]:
        """Items separated by commas, between brackets."""
        opening = self.token
        closing = OPENING[opening.text]
        self.position += 1
        self.enter_nesting(opening)
        items: list[Any] = []
        while self.token.text != closing:
            if items and self.token.text != "," and self.token.kind != "end":
                raise self.missing(f"',' or {closing!r}" if self.token.kind == "sign" else "an operator")
            self.position += bool(items) and self.token.kind != "end"
            if self.token.kind == "end":
                raise self.error(f"{opening.text!r} is never closed.", opening)
            items.append(item())
        self.position += 1
        self.depth -= 1
        return items

    def make_list(self, items: list[Any], opening: Token) -> ast.expr:
        """A list, as one array."""
        if not items:
            raise self.error("The list is empty.", opening)
        self.used["[]"] = stack
        parts = self.at(ast.Tuple(items, ast.Load()), opening, self.last)
        return self.at(
            ast.Call(self.at(ast.Name("[]", ast.Load()), opening), [parts], []), opening, self.last, 1 + longest(items)
        )

    def index(self) -> ast.expr:
        """An integer or a slice."""
        first = self.token
        bounds: list[Any] = [self.integer()]
        while self.token.text == ":" and len(bounds) < 3:
            self.position += 1
            bounds.append(self.integer())
        if bounds == [None]:
            raise self.error("An index is an integer or a slice, as in x[0], x[-1] or x[1:].", first)
        return bounds[0] if len(bounds) == 1 else self.at(ast.Slice(*bounds), first, self.last)

    def integer(self) -> ast.Constant | None:
        """A literal integer, if there is one."""
        first = self.token
        is_negative = first.text == "-"
        token = self.tokens[self.position + is_negative]
        if token.kind != "number":
            return None
        if not re.fullmatch(r"[0-9]{1,18}", token.text):
            raise self.error("An index or an axis is an integer.", token)
        self.position += 1 + is_negative
        return self.at(ast.Constant(-int(token.text) if is_negative else int(token.text)), first, token)

    def variable(self, token: Token) -> ast.expr:
        name = token.text
        if name not in self.assigned and name not in self.parameters:
            if name in CONSTANTS:
                return self.at(ast.Constant(CONSTANTS[name]), token)
            if name in functions():
                raise self.error(f"{name} is a function: write {name}(x).", token)
            self.check_name(token)
            if not self.is_open:
                known = suggestion(name, [*self.parameters, *self.assigned, *CONSTANTS])
                raise self.error(f"{name!r} has no value.{known or f' Give it one: {name}=1.0.'}", token)
            self.parameters.append(name)
        return self.at(ast.Name(name, ast.Load()), token)

    def call(self, token: Token) -> ast.expr:
        """A call of a function, with the right number of arguments."""
        name = token.text
        if name in self.assigned or name in self.parameters:
            raise self.error(f"{name!r} is a variable and not a function. A product is written {name}*(...).", token)
        function = functions().get(name)
        if function is None:
            raise self.error(f"There is no function {name!r}.{suggestion(name, functions())}", token)
        axis: list[ast.keyword] = []
        arguments = [
            argument
            for argument in self.brackets(lambda: self.argument(axis, function.along_axis))
            if argument is not None
        ]
        if name in OF_SEVERAL and len(arguments) > 1 and not axis:
            name = OF_SEVERAL[name]
            while len(arguments) > 2:
                arguments[:2] = [self.make_call(name, arguments[:2], [], token)]
        wanted = functions()[name].arguments
        if len(arguments) != wanted:
            raise self.error(
                f"{name} takes {wanted} {'argument' if wanted == 1 else 'arguments'} and was given {len(arguments)}.",
                token,
            )
        return self.make_call(name, arguments, axis, token)

    def make_call(self, name: str, arguments: list[Any], axis: list[ast.keyword], first: Token) -> ast.expr:
        """The node of a call. The function has a name that no variable can have."""
        self.used[f"{name}()"] = functions()[name].call
        function = self.at(ast.Name(f"{name}()", ast.Load()), first)
        return self.at(ast.Call(function, arguments, axis), first, self.last, 1 + longest(arguments))

    def argument(self, axis: list[ast.keyword], along_axis: bool) -> ast.expr | None:
        """An argument of a function, or None if it is the axis."""
        token = self.token
        if token.kind != "name" or self.tokens[self.position + 1].text != "=":
            return self.binary(1)
        if token.text != "axis" or not along_axis or axis:
            raise self.error(f"{token.text!r} cannot be given here; functions such as sum know axis=0.", token)
        self.position += 2
        value = self.integer()
        if value is None:
            raise self.missing("an integer")
        axis.append(self.at(ast.keyword("axis", value), token, value))
        return None


def longest(nodes: list[Any]) -> int:
    """The most operations in a row behind any of these nodes."""
    return max([node.length for node in nodes], default=0)
