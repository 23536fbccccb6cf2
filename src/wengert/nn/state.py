"""State dicts: numbers by path, checked against the tensors that they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor

SHOWN = 8
"""Names in a message; of more, it says how many."""


def check_state(
    module: str, known: Mapping[str, Tensor], state: Mapping[str, Any], strict: bool
) -> tuple[list[str], list[str], dict[str, np.ndarray]]:
    """The names that are missing, those that are unexpected, and new arrays for the others.

    Raises one error with all that does not fit.
    """
    missing = [path for path in known if path not in state]
    unexpected = [path for path in state if path not in known]
    arrays: dict[str, np.ndarray] = {}
    wrong: list[str] = []
    for path in known:
        if path in state:
            numbers, t = as_numbers(state[path]), known[path]
            if numbers.shape != t.shape:
                wrong.append(f"{path} has shape {t.shape}, and {numbers.shape} in the state")
            elif not np.can_cast(numbers.dtype, t.dtype, "same_kind"):
                wrong.append(f"{path} has dtype {t.dtype}, and {numbers.dtype} in the state")
            else:
                arrays[path] = np.array(numbers, t.dtype)
    problems = []
    if strict and missing:
        problems.append(f"missing: {join_names(missing)}")
    if strict and unexpected:
        problems.append(f"unexpected: {join_names(unexpected)}")
    if wrong:
        problems.append("; ".join(wrong))
    if problems:
        raise user_error(
            ValueError,
            f"The state does not fit the module {module}: {'; '.join(problems)}",
            "" if wrong else "Pass strict=False to load what there is.",
        )
    return missing, unexpected, arrays


def as_numbers(value: Any) -> np.ndarray:
    """A value of a state dict, of any library, as an array."""
    if hasattr(value, "detach"):
        value = value.detach()
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def join_names(names: Sequence[str]) -> str:
    """Names in a message."""
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
