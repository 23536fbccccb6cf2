"""Where samples come from: arrays, which can be read in any order, and iterables, which are read from the beginning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.subclasses import refuse_subclass


class ArraySource:
    """Arrays of the same length in a tree: sample i consists of element i of each array."""

    def __init__(self, data: Any):
        leaves, self.structure = tree.flatten(data)
        self.arrays = [open_array(leaf) for leaf in leaves]
        paths = [f"data{path}" for path in tree.leaf_paths(self.structure)]
        self.length = common_length(paths, self.arrays)

    def take(self, rows: Any) -> Any:
        """A tree of copies of some rows; `rows` is a slice or an array of indices."""
        if isinstance(rows, slice):
            parts = [np.array(array[rows]) for array in self.arrays]
        else:
            parts = [np.take(array, rows, axis=0) for array in self.arrays]
        return tree.unflatten(self.structure, parts)


class IterableSource:
    """Samples one by one, from an iterable, or from a function that opens an iterator for each epoch."""

    def __init__(self, data: Iterable[Any] | Callable[[], Iterable[Any]]):
        self.data = data
        self.length = len(data) if isinstance(data, Sized) else None
        if self.length == 0:
            raise user_error(ValueError, "There is no data", "The iterable has no samples.")

    def batches(self, batch_size: int) -> Iterator[Any]:
        """Trees of stacked samples; the last may be shorter."""
        samples = iter(self.data() if callable(self.data) else self.data)
        while chunk := list(islice(samples, batch_size)):
            yield stack_samples(chunk)


def open_source(data: Any) -> ArraySource | IterableSource:
    """The source for what a user passes: a tree of arrays, or an iterable, or a function that returns one."""
    leaves, structure = tree.flatten(data)
    is_iterable = structure is tree.LEAF and not is_array(data) and (callable(data) or hasattr(data, "__iter__"))
    if is_iterable:
        return IterableSource(data)
    if not leaves:
        raise user_error(ValueError, "There is no data", "Pass an array, or a tree of arrays.")
    return ArraySource(data)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array, or the name of a file with one."""
    return isinstance(leaf, np.ndarray | Array | str | os.PathLike) or hasattr(leaf, "__array__")


def open_array(leaf: Any) -> np.ndarray:
    """A plain array; a file is mapped to memory, and read batch by batch."""
    if isinstance(leaf, str | os.PathLike):
        name = os.fspath(leaf)
        if not name.endswith(".npy"):
            raise user_error(
                ValueError, f"{name!r} is no .npy file", "np.save writes one; arrays of an .npz are loaded."
            )
        return np.asarray(np.load(name, mmap_mode="r", allow_pickle=False))
    if isinstance(leaf, Array):
        leaf = leaf.detach().numpy()
    elif not is_array(leaf):
        raise user_error(
            TypeError,
            f"The data has a {type(leaf).__name__} where an array should be",
            "Use a tree of arrays; for a list of samples, pass iter(samples) or stack them.",
        )
    refuse_subclass(leaf)
    return np.asarray(leaf)


def common_length(paths: list[str], arrays: list[np.ndarray]) -> int:
    """The length of all arrays along their first axis."""
    for path, array in zip(paths, arrays, strict=True):
        if array.ndim == 0:
            raise user_error(ValueError, f"{path} has no axes", "The first axis of each array counts the samples.")
    lengths = {path: len(array) for path, array in zip(paths, arrays, strict=True)}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{path} has {n:,}" for path, n in lengths.items())
        raise user_error(
            ValueError,
            f"The arrays have different lengths: {sizes} samples",
            "The first axis of each array counts the samples.",
        )
    n = next(iter(lengths.values()))
    if n == 0:
        raise user_error(ValueError, "There is no data: the arrays are empty", "The first axis counts the samples.")
    return n


def stack_samples(samples: list[Any]) -> Any:
    """One tree with a new first axis, of trees that are alike."""
    return tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *samples)
