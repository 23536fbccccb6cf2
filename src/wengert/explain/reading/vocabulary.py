"""What has a name in formulas: constants, and the functions of the table with the usual other spellings."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

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
ALONG_AXIS = (
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
)
OTHERS = {"clip": 3, "cross": 2, "dot": 2, "matmul": 2, "outer": 2, "ravel": 1, "round": 1, "transpose": 1, "where": 3}
DISCRETE = (
    "ceil",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "logical_and",
    "logical_not",
    "logical_or",
    "rint",
    "sign",
    "trunc",
)
OF_SEVERAL = {"max": "maximum", "min": "minimum"}
"""What functions of one array are when they have several arguments."""


class FormulaFunction(NamedTuple):
    """What can be called, with how many arguments, and whether it may go along an axis."""

    call: Callable
    arguments: int
    along_axis: bool = False


@cache
def functions() -> dict[str, FormulaFunction]:
    """The elementwise operations of the table, and what sums, picks and multiplies.

    >>> functions()["ln"].call(1.0), functions()["arctan2"].arguments
    (np.float64(0.0), 2)
    """
    import wengert as wg
    from wengert.core.primitive import TABLE

    known = {}
    for name, primitive in TABLE.items():
        if name in DISCRETE or (primitive.kind == "elementwise" and name in wg.__all__):
            operation = getattr(wg, name)
            known[name] = FormulaFunction(
                operation, sum(p.default is p.empty for p in inspect.signature(operation).parameters.values())
            )
    known |= {name: FormulaFunction(getattr(wg, name), 1, True) for name in ALONG_AXIS}
    known |= {name: FormulaFunction(getattr(wg, name), n) for name, n in OTHERS.items()}
    known["norm"] = FormulaFunction(wg.linalg.norm, 1, True)
    return known | {alias: known[name] for alias, name in ALIASES.items()}


def suggestion(name: str, known: Iterable[str]) -> str:
    """A question, if something has almost this name.

    >>> suggestion("sinn", ["sin", "cos"])
    ' Did you mean sin?'
    """
    names = list(known)
    near = [other for other in names if other.lower() == name.lower()] or difflib.get_close_matches(name, names, 3, 0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""
