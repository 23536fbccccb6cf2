"""The signature of a native entry: trees that describe its arguments and its result.

A tree of arguments or results is described by the same tuples, lists and dicts, of what the leaves are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.compiler.entry.entry_values import Argument
from wengert.core import machine
from wengert.core.spec import Spec

ArgumentTree: TypeAlias = (
    "Argument | Constant | tuple[ArgumentTree, ...] | list[ArgumentTree] | dict[str | int, ArgumentTree]"
)
"""An argument of a call: a number or an array, an object that must be the same in each call, or a tree of these."""

ResultTree: TypeAlias = "Spec | Nothing | tuple[ResultTree, ...] | list[ResultTree] | dict[str | int, ResultTree]"
"""The result of a call: an array, or a NumPy scalar if it has no axes, or None, or a tree of these."""


class Nothing(NamedTuple):
    """The result None."""


class Constant:
    """An argument, or a leaf of one, that must be this object, or an equal string or int.

    The code of an entry does not depend on the object, nor does the name under which it is kept on disk.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return "Constant()"

    @classmethod
    def of(cls, value: Any) -> Constant | None:
        """The constant that a value is; None if the object may change."""
        return cls(value) if is_unchanging(value) else None


def is_unchanging(value: Any) -> bool:
    """Whether an object stays equal to what it is now, so that it need not be examined again."""
    return type(value) in _UNCHANGING or (type(value) is tuple and all(map(is_unchanging, value)))


_UNCHANGING = (bool, int, float, complex, str, bytes, type(None), FunctionType, BuiltinFunctionType, type, np.ufunc)


class EntrySignature(NamedTuple):
    """The arguments, the result and the keyword arguments of a native entry."""

    arguments: Sequence[ArgumentTree]
    result: ResultTree
    keywords: Mapping[str, ArgumentTree] = {}

    @property
    def is_flat(self) -> bool:
        """Whether all arguments are numbers and arrays by position."""
        return not self.keywords and all(isinstance(tree, Argument) for tree in self.arguments)

    @property
    def leaves(self) -> list[Argument]:
        """The arguments that are inputs of the program."""
        given = (*self.arguments, *self.keywords.values())
        return [leaf for tree in given for leaf in tree_leaves(tree) if isinstance(leaf, Argument)]

    @property
    def outputs(self) -> list[Spec]:
        """The specs of all outputs, from left to right."""
        return [leaf for leaf in tree_leaves(self.result) if isinstance(leaf, Spec)]

    @property
    def children(self) -> int:
        """The number of all objects in containers among the arguments."""
        return sum(map(count_children, (*self.arguments, *self.keywords.values())))

    @property
    def fits(self) -> bool:
        """Whether there are few enough arguments and results for a native entry."""
        given = len(self.arguments) + len(self.keywords) + self.children
        return given + len(self.outputs) + count_containers(self.result) <= machine.current.max_values_of_native_entry

    @property
    def objects(self) -> list[Any]:
        """The objects that the entry compares with what it is given, or makes results of, in the order of their use."""
        given = (*self.arguments, *self.keywords.values())
        return [*self.keywords, *[x for tree in given for x in fixed_objects(tree)], *result_objects(self.result)]


def container_parts(tree: Any) -> Iterable[Any] | None:
    """The children of a container of a tree; None for a leaf."""
    if type(tree) is dict:
        return tree.values()
    return tree if type(tree) in (tuple, list) else None


def tree_leaves(tree: Any) -> Iterator[Any]:
    """The leaves of a tree of arguments or results, from left to right."""
    parts = container_parts(tree)
    if parts is None:
        yield tree
    else:
        for part in parts:
            yield from tree_leaves(part)


def count_containers(tree: Any) -> int:
    """The number of tuples, lists and dicts in a tree."""
    parts = container_parts(tree)
    return 0 if parts is None else 1 + sum(map(count_containers, parts))


def count_children(tree: Any) -> int:
    """The number of parts of all containers in a tree."""
    parts = container_parts(tree)
    return 0 if parts is None else sum([1 + count_children(part) for part in parts])


def fixed_objects(tree: ArgumentTree) -> Iterator[Any]:
    """The keys and constants of an argument."""
    if isinstance(tree, Constant):
        yield tree.value
    if isinstance(tree, dict):
        yield from tree
    for part in container_parts(tree) or ():
        yield from fixed_objects(part)


def result_objects(tree: ResultTree) -> Iterator[Any]:
    """A dict with the keys of each dict of a result, which is copied, and these keys."""
    if isinstance(tree, dict):
        yield dict.fromkeys(tree)
        yield from tree
    for part in container_parts(tree) or ():
        yield from result_objects(part)
