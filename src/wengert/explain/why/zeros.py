"""What a zero derivative of an operation means: the aspect `zero_slope`, filled in `explain/aspects/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive
from wengert.explain.tables.numbers import value
from wengert.explain.why.source_lines import numbers_of
from wengert.graph.ir import Constant, Node, Operation

Account = Callable[[Any, Operation, int], tuple[str, str]]
"""`account(search, node, operand)`: the kind of the loss and a text on it, for a search that knows the values of nodes.
"""


def by_kind(primitive: Primitive) -> Account:
    return cancelled if primitive.kind == "linear" else stationary


zero_slope: Aspect[Account] = Aspect("zero slope", "what it means that its derivative is zero", by_kind)


def times_zero(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    others = other_operands(node, operand)
    if not others:
        return "multiplied by zero", "another element is zero"
    if all(not np.any(numbers_of(search.values[a])) for a in others if a.dtype.kind in "fc"):
        return "multiplied by zero", f"the other factor {search.described(others[0])} is zero"
    return "multiplied by zero", f"the other factor {search.described(others[0])} is zero where it matters"


def beyond_bound(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    at, other = search.described(node.args[operand]), other_operands(node, operand)[0]
    if isinstance(other, Constant):
        return "saturated", f"{at} lies beyond the bound {value(numbers_of(search.values[other]))}"
    return "not selected", f"{at} loses against {search.described(other)}"


def untaken(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    return "not selected", "the other branch is taken"


def left_out(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    return "not selected", f"{node.primitive.name} picks something else"


def saturated(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    return "saturated", f"{node.primitive.name} is flat at {search.described(node.args[operand])}"


def cancelled(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    return "cancels", "its elements add up to zero"


def stationary(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    return "stationary", f"the derivative of {node.primitive.name} is zero at {search.described(node.args[operand])}"


def other_operands(node: Operation, operand: int) -> list[Node]:
    return [a for i, a in enumerate(node.args) if i != operand]
