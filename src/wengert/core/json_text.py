"""JSON that every reader takes: the standard has no NaN and no infinities, and browsers refuse them."""

from __future__ import annotations

import json
import math
from typing import Any


def write_json(data: Any, **options: Any) -> str:
    """Data as JSON; numbers that are not finite as the strings that `Number` of JavaScript and `float` of Python read.

    >>> write_json({"value": [1.0, math.inf], "slope": math.nan})
    '{"value": [1.0, "Infinity"], "slope": "NaN"}'
    """
    try:
        return json.dumps(data, allow_nan=False, **options)
    except ValueError:
        return json.dumps(name_numbers(data), allow_nan=False, **options)


def name_numbers(data: Any) -> Any:
    """Data with strings instead of numbers that are not finite."""
    if isinstance(data, dict):
        return {key: name_numbers(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [name_numbers(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    return data
