"""Containers and types: `autograd.builtins`.

A tuple, list or dict of values is differentiated as it is, so these are Python's own.
"""

from __future__ import annotations

import builtins
from typing import Any

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import BoxClass, isbox, notrace_primitive
from wengert.compat.differences import without
from wengert.core import tree

__all__ = ["DictBox", "SequenceBox", "dict", "isinstance", "list", "tuple", "type"]

__getattr__ = without(__name__, ABSENT)

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple
isinstance, type = notrace_primitive(builtins.isinstance), notrace_primitive(builtins.type)
"""Those of the numbers of a value."""


class ContainerBoxClass(BoxClass):
    """The class of `SequenceBox` and `DictBox`: their instances are containers that hold values."""

    containers: builtins.type

    def __instancecheck__(cls, instance: Any) -> bool:  # noqa: N805  # the class is the instance of a metaclass
        return builtins.isinstance(instance, cls.containers) and any(map(isbox, tree.leaves(instance)))


class SequenceBox(metaclass=ContainerBoxClass):
    """A tuple or list with values in it.

    >>> isinstance([1.0], SequenceBox)
    False
    """

    containers = builtins.tuple | builtins.list


class DictBox(metaclass=ContainerBoxClass):
    """A dict with values in it.

    >>> isinstance({"x": 1.0}, DictBox)
    False
    """

    containers = builtins.dict
