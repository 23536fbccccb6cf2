"""From Python's statements to calls of the runtime: branches and steps of loops become functions.

    if x > 0:               def then(): nonlocal y; y = x
        y = x               def otherwise(): nonlocal y; y = -x
    else:         becomes   __wengert__.choose(x > 0, then, otherwise)
        y = -x

They change the variables of the function itself, so what plain Python values decide runs as before. `break`, `continue`
and `return` have become boolean variables (`exits`). Line numbers and names of variables are those of the user.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from wengert.source.exits import Exits
from wengert.source.syntax import (
    RETURNED,
    arguments,
    as_value,
    assign,
    at,
    call,
    load,
    own_nodes,
    statements,
    strings,
    thunk,
)
from wengert.source.variables import assigned, fresh_arrays, read_first

PLAIN_FUNCTIONS = frozenset(("callable", "hasattr", "isinstance", "issubclass"))
"""Functions whose result is a plain boolean."""
HOLDERS = tuple([
    f"wengert.{folder}."
    for folder in ("control", "transforms", "compiler", "autograd", "structure", "implicit", "integrate", "optimize")
])  # fmt: skip
"""Modules whose functions take functions."""
GENERATED = ("__then_", "__otherwise_", "__condition_", "__step_", "__index_", "__part_")
"""How names begin that are not variables of the user's."""
OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Rewriter(ast.NodeTransformer):
    """Rewrites one function. `library` finds the function of a library that an expression names, if any."""

    def __init__(self, library: Callable[[ast.expr], Any]):
        self.library = library
        self.count = 0
        self.has_changed = False
        self.arrays: set[str] = set()
        self.lists: set[str] = set()
        self.local: list[str] = []
        self.parameters: list[str] = []
        self.guarded = 0  # the number of `try` statements around

    def name(self, hint: str) -> str:
        """A new name."""
        self.count += 1
        return f"__{hint}_{self.count}__"

    def runtime(self, function: str, *args: ast.expr) -> ast.Call:
        """A call of the runtime."""
        self.has_changed = True
        return call(function, *args)

    # Statements

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function with its statements rewritten."""
        self.parameters = parameters = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        self.arrays, self.lists = fresh_arrays(node), growing_lists(node.body)
        given = {name for part in own_nodes(node.body, False) if isinstance(part, ast.Nonlocal) for name in part.names}
        body = Exits().function(node.body)
        mark_temporaries(body)
        self.local = [name for name in assigned(body) if name not in given and name not in parameters]
        new = self.block(body)
        inner = {name for part in statements(new) if isinstance(part, ast.Nonlocal) for name in part.names}
        own = set(assigned(new)) if inner else set()
        declared = [at(declaration(name), node) for name in self.local if name in inner and name not in own]
        self.check_returns(new, [n.target.id for n in declared])  # type: ignore[attr-defined]  # declarations of names
        return at(ast.FunctionDef(node.name, node.args, [*declared, *new], [], None), node)

    def check_returns(self, body: Sequence[ast.stmt], names: Sequence[str]) -> None:
        """Let it be an error to return a variable without a value: those of `names` may have none."""
        for part in statements(body) if names else ():
            if isinstance(part, ast.Return) and isinstance(part.value, ast.Name) and part.value.id in names:
                part.value = at(self.runtime("use", part.value), part)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block, rewritten."""
        out: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            out += found if isinstance(found, list) else [found]
        return out or [ast.Pass()]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A nested function."""
        inner = Rewriter(self.library)
        decorators = [self.visit(d) for d in node.decorator_list]
        if is_readable(node):
            returns = node.returns
            node = inner.function(node)
            node.returns = returns
        node.decorator_list = decorators
        self.has_changed |= inner.has_changed
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """A class stays as it is; its methods are read when they are called."""
        return node

    def visit_If(self, node: ast.If) -> Any:
        """A branch; one on a test that is never traced stays."""
        if is_plain(node.test):
            node.test = self.visit(node.test)
            node.body, node.orelse = self.block(node.body), self.block(node.orelse) if node.orelse else []
            return node
        then, otherwise = self.name("then"), self.name("otherwise")
        functions = [self.body_function(then, node.body, node), self.body_function(otherwise, node.orelse, node)]
        if not getattr(node, "is_tail", False):
            whole = self.runtime("choose", self.test(node.test), load(then), load(otherwise))
            return [*functions, at(ast.Expr(whole), node)]
        whole = self.runtime(
            "choose", self.test(node.test), load(then), load(otherwise), strings(self.local), strings(self.parameters)
        )
        return [*functions, at(ast.Return(whole), node)]

    def visit_While(self, node: ast.While) -> Any:
        """A loop with a condition."""
        condition, step = self.name("condition"), self.name("step")
        tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), load(flag)) for flag in node.flags]  # type: ignore[attr-defined]  # by exits
        test = ast.BoolOp(ast.And(), [*tests, node.test]) if tests else node.test
        functions = [
            self.body_function(condition, [at(ast.Return(test), node.test)], node, is_test=True),
            self.body_function(step, node.body, node),
        ]
        whole = self.runtime("repeat", load(condition), load(step), strings(node.temporary))  # type: ignore[attr-defined]  # marked
        return [*functions, at(ast.Expr(whole), node)]

    def visit_For(self, node: ast.For) -> Any:
        """A loop over something."""
        item, step = self.name("item"), self.name("step")
        unpack = at(ast.Assign([node.target], load(item)), node)
        function = self.body_function(step, [unpack, *node.body], node, item)
        flags: Sequence[str] = node.flags  # type: ignore[attr-defined]  # by exits
        whole = self.runtime("iterate", self.visit(node.iter), load(step), strings(node.temporary), strings(flags))  # type: ignore[attr-defined]  # marked
        return [function, at(ast.Expr(whole), node)]

    def visit_Try(self, node: ast.Try) -> Any:
        """A statement that may catch errors."""
        self.guarded += 1
        node.body = self.block(node.body)
        self.guarded -= 1
        for handler in node.handlers:
            handler.body = self.block(handler.body)
        node.orelse = self.block(node.orelse) if node.orelse else []
        node.finalbody = self.block(node.finalbody) if node.finalbody else []
        return node

    def visit_Raise(self, node: ast.Raise) -> Any:
        """An error: in a branch on a traced value it is raised when the program runs."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        if node.exc is not None and not self.guarded:
            node.exc = at(self.runtime("raised", node.exc), node)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        """An assertion."""
        message = thunk(self.visit(node.msg)) if node.msg else ast.Constant(None)
        return at(ast.Expr(self.runtime("check", self.test(node.test), message)), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`x[i] = v` may give an array of this function a new value; `x = []` may become the rows of an array."""
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Subscript) and self.is_fresh(target.value):
            return self.set_item(target, self.visit(node.value), node)
        if len(node.targets) == 1 and isinstance(target, ast.Tuple | ast.List) and self.has_fresh_item(target):
            return self.unpack(target.elts, node)
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        node.value = self.as_rows(target, node.value)
        return node

    def has_fresh_item(self, target: ast.Tuple | ast.List) -> bool:
        """Whether one of several targets, none of which is starred, is an element of an array of this function."""
        if any(isinstance(part, ast.Starred) for part in target.elts):
            return False
        return any(isinstance(part, ast.Subscript) and self.is_fresh(part.value) for part in target.elts)

    def unpack(self, targets: Sequence[ast.expr], node: ast.Assign) -> list[ast.stmt]:
        """`x[i], x[j] = a, b`: all values first, then one target after the other."""
        parts = [self.name("part") for _ in targets]
        names: list[ast.expr] = [ast.Name(name, ast.Store()) for name in parts]
        first = at(ast.Assign([ast.Tuple(names, ast.Store())], self.visit(node.value)), node)
        each: list[ast.stmt] = [
            at(ast.Assign([target], load(part)), node) for target, part in zip(targets, parts, strict=True)
        ]
        return [first, *self.block(each)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """`x: list = []`."""
        if node.value is not None:
            node.value = self.as_rows(node.target, self.visit(node.value))
        return node

    def as_rows(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """The value that is assigned to a target, with lists that grow in loops as rows."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            value.elts = [self.as_rows(t, v) for t, v in zip(target.elts, value.elts, strict=True)]
        elif isinstance(target, ast.Name) and target.id in self.lists and is_list(value):
            return at(self.runtime("Rows", value), value)
        return value

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`x[i] += v` and `x += v` too."""
        target = node.target
        if isinstance(target, ast.Subscript) and self.is_fresh(target.value):
            assert isinstance(target.value, ast.Name)
            index = self.name("index")
            before = assign(index, as_value(self.visit(target.slice)), node)
            old = ast.Subscript(load(target.value.id), load(index), ast.Load())
            new = ast.Subscript(target.value, load(index), ast.Store())
            return [before, self.set_item(new, ast.BinOp(old, node.op, self.visit(node.value)), node)]
        if self.is_fresh(target):
            assert isinstance(target, ast.Name)
            value = self.runtime(
                "update", load(target.id), ast.Constant(type(node.op).__name__), self.visit(node.value)
            )
            return assign(target.id, value, node)
        return self.generic_visit(node)

    def is_fresh(self, node: ast.expr) -> bool:
        """Whether this is a variable that holds an array of this function only."""
        return isinstance(node, ast.Name) and node.id in self.arrays

    def set_item(self, target: ast.Subscript, value: ast.expr, place: ast.stmt) -> ast.stmt:
        """`x = set_item(x, i, v)`."""
        assert isinstance(target.value, ast.Name)
        name = target.value.id
        return assign(name, self.runtime("set_item", load(name), as_value(self.visit(target.slice)), value), place)

    # Expressions

    def test(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp) and not has_walrus(node.values[1:]):
            operands = [self.test(value) for value in node.values]
            function = "all_true" if isinstance(node.op, ast.And) else "any_true"
            return at(self.runtime(function, operands[0], *map(thunk, operands[1:])), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return at(self.runtime("negate", self.test(node.operand)), node)
        found: ast.expr = self.visit(node)
        return found

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """`a and b`, `a or b`: the second operand is evaluated only if it decides."""
        if has_walrus(node.values[1:]) or is_plain(node):
            return self.generic_visit(node)
        first, *others = [self.visit(value) for value in node.values]
        function = "last_true" if isinstance(node.op, ast.And) else "first_true"
        return at(self.runtime(function, first, *map(thunk, others)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """`not a`."""
        return self.test(node) if isinstance(node.op, ast.Not) and not is_plain(node) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """`a < b < c`."""
        if len(node.ops) == 1 or has_walrus(node.comparators[1:]) or not {*map(type, node.ops)} <= OPERATORS.keys():
            return self.generic_visit(node)
        parts: list[ast.expr] = [self.visit(node.left)]
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts += [ast.Constant(OPERATORS[type(op)]), thunk(self.visit(right))]
        return at(self.runtime("chain", *parts), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """`a if test else b`."""
        if has_walrus([node.body, node.orelse]) or is_plain(node.test):
            return self.generic_visit(node)
        arms = [thunk(self.visit(part)) for part in (node.body, node.orelse)]
        return at(self.runtime("choose", self.test(node.test), *arms), node)

    def visit_Call(self, node: ast.Call) -> Any:
        """A call: the user's own functions are read too."""
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super" and not node.args and self.parameters:
            return at(ast.Call(load("super"), [load("__class__"), load(self.parameters[0])], []), node)
        known = self.library(function)
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        if known is None:
            node.func = at(self.runtime("callee", node.func), node)
        elif (getattr(known, "__module__", None) or "").startswith(HOLDERS):
            node.args = [self.as_read(a) for a in node.args]
            for keyword in node.keywords:
                keyword.value = self.as_read(keyword.value)
        return node

    def as_read(self, node: ast.expr) -> ast.expr:
        """An argument that may be a function, for an operation that holds one."""
        return at(self.runtime("read", node), node) if isinstance(node, ast.Name | ast.Attribute) else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """`x[i]`, where i may be traced."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        if not isinstance(node.ctx, ast.Load) or is_constant_index(node.slice):
            return node
        return at(self.runtime("get_item", node.value, as_value(node.slice)), node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """A nested function without a name."""
        if not any(isinstance(part, ast.Yield | ast.YieldFrom | ast.NamedExpr) for part in ast.walk(node.body)):
            node.body = self.visit(node.body)
        return node

    def body_function(
        self, name: str, body: Sequence[ast.stmt], place: ast.stmt, *parameters: str, is_test: bool = False
    ) -> ast.FunctionDef:
        """A function of some statements, which changes the variables of the function around it."""
        own = [part for part in own_nodes(body, False) if isinstance(part, ast.Nonlocal)]
        new = [at(ast.Return(self.test(body[0].value)), place)] if is_test else self.block(body)  # type: ignore[attr-defined]  # a return
        changed = [n for n in assigned(new) if not any(n in part.names for part in own) and not n.startswith(GENERATED)]
        declared: list[ast.stmt] = [ast.Nonlocal(changed)] if changed else []
        return at(ast.FunctionDef(name, arguments(*parameters), [*declared, *new], []), place)


def declaration(name: str) -> ast.stmt:
    """A variable without a value, which belongs to the function."""
    return ast.AnnAssign(ast.Name(name, ast.Store()), ast.Constant(...), None, 1)


def is_plain(test: ast.expr) -> bool:
    """Whether a test is of plain Python values by its form: `x is None`, `isinstance(x, T)`."""
    if isinstance(test, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops)
    if isinstance(test, ast.BoolOp):
        return all(map(is_plain, test.values))
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and is_plain(test.operand)
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id in PLAIN_FUNCTIONS
    return isinstance(test, ast.Constant)


def is_constant_index(index: ast.expr) -> bool:
    """Whether an index is made of numbers, strings and slices with plain bounds."""
    if isinstance(index, ast.Tuple):
        return all(map(is_constant_index, index.elts))
    if isinstance(index, ast.UnaryOp):
        return is_constant_index(index.operand)
    return isinstance(index, ast.Constant | ast.Slice)


def has_walrus(nodes: Sequence[ast.AST]) -> bool:
    """Whether an expression assigns a variable by `:=`, or waits for one, so that it must stay where it is."""
    kinds = ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await
    return any(isinstance(part, kinds) for part in own_nodes(list(nodes)))


def is_readable(node: ast.FunctionDef) -> bool:
    """Whether a function can be rewritten: no generator, and without global variables that it assigns."""
    kinds = ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.AsyncFor | ast.AsyncWith
    return not any(isinstance(part, kinds) for part in own_nodes(node.body))


def is_list(node: ast.expr) -> bool:
    """Whether an expression makes a list: `[x]`."""
    return isinstance(node, ast.List | ast.ListComp)


def growing_lists(body: Sequence[ast.stmt]) -> set[str]:
    """The variables on which `append` is called inside loops."""
    loops = [part for part in own_nodes(body, False) if isinstance(part, ast.For | ast.While)]
    return {
        part.value.id
        for part in own_nodes(loops)
        if isinstance(part, ast.Attribute) and part.attr == "append" and isinstance(part.value, ast.Name)
    }


def mark_temporaries(body: Sequence[ast.stmt]) -> None:
    """Mark each loop with the variables that nothing outside of one step reads."""

    def count(nodes: Sequence[ast.AST]) -> Counter[str]:
        names = [n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]
        return Counter(names)

    loops = [node for node in own_nodes(body, False) if isinstance(node, ast.For | ast.While)]
    total = count(body) if loops else Counter()
    for node in loops:
        target = [node.target] if isinstance(node, ast.For) else []
        names = assigned([*target, *node.body])
        inside = count([node])
        early = read_first([*[assign_to(t) for t in target], *node.body], names)
        whole = [n for n in names if inside[n] == total[n] and n not in early and n != RETURNED]
        node.temporary = whole  # type: ignore[union-attr]  # a mark


def assign_to(target: ast.expr) -> ast.stmt:
    """The assignment of the item of a loop to its variables."""
    return ast.Assign([target], ast.Constant(None))
