"""Levels and payloads of values.

A value has a level and a payload, which is a plain array or a value of a lower level. Each run of a transform has its
own level, higher than those of the transforms around it. Below them are the user's tensors, at level 0, and the user's
symbols, at level 1. A mode differentiates values of its own class and level; everything else is constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from wengert.core.array import Array
from wengert.core.devices import ARRAY_CLASSES

A = TypeVar("A", bound=Array)

new_level = itertools.count(2).__next__
"""A level for one run of one transform, unique across threads."""


def highest_value(args: Iterable[Any]) -> Array | None:
    """The argument of the highest level; None if no argument is a value."""
    return max((a for a in args if isinstance(a, Array)), key=lambda a: a.level, default=None)


def is_own(x: Any, mode: type[Array], level: int) -> bool:
    """Whether x is a value of this mode and level."""
    return isinstance(x, mode) and x.level == level


def find_own(args: Iterable[Any], mode: type[Array], level: int) -> list[bool]:
    """Which of the arguments are values of this mode and level; the others are constant."""
    return [isinstance(a, mode) and a.level == level for a in args]


def payloads(args: Sequence[Any], own: Sequence[bool]) -> list[Any]:
    """The arguments, with a mode's own values replaced by their payloads."""
    return [a.value if mine else a for a, mine in zip(args, own, strict=True)]


def strip_level(x: Any, level: int) -> Any:
    """The payload of a value of this level; anything else unchanged."""
    return x.value if isinstance(x, Array) and x.level == level else x


def strip_from(x: Any, level: float) -> Any:
    """The payload of x below this level."""
    while isinstance(x, Array) and x.level >= level:
        x = x.value
    return x


def bottom_array(x: Any) -> Any:
    """The plain array inside a value of any level."""
    while isinstance(x, Array):
        x = x.value
    return x


def numpy_of(*values: Any) -> Any:
    """The module that makes arrays on the device of some values: NumPy, or that of the device's library.

    Rules make their constants with it: `numpy_of(t).eye(3)`.
    """
    if ARRAY_CLASSES:
        for x in values:
            library = ARRAY_CLASSES.get(bottom_array(x).__class__)
            if library is not None:
                return library.numpy
    return np


def iterate_payloads(x: Any) -> Iterator[Any]:
    """A value, its payload, and so on, down to the last payload that is a value."""
    while isinstance(x, Array):
        yield x
        x = x.value


def has_user_tensor(x: Any) -> bool:
    """Whether a value is or contains a user's tensor."""
    while isinstance(x, Array):
        if not x.level:
            return True
        x = x.value
    return False


def copy_value(x: A) -> A:
    """A new object with the same level and payload, which assignments to x do not change."""
    new = object.__new__(type(x))
    new.level, new.value, new.extra = x.level, x.value, x.extra
    return new
