"""Keys of constants: equal only if no function can distinguish the constants, which is more than `==`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from numbers import Number
from struct import Struct
from typing import Any

import numpy as np

pack_double = Struct("d").pack
BY_EQUALITY = frozenset((int, bool, str, bytes, type(None)))
"""Classes of constants that are equal only if they are the same."""
ONLY_INTEGERS = frozenset((int,))
DESCRIBED = (Enum, np.dtype)
"""Classes of constants that are equal only if they are the same, and may have subclasses."""
INEXACT = (float, complex, np.generic)


def constant_key(x: Any) -> Any:
    """A key that distinguishes 2 from 2.0, and 0.0 from -0.0, but not a NaN from itself.

    So it does inside of tuples, sets, mappings, slices and dataclasses. A constant that is not hashable has a key that
    is not hashable either.
    """
    kind = x.__class__
    if kind is float:
        return kind, pack_double(x)
    if kind in BY_EQUALITY:
        return kind, x
    if kind is tuple and ONLY_INTEGERS.issuperset(map(type, x)):
        return kind, int, x
    return rare_key(x, kind)


def rare_key(x: Any, kind: type) -> Any:
    """The key of a constant of another class than the most frequent ones."""
    if isinstance(x, DESCRIBED):
        return kind, x
    if isinstance(x, INEXACT):
        return kind, np.asarray(x).dtype.str, np.asarray(x).tobytes()
    if isinstance(x, tuple):
        return kind, *map(constant_key, x)
    if isinstance(x, slice):
        return kind, *map(constant_key, (x.start, x.stop, x.step))
    if not is_hashable(x) or isinstance(x, type):
        return kind, x
    if isinstance(x, frozenset):
        return kind, frozenset(map(constant_key, x))
    if isinstance(x, Mapping):
        return kind, frozenset([(constant_key(k), constant_key(v)) for k, v in x.items()])
    if isinstance(x, Number) and not isinstance(x, int | Fraction):
        return kind, repr(x)  # such as Decimal(2) and Decimal("2.0"), which are equal
    names = compared_fields(x)
    return (kind, x) if names is None else (kind, *[(name, constant_key(getattr(x, name))) for name in names])


def is_hashable(x: Any) -> bool:
    """Whether `hash` accepts x."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def compared_fields(x: Any) -> list[str] | None:
    """The names of the fields that `==` compares, for dataclasses and classes of attrs; None for others."""
    kind = x.__class__
    if dataclasses.is_dataclass(x) and kind.__dataclass_params__.eq:
        return [field.name for field in dataclasses.fields(x) if field.compare]
    known = getattr(kind, "__attrs_attrs__", None)
    return None if known is None or kind.__hash__ is object.__hash__ else [field.name for field in known if field.eq]
