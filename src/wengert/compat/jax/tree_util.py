"""Trees as in `jax.tree_util`: keys of dictionaries are sorted, and classes can be registered."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial, reduce
from typing import Any

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.tree import LEAF, REGISTERED, Structure

__all__ = [
    "DictKey", "GetAttrKey", "Partial", "PyTreeDef", "SequenceKey", "all_leaves", "keystr", "register_dataclass",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys_class", "register_static",
    "tree_all", "tree_flatten",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_with_path", "tree_reduce",
    "tree_structure", "tree_transpose", "tree_unflatten",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)

IsLeaf = Callable[[Any], bool] | None


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The index of a child of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclasses.dataclass(frozen=True)
class DictKey:
    """The key of a child of a dictionary."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of a child of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True)
class PyTreeDef:
    """The containers of a tree, without the leaves."""

    structure: Structure

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self.structure.size

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves."""
        return tree.unflatten(self.structure, leaves)

    def children(self) -> list[PyTreeDef]:
        """Those of the subtrees."""
        return [PyTreeDef(child) for child in self.structure.children]

    def flatten_up_to(self, deeper: Any) -> list[Any]:
        """The subtrees of a tree that are where this one has leaves."""
        found: list[Any] = []
        collect_subtrees(self.structure, deeper, found)
        return found

    def __repr__(self) -> str:
        return f"PyTreeDef({self.structure!r})"


def open_sorted(values: Any) -> tuple[Any, tuple[Any, ...], list[Any]] | None:
    """Class, keys and children of a container, with sorted keys; None for a leaf."""
    opened = tree._open(values)
    if opened is None or not isinstance(values, dict) or values.__class__ in REGISTERED:
        return opened
    try:
        keys = tuple(sorted(values))
    except TypeError:
        raise user_error(TypeError, f"A tree has a dict whose keys cannot be sorted: {list(values)}") from None
    return opened[0], keys, [values[key] for key in keys]


def take_apart(values: Any, leaves: list[Any], is_leaf: IsLeaf) -> Structure:
    """The structure of a tree, whose leaves are appended to others."""
    opened = None if is_leaf is not None and is_leaf(values) else open_sorted(values)
    if opened is None:
        leaves.append(values)
        return LEAF
    make, keys, children = opened
    return Structure(make, keys, tuple([take_apart(child, leaves, is_leaf) for child in children]))


def collect_subtrees(structure: Structure, values: Any, found: list[Any]) -> None:
    """Append what a tree has where a structure has leaves."""
    if structure is LEAF:
        found.append(values)
        return
    opened = open_sorted(values)
    if opened is None or opened[:2] != structure[:2]:
        raise user_error(ValueError, f"A tree has {values!r} where another one has {structure!r}")
    for child, part in zip(structure.children, opened[2], strict=True):
        collect_subtrees(child, part, found)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves, and what holds them.

    >>> tree_flatten({"b": 1, "a": [2, 3]})
    ([2, 3, 1], PyTreeDef(dict(a: list(*, *), b: *)))
    """
    leaves: list[Any] = []
    structure = take_apart(tree, leaves, is_leaf)
    return leaves, PyTreeDef(structure)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with these leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """What holds the leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`f` of the leaves, and of what other trees have at their paths."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    columns = [leaves, *[treedef.flatten_up_to(other) for other in rest]]
    return treedef.unflatten([f(*row) for row in zip(*columns, strict=True)])


def tree_reduce(function: Callable[[Any, Any], Any], tree: Any, *initializer: Any, is_leaf: IsLeaf = None) -> Any:
    """The leaves, combined from the first to the last."""
    return reduce(function, tree_leaves(tree, is_leaf), *initializer)


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether none of the elements is a container."""
    return all(tree_structure(x, is_leaf).structure is LEAF for x in iterable)


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """A tree of trees with both exchanged."""
    subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
    inner = tree_structure(subtrees[0]) if inner_treedef is None else inner_treedef
    columns = zip(*[inner.flatten_up_to(part) for part in subtrees], strict=True)
    return inner.unflatten([outer_treedef.unflatten(column) for column in columns])


# Paths


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[Any, Any]], PyTreeDef]:
    """The leaves with their paths, and what holds them."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    return list(zip(paths_of(treedef.structure), leaves, strict=True)), treedef


def paths_of(structure: Structure) -> list[tuple[Any, ...]]:
    """The path to each leaf."""
    if structure is LEAF:
        return [()]
    make: Any = structure.make
    entries: list[Any]
    kind = DictKey if isinstance(make, type) and issubclass(make, dict) else GetAttrKey
    if isinstance(make, type) and issubclass(make, list | tuple):
        names = getattr(make, "_fields", None)
        entries = [GetAttrKey(name) for name in names] if names else [SequenceKey(i) for i in structure.keys]
    else:
        entries = [kind(key) for key in structure.keys]
    return [
        (entry, *rest) for entry, child in zip(entries, structure.children, strict=True) for rest in paths_of(child)
    ]


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[Any, Any]]:
    """The leaves with their paths."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`f` of the path and the leaf, and of what other trees have there."""
    found, treedef = tree_flatten_with_path(tree, is_leaf)
    columns = [treedef.flatten_up_to(other) for other in rest]
    return treedef.unflatten([f(*entry, *row) for entry, *row in zip(found, *columns, strict=True)])


def keystr(keys: Sequence[Any]) -> str:
    """A path as Python code."""
    return "".join(map(str, keys))


# Classes of the user's


def register_pytree_node(
    nodetype: type, flatten_func: Callable[[Any], tuple[Any, Any]], unflatten_func: Callable[[Any, Any], Any]
) -> None:
    """Make objects of a class trees, here and in all of Wengert: `flatten_func` returns (children, other data)."""
    tree.register(nodetype, flatten_func, unflatten_func)


def register_pytree_node_class(cls: Any) -> Any:
    """A decorator for classes with `tree_flatten` and `tree_unflatten`."""
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: Any) -> Any:
    """A decorator for classes with `tree_flatten_with_keys`, whose children come with their keys."""

    def flatten(node: Any) -> tuple[Any, Any]:
        children, aux = node.tree_flatten_with_keys()
        return [child for _, child in children], aux

    register_pytree_node(cls, flatten, cls.tree_unflatten)
    return cls


def register_dataclass(
    nodetype: Any, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None
) -> Any:
    """Make objects of a dataclass trees: `data_fields` are the children, `meta_fields` are compared."""
    fields = dataclasses.fields(nodetype)
    meta = [f.name for f in fields if f.metadata.get("static")] if meta_fields is None else list(meta_fields)
    data = [f.name for f in fields if f.init and f.name not in meta] if data_fields is None else list(data_fields)
    register_pytree_node(
        nodetype,
        lambda node: ([getattr(node, name) for name in data], tuple([getattr(node, name) for name in meta])),
        lambda aux, children: nodetype(**dict(zip(data, children, strict=True)), **dict(zip(meta, aux, strict=True))),
    )
    return nodetype


def register_static(cls: Any) -> Any:
    """Make objects of a class trees without leaves."""
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


class Partial(partial):
    """`functools.partial` as a tree, whose leaves are the arguments."""


register_pytree_node(
    Partial, lambda p: ((p.args, p.keywords), p.func), lambda func, parts: Partial(func, *parts[0], **parts[1])
)
