"""State as JSON and arrays: nested dicts and lists of plain values and arrays, in a form that files can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error

ARRAY = "__array__"
NUMBER = "__number__"
PAIRS = "__pairs__"
TUPLE = "__tuple__"


def pack_state(state: Any, path: str = "state") -> tuple[Any, dict[str, np.ndarray]]:
    """A value that JSON can hold, and the arrays that it refers to, by path.

    >>> pack_state({"lr": 0.1, "moments": [np.zeros(2)]})
    ({'lr': 0.1, 'moments': [{'__array__': 'state.moments.0'}]}, {'state.moments.0': array([0., 0.])})
    """
    arrays: dict[str, np.ndarray] = {}
    return pack(state, path, arrays), arrays


def pack(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value that JSON can hold; adds to the arrays."""
    if isinstance(value, Mapping):
        parts = [[key, pack(part, f"{path}.{key}", arrays)] for key, part in value.items()]
        return dict(parts) if all(isinstance(key, str) for key in value) else {PAIRS: parts}
    if isinstance(value, list | tuple):
        parts = [pack(part, f"{path}.{i}", arrays) for i, part in enumerate(value)]
        return {TUPLE: parts} if isinstance(value, tuple) else parts
    if isinstance(value, Array):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {ARRAY: path}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {NUMBER: repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise user_error(
        TypeError,
        f"{path} is a {type(value).__name__}, which a checkpoint cannot hold",
        "Use numbers, strings, arrays, and dicts and lists of them.",
    )


def unpack_state(packed: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `pack_state`.

    >>> unpack_state(*pack_state({0: {"step": np.array(3), "betas": (0.9, 0.99)}}))
    {0: {'step': array(3), 'betas': (0.9, 0.99)}}
    """
    if isinstance(packed, list):
        return [unpack_state(part, arrays) for part in packed]
    if not isinstance(packed, dict):
        return packed
    if packed.keys() == {ARRAY}:
        return arrays[packed[ARRAY]]
    if packed.keys() == {NUMBER}:
        return float(packed[NUMBER])
    if packed.keys() == {TUPLE}:
        return tuple(unpack_state(part, arrays) for part in packed[TUPLE])
    if packed.keys() == {PAIRS}:
        return {key: unpack_state(part, arrays) for key, part in packed[PAIRS]}
    return {key: unpack_state(part, arrays) for key, part in packed.items()}
