"""Levels: the anatomy of values.

A value has a level and a payload, which is a plain array or a value of a lower level. Each run of a transform has a
level of its own, higher than those of the transforms around it. Below them are the user's tensors, at level 0, and the
user's symbols, at level 1. A mode treats values of its own class and level as its own, and everything else as constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from wengert.core.array import Array

A = TypeVar("A", bound=Array)
K = TypeVar("K")

new_level = itertools.count(2).__next__
"""A level for one run of one transform, unique across threads."""


def highest(args: Iterable[Any]) -> Array | None:
    """The value of the highest level among some arguments, if there is a value."""
    return max((a for a in args if isinstance(a, Array)), key=lambda a: a.level, default=None)


def is_own(x: Any, mode: type[Array], level: int) -> bool:
    """Whether x is a value of this mode and level."""
    return isinstance(x, mode) and x.level == level


def find_own(args: Iterable[Any], mode: type[Array], level: int) -> list[bool]:
    """Which of the arguments are values of this mode and level; the others are constant to it."""
    return [isinstance(a, mode) and a.level == level for a in args]


def payloads(args: Sequence[Any], own: Sequence[bool]) -> list[Any]:
    """The arguments, with the payloads of a mode's own values."""
    return [a.value if mine else a for a, mine in zip(args, own, strict=True)]


def strip_level(x: Any, level: int) -> Any:
    """The payload of a value of this level; anything else as it is."""
    return x.value if isinstance(x, Array) and x.level == level else x


def strip_from(x: Any, level: float) -> Any:
    """x without this level and all above it."""
    while isinstance(x, Array) and x.level >= level:
        x = x.value
    return x


def bottom(x: Any) -> Any:
    """The plain array at the bottom of a value."""
    while isinstance(x, Array):
        x = x.value
    return x


def layers(x: Any) -> Iterator[Array]:
    """A value, its payload, and so on, as far as these are values."""
    while isinstance(x, Array):
        yield x
        x = x.value


def is_users(x: Any) -> bool:
    """Whether there is a tensor of the user's at the bottom of a value."""
    return any(not layer.level for layer in layers(x))


def copy_value(x: A) -> A:
    """Another object with the same level and payload, which assignments to x do not change."""
    new = object.__new__(type(x))
    new.level, new.value, new.extra = x.level, x.value, x.extra
    return new


def add_seed(seeds: dict[K, Any], key: K, t: Any) -> None:
    """Add a cotangent to those that a backward pass starts from."""
    seeds[key] = seeds[key] + t if key in seeds else t
