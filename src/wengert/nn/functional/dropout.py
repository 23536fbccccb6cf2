"""Dropout."""

from __future__ import annotations

from typing import Any


def dropout(x: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:  # noqa: ARG001
    """Not written yet."""
    return x
