"""What a zero derivative of an operation means: the aspect `zero_slope`, filled in `explain/aspects/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive
from wengert.explain.recorder import plain_arrays
from wengert.explain.tables.numbers import format_value
from wengert.graph.ir import Constant, Node, Operation

Account = Callable[[Any, Operation, int], tuple[str, str]]
"""`account(search, node, operand)`: the kind of the loss and a sentence about it."""


def default_account(primitive: Primitive) -> Account:
    """The account for operations without an entry, by their facts and their kind."""
    facts = primitive.facts
    if facts.multiplies or primitive.kind == "multilinear":
        return zero_factor
    if facts.saturates:
        return saturation
    if facts.selects and not facts.overwrites:
        return unselected_element
    return cancellation if primitive.kind == "linear" else stationary_point


zero_slope: Aspect[Account] = Aspect("zero slope", "the reason why its derivative is zero", default_account)


def zero_factor(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    """Other factors are zero."""
    others = other_operands(node, operand)
    if not others:
        return "multiplied by zero", "another element is zero"
    if all(not np.any(plain_arrays(search.values[a])) for a in others if a.dtype.kind in "fc"):
        return "multiplied by zero", f"the other factor {search.describe(others[0])} is zero"
    return "multiplied by zero", f"the other factor {search.describe(others[0])} is zero where it matters"


def beyond_bound(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    """Of two operands, the other one is taken."""
    at, other = search.describe(node.args[operand]), other_operands(node, operand)[0]
    if isinstance(other, Constant):
        return "saturated", f"{at} lies beyond the bound {format_value(plain_arrays(search.values[other]))}"
    return "not selected", f"{at} loses against {search.describe(other)}"


def untaken_branch(_search: Any, _node: Operation, _operand: int) -> tuple[str, str]:
    """The branch of a `where` that is not taken."""
    return "not selected", "the other branch is taken"


def unselected_element(_search: Any, node: Operation, _operand: int) -> tuple[str, str]:
    """Other elements are selected."""
    return "not selected", f"{node.primitive.name} picks something else"


def saturation(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    """The function is flat far from zero."""
    return "saturated", f"{node.primitive.name} is flat at {search.describe(node.args[operand])}"


def cancellation(_search: Any, _node: Operation, _operand: int) -> tuple[str, str]:
    """Terms of a sum cancel."""
    return "cancels", "its elements add up to zero"


def stationary_point(search: Any, node: Operation, operand: int) -> tuple[str, str]:
    """The derivative is zero at this point."""
    return "stationary", f"the derivative of {node.primitive.name} is zero at {search.describe(node.args[operand])}"


def other_operands(node: Operation, operand: int) -> list[Node]:
    """All operands but one."""
    return [a for i, a in enumerate(node.args) if i != operand]
