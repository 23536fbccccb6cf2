"""`if` and conditional expressions: as Python runs them, or as one operation that holds both branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.bodies import close_graph, weak_type
from wengert.control.branches import run_closed
from wengert.control.checks import Failure
from wengert.core import tree
from wengert.core.errors import TrackedValueError, user_error, user_line
from wengert.core.spec import Spec
from wengert.graph.ir import PYTHON_NUMBERS, Node, make_constant
from wengert.ops.elementwise.predicates import logical_not
from wengert.ops.shape.casting import astype
from wengert.source.memory import ArrayValue, Memory, Place, Variable
from wengert.source.rows import Rows
from wengert.source.syntax import RESULT, RETURNED
from wengert.source.tracing import Inner, register_check
from wengert.source.values import (
    Undefined,
    describe_difference,
    is_flag,
    is_function,
    is_number,
    is_unknown,
    same,
    truth,
    zeros,
)

OTHER_FUNCTION = (
    "it is another function after each branch of an `if` on a traced value. Call it in the branches, or before."
)
ONE_PATH = "only one branch of an `if` on a traced value assigns it. Give it a value in both, or before."


def choose(
    test: Any,
    first: Callable[[], Any],
    second: Callable[[], Any],
    unread: Sequence[str] = (),
    parameters: Sequence[str] = (),
) -> Any:
    """`if test`: run one of two functions, or, if the test is traced, make an operation of both.

    Nothing reads the variables `unread` of the function, nor its `parameters`, afterwards.
    """
    if not is_unknown(test):
        return first() if test else second()
    return choose_traced(test, first, second, Memory(first, second), unread, parameters)


def choose_traced(
    test: Any,
    first: Callable[[], Any],
    second: Callable[[], Any],
    memory: Memory,
    unread: Sequence[str] = (),
    parameters: Sequence[str] = (),
) -> Any:
    """The same for a traced test, and functions that may change what is in the memory."""
    test = truth(test)
    sides = [Inner(memory, lambda _, f=f: f()) for f in (second, first)]  # type: ignore[misc]  # a default
    errors = [side.error for side in sides]
    if errors[0] is not None and errors[1] is not None:
        raise errors[1]
    for error, other, holds in ((errors[0], first, test), (errors[1], second, logical_not(test))):
        if error is not None:
            register_check(holds, Failure(type(error), error.args, raised_line(error)))
            return other()
    return Choice(test, memory, sides).make(unread, parameters)


def raised_line(error: Exception) -> str:
    """The line at which the user's code raised an error."""
    found = error.__traceback__
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    return user_line() if found is None else f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}"


class Leaf(NamedTuple):
    """One leaf of a value after an `if`: known already (`value`), or an output of both branches."""

    value: Any
    output: int | None = None


class Choice:
    """The outputs of both branches, and what is made of them. The first side is that of a false test."""

    def __init__(self, test: Any, memory: Memory, sides: Sequence[Inner]):
        self.test, self.memory, self.sides = test, memory, sides
        self.outputs: tuple[list[Node], list[Node]] = ([], [])
        self.results: list[Any] = []

    def make(self, unread: Sequence[str], parameters: Sequence[str]) -> Any:
        """Write what the branches change; returns the value of the expression."""
        every = sorted({k for side in self.sides for k in side.changes})
        places = self.memory.places
        changed = [
            k
            for k in every
            if not (isinstance(places[k], Variable) and places[k].name in {*unread, *parameters})
            and not (isinstance(places[k].target, Rows) and places[k].name in unread)
        ]
        value = self.merge("", self.sides[0].result, self.sides[1].result)
        merged = [(places[k], self.merge_place(k)) for k in changed]
        checks = [self.merge_check(i, check) for i, side in enumerate(self.sides) for check in side.checks]
        if self.outputs[0]:
            bodies = [close_graph([], nodes) for nodes in self.outputs]
            self.results = run_closed(astype(self.test, int), [], bodies)
        for place, parts in merged:
            place.write(self.build(*parts))
        for failure, index in checks:
            register_check(self.results[index], failure)
        return self.build(*value)

    def build(self, structure: tree.Structure, leaves: Sequence[Leaf]) -> Any:
        """A value after the choice."""
        return tree.unflatten(structure, [x.value if x.output is None else self.results[x.output] for x in leaves])

    def add(self, first: Node, second: Node) -> Leaf:
        """A new output of both branches."""
        self.outputs[0].append(first)
        self.outputs[1].append(second)
        return Leaf(None, len(self.outputs[0]) - 1)

    def merge_check(self, i: int, check: tuple[Node, Failure]) -> tuple[Failure, int]:
        """What must hold if one side is taken."""
        holds, failure = check
        pair = [make_constant(np.True_), make_constant(np.True_)]
        pair[i] = holds
        index = self.add(*pair).output
        assert index is not None
        return failure, index

    def merge_place(self, k: int) -> tuple[tree.Structure, list[Leaf]]:
        """The contents of a place that a branch changed."""
        place = self.memory.places[k]
        a, b = [side.contents(k) for side in self.sides]
        if not isinstance(place, Variable | ArrayValue) and not isinstance(a, list | dict):
            raise user_error(
                TypeError,
                f"A branch of an `if` on a traced value changes {place.name or 'something'} in place",
                "Give it a new value instead.",
            )
        return self.merge(place.name, a, b, place)

    def is_dead(self, i: int, *kinds: str) -> bool:
        """Whether a side has left a loop or the function, so that some variables are not read after it."""
        side = self.sides[i]
        return any(
            value is True and is_flag(place.name) and place.name.startswith(kinds)
            for k, value in side.changes.items()
            if isinstance(place := self.memory.places[k], Variable)
        )

    def merge(self, name: str, a: Any, b: Any, place: Place | None = None) -> tuple[tree.Structure, list[Leaf]]:
        """One value from those of both sides."""
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            return self.merge_undefined(name, a, b)
        (first, structure), (second, other) = tree.flatten(a), tree.flatten(b)
        if structure == other:
            leaves = [self.merge_leaves(x, y) for x, y in zip(first, second, strict=True)]
            if None not in leaves:
                return structure, leaves  # type: ignore[return-value]  # none is None
        if place is not None and name != RESULT:
            for i, value in enumerate((b, a)):
                if self.is_dead(i, RETURNED) and not self.is_dead(1 - i, RETURNED):
                    return self.blank(value, 1 - i)
            if is_function(a) or is_function(b):
                return tree.LEAF, [Leaf(Undefined(name, OTHER_FUNCTION))]
        raise self.difference(name, a, b)

    def merge_undefined(self, name: str, a: Any, b: Any) -> tuple[tree.Structure, list[Leaf]]:
        """A variable that has no value on one side: it is read only where it has one, or it is an error to read it."""
        i = int(isinstance(a, Undefined))  # the side on which it has a value
        value = b if i else a
        is_left = self.is_dead(0, "__broken_", "__skipped_") or self.is_dead(1, "__broken_", "__skipped_")
        if not isinstance(value, Undefined) and (name == RESULT or is_left or self.is_dead(1 - i, RETURNED)):
            return self.blank(value, i)
        return tree.LEAF, [Leaf(Undefined(name, ONE_PATH))]

    def blank(self, value: Any, i: int) -> tuple[tree.Structure, list[Leaf]]:
        """The value of side i, with zeros on the other side, where it is not read."""
        leaves, structure = tree.flatten(value)
        found: list[Leaf] = []
        for x in leaves:
            if not is_number(x):
                found.append(Leaf(x))
                continue
            node = self.sides[i].node_of(x)
            pair = [node, make_constant(zeros([node.spec])[0])]
            found.append(self.add(*(pair if i == 0 else pair[::-1])))
        return structure, found

    def merge_leaves(self, a: Any, b: Any) -> Leaf | None:
        """One leaf from those of both sides; None if they are different in kind."""
        if same(a, b):
            return Leaf(a)
        if a is False and b is True:
            return Leaf(self.test)
        if a is True and b is False:
            return Leaf(logical_not(self.test))
        if not is_number(a) or not is_number(b):
            return None
        spec = common_spec(a, b)
        if spec is None:
            return None
        return self.add(*[side.node_of(x, spec.dtype) for side, x in zip(self.sides, (a, b), strict=True)])

    def difference(self, name: str, a: Any, b: Any) -> TrackedValueError:
        """The error for values that cannot be merged."""
        second, first = describe_difference(a, b)
        if name in ("", RESULT):
            return user_error(
                TrackedValueError,
                f"The branches of an `if` on a traced value return different things: {first}, and {second}",
                "Return the same structure, shapes and dtypes in both.",
            )
        return user_error(
            TrackedValueError,
            f"The variable {name!r} is {first} after one branch of an `if` on a traced value, and {second} after the "
            f"other",
            "Give it the same shape and dtype in both.",
        )


def common_spec(a: Any, b: Any) -> Spec | None:
    """The spec of a value that is one of two: equal specs, or that of the array where the other is a Python number."""
    first, second = Spec.of(a), Spec.of(b)
    if first.shape != second.shape:
        return None
    weak = [weak_type(x) for x in (a, b)]
    if weak[0] is None and weak[1] is None:
        return first if first == second else None
    if weak[0] is not None and weak[1] is not None:
        return Spec(first.shape, np.result_type(first.dtype, second.dtype))
    array, number = (second, weak[0]) if weak[0] is not None else (first, weak[1])
    assert number in PYTHON_NUMBERS
    return array if np.result_type(array.dtype, number(0)) == array.dtype else None
