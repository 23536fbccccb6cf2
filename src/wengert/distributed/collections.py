"""Collections of Dask's as pieces: the blocks of an array, the partitions of a bag or of a table, a delayed object."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.distributed.shards import Pieces


def open_collection(collection: Any, path: str) -> Pieces:
    """The pieces of a collection."""
    if isinstance(collection, Delayed):
        return Pieces([collection], [path], [None])
    if hasattr(collection, "blocks"):
        return open_blocks(collection, path)
    read = table_columns if hasattr(collection, "columns") else stack_elements
    parts = [delayed(read)(part) for part in collection.to_delayed()]
    return Pieces(parts, [f"{path} partition {i}" for i in range(len(parts))], [None] * len(parts))


def open_blocks(array: Any, path: str) -> Pieces:
    """The blocks of an array along its first axis, each with the other axes whole."""
    if not array.ndim:
        raise user_error(TypeError, f"{path} is a Dask array without axes", "Its first axis counts the rows.")
    if any(len(sizes) > 1 for sizes in array.chunks[1:]):
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    pieces = list(array.to_delayed().reshape(-1))
    known = not any(np.isnan(n) for sizes in array.chunks for n in sizes)
    rest = [sizes[0] for sizes in array.chunks[1:]]
    specs = [Spec((int(n), *map(int, rest)), np.dtype(array.dtype)) if known else None for n in array.chunks[0]]
    return Pieces(pieces, [f"{path} block {i}" for i in range(len(pieces))], specs)


def stack_elements(elements: Any) -> Any:
    """The elements of a partition of a bag as one tree of arrays with a new first axis; None if there are none."""
    samples = list(elements)
    return tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *samples) if samples else None


def table_columns(table: Any) -> dict[str, np.ndarray]:
    """A table of pandas as a dict of columns."""
    return {str(name): np.ascontiguousarray(table[name].to_numpy()) for name in table.columns}
