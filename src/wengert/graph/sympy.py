"""Small graphs of single numbers as expressions of SymPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.stats import tree_size
from wengert.graph.variables import known_names

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

LARGEST = 20_000
"""SymPy writes everything out: beyond so many operations in the tree it would take too long."""

UNCHANGED = ("positive", "copy", "astype", "reshape", "expand_dims", "broadcast_to", "sum", "prod", "mean", "max", "min", "stop_gradient")
"""Operations that leave a single number as it is."""

ASSUMPTIONS: dict[str, dict[str, bool]] = {"f": {"real": True}, "i": {"integer": True}, "u": {"integer": True}, "c": {"complex": True}}


def to_sympy(graph: Graph) -> Any:
    """The outputs in terms of the inputs; one expression for one output, else a tuple."""
    sympy = _sympy()
    size = tree_size(graph)
    if size > LARGEST:
        raise ValueError(
            f"This graph has {len(graph.operations)} operations, but as a formula it would have {size:.3g}, and SymPy writes formulas out. "
            f"Look at it as mathematics() or python() instead."
        )
    names = known_names(graph)
    values: dict[Node, Any] = {}
    for i, given in enumerate(graph.inputs):
        values[given] = sympy.Symbol(names.get(given, f"x{i}"), **ASSUMPTIONS.get(given.dtype.kind, {}))
    table = _counterparts(sympy)
    for node in graph.nodes:
        if node.shape or not isinstance(node.dtype, np.dtype):
            raise TypeError(f"to_sympy takes graphs of single numbers, but {_called(node, names)} is {node.spec!r}.")
        if isinstance(node, Constant):
            if node.is_captured:
                raise TypeError(
                    "This graph has captured a value that requires gradients, which to_sympy does not know. Pass it as an argument."
                )
            values[node] = exact(np.asarray(node.value).item(), sympy)
        elif isinstance(node, Operation):
            if node.primitive.name not in table or node.params and node.primitive.name not in UNCHANGED:
                raise NotImplementedError(f"SymPy has no counterpart of {_called(node, names)} that to_sympy knows.")
            values[node] = table[node.primitive.name](*[values[a] for a in node.args])
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


def _counterparts(sympy: Any) -> dict[str, Callable]:
    same = {name: getattr(sympy, name) for name in ("exp", "log", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign")}
    named = {
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
        "arctan2": "atan2", "absolute": "Abs", "fabs": "Abs", "floor": "floor", "ceil": "ceiling", "maximum": "Max", "minimum": "Min",
        "conj": "conjugate", "real": "re", "imag": "im", "angle": "arg", "equal": "Eq", "not_equal": "Ne", "less": "Lt", "less_equal": "Le",
        "greater": "Gt", "greater_equal": "Ge", "root": "sqrt",
    }  # fmt: skip
    logical = {"logical_and": sympy.And, "logical_or": sympy.Or, "logical_not": sympy.Not, "logical_xor": sympy.Xor}
    return {
        **same,
        **{name: getattr(sympy, theirs) for name, theirs in named.items()},
        **{name: lambda *args, op=op: op(*[_truth(x, sympy) for x in args]) for name, op in logical.items()},
        **{name: lambda x: x for name in UNCHANGED},
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "multiply_live": lambda x, y: x * y,
        "divide": lambda x, y: x / y,
        "divide_live": lambda x, y: x / y,
        "negative": lambda x: -x,
        "reciprocal": lambda x: 1 / x,
        "square": lambda x: x**2,
        "power": lambda x, y: x**y,
        "remainder": lambda x, y: x % y,
        "floor_divide": lambda x, y: sympy.floor(x / y),
        "exp2": lambda x: 2**x,
        "expm1": lambda x: sympy.exp(x) - 1,
        "log2": lambda x: sympy.log(x, 2),
        "log10": lambda x: sympy.log(x, 10),
        "log1p": lambda x: sympy.log(1 + x),
        "logaddexp": lambda x, y: sympy.log(sympy.exp(x) + sympy.exp(y)),
        "logaddexp2": lambda x, y: sympy.log(2**x + 2**y, 2),
        "hypot": lambda x, y: sympy.sqrt(x**2 + y**2),
        "deg2rad": lambda x: x * sympy.pi / 180,
        "rad2deg": lambda x: x * 180 / sympy.pi,
        "where": lambda condition, x, y: sympy.Piecewise((x, condition), (y, True)),
        "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
        "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
        "relu": lambda x: sympy.Max(x, 0),
        "heaviside": sympy.Heaviside,
    }
