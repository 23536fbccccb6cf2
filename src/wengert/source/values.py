"""What is known of a value while a function is traced: its numbers, its shape only, or that it has none."""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation
from wengert.modes import recording
from wengert.modes.symbolic import Symbol
from wengert.source.syntax import RETURNED

NUMBERS = (Array, np.ndarray, np.generic, *PYTHON_NUMBERS)
FLAGS = (RETURNED, "__broken_", "__skipped_")


class Undefined:
    """Stands for a variable that has no value, or has one on some paths only; using it is an error."""

    def __init__(self, name: str, why: str = ""):
        self.__dict__.update(name=name, why=why)

    def __getattr__(self, name: str) -> Any:
        raise user_error(NameError, f"The variable {self.name!r} has no value here", because=self.why)

    def __repr__(self) -> str:
        return f"<{self.name} has no value>"


def refuse_use(self: Undefined, *_: Any, **__: Any) -> Any:
    """Raise the error of a variable without a value."""
    return self.shape


OPERATORS = [
    "abs", "add", "and", "array", "array_function", "array_ufunc", "bool", "call", "complex", "contains", "divmod",
    "enter", "eq", "float", "floordiv", "format", "ge", "getitem", "gt", "iadd", "imul", "index", "int", "invert",
    "isub", "iter", "itruediv", "le", "len", "lshift", "lt", "matmul", "mod", "mul", "ne", "neg", "next", "or",
    "pos", "pow", "radd", "rand", "rdivmod", "reversed", "rfloordiv", "rlshift", "rmatmul", "rmod", "rmul", "ror",
    "round", "rpow", "rrshift", "rshift", "rsub", "rtruediv", "rxor", "setattr", "setitem", "str", "sub", "truediv",
    "xor",
]  # fmt: skip
"""The special methods of all that can be done with a value."""
for method in OPERATORS:
    setattr(Undefined, f"__{method}__", refuse_use)


def use(x: Any) -> Any:
    """The value of a variable; an error if it has none."""
    return x.shape if isinstance(x, Undefined) else x


def is_unknown(x: Any) -> bool:
    """Whether the numbers of a value are known only when the program runs."""
    for payload in iterate_payloads(x):
        if isinstance(payload, Symbol):
            return depends_on_inputs(payload.node)
        if not payload.level:
            return recording.current_trace() is not None
    return False


def depends_on_inputs(node: Node) -> bool:
    """Whether a node is computed from inputs or captured values, not from constants alone."""
    stack, seen = [node], {node}
    while stack:
        node = stack.pop()
        if isinstance(node, Input) or (isinstance(node, Constant) and node.is_captured):
            return True
        if isinstance(node, Operation):
            new = [a for a in node.args if a not in seen]
            seen.update(new)
            stack += new
    return False


def is_number(x: Any) -> bool:
    """Whether a leaf of a tree is an array or a number."""
    return isinstance(x, NUMBERS) and Spec.of(x).dtype.kind in "biufc"


def is_function(x: Any) -> bool:
    """Whether a value is a function or a method, which is not known by its numbers."""
    return isinstance(x, types.FunctionType | types.MethodType | functools.partial)


def is_flag(name: str) -> bool:
    """Whether a variable says that a loop was left."""
    return name.startswith(FLAGS)


def truth(x: Any) -> Any:
    """One boolean, from a traced value that is tested."""
    x = as_operand(x)
    if x.size != 1:
        raise user_error(
            ValueError,
            f"The truth value of an array of shape {x.shape} is ambiguous",
            "Use .any() or .all(), or choose elementwise with wg.where.",
        )
    x = x.reshape(()) if x.ndim else x
    return x if x.dtype.kind == "b" else x != 0


def describe(x: Any) -> str:
    """A value in an error message: shape and dtype of arrays, structure of trees."""
    if isinstance(x, Undefined):
        return "without a value"
    if isinstance(x, Spec):
        return repr(x)
    leaves, structure = tree.flatten(x)
    if structure is not tree.LEAF:
        return (
            f"the {structure.make.__name__} {structure!r}"
            if leaves or x is None
            else f"an empty {structure.make.__name__}"
        )
    return f"{Spec.of(x)!r}" if is_number(x) else f"a {type(x).__name__}"


def describe_difference(a: Any, b: Any) -> tuple[str, str]:
    """Two values in an error message: the first leaves that differ, if the trees do not."""
    first, second = tree.flatten(a), tree.flatten(b)
    if first[1] == second[1] and first[1] is not tree.LEAF:
        for x, y in zip(first[0], second[0], strict=True):
            if describe(x) != describe(y):
                return f"{describe(a)} with {describe(x)}", f"one with {describe(y)}"
    return ("None" if a is None else describe(a)), ("None" if b is None else describe(b))


def same(a: Any, b: Any) -> bool:
    """Whether two leaves are the same object, or equal Python values."""
    if a is b:
        return True
    if a.__class__ is not b.__class__ or isinstance(a, (Array, np.ndarray, Undefined)):
        return False
    try:
        return bool(a == b) and repr(a) == repr(b)
    except Exception:  # whatever the comparison of two objects raises, they are different
        return False


def zeros(specs: Sequence[Spec]) -> list[np.ndarray]:
    """Arrays that stand where no value will be read."""
    return [np.zeros(spec.shape, spec.dtype) for spec in specs]
