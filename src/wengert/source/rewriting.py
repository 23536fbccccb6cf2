"""From Python's statements to calls of `runtime`: branches and loops as functions of the variables that they change.

    if x > 0:               def then(y): y = x; return (y,)
        y = x               def otherwise(y): y = -x; return (y,)
    else:         becomes   (y,) = control.branch(lambda: x > 0, then, otherwise, (y,), ("y",))
        y = -x

`break`, `continue` and `return` inside become boolean variables first. Line numbers are those of the user.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from wengert.source.variables import Names

RUNTIME = "__wengert__"
"""The name of the runtime in rewritten functions."""
RETURNED, RESULT = "__returned__", "__result__"


class Rewriter(ast.NodeTransformer):
    """Rewrites the body of one function."""

    def __init__(self) -> None:
        self.count = 0

    def name(self, hint: str) -> str:
        """A new name."""
        self.count += 1
        return f"__{hint}_{self.count}__"

    # Statements

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function with its statements rewritten."""
        body = node.body
        if has_inner_return(body):
            body = [
                *assign(RETURNED, constant(False), node),
                *assign(RESULT, constant(None), node),
                *Returns().block(body),
            ]
            body.append(at(ast.Return(load(RESULT)), node))
        new = ast.FunctionDef(node.name, node.args, self.block(body), [], node.returns)
        return at(new, node)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block, rewritten."""
        out: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            out += found if isinstance(found, list) else [found]
        return out or [ast.Pass()]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A nested function."""
        new = Rewriter().function(node)
        new.decorator_list = [self.visit(d) for d in node.decorator_list]
        return new

    def visit_If(self, node: ast.If) -> Any:
        """A branch."""
        changed = assigned([*node.body, *node.orelse])
        then, otherwise = self.name("then"), self.name("otherwise")
        statements: list[ast.stmt] = [
            self.closure(then, changed, node.body, node),
            self.closure(otherwise, changed, node.orelse, node),
        ]
        call = self.call(
            "branch", thunk(self.visit(node.test)), load(then), load(otherwise), self.values(changed), names(changed)
        )
        return [*statements, self.unpack(changed, call, node)]

    def visit_While(self, node: ast.While) -> Any:
        """A loop with a condition."""
        body, before, test = Breaks(self).loop(node.body, node.test, node)
        changed = assigned(body)
        condition, step = self.name("condition"), self.name("step")
        statements = [
            *self.block(before),
            at(ast.FunctionDef(condition, arguments(changed), [ast.Return(self.visit(test))], []), node),
            self.closure(step, changed, body, node),
        ]
        call = self.call("repeat", load(condition), load(step), self.values(changed), names(changed))
        return [*statements, self.unpack(changed, call, node), *self.block(node.orelse if node.orelse else [])]

    def visit_For(self, node: ast.For) -> Any:
        """A loop over something."""
        body, before, test = Breaks(self).loop(node.body, None, node)
        targets = assigned([ast.Assign([node.target], constant(None))])
        changed = [name for name in assigned(body) if name not in targets] + [t for t in targets]
        item, step = self.name("item"), self.name("step")
        unpack: list[ast.stmt] = [at(ast.Assign([node.target], load(item)), node)]
        function = self.closure(step, changed, [*unpack, *body], node, [item])
        goes_on: ast.expr = constant(None)
        statements: list[ast.stmt] = [*self.block(before), function]
        if test is not None:
            condition = self.name("condition")
            statements.append(
                at(ast.FunctionDef(condition, arguments(changed), [ast.Return(self.visit(test))], []), node)
            )
            goes_on = load(condition)
        call = self.call("iterate", self.visit(node.iter), load(step), self.values(changed), names(changed), goes_on)
        return [*statements, self.unpack(changed, call, node), *self.block(node.orelse if node.orelse else [])]

    def visit_Assert(self, node: ast.Assert) -> Any:
        """An assertion."""
        message = thunk(self.visit(node.msg)) if node.msg else constant(None)
        return at(ast.Expr(self.call("check", thunk(self.visit(node.test)), message)), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`x[i] = v` gives x a new value, where x is a variable."""
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            call = self.call(
                "set_item", load(target.value.id), self.visit(as_value(target.slice)), self.visit(node.value)
            )
            return at(ast.Assign([ast.Name(target.value.id, ast.Store())], call), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`x[i] += v` too."""
        target = node.target
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            index = self.name("index")
            old = ast.Subscript(load(target.value.id), load(index), ast.Load())
            value = ast.BinOp(old, node.op, self.visit(node.value))
            call = self.call("set_item", load(target.value.id), load(index), value)
            return [
                at(ast.Assign([ast.Name(index, ast.Store())], self.visit(as_value(target.slice))), node),
                at(ast.Assign([ast.Name(target.value.id, ast.Store())], call), node),
            ]
        return self.generic_visit(node)

    # Expressions

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """`a and b`, `a or b`: the second operand is evaluated only if it decides."""
        operands = [thunk(self.visit(value)) for value in node.values]
        return at(self.call("all_of" if isinstance(node.op, ast.And) else "any_of", *operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """`not a`."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        return at(self.call("negate", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        """`a < b < c` is `a < b and b < c`, with b evaluated once."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        if len(node.ops) == 1:
            return node
        middle = [self.name("middle") for _ in node.comparators[:-1]]
        parts: list[ast.expr] = []
        left: ast.expr = node.left
        for k, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            value = ast.NamedExpr(ast.Name(middle[k], ast.Store()), right) if k < len(middle) else right
            parts.append(ast.Compare(left, [op], [value]))
            left = load(middle[k]) if k < len(middle) else right
        return at(self.call("chain", *parts), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """`a if test else b`."""
        parts = [thunk(self.visit(part)) for part in (node.test, node.body, node.orelse)]
        return at(self.call("choose", *parts), node)

    def visit_Call(self, node: ast.Call) -> Any:
        """A call: the user's own functions are read too."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # the same node
        node.func = at(self.call("read", node.func), node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """A nested function without a name."""
        node.body = Rewriter().visit(node.body)
        return node

    # Parts

    def closure(
        self, name: str, changed: list[str], body: Sequence[ast.stmt], node: ast.stmt, more: Sequence[str] = ()
    ) -> ast.FunctionDef:
        """A function of the variables that statements change, which returns their new values."""
        result = ast.Return(ast.Tuple([self.value(name) for name in changed], ast.Load()))
        return at(ast.FunctionDef(name, arguments([*more, *changed]), [*self.block(list(body)), result], []), node)

    def value(self, name: str) -> ast.expr:
        """The value of a variable, which need not exist."""
        return self.call("variable", ast.Lambda(arguments([]), load(name)), ast.Constant(name))

    def values(self, changed: list[str]) -> ast.expr:
        """The values of variables."""
        return ast.Tuple([self.value(name) for name in changed], ast.Load())

    def unpack(self, changed: list[str], call: ast.expr, node: ast.stmt) -> ast.stmt:
        """Give the variables their new values."""
        if not changed:
            return at(ast.Expr(call), node)
        return at(ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in changed], ast.Store())], call), node)

    def call(self, function: str, *args: ast.expr) -> ast.Call:
        """A call of the runtime."""
        return ast.Call(ast.Attribute(load(RUNTIME), function, ast.Load()), list(args), [])


class Breaks(ast.NodeTransformer):
    """`break` and `continue` of one loop as boolean variables: what follows runs only if they are false."""

    def __init__(self, rewriter: Rewriter):
        self.broken, self.skipped = rewriter.name("broken"), rewriter.name("skipped")
        self.uses: set[str] = set()

    def loop(
        self, body: list[ast.stmt], test: ast.expr | None, node: ast.stmt
    ) -> tuple[list[ast.stmt], list[ast.stmt], ast.expr | None]:
        """The body, what comes before the loop, and the condition for another step."""
        new = self.block(body)
        before: list[ast.stmt] = []
        if self.skipped in self.uses:
            new = [*assign(self.skipped, constant(False), node), *new]
            before += assign(self.skipped, constant(False), node)
        conditions = [negation(self.broken)] if self.broken in self.uses else []
        before += assign(self.broken, constant(False), node) if conditions else []
        if assigns_return(body):
            conditions.append(negation(RETURNED))
        parts = [*conditions, *([test] if test is not None else [])]
        whole = None if not parts else parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
        return new, before, whole

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, each of which runs only if none before it has left the step."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(body):
            if isinstance(statement, ast.Break | ast.Continue):
                name = self.broken if isinstance(statement, ast.Break) else self.skipped
                self.uses.add(name)
                return [*out, *assign(name, constant(True), statement)]
            if isinstance(statement, ast.If) and leaves_step([statement]):
                new = ast.If(statement.test, self.block(statement.body) or [ast.Pass()], self.block(statement.orelse))
                out.append(at(new, statement))
                rest = self.block(body[k + 1 :])
                if rest:
                    flags = [negation(n) for n in (self.broken, self.skipped) if n in self.uses]
                    flags += [negation(RETURNED)] if assigns_return([statement]) else []
                    guard = flags[0] if len(flags) == 1 else ast.BoolOp(ast.And(), flags) if flags else constant(True)
                    out.append(at(ast.If(guard, rest, []), statement))
                return out
            out.append(statement)
        return out


class Returns:
    """`return` inside branches and loops as variables: what follows runs only if nothing has been returned."""

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements without `return`."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                value = statement.value or constant(None)
                return [*out, *assign(RESULT, value, statement), *assign(RETURNED, constant(True), statement)]
            if has_return([statement]):
                out.append(self.inside(statement))
                rest = self.block(body[k + 1 :])
                if rest and isinstance(statement, ast.If) and always_returns(statement.body) and not statement.orelse:
                    out[-1].orelse = rest  # type: ignore[attr-defined]  # a branch
                elif rest:
                    out.append(at(ast.If(negation(RETURNED), rest, []), statement))
                return out
            out.append(statement)
        return out

    def inside(self, node: ast.stmt) -> ast.stmt:
        """A branch or loop without `return`."""
        if isinstance(node, ast.If):
            return at(ast.If(node.test, self.block(node.body), self.block(node.orelse)), node)
        if isinstance(node, ast.While):
            return at(ast.While(node.test, self.leaving(node.body), node.orelse), node)
        if isinstance(node, ast.For):
            return at(ast.For(node.target, node.iter, self.leaving(node.body), node.orelse), node)
        return node

    def leaving(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a loop that a return ends."""
        return self.block(body)


def has_return(body: Sequence[ast.AST]) -> bool:
    """Whether there is a `return` of this function in these statements."""
    for node in body:
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda) and has_return(list(ast.iter_child_nodes(node))):
            return True
    return False


def has_inner_return(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch or loop returns."""
    return any(isinstance(node, ast.If | ast.While | ast.For) and has_return([node]) for node in body)


def always_returns(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends with a return on every path."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, ast.Return)


def assigns_return(body: Sequence[ast.AST]) -> bool:
    """Whether these statements may set the variable for a return."""
    return RETURNED in Names(body).assigned


def leaves_step(body: Sequence[ast.AST]) -> bool:
    """Whether these statements may end a step of the loop around them: by `break`, `continue` or a return."""
    for node in body:
        if isinstance(node, ast.Break | ast.Continue):
            return True
        if isinstance(node, ast.Name) and node.id == RETURNED and isinstance(node.ctx, ast.Store):
            return True
        inner = ast.iter_child_nodes(node)
        if not isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.Lambda) and leaves_step(list(inner)):
            return True
    return False


def assigned(body: Sequence[ast.AST]) -> list[str]:
    """The variables that statements assign."""
    return list(Names(body).assigned)


def at(node: Any, place: ast.AST) -> Any:
    """A node at the line of another."""
    return ast.fix_missing_locations(ast.copy_location(node, place))


def load(name: str) -> ast.Name:
    """The value of a variable."""
    return ast.Name(name, ast.Load())


def constant(value: Any) -> ast.Constant:
    """A constant."""
    return ast.Constant(value)


def negation(name: str) -> ast.expr:
    """`not name`."""
    return ast.UnaryOp(ast.Not(), load(name))


def thunk(value: ast.expr) -> ast.Lambda:
    """A function that evaluates an expression later."""
    return ast.Lambda(arguments([]), value)


def names(changed: list[str]) -> ast.expr:
    """The names of variables."""
    return ast.Tuple([ast.Constant(name) for name in changed], ast.Load())


def arguments(given: Sequence[str]) -> ast.arguments:
    """The parameters of a function."""
    return ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])


def assign(name: str, value: ast.expr, place: ast.AST) -> list[ast.stmt]:
    """Give a variable a value."""
    return [at(ast.Assign([ast.Name(name, ast.Store())], value), place)]


def as_value(index: ast.expr) -> ast.expr:
    """An index as an expression: slices by `slice(...)`."""
    if isinstance(index, ast.Slice):
        parts = [part or constant(None) for part in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Attribute(load(RUNTIME), "slice", ast.Load()), parts, [])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([as_value(part) for part in index.elts], ast.Load())
    return index
