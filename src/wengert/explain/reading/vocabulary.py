"""The names in formulas: constants, and functions of the public namespace with their usual aliases."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE, Primitive

CONSTANTS = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "expit": "sigmoid",
    "lg": "log10",
    "ln": "log",
    "logistic": "sigmoid",
    "mod": "remainder",
    "pow": "power",
    "sgn": "sign",
}
ALONG_AXIS = [
    "all",
    "any",
    "cumprod",
    "cumsum",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "prod",
    "sort",
    "std",
    "sum",
    "var",
]
OTHERS = ["cross", "dot", "matmul", "outer", "ravel", "round", "transpose"]
WITH_THREE = ("clip", "where")
"""Functions that take three arguments here, although NumPy takes fewer, too."""
OF_SEVERAL = {"max": "maximum", "min": "minimum"}
"""What functions of one array become if they have several arguments."""


class FormulaFunction(NamedTuple):
    """A function that formulas may call, its number of arguments, and whether it takes an axis."""

    call: Callable
    arguments: int
    along_axis: bool = False


def is_formula_operation(operation: Primitive) -> bool:
    """Whether an operation acts on each element, and on nothing else such as a batch."""
    return is_elementwise(operation) and bool(operation.trial.domain) and operation.definition.collect is None


@cache
def functions() -> dict[str, FormulaFunction]:
    """The elementwise operations of the table, reductions, products, and aliases.

    >>> functions()["ln"].call(1.0), functions()["arctan2"].arguments
    (np.float64(0.0), 2)
    """
    import wengert as wg  # the vocabulary is its public namespace

    elementwise = [name for name, p in TABLE.items() if is_formula_operation(p) and name in wg.__all__]
    counted = {name: getattr(wg, name) for name in (*elementwise, *OTHERS)}
    known = {name: FormulaFunction(function, count_required(function)) for name, function in counted.items()}
    known |= {name: FormulaFunction(getattr(wg, name), 3) for name in WITH_THREE}
    known |= {name: FormulaFunction(getattr(wg, name), 1, True) for name in ALONG_AXIS}
    known["norm"] = FormulaFunction(wg.linalg.norm, 1, True)
    return known | {alias: known[name] for alias, name in ALIASES.items()}


def count_required(function: Callable) -> int:
    """How many arguments a function needs."""
    return sum(p.default is p.empty for p in inspect.signature(function).parameters.values())


def suggestion(name: str, known: Iterable[str]) -> str:
    """A question, if something has a similar name.

    >>> suggestion("sinn", ["sin", "cos"])
    ' Did you mean sin?'
    """
    names = list(known)
    near = [other for other in names if other.lower() == name.lower()] or difflib.get_close_matches(name, names, 3, 0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""
