"""The page of a formula that is being typed, or what is wrong with it."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from wengert.explain.explanation import MODES, Mode, explain
from wengert.explain.reading.expressions import expression
from wengert.explain.reading.tokens import ExpressionError

LONGEST = 2000
"""The most characters of a formula."""
LARGEST = 4096
"""The most elements of a value."""
DEFAULT = 1.0
"""The value of a variable that has none yet."""


def answer(request: Any) -> dict[str, Any]:
    """The page of a formula and the values of its variables; or a message, with the characters that are to blame.

    A request has the formula, the mode, and the values by name. Nothing but the formula is evaluated.

    >>> answer({"formula": "x * sin(x", "values": {"x": 2.0}})["at"]
    7
    >>> sorted(answer({"formula": "x * sin(y)", "values": {"x": 2.0}})["values"].items())
    [('x', 2.0), ('y', 1.0)]
    """
    try:
        formula, mode, values = read_request(request)
        function = expression(formula)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        used = {name: values.get(name, DEFAULT) for name in names}
        if not used:
            return {"message": "The formula has no variable.", "at": 0, "width": len(formula)}
        with np.errstate(all="ignore"):
            page = explain(function, *[np.asarray(value, float)[()] for value in used.values()], mode=mode).html()
    except ExpressionError as error:
        return {"message": error.message, "at": error.at, "width": error.width}
    except Exception as error:  # of the formula: shapes that do not fit, a matrix that is singular
        return {"message": f"{type(error).__name__}: {error}"}
    return {"page": page, "values": {name: np.asarray(value, float).tolist() for name, value in used.items()}}


def read_request(request: Any) -> tuple[str, Mode, dict[str, Any]]:
    """The parts of a request, each of the type that it must have."""
    if not isinstance(request, dict) or not isinstance(request.get("formula"), str):
        raise ValueError("A request has a formula.")
    formula, mode, values = request["formula"], request.get("mode", "reverse"), request.get("values", {})
    if len(formula) > LONGEST:
        raise ExpressionError(f"The formula is longer than {LONGEST} characters.", formula, LONGEST)
    if mode not in MODES or not isinstance(values, dict):
        raise ValueError("The mode or the values are not what they should be.")
    numbers = {str(name): np.asarray(value, float) for name, value in values.items()}
    for name, value in numbers.items():
        if value.size > LARGEST:
            raise ValueError(f"{html.escape(name)} has more than {LARGEST} elements.")
    return formula, mode, numbers
