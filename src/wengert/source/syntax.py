"""Pieces of syntax trees: names, constants, assignments, functions without parameters, and calls of the runtime."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

RUNTIME = "__wengert__"
"""The name of the runtime in rewritten functions."""
RETURNED, RESULT = "__returned__", "__result__"
"""Whether a loop has returned, and what."""

N = TypeVar("N", bound=ast.AST)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def at(node: N, place: ast.AST) -> N:
    """A node at the first line of another, with the new nodes inside it."""
    ast.copy_location(node, place)
    if isinstance(node, ast.stmt | ast.expr) and not isinstance(node, ast.FunctionDef):
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset + 1
    locate_new(node, node)
    return node


def locate_new(node: ast.AST, place: Any) -> None:
    """Give the nodes inside a new one its line. Nodes that have a line are complete, and are not searched again."""
    for child in children(node):
        if "lineno" not in child._attributes:
            locate_new(child, place)
        elif not hasattr(child, "lineno"):
            child.lineno, child.col_offset = place.lineno, place.col_offset  # type: ignore[attr-defined]  # a stmt or expr
            child.end_lineno, child.end_col_offset = place.end_lineno, place.end_col_offset  # type: ignore[attr-defined]  # the same
            locate_new(child, child)


def load(name: str) -> ast.Name:
    """The value of a variable."""
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    """Give a variable a value."""
    return at(ast.Assign([ast.Name(name, ast.Store())], value), place)


def call(function: str, *args: ast.expr) -> ast.Call:
    """A call of the runtime."""
    return ast.Call(ast.Attribute(load(RUNTIME), function, ast.Load()), list(args), [])


def thunk(value: ast.expr) -> ast.Lambda:
    """A function that evaluates an expression later."""
    return ast.Lambda(arguments(), value)


def arguments(*names: str) -> ast.arguments:
    """The parameters of a function."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def strings(names: Sequence[str]) -> ast.expr:
    """A tuple of strings."""
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def none_of(flags: Sequence[str]) -> ast.expr:
    """Whether all of these variables are false."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), load(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes that one refers to, in order, without the contexts of names."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST) and field != "ctx":
            found.append(value)
    return found


def own_nodes(nodes: Sequence[ast.AST], expressions: bool = True) -> Iterator[ast.AST]:
    """All nodes of some statements, or the statements only, without those inside nested functions and classes."""
    closed = SCOPES if expressions else (*SCOPES, ast.expr)
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, closed):
            waiting += reversed(children(node))


def statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a block and those inside them, also of nested functions, without expressions."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [part for part in reversed(children(node)) if not isinstance(part, ast.expr)]


def as_value(index: ast.expr) -> ast.expr:
    """An index as an expression: slices by `slice(...)`."""
    if isinstance(index, ast.Slice):
        parts: list[Any] = [part or ast.Constant(None) for part in (index.lower, index.upper, index.step)]
        return at(call("slice", *parts), index)
    if isinstance(index, ast.Tuple):
        return at(ast.Tuple([as_value(part) for part in index.elts], ast.Load()), index)
    return index
