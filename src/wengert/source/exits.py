"""`break`, `continue` and `return` inside branches and loops, without leaving them.

    if a: return x               if a: return x
    rest              becomes    else: rest; return None

What follows an `if` that may leave moves into the branch that does not, if there is one such branch. Else, and in
loops, boolean variables say that a loop was left; what follows runs if they are false. An `if` with `is_tail` returns
in both branches, and a loop has `flags`, which end it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.source.syntax import RESULT, RETURNED, SCOPES, assign, at, children, load, none_of
from wengert.source.variables import assigned

LOOPS = (ast.For, ast.While)
NO_EXITS = (*SCOPES, ast.expr)
"""Nodes in which there is no statement of the function itself."""
TRUE, FALSE = ast.Constant(True), ast.Constant(False)


class Context(NamedTuple):
    """Where statements are: `broken` and `skipped` are the flags of the innermost loop.

    Without `flagged`, a `return` is one of the function. Something follows in the same step if `continues`, so that a
    `continue` must be remembered.
    """

    flagged: bool = False
    broken: str = ""
    skipped: str = ""
    continues: bool = False


class Exits:
    """Rewrites the statements of one function; `flags` are all variables that it needed."""

    def __init__(self) -> None:
        self.flags: dict[str, None] = {}
        self.loops = 0

    def function(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The body of a function."""
        new = self.block(body, Context())
        begin = [assign(RETURNED, FALSE, body[0])] if RETURNED in self.flags else []
        return [*begin, *new]

    def block(self, body: Sequence[ast.stmt], context: Context) -> list[ast.stmt]:
        """Statements one after the other."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(body):
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                return [*out, *self.leave(statement, context)]
            rest = body[k + 1 :]
            if isinstance(statement, LOOPS):
                return [*out, *self.loop(statement, rest, context)]
            if leaves([statement]) and not is_direct(statement, context):
                return [*out, *self.compound(statement, rest, context)]
            out.append(self.inside(statement, context))
        return out

    def leave(self, node: ast.stmt, context: Context) -> list[ast.stmt]:
        """`return`, `break` or `continue`."""
        if isinstance(node, ast.Continue):
            return self.set_flag(context.skipped, node) if context.continues else []
        if isinstance(node, ast.Break):
            return self.set_flag(context.broken, node)
        assert isinstance(node, ast.Return)
        if not context.flagged:
            return [node]
        return [assign(RESULT, node.value or ast.Constant(None), node), *self.set_flag(RETURNED, node)]

    def set_flag(self, name: str, place: ast.stmt) -> list[ast.stmt]:
        """Set a flag."""
        self.flags[name] = None
        return [assign(name, TRUE, place)]

    def compound(self, node: ast.stmt, rest: Sequence[ast.stmt], context: Context) -> list[ast.stmt]:
        """A statement that may leave, and what follows it."""
        if isinstance(node, ast.If) and falls([node]) <= 1:
            whole = push(node, [*rest, *([] if context.flagged else [at(ast.Return(None), node)])])
            new = at(ast.If(whole.test, self.block(whole.body, context), self.block(whole.orelse, context)), node)
            new.body = new.body or [at(ast.Pass(), node)]
            new.is_tail = not context.flagged  # type: ignore[attr-defined]  # a mark for the rewriter
            return [new]
        inner = context._replace(flagged=True, continues=context.continues or bool(rest))
        new_node = self.inside(node, inner)
        changed = assigned([new_node])
        flags = [flag for flag in (RETURNED, context.broken, context.skipped) if flag in changed]
        return [new_node, *self.guard(flags, rest, context, node)]

    def inside(self, node: Any, context: Context) -> Any:
        """A statement with the statements inside it rewritten."""
        if isinstance(node, SCOPES):
            return node
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None):
                setattr(node, field, self.block(getattr(node, field), context) or [at(ast.Pass(), node)])
        for handler in getattr(node, "handlers", []):
            self.inside(handler, context)
        for case in getattr(node, "cases", []):
            self.inside(case, context)
        return node

    def guard(
        self, flags: Sequence[str], body: Sequence[ast.stmt], context: Context, place: ast.stmt
    ) -> list[ast.stmt]:
        """What follows a statement that may have left."""
        if not flags:
            return self.block(body, context)
        if context.flagged:
            return [at(ast.If(none_of(flags), self.block(body, context), []), body[0])] if body else []
        rest = self.block([*body, at(ast.Return(None), place)], context)
        new = ast.If(load(RETURNED), [at(ast.Return(load(RESULT)), place)], rest)
        new.is_tail = True  # type: ignore[attr-defined]  # a mark for the rewriter
        return [at(new, place)]

    def loop(self, node: ast.For | ast.While, rest: Sequence[ast.stmt], context: Context) -> list[ast.stmt]:
        """A loop, which its `flags` end, and what follows it."""
        self.loops += 1
        inner = Context(True, f"__broken_{self.loops}__", f"__skipped_{self.loops}__")
        body = self.block(node.body, inner) or [at(ast.Pass(), node)]
        if inner.skipped in self.flags:
            body = [assign(inner.skipped, FALSE, node), *body]
        new: Any = (
            ast.For(node.target, node.iter, body, []) if isinstance(node, ast.For) else ast.While(node.test, body, [])
        )
        returned = [RETURNED] if RETURNED in assigned(body) else []
        broken = [inner.broken] if inner.broken in self.flags else []
        new.orelse, new.flags = [], [*broken, *returned]
        before = [assign(flag, FALSE, node) for flag in broken]
        first = [at(ast.If(none_of(broken), node.orelse, []), node)] if broken and node.orelse else node.orelse
        return [*before, at(new, node), *self.guard(returned, [*first, *rest], context, node)]


def push(node: ast.If, rest: Sequence[ast.stmt]) -> ast.If:
    """An `if` with the statements after it in the branch that does not leave."""
    if not rest or not falls([node]):
        return node
    if falls(node.body):
        return at(ast.If(node.test, push_into(node.body, rest), node.orelse), node)
    return at(ast.If(node.test, node.body, push_into(node.orelse, rest)), node)


def push_into(body: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A block with these statements at its end."""
    last = body[-1] if body else None
    if isinstance(last, ast.If) and leaves([last]):
        return [*body[:-1], push(last, rest)]
    return [*body, *rest]


def falls(body: Sequence[ast.stmt]) -> int:
    """In how many places a block ends without leaving: 0, 1, or more."""
    for node in body:
        if isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise):
            return 0
        if isinstance(node, ast.If) and not falls(node.body) + falls(node.orelse):
            return 0
    last = body[-1] if body else None
    if isinstance(last, ast.If) and leaves([last]):
        return falls(last.body) + falls(last.orelse)
    return 1


def leaves(body: Sequence[ast.AST]) -> bool:
    """Whether statements may leave the step of the loop around them, or the function."""
    return has_return(body) or has_exit(body, ast.Break) or has_exit(body, ast.Continue)


def has_return(body: Sequence[ast.AST]) -> bool:
    """Whether there is a `return` of this function in these statements."""
    return any(
        isinstance(node, ast.Return) or (not isinstance(node, NO_EXITS) and has_return(children(node))) for node in body
    )


def has_exit(body: Sequence[ast.AST], kind: type[ast.stmt]) -> bool:
    """Whether there is a `break`, or a `continue`, of the loop around these statements."""
    return any(
        isinstance(node, kind)
        or (isinstance(node, LOOPS) and has_exit(node.orelse, kind))
        or (not isinstance(node, (*NO_EXITS, *LOOPS)) and has_exit(children(node), kind))
        for node in body
    )


def is_direct(node: ast.stmt, context: Context) -> bool:
    """Whether every `return` in a statement such as `with` can stay: none is inside a branch or loop."""
    if context.flagged or isinstance(node, ast.If):
        return False
    inner = (child for child in ast.walk(node) if isinstance(child, ast.If | ast.For | ast.While))
    return not any(leaves([child]) for child in inner)
