"""Trees: nested tuples, lists, dicts, dataclasses and other branches, with arrays, or their specs, as leaves.

None is a tree without leaves.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from wengert.core.errors import user_error
from wengert.core.spec import PLAIN, Spec

__all__ = ["flatten", "leaves", "map", "register", "structure", "unflatten"]

IsLeaf = Callable[[Any], bool]


class Structure(NamedTuple):
    """The containers of a tree without the leaves. Hashable."""

    make: Any
    keys: tuple[Any, ...]
    children: tuple[Structure, ...]

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self is LEAF else sum(child.size for child in self.children)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "LEAF" if self is LEAF else (Structure, tuple(self))  # LEAF is compared by identity

    def __repr__(self) -> str:
        if self is LEAF:
            return "*"
        parts = [
            f"{key}: {child!r}" if isinstance(key, str) else repr(child)
            for key, child in zip(self.keys, self.children, strict=True)
        ]
        return f"{self.make.__name__}({', '.join(parts)})"


LEAF = Structure(None, (), ())


class Branch:
    """A class of objects with named parts that are trees, such as the modules of `wg.nn`."""

    def open_branch(self) -> tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]:
        """A hashable function that makes an object like this from other parts, and the parts by name.

        The function has an attribute `cls`, the class of the object. Two of them are equal if what they make differs in
        the parts alone.
        """
        raise NotImplementedError  # each class has its own parts


@dataclasses.dataclass(frozen=True)
class Container:
    """A class of containers that a user has registered, and what one of them holds besides its children."""

    cls: type
    data: Any

    @property
    def __name__(self) -> str:
        return self.cls.__name__

    def __call__(self, children: dict[int, Any]) -> Any:
        return REGISTERED[self.cls][1](self.data, tuple(children.values()))


REGISTERED: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}
"""How the containers of each registered class are taken apart and made."""


def register(
    cls: type, flatten: Callable[[Any], tuple[Any, Any]], unflatten: Callable[[Any, tuple[Any, ...]], Any]
) -> type:
    """Make the objects of a class containers: all transforms then see their children. Returns the class.

    `flatten(obj)` returns the children and other data, which must be hashable. `unflatten(data, children)` is its
    inverse. Subclasses are not included. Dataclasses and named tuples are containers by themselves.

    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> _ = register(Interval, lambda x: ((x.low, x.high), None), lambda _, ends: Interval(*ends))
    >>> leaves([Interval(1, 2), 3])
    [1, 2, 3]
    """
    if not isinstance(cls, type):
        raise user_error(TypeError, f"register takes a class, and was given {cls!r}")
    if cls in PLAIN or issubclass(cls, list | tuple | dict | Branch | Spec):
        raise user_error(ValueError, f"{cls.__name__} has its meaning in trees already")
    REGISTERED[cls] = flatten, unflatten
    return cls


def _open(tree: Any) -> tuple[Any, tuple[Any, ...], list[Any]] | None:
    """Type, keys and children of a container; None for a leaf."""
    if tree.__class__ in PLAIN:  # hot: most leaves are
        return None
    if tree is None:
        return type(None), (), []
    if isinstance(tree, dict):
        return type(tree), tuple(tree), list(tree.values())
    if isinstance(tree, list | tuple) and not isinstance(tree, Spec):
        return type(tree), tuple(range(len(tree))), list(tree)
    if isinstance(tree, Branch):
        make, parts = tree.open_branch()
        return make, tuple(parts), list(parts.values())
    if tree.__class__ in REGISTERED:
        children, data = REGISTERED[tree.__class__][0](tree)
        opened = list(children)
        return Container(tree.__class__, data), tuple(range(len(opened))), opened
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(field.name for field in dataclasses.fields(tree))
        return type(tree), names, [getattr(tree, name) for name in names]
    return None


def children_of(tree: Any) -> dict[Any, Any] | None:
    """The children of a container by key: index, key or name; None for a leaf.

    >>> children_of(["a", ("b", "c")])
    {0: 'a', 1: ('b', 'c')}
    """
    opened = _open(tree)
    return None if opened is None else dict(zip(opened[1], opened[2], strict=True))


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure that holds them. What `is_leaf` is true of is not taken apart.

    >>> flatten({"w": [1, 2], "b": (3, None)})
    ([1, 2, 3], dict(w: list(*, *), b: tuple(*, NoneType())))
    """
    leaves: list[Any] = []
    structure = _take_apart(tree, leaves, is_leaf)
    return leaves, structure


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves in order.

    >>> leaves({"w": [1, 2], "b": (3, None)})
    [1, 2, 3]
    >>> leaves([(1, 2), (3, 4)], is_leaf=lambda part: isinstance(part, tuple))
    [(1, 2), (3, 4)]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> Structure:
    """The containers of a tree without the leaves, which can be compared.

    >>> structure([1.0, (2.0, 3.0)])
    list(*, tuple(*, *))
    >>> structure([1, 2]) == structure([3, 4])
    True
    """
    return flatten(tree, is_leaf)[1]


def _take_apart(tree: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> Structure:
    """The structure of a tree, whose leaves are appended to others."""
    opened = None if is_leaf is not None and is_leaf(tree) else _open(tree)
    if opened is None:
        leaves.append(tree)
        return LEAF
    make, keys, children = opened
    return Structure(make, keys, tuple([_take_apart(child, leaves, is_leaf) for child in children]))


def unflatten(structure: Structure, leaves: Any) -> Any:
    """The tree with these leaves; the inverse of `flatten`.

    >>> unflatten(flatten([0, (0, 0)])[1], "abc")
    ['a', ('b', 'c')]
    """
    iterator = iter(leaves)
    tree = _build(structure, iterator)
    if next(iterator, LEAF) is not LEAF:
        raise user_error(ValueError, f"There are more leaves than the {structure.size} of {structure!r}")
    return tree


def _build(structure: Structure, leaves: Iterator[Any]) -> Any:
    if structure is LEAF:
        try:
            return next(leaves)
        except StopIteration:
            raise user_error(ValueError, "There are fewer leaves than the structure has") from None
    make, keys, children = structure
    parts = [_build(child, leaves) for child in children]
    if make is tuple or make is list:
        return make(parts)
    if make is type(None):
        return None
    if hasattr(make, "_fields"):
        return make(*parts)
    if isinstance(make, type) and issubclass(make, list | tuple):
        return make(parts)
    named = dict(zip(keys, parts, strict=True))
    is_dataclass: bool = isinstance(make, type) and dataclasses.is_dataclass(make)
    return make(**named) if is_dataclass else make(named)


def is_alike(a: Structure, b: Structure) -> bool:
    """Whether two structures have the same containers, classes and keys, whatever else their branches hold.

    Two models that were made alike have different buffers, and so different structures, that are alike.
    """
    return a == b or (
        getattr(a.make, "cls", a.make) is getattr(b.make, "cls", b.make)
        and a.keys == b.keys
        and (a is LEAF) == (b is LEAF)
        and all(is_alike(x, y) for x, y in zip(a.children, b.children, strict=True))
    )


def map(function: Callable[..., Any], tree: Any, *others: Any, is_leaf: IsLeaf | None = None) -> Any:
    """`function` of the leaves of one or more trees of the same structure; the result is like the first of them.

    It updates the parameters of a model by their gradients, and stacks those of several models for `vmap`.

    >>> map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, structure = flatten(tree, is_leaf)
    columns = [leaves]
    for other in others:
        column, other_structure = flatten(other, is_leaf)
        if not is_alike(other_structure, structure):
            raise user_error(ValueError, f"The trees have different structures, {structure!r} and {other_structure!r}")
        columns.append(column)
    return unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


def leaf_paths(structure: Structure) -> Iterator[str]:
    """The path to each leaf of a tree, as Python code.

    >>> list(leaf_paths(flatten({"w": [1, 2], "b": 3})[1]))
    ["['w'][0]", "['w'][1]", "['b']"]
    """
    if structure is LEAF:
        yield ""
        return
    indexed = isinstance(structure.make, type) and issubclass(structure.make, dict | list | tuple)
    for key, child in zip(structure.keys, structure.children, strict=True):
        for rest in leaf_paths(child):
            yield (f"[{key!r}]" if indexed or isinstance(key, int) else f".{key}") + rest


def leaf_names(f: Callable[..., Any], structure: Structure) -> list[str | None]:
    """The name of each leaf of the arguments, from the function's signature: `w`, `params['w']`."""
    positional, keywords = structure.children
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str | None] = []
    for i, child in enumerate(positional.children):
        known = i < len(parameters) and parameters[i].kind in (
            parameters[i].POSITIONAL_ONLY,
            parameters[i].POSITIONAL_OR_KEYWORD,
        )
        name = parameters[i].name if known else f"x{i}"
        names += [f"{name}{path}" for path in leaf_paths(child)]
    for key, child in zip(keywords.keys, keywords.children, strict=True):
        names += [f"{key}{path}" for path in leaf_paths(child)]
    return names
