"""What rewritten functions call: branches and loops that run as Python, or become operations, as their values demand."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.control.branches import cond
from wengert.control.loops import is_in_trace, scan, while_loop
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.levels import bottom_array, iterate_payloads
from wengert.core.spec import Spec
from wengert.graph.ir import Node
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.predicates import logical_and, logical_not, logical_or
from wengert.ops.indexing.subscripts import set_at

slice = builtins.slice
UNROLLED = 16
"""A loop of at most so many steps is written out."""


class Undefined:
    """Stands for a variable that has no value yet."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} is not defined>"


def variable(read: Callable[[], Any], name: str) -> Any:
    """The value of a variable, or `Undefined`."""
    try:
        return read()
    except (NameError, UnboundLocalError):
        return Undefined(name)


def is_unknown(x: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return isinstance(x, Array) and any(isinstance(payload, Symbol) for payload in iterate_payloads(x))


def branch(
    test: Callable[[], Any],
    then: Callable[..., tuple[Any, ...]],
    otherwise: Callable[..., tuple[Any, ...]],
    values: tuple[Any, ...],
    names: tuple[str, ...],
) -> tuple[Any, ...]:
    """`if`: one branch, or, if the test is not known yet, an operation that holds both."""
    decided = test()
    if not is_unknown(decided):
        return then(*values) if decided else otherwise(*values)
    return choose_values(decided, then, otherwise, values, names)


def choose_values(
    test: Any, then: Callable[..., Any], otherwise: Callable[..., Any], values: tuple[Any, ...], names: tuple[str, ...]
) -> tuple[Any, ...]:
    """The values of variables after a branch whose test is not known yet."""
    kept: dict[int, list[Any]] = {}

    def traced(function: Callable[..., tuple[Any, ...]]) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            outs = function(*values)
            kept[len(kept)] = list(outs)
            return [y if is_state(y) else 0 for y in outs]

        return run

    outs = list(cond(test, traced(then), traced(otherwise)))
    first, second = kept[1], kept[0]  # the false branch is traced first
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if is_state(a) and is_state(b):
            continue
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            outs[i] = Undefined(names[i])
        elif a is b or (type(a) is type(b) and a == b):
            outs[i] = a
        else:
            raise user_error(
                TypeError,
                f"The variable {names[i]!r} is a {type(a).__name__} after one branch of an `if` on a traced value, and "
                f"a {type(b).__name__} after the other",
                "Give it an array or number in both.",
            )
    return tuple(outs)


def is_state(x: Any) -> bool:
    """Whether a value can be a state of a loop or a result of a branch: a tree of arrays and numbers."""
    leaves = tree.flatten(x)[0]
    return bool(leaves) and all(isinstance(a, Array | np.ndarray | np.generic | int | float | complex) for a in leaves)


def repeat(
    condition: Callable[..., Any], step: Callable[..., tuple[Any, ...]], values: tuple[Any, ...], names: tuple[str, ...]
) -> tuple[Any, ...]:
    """`while`: as Python runs it, or as an operation from where its condition is not known."""
    while not is_unknown(goes_on := condition(*values)):
        if not goes_on:
            return values
        values = step(*values)
    return carry(values, names, lambda full, run: while_loop(lambda s: condition(*full(s)), lambda s: run(step(*full(s))), full.initial))


def iterate(
    items: Any,
    step: Callable[..., tuple[Any, ...]],
    values: tuple[Any, ...],
    names: tuple[str, ...],
    goes_on: Callable[..., Any] | None,
) -> tuple[Any, ...]:
    """`for`: as Python runs it, or as an operation if there are many steps on traced values."""
    if isinstance(items, Range):
        return iterate_range(items, step, values, names, goes_on)
    whole = sequence_of(items)
    if whole is not None and len(whole[1]) and whole[0] > UNROLLED and is_in_trace(tree.flatten([v for v in values if is_state(v)])[0]):
        found = try_rolled(whole, step, values, names, goes_on)
        if found is not None:
            return found
    for item in items:
        if goes_on is not None:
            decided = goes_on(*values)
            if is_unknown(decided):
                return skip_rest([item, *items], step, values, names, goes_on) if False else unrolled(items, step, values, names, goes_on)
            if not decided:
                break
        values = step(item, *values)
    return values
