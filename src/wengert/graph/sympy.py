"""Small graphs of single numbers as expressions of SymPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.kinds import is_arithmetic
from wengert.core.primitive import Primitive
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.stats import tree_size
from wengert.graph.variables import known_names

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

LARGEST = 20_000
"""SymPy writes everything out: beyond so many operations in the tree it would take too long."""

Form = Callable[..., Any]
"""Takes the module SymPy, the operands as its expressions, and the metadata by name.

Gives an expression, or None where there is none.
"""


def form_of_arithmetic(primitive: Primitive) -> Form | None:
    """The implementation itself, of an operation that is plain arithmetic."""
    return (lambda sympy, *args, **params: primitive.impl(*args, **params)) if is_arithmetic(primitive) else None


sympy_form: Aspect[Form] = Aspect(
    "SymPy form",
    "the same as an expression of SymPy",
    form_of_arithmetic,
    rest=dict.fromkeys(
        ("linear", "multilinear", "reduction", "general", "nondifferentiable"),
        "expressions of SymPy are for single numbers",
    ),
)

ASSUMPTIONS: dict[str, dict[str, bool]] = {
    "f": {"real": True},
    "i": {"integer": True},
    "u": {"integer": True},
    "c": {"complex": True},
}


def to_sympy(graph: Graph) -> Any:
    """The outputs in terms of the inputs; one expression for one output, else a tuple."""
    sympy = _sympy()
    size = tree_size(graph)
    if size > LARGEST:
        raise ValueError(
            f"This graph has {len(graph.operations)} operations, but as a formula it would have {size:.3g}, and SymPy "
            f"writes formulas out. "
            f"Look at it as mathematics() or python() instead."
        )
    names = known_names(graph)
    values: dict[Node, Any] = {}
    for i, given in enumerate(graph.inputs):
        values[given] = sympy.Symbol(names.get(given, f"x{i}"), **ASSUMPTIONS.get(given.dtype.kind, {}))
    for node in graph.nodes:
        if node.shape or not isinstance(node.dtype, np.dtype):
            raise TypeError(f"to_sympy takes graphs of single numbers, but {_called(node, names)} is {node.spec!r}.")
        if isinstance(node, Constant):
            if node.is_captured:
                raise TypeError(
                    "This graph has captured a value that requires gradients, which to_sympy does not know. Pass it as "
                    "an argument."
                )
            values[node] = exact(np.asarray(node.value).item(), sympy)
        elif isinstance(node, Operation):
            form = sympy_form.of(node.primitive)
            found = None if form is None else form(sympy, *[values[a] for a in node.args], **node.params)
            if found is None:
                raise NotImplementedError(f"SymPy has no counterpart of {_called(node, names)} that to_sympy knows.")
            values[node] = found
    results = tuple([values[node] for node in graph.outputs])
    return results[0] if len(results) == 1 else results


def _sympy() -> Any:
    try:
        import sympy  # type: ignore[import-untyped]  # has no types
    except ImportError as error:
        raise ImportError("to_sympy needs SymPy: python -m pip install sympy.") from error
    return sympy


def _called(node: Node, names: dict[Node, str]) -> str:
    what = f"the operation {node.primitive.name}" if isinstance(node, Operation) else f"a {type(node).__name__.lower()}"
    name = f" ({names[node]})" if node in names else ""
    return f"{what}{name}" + (f" at {node.source.place}" if node.source is not None else "")


def exact(value: Any, sympy: Any) -> Any:
    """A number as SymPy's: integers and halves, quarters ... exactly, other floating-point numbers as such."""
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, complex):
        return exact(value.real, sympy) + sympy.I * exact(value.imag, sympy)
    if isinstance(value, float):
        if not math.isfinite(value):
            return sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo
        numerator, denominator = value.as_integer_ratio()
        return sympy.Rational(numerator, denominator) if denominator <= 64 and abs(value) < 1e15 else sympy.Float(value)
    return sympy.Integer(value)


def _truth(x: Any, sympy: Any) -> Any:
    """A truth value as it is; of a number, whether it is not zero. A symbol of SymPy can be either."""
    return sympy.Ne(x, 0) if x.is_complex or not isinstance(x, sympy.logic.boolalg.Boolean) else x


def named(name: str) -> Form:
    """SymPy's own function of that name."""
    return lambda sympy, *args: getattr(sympy, name)(*args)


def logical(name: str) -> Form:
    """SymPy's own function of that name, of truth values."""
    return lambda sympy, *args: getattr(sympy, name)(*[_truth(x, sympy) for x in args])


def same_number(sympy: Any, x: Any, **_: Any) -> Any:
    """What leaves a single number as it is."""
    return x
