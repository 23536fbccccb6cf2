"""`and`, `or`, `not`, chained comparisons, `assert` and `raise`, of plain and of traced values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from wengert.control.checks import Failure
from wengert.core.errors import user_line
from wengert.ops.elementwise.predicates import logical_and, logical_not, logical_or
from wengert.source.branches import choose_traced
from wengert.source.memory import Memory
from wengert.source.tracing import Inner, register_check
from wengert.source.values import is_number, is_unknown, truth

Thunk = Callable[[], Any]
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
HARMLESS = frozenset(
    "add subtract multiply negative positive absolute less less_equal greater greater_equal equal not_equal logical_and "
    "logical_or logical_not isnan isfinite isinf maximum minimum astype astype_discrete sum square reshape".split()
)
"""Operations that can be computed where Python would not."""


def all_true(first: Any, *others: Thunk) -> Any:
    """`a and b and ...`, where only the truth matters."""
    for k, other in enumerate(others):
        if is_unknown(first):
            return join_tests(
                logical_and, truth(first), lambda k=k: all_true(others[k](), *others[k + 1 :]), False, others
            )  # type: ignore[misc]  # a default
        if not first:
            return first
        first = other()
    return first


def any_true(first: Any, *others: Thunk) -> Any:
    """`a or b or ...`, where only the truth matters."""
    for k, other in enumerate(others):
        if is_unknown(first):
            return join_tests(
                logical_or, truth(first), lambda k=k: any_true(others[k](), *others[k + 1 :]), True, others
            )  # type: ignore[misc]  # a default
        if first:
            return first
        first = other()
    return first


def join_tests(join: Callable[..., Any], first: Any, rest: Thunk, decided: bool, parts: Sequence[Thunk]) -> Any:
    """A traced test and the rest, which is computed only if the test does not decide, unless it is cheap and harmless."""
    whole = lambda: truth(x) if is_unknown(x := rest()) else bool(x)
    inner = Inner(Memory(*parts), lambda _: whole(), isolated=True)
    if not inner.changes and not inner.checks and inner.error is None:
        if not is_unknown(inner.result):
            return first if bool(inner.result) is not decided else inner.result
        body, captured = inner.close([], [inner.node_of(inner.result)])
        if all(node.primitive.name in HARMLESS for node in body.operations):
            return join(first, body.run(captured)[0])
    arms = (lambda: decided), whole
    return choose_traced(first, *(arms if decided else arms[::-1]), Memory(*parts))


def last_true(first: Any, *others: Thunk) -> Any:
    """`a and b and ...`: the first operand that is false, or the last one."""
    for k, other in enumerate(others):
        if is_unknown(first):
            rest = lambda k=k: last_true(others[k](), *others[k + 1 :])  # type: ignore[misc]  # a default
            if is_boolean(first):
                return join_tests(logical_and, truth(first), rest, False, others)
            value = first
            return choose_traced(first, rest, lambda: value, Memory(*others))
        if not first:
            return first
        first = other()
    return first


def first_true(first: Any, *others: Thunk) -> Any:
    """`a or b or ...`: the first operand that is true, or the last one."""
    for k, other in enumerate(others):
        if is_unknown(first):
            rest = lambda k=k: first_true(others[k](), *others[k + 1 :])  # type: ignore[misc]  # a default
            if is_boolean(first):
                return join_tests(logical_or, truth(first), rest, True, others)
            value = first
            return choose_traced(first, lambda: value, rest, Memory(*others))
        if first:
            return first
        first = other()
    return first


def is_boolean(x: Any) -> bool:
    """Whether a traced value is a boolean."""
    return is_number(x) and x.dtype.kind == "b"


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
