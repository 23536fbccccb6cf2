"""`and`, `or`, `not`, chained comparisons, `assert` and `raise`, of plain and of traced values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.bodies import close_graph
from wengert.control.checks import Failure
from wengert.core.errors import user_line
from wengert.core.infer import is_elementwise
from wengert.core.spec import Spec
from wengert.ops.elementwise.predicates import logical_and, logical_not, logical_or
from wengert.source.branches import choose_traced
from wengert.source.memory import Memory
from wengert.source.tracing import Inner, register_check
from wengert.source.values import is_number, is_unknown, truth

BOOLEAN = Spec((), np.dtype(bool))
Thunk = Callable[[], Any]
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def all_true(first: Any, *others: Thunk) -> Any:
    """`a and b and ...`, where only the truth matters."""
    if not others:
        return first
    rest = lambda: all_true(others[0](), *others[1:])
    if is_unknown(first):
        return join_tests(logical_and, truth(first), rest, False, others)
    return rest() if first else first


def any_true(first: Any, *others: Thunk) -> Any:
    """`a or b or ...`, where only the truth matters."""
    if not others:
        return first
    rest = lambda: any_true(others[0](), *others[1:])
    if is_unknown(first):
        return join_tests(logical_or, truth(first), rest, True, others)
    return first if first else rest()


def join_tests(join: Callable[..., Any], first: Any, rest: Thunk, decided: bool, parts: Sequence[Thunk]) -> Any:
    """A traced test and the rest, which is computed only if the test does not decide, unless it cannot fail."""
    whole = lambda: truth(x) if is_unknown(x := rest()) else bool(x)
    inner = Inner(Memory(*parts), lambda _: whole())
    if not inner.changes and not inner.checks and inner.error is None:
        if not is_unknown(inner.result):
            return first if bool(inner.result) is not decided else inner.result
        body, captured = close_graph([], [inner.node_of(inner.result)])
        if all(is_elementwise(node.primitive) for node in body.operations):
            return join(first, body.run(captured)[0])
    known = lambda: decided
    return choose_traced(first, known if decided else whole, whole if decided else known, Memory(*parts))


def join_values(join: Callable[..., Any], first: Any, rest: Thunk, decided: bool, parts: Sequence[Thunk]) -> Any:
    """The same where the values of the operands matter: one of them, which must be alike."""
    if is_boolean(first) and is_boolean(Inner(Memory(*parts), lambda _: rest()).result):
        return join_tests(join, first, rest, decided, parts)
    known = lambda: first
    return choose_traced(first, known if decided else rest, rest if decided else known, Memory(*parts))


def last_true(first: Any, *others: Thunk) -> Any:
    """`a and b and ...`: the first operand that is false, or the last one."""
    if not others:
        return first
    rest = lambda: last_true(others[0](), *others[1:])
    if is_unknown(first):
        return join_values(logical_and, first, rest, False, others)
    return rest() if first else first


def first_true(first: Any, *others: Thunk) -> Any:
    """`a or b or ...`: the first operand that is true, or the last one."""
    if not others:
        return first
    rest = lambda: first_true(others[0](), *others[1:])
    if is_unknown(first):
        return join_values(logical_or, first, rest, True, others)
    return first if first else rest()


def is_boolean(x: Any) -> bool:
    """Whether a value is one boolean."""
    return is_number(x) and Spec.of(x) == BOOLEAN


def negate(x: Any) -> Any:
    """`not x`."""
    return logical_not(truth(x)) if is_unknown(x) else not x


def chain(left: Any, *parts: Any) -> Any:
    """`a < b < c`: of operators and functions that give the operands, in turn."""
    sign, right, *rest = parts
    value = right()
    first = COMPARISONS[sign](left, value)
    if not rest:
        return first
    if is_unknown(first):
        others = [part for part in rest if callable(part)]
        return join_tests(logical_and, truth(first), lambda: chain(value, *rest), False, others)
    return first and chain(value, *rest)


def check(holds: Any, message: Thunk | None) -> None:
    """`assert`: of a traced value, when the program runs."""
    if is_unknown(holds):
        args = () if message is None else (message(),)
        register_check(truth(holds), Failure(AssertionError, args, user_line()))
    elif not holds:
        raise AssertionError(*(() if message is None else (message(),)))


def raised(error: Any) -> Any:
    """An error that the user raises: in a branch on a traced value, it is raised when the program runs."""
    found = error() if isinstance(error, type) else error
    if isinstance(found, Exception):
        found.is_raised_by_user = True  # type: ignore[attr-defined]  # a mark
    return found
