"""The class of differentiated arrays: `autograd.numpy.numpy_boxes`."""

from __future__ import annotations

from operator import attrgetter

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import Box
from wengert.compat.differences import without
from wengert.core.array import Array

__all__ = ["ArrayBox"]

__getattr__ = without(__name__, ABSENT)


class ArrayBox(Box):
    """An array that is being differentiated: any value of Wengert is an instance.

    >>> isinstance(1.0, ArrayBox)
    False
    """


Array._value = property(attrgetter("value"))  # type: ignore[attr-defined]  # programs print `x._value`
