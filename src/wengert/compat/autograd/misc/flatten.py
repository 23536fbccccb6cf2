"""Trees of arrays as vectors: `autograd.misc.flatten`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.differences import without

__all__ = ["flatten", "flatten_func"]

__getattr__ = without(__name__, ABSENT)


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers of a tree as a vector, and the function that makes such trees of vectors.

    Entries of dicts are in the order of their keys.

    >>> vector, unflatten = flatten({"b": 3.0, "a": np.array([1.0, 2.0])})
    >>> vector
    array([1., 2., 3.])
    >>> unflatten(10.0 * vector)
    {'b': np.float64(30.0), 'a': array([10., 20.])}
    """
    leaves = list(sorted_leaves(value))
    vector = wg.concatenate([wg.ravel(leaf) for leaf in leaves]) if leaves else np.zeros(0)
    shapes = [np.shape(leaf) for leaf in leaves]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes]).tolist()

    def unflatten(vector: Any) -> Any:
        parts = [vector[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return with_leaves(value, iter([wg.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]))

    return vector, unflatten


def sorted_leaves(value: Any) -> Iterator[Any]:
    """The leaves of a tree, those of dicts in the order of their keys."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list | tuple):
        for part in value:
            yield from sorted_leaves(part)
    else:
        yield value


def with_leaves(value: Any, leaves: Iterator[Any]) -> Any:
    """A tree like `value` with other leaves, in the order of `sorted_leaves`."""
    if isinstance(value, dict):
        parts = {key: with_leaves(value[key], leaves) for key in sorted(value)}
        return {key: parts[key] for key in value}
    if isinstance(value, list | tuple):
        rebuilt = [with_leaves(part, leaves) for part in value]
        return type(value)(*rebuilt) if hasattr(value, "_fields") else type(value)(rebuilt)
    leaf = next(leaves)
    return leaf[()] if isinstance(leaf, np.ndarray) and not leaf.ndim else leaf


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """A function of a tree as one of vectors, the function that makes trees of vectors, and the example as a vector."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
