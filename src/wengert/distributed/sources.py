"""From what users pass as data to shards: arrays, lists, functions, files, and collections of Dask's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob
from itertools import chain
from typing import Any

import numpy as np

from wengert.core import machine, tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.distributed.files import READERS, RowReader, ZarrFile, cut_rows
from wengert.distributed.shards import Pieces, Shard, Shards, is_reader


def find_shards(data: Any, rows: int | None, persist: bool | None) -> Shards:
    """The shards of the data."""
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise user_error(ValueError, f"rows={rows!r}", "It is a number of rows, 1 or more.")
    if isinstance(data, list):
        return list_shards(data, persist)
    leaves, structure = tree.flatten(data, is_zarr)
    if not leaves:
        raise user_error(ValueError, "There is no data", "Pass a list of shards, an array, or a file.")
    paths = [f"data{path}" for path in tree.leaf_paths(structure)]
    sources = [open_leaf(leaf, rows, path) for leaf, path in zip(leaves, paths, strict=True)]
    counts = {path: len(source.values) for path, source in zip(paths, sources, strict=True)}
    if len(set(counts.values())) > 1:
        described = ", ".join([f"{path} has {n}" for path, n in counts.items()])
        raise user_error(ValueError, f"{described} shards", "Cut them alike: with the same chunks, or with rows=.")
    if not sources[0].values:
        raise user_error(ValueError, "There is no data: it has no shards", "Pass data with at least one shard.")
    shards = [
        Shard(
            " and ".join(dict.fromkeys(names)),
            pieces,
            None if any(spec is None for spec in specs) else tree.unflatten(structure, specs),
        )
        for names, pieces, specs in zip(*zip_sources(sources), strict=True)
    ]
    keep = not any(source.is_read for source in sources) if persist is None else persist
    return Shards(shards, structure, keep)


def zip_sources(sources: Sequence[Pieces]) -> tuple[list[Any], list[Any], list[Any]]:
    """The names, pieces and specs of each shard."""
    return (
        list(zip(*[source.names for source in sources], strict=True)),
        list(zip(*[source.values for source in sources], strict=True)),
        list(zip(*[source.specs for source in sources], strict=True)),
    )


def list_shards(data: list[Any], persist: bool | None) -> Shards:
    """The shards of a list: each element is one, a tree of arrays or something that becomes one."""
    if not data:
        raise user_error(ValueError, "There is no data: the list of shards is empty", "Pass at least one shard.")
    flat = [tree.flatten(element, is_zarr) for element in data]
    structure = flat[0][1]
    shards, is_read = [], False
    for i, (leaves, found) in enumerate(flat):
        if found != structure:
            raise user_error(
                TypeError, f"Shard {i} is {found!r}, and shard 0 is {structure!r}", "All have the same structure."
            )
        parts = [one_piece(leaf, f"data[{i}]") for leaf in leaves]
        names = [part.names[0] for part in parts if part.names[0]]
        specs = [part.specs[0] for part in parts]
        known = None if any(spec is None for spec in specs) else tree.unflatten(structure, specs)
        shards.append(Shard(" and ".join(names) or f"data[{i}]", tuple([part.values[0] for part in parts]), known))
        is_read = is_read or any(part.is_read for part in parts)
    return Shards(shards, structure, not is_read if persist is None else persist)


def one_piece(leaf: Any, path: str) -> Pieces:
    """A leaf of an element of a list, as one piece."""
    if isinstance(leaf, str | os.PathLike):
        source = open_leaf(leaf, None, path, whole=True)
        if len(source.values) != 1:
            raise user_error(
                ValueError,
                f"{path}, {os.fspath(leaf)!r}, is {len(source.values)} shards",
                "Pass it alone, or one file for each element.",
            )
        return source
    if is_reader(leaf):
        return Pieces([leaf], [getattr(leaf, "__name__", "")], [None])
    if hasattr(leaf, "__dask_graph__"):
        source = open_leaf(leaf, None, path)
        if len(source.values) != 1:
            raise user_error(
                ValueError, f"{path} is a Dask collection of {len(source.values)} partitions", "Pass it alone."
            )
        return source
    if type(leaf).__module__.partition(".")[0] == "distributed":  # a future
        return Pieces([leaf], [""], [None])
    if is_zarr(leaf):
        return open_leaf(leaf, None, path, whole=True)
    array = array_in_memory(leaf, path)
    return Pieces([array], [""], [Spec.of(array)])


def open_leaf(leaf: Any, rows: int | None, path: str, whole: bool = False) -> Pieces:
    """The pieces of one leaf of the data, cut along its first axis; with `whole`, not cut."""
    if isinstance(leaf, str | os.PathLike):
        return open_files(os.fspath(leaf), rows, path, whole)
    if hasattr(leaf, "__dask_graph__"):
        from wengert.distributed.collections import open_collection  # imports Dask

        return open_collection(leaf, path)
    if is_zarr(leaf):
        return read_rows(ZarrFile(leaf), rows, whole)
    if is_reader(leaf):
        raise user_error(TypeError, f"{path} is a function", "Pass a list: [make_shard] is one shard that it makes.")
    array = array_in_memory(leaf, path)
    if not array.ndim:
        raise user_error(TypeError, f"{path} has no axes", "The first axis of an array counts its rows.")
    cuts = cut_rows(len(array), rows or rows_of(Spec.of(array)))
    return Pieces(
        [array[a:b] for a, b in cuts], [f"rows {a} to {b}" for a, b in cuts], [Spec.of(array[a:b]) for a, b in cuts]
    )


def open_files(name: str, rows: int | None, path: str, whole: bool) -> Pieces:
    """The pieces of a file, or of all files that a pattern matches, in the order of their names."""
    found = sorted(glob(name)) if glob_signs(name) else [name]
    if not found:
        raise user_error(FileNotFoundError, f"No file matches {name!r}, {path}")
    sources = []
    for file in found:
        kind = next((reader for ending, reader in READERS.items() if file.rstrip(os.sep).endswith(ending)), None)
        if kind is None:
            raise user_error(
                ValueError, f"{file!r}, {path}, is no {', '.join(READERS)}", "Pass a function that reads a shard."
            )
        if not os.path.exists(file):
            raise user_error(FileNotFoundError, f"There is no file {file!r}, {path}")
        sources.append(read_rows(kind(os.path.abspath(file)), rows, whole))
    values, names, specs = ([*chain(*parts)] for parts in list(zip(*sources, strict=True))[:3])
    return Pieces(values, names, specs, is_read=True)


def read_rows(file: Any, rows: int | None, whole: bool) -> Pieces:
    """The pieces of a file that can be read row by row."""
    cuts = [(0, file.length)] if whole else file.cuts(rows or (rows_of(file.spec) if file.spec else None))
    return Pieces(
        [RowReader(file, a, b) for a, b in cuts],
        [f"{file.name} rows {a} to {b}" for a, b in cuts],
        [file.specs(b - a) for a, b in cuts],
        is_read=True,
    )


def rows_of(spec: Spec) -> int:
    """How many rows of an array become one shard."""
    return max(1, machine.current.bytes_of_shard // max(1, Spec(spec.shape[1:], spec.dtype).nbytes))


def glob_signs(name: str) -> bool:
    """Whether a name is a pattern of names."""
    return any(sign in name for sign in "*?[")


def is_zarr(leaf: Any) -> bool:
    """Whether a leaf is an array of Zarr's."""
    return type(leaf).__module__.partition(".")[0] == "zarr"


def array_in_memory(leaf: Any, path: str) -> np.ndarray:
    """An array in memory."""
    value = leaf.detach().numpy() if isinstance(leaf, Array) else leaf
    if isinstance(value, np.ndarray | np.generic | int | float | complex) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "biufc":
            return array
    raise user_error(
        TypeError,
        f"{path} is a {type(leaf).__name__}",
        "Data are arrays, lists of shards, functions that make a shard, files, or collections of Dask's.",
    )
