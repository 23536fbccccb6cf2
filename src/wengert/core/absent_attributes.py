"""Attributes that NumPy's arrays or the tensors of other systems have, and values have not: what to use instead."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from wengert.core.absent import PEERS, absent, advice, ways, why_absent


class AbsentAttribute:
    """An attribute that values do not have, on values and on their classes: reading it raises an error with advice.

    `__getattr__` would do without these, but Python reads the attributes of a class that has one more slowly.
    """

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __get__(self, x: Any, owner: type) -> NoReturn:  # the protocol of descriptors
        what = f"{owner.__name__!r} object has no attribute {self.name!r}." + advice("values", self.name)
        why = why_absent(f"np.ndarray.{self.name}")
        # With the name, and without the object, Python does not suggest a similar name.
        raise AttributeError(f"{what} {why}" if why else what, name=self.name)


@cache
def absent_attributes() -> frozenset[str]:
    """The attributes of NumPy's arrays and of other systems' tensors that values may not have."""
    return frozenset([*absent("np.ndarray"), *[name for peer in PEERS["values"] for name in ways(peer)]])


AbsentAttributes = type(
    "AbsentAttributes", (), {"__slots__": (), **{n: AbsentAttribute(n) for n in absent_attributes()}}
)
"""The base class of values. Attributes that a value has itself come first."""
