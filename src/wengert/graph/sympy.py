"""Small graphs of single numbers as expressions of SymPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.aspects import Aspect, primitive_of
from wengert.core.errors import user_error
from wengert.core.kinds import is_arithmetic
from wengert.core.primitive import Primitive
from wengert.graph.costs import tree_size
from wengert.graph.forms import ENTRIES, form
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.passes.fold import fold
from wengert.graph.written_out import write_out

Form = Callable[..., Any]
"""From the module SymPy, the operands as its expressions, and the parameters by name, to an expression or None."""


def form_of_arithmetic(primitive: Primitive) -> Form | None:
    """The implementation itself, of an operation that is plain arithmetic."""
    return (lambda sympy, *args, **params: primitive.impl(*args, **params)) if is_arithmetic(primitive) else None


sympy_form: Aspect[Form] = Aspect(
    "SymPy form",
    "its form as a SymPy expression",
    form_of_arithmetic,
    rest=dict.fromkeys(
        ("linear", "multilinear", "reduction", "general", "nondifferentiable"),
        "SymPy expressions are for single numbers",
    )
    | {"control": "the steps of a loop are written out, and a choice becomes `where`"},
    filled_by=ENTRIES,
)

ASSUMPTIONS: dict[str, dict[str, bool]] = {
    "f": {"real": True},
    "i": {"integer": True},
    "u": {"integer": True},
    "c": {"complex": True},
}


@form("to_sympy")
def to_sympy(graph: Graph) -> Any:
    """The outputs in terms of the inputs; one expression for one output, else a tuple. Loops are written out."""
    sympy = _import_sympy()
    most = machine.current.max_operations_of_sympy_formula
    graph = fold(write_out(graph, most))
    size = tree_size(graph)
    if size > most:
        raise user_error(
            ValueError,
            f"This graph has {len(graph.operations)} operations, but as a formula it would have {size:.3g}",
            "Use mathematics() or python() instead: SymPy writes formulas out.",
        )
    names = graph.value_names()
    values: dict[Node, Any] = {}
    for i, given in enumerate(graph.inputs):
        values[given] = sympy.Symbol(names.get(given, f"x{i}"), **ASSUMPTIONS.get(given.dtype.kind, {}))
    for node in graph.nodes:
        if node.shape or not isinstance(node.dtype, np.dtype):
            what = f"to_sympy takes graphs of single numbers, but {_describe(node, names)} is {node.spec!r}"
            raise user_error(TypeError, what)
        if isinstance(node, Constant):
            if node.is_captured:
                what = "This graph has captured a value that requires gradients, which to_sympy does not know"
                raise user_error(TypeError, what, "Pass it as an argument.")
            values[node] = sympy_number(np.asarray(node.value).item(), sympy)
        elif isinstance(node, Operation):
            form = sympy_form.of(node.primitive)
            found = None if form is None else form(sympy, *[values[a] for a in node.args], **node.params)
            if found is None:
                what = f"SymPy has no counterpart of {_describe(node, names)} that to_sympy knows"
                raise user_error(NotImplementedError, what)
            values[node] = found
    results = tuple([values[node] for node in graph.outputs])
    return results[0] if len(results) == 1 else results


def _import_sympy() -> Any:
    try:
        import sympy
    except ImportError as error:
        raise user_error(ImportError, "to_sympy needs SymPy", "Install it: python -m pip install sympy.") from error
    return sympy


def _describe(node: Node, names: dict[Node, str]) -> str:
    what = f"the operation {node.primitive.name}" if isinstance(node, Operation) else f"a {type(node).__name__.lower()}"
    name = f" ({names[node]})" if node in names else ""
    return f"{what}{name}" + (f" at {node.source.source_line}" if node.source is not None else "")


def sympy_number(value: Any, sympy: Any) -> Any:
    """A number as SymPy's: integers and halves, quarters ... exactly, other floating-point numbers rounded."""
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, complex):
        return sympy_number(value.real, sympy) + sympy.I * sympy_number(value.imag, sympy)
    if isinstance(value, float):
        if not math.isfinite(value):
            return sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo
        numerator, denominator = value.as_integer_ratio()
        return sympy.Rational(numerator, denominator) if denominator <= 64 and abs(value) < 1e15 else sympy.Float(value)
    return sympy.Integer(value)


def _as_boolean(x: Any, sympy: Any) -> Any:
    """A boolean as it is; of a number, whether it is not zero. A symbol of SymPy can be either."""
    return sympy.Ne(x, 0) if x.is_complex or not isinstance(x, sympy.logic.boolalg.Boolean) else x


def sympy_function(name: str) -> Form:
    """The form that is SymPy's function of that name."""
    return lambda sympy, *args: getattr(sympy, name)(*args)


def enter_same_names(*operations: Callable[..., Any]) -> None:
    """Enter operations whose functions in SymPy have the same names."""
    for operation in operations:
        sympy_form.enter(sympy_function(primitive_of(operation).name), operation)


def sympy_logical(name: str) -> Form:
    """The form that is SymPy's function of that name, of booleans."""
    return lambda sympy, *args: getattr(sympy, name)(*[_as_boolean(x, sympy) for x in args])


def same_number(_sympy: Any, x: Any, **_: Any) -> Any:
    """The operand, of an operation that leaves a single number as it is."""
    return x
