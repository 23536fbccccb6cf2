"""Containers and types: `autograd.builtins`.

A tuple, list or dict of values is differentiated as it is, so these are Python's own.
"""

from __future__ import annotations

import builtins
from builtins import dict, list, tuple
from typing import Any

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import BoxClass, notrace_primitive
from wengert.compat.differences import without
from wengert.core import tree
from wengert.core.array import Array

__all__ = ["DictBox", "SequenceBox", "dict", "isinstance", "list", "tuple", "type"]

__getattr__ = without(__name__, ABSENT)

isinstance = notrace_primitive(builtins.isinstance)
"""`isinstance` of the numbers of a value."""


def type(x: Any) -> builtins.type:
    """The type of the numbers of a value; of anything else its type.

    >>> type([1.0])
    <class 'list'>
    """
    return builtins.type(tree_value(x))


def tree_value(x: Any) -> Any:
    """The numbers of a value; anything else as it is."""
    while builtins.isinstance(x, Array):
        x = x.value
    return x


class ContainerBoxClass(BoxClass):
    """The class of `SequenceBox` and `DictBox`: their instances are containers that hold values."""

    containers: tuple[builtins.type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return builtins.isinstance(instance, cls.containers) and any(
            builtins.isinstance(leaf, Array) for leaf in tree.flatten(instance)[0]
        )


class SequenceBox(metaclass=ContainerBoxClass):
    """A tuple or list with values in it.

    >>> builtins.isinstance([1.0], SequenceBox)
    False
    """

    containers = (builtins.tuple, builtins.list)


class DictBox(metaclass=ContainerBoxClass):
    """A dict with values in it.

    >>> builtins.isinstance({"x": 1.0}, DictBox)
    False
    """

    containers = (builtins.dict,)
