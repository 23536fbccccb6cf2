"""What a transform is given: arguments and directions, as flat lists of arrays, checked, with errors that name the
place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import SHAPED, as_operand
from wengert.core.spec import Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import LEAF, Structure, flatten, unflatten
from wengert.core.tree import map as map_tree
from wengert.ops.shape.casting import astype

Argnums = int | Sequence[int]


def array(x: Any) -> Any:
    """A leaf as something with a shape: numbers become NumPy's."""
    return x if isinstance(x, SHAPED) else as_operand(x)[()]


def opened(tree: Any) -> tuple[list, Structure]:
    """The leaves of a tree as arrays, and its structure."""
    if isinstance(tree, SHAPED):
        return [tree], LEAF
    if tree.__class__ is tuple and all(isinstance(x, SHAPED) for x in tree):
        return list(tree), row(len(tree))
    leaves, structure = flatten(tree)
    return [array(x) for x in leaves], structure


def closed(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The inverse of `opened`."""
    if structure is LEAF:
        return leaves[0]
    return tuple(leaves) if structure is row(len(leaves)) else unflatten(structure, leaves)


@cache
def row(n: int) -> Structure:
    """The structure of the most frequent tree, a tuple of arrays: made once, so that it is known when it is met."""
    return Structure(tuple, tuple(range(n)), (LEAF,) * n)


def mapped(function: Callable, tree: Any) -> Any:
    """`function` of each leaf of a tree, which is often one array."""
    return function(tree) if isinstance(tree, SHAPED) else map_tree(function, tree)


class Chosen:
    """The arguments of one call that are differentiated: their leaves, their structure, and how to call a function with
    others.
    """

    __slots__ = ("args", "argnums", "kwargs", "leaves", "structure")

    def __init__(self, transform: str, argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]):
        self.args, self.kwargs, self.argnums = args, kwargs, argnums
        try:
            chosen = args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])
        except IndexError:
            raise user_error(
                TypeError,
                f"{transform}: argnums={argnums}, but the function was called with {len(args)} positional arguments",
                "Arguments to differentiate are passed by position; choose others with argnums.",
            ) from None
        if not isinstance(argnums, int) and len({i % len(args) for i in argnums}) < len(argnums):
            raise user_error(ValueError, f"{transform}: argnums={argnums} names an argument twice", "Name each once.")
        self.leaves, self.structure = opened(chosen)
        for i, x in enumerate(self.leaves):
            refuse_subclass(x)
            if x.dtype.kind not in "fc":
                raise user_error(
                    GradientError,
                    f"{transform}: {self.place(i)} has dtype {x.dtype}, and derivatives need floating-point or complex "
                    f"numbers",
                    "Convert it with x.astype(float), or choose other arguments.",
                )

    def call(self, f: Callable, leaves: Sequence[Any]) -> Any:
        """`f` with these leaves in place of the chosen ones."""
        chosen = closed(self.structure, leaves)
        argnums, args = self.argnums, self.args
        if isinstance(argnums, int):
            if len(args) == 1:
                return f(chosen, **self.kwargs)
            argnums, chosen = (argnums,), (chosen,)
        changed = list(args)
        for i, x in zip(argnums, chosen, strict=True):
            changed[i] = x
        return f(*changed, **self.kwargs)

    @property
    def given(self) -> tuple:
        """All arguments of the call, those that are not differentiated too."""
        return self.args, self.kwargs

    def place(self, i: int) -> str:
        """Where leaf `i` is: `argument 0['w']`."""
        if isinstance(self.argnums, int):
            return f"argument {self.argnums}{list(places(self.structure))[i]}"
        paths = [
            f"{n}{path}"
            for n, child in zip(self.argnums, self.structure.children, strict=True)
            for path in places(child)
        ]
        return f"argument {paths[i]}"


def places(structure: Structure) -> Iterator[str]:
    """The way to each leaf of a tree, as Python writes it.

    >>> list(places(flatten({"w": [1, 2], "b": 3})[1]))
    ["['w'][0]", "['w'][1]", "['b']"]
    """
    if structure is LEAF:
        yield ""
        return
    indexed = issubclass(structure.make, dict | list | tuple)
    for key, child in zip(structure.keys, structure.children, strict=True):
        for rest in places(child):
            yield (f"[{key!r}]" if indexed else f".{key}") + rest


def directions(name: str, tree: Any, structure: Structure, specs: Sequence[Spec]) -> list:
    """The leaves of a tangent or cotangent (its `name`), which must have the structure, shapes and dtypes of the
    values.
    """
    leaves, found = opened(tree)
    if found is not structure and found != structure and shape_of(found) != shape_of(structure):
        raise user_error(
            TypeError, f"The {name} has the structure {found!r}, the value {structure!r}", "They must be the same."
        )
    checked = []
    for i, (t, spec) in enumerate(zip(leaves, specs, strict=True)):
        if t.shape != spec.shape:
            where = list(places(structure))[i]
            raise user_error(
                ValueError, f"The {name}{where} has shape {t.shape}, the value {spec.shape}", "They must be equal."
            )
        if t.dtype != spec.dtype:
            if not np.can_cast(t.dtype, spec.dtype, "same_kind"):
                where = list(places(structure))[i]
                raise user_error(
                    TypeError, f"The {name}{where} has dtype {t.dtype}, which cannot be cast to {spec.dtype}"
                )
            t = astype(t, spec.dtype)
        checked.append(t)
    return checked


def shape_of(structure: Structure) -> Any:
    """A structure in which lists and tuples are the same: where one is meant, the other will do at the top."""
    return tuple if structure.make in (list, tuple) else structure.make, structure.keys, structure.children
