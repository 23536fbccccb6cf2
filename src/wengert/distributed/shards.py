"""Shards: the parts of the data that a function is summed over, wherever they are.

A shard has a name, for errors, and *pieces*: one for each leaf of the data that the user passed. A piece is an array, a
reader (a small object that reads or makes a part of the data when it is called), or an object of Dask's. The arrays of
a shard are the leaves of the tree that its pieces give together.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.spec import Spec

_next_number = itertools.count().__next__


class RunOptions(NamedTuple):
    """How a sum runs: the dtype in which partial results travel, and the limits of a run."""

    transfer: str | None = None
    retries: int = 0
    timeout: float | None = None
    progress: Any = False


class Shard(NamedTuple):
    """One part of the data. `specs` is the tree of the shapes and dtypes of its arrays; None if nobody knows yet."""

    name: str
    pieces: tuple[Any, ...]
    specs: Any = None


class Pieces(NamedTuple):
    """The pieces of one leaf of the data, one for each shard, with names, and specs where they are known."""

    values: Sequence[Any]
    names: Sequence[str]
    specs: Sequence[Any]
    is_read: bool = False  # from files, which can be larger than memory


class Contents(NamedTuple):
    """What a shard consists of: the structure of its tree, and the specs of its arrays; neither if it is empty."""

    structure: tree.Structure | None
    specs: tuple[Spec, ...]


class ShardLayout(NamedTuple):
    """What all shards consist of: the tree of a shard, the different kinds of shards, and the kind of each."""

    structure: tree.Structure
    kinds: tuple[tuple[Spec, ...], ...]
    kind_of: tuple[int, ...]

    def specs(self, i: int) -> tuple[Spec, ...]:
        """The specs of the arrays of shard i."""
        return self.kinds[self.kind_of[i]]


class Shards:
    """All shards of a sum. `structure` is that of the user's data, with one piece for each leaf.

    With `keep`, what readers return stays in memory. `kept` has the arrays that are in the memory of this process;
    `placement` is what a cluster has of the shards.
    """

    def __init__(self, shards: Sequence[Shard], structure: tree.Structure, keep: bool):
        self.shards, self.structure, self.keep = list(shards), structure, keep
        self.number, self.lock = _next_number(), threading.RLock()
        self.layout: ShardLayout | None = None
        self.kept: dict[int, tuple[Contents, list[np.ndarray]]] = {}
        self.placement: Any = None

    def __len__(self) -> int:
        return len(self.shards)

    def token(self) -> str:
        """A string that is equal for the same shards, in this process."""
        return f"shards {self.number}"

    def __repr__(self) -> str:
        return f"<{len(self)} shards>"

    def __reduce__(self) -> str:
        raise TypeError("Shards stay where they are, and are not pickled. Sum over them outside of other shards.")

    def stays(self, i: int) -> bool:
        """Whether the arrays of a shard stay in memory: always, unless all pieces are readers."""
        return self.keep or not all(map(is_reader, self.shards[i].pieces))

    def find_layout(self, describe: Callable[[Sequence[int]], Sequence[Contents]]) -> ShardLayout:
        """What the shards consist of; `describe` reads those of which it is not known."""
        with self.lock:
            if self.layout is None:
                known = {
                    i: known_contents(shard.specs) for i, shard in enumerate(self.shards) if shard.specs is not None
                }
                missing = [i for i in range(len(self)) if i not in known]
                known |= dict(zip(missing, describe(missing) if missing else (), strict=True))
                self.layout = join_contents([shard.name for shard in self.shards], [known[i] for i in range(len(self))])
            return self.layout


def known_contents(specs: Any) -> Contents:
    """The contents of a shard whose tree of specs is known."""
    leaves, structure = tree.flatten(specs, is_leaf=lambda x: isinstance(x, Spec))
    return Contents(structure, tuple(leaves))


def join_contents(names: Sequence[str], contents: Sequence[Contents]) -> ShardLayout:
    """The layout of shards with these contents; an error if they are not alike.

    Along the first axis, shards may have different lengths.
    """
    first = next((i for i, found in enumerate(contents) if found.structure is not None), None)
    if first is None:
        raise user_error(ValueError, "All shards are empty", "Pass data with at least one row.")
    structure, example = contents[first]
    assert structure is not None
    kinds: dict[tuple[Spec, ...], int] = {}
    kind_of = []
    for name, found in zip(names, contents, strict=True):
        specs = found.specs if found.structure is not None else tuple([without_rows(spec) for spec in example])
        if found.structure is not None and found.structure != structure:
            raise user_error(
                TypeError,
                f"Shard {name!r} is {found.structure!r}, and shard {names[first]!r} is {structure!r}",
                "All shards have the same structure.",
            )
        for k, (spec, other) in enumerate(zip(specs, example, strict=True)):
            if spec.dtype != other.dtype or spec.shape[1:] != other.shape[1:] or spec.ndim != other.ndim:
                raise user_error(
                    TypeError,
                    f"Array {k} of shard {name!r} is {spec!r}, and that of shard {names[first]!r} is {other!r}",
                    "Shards differ in the length of their first axis only.",
                )
        kind_of.append(kinds.setdefault(specs, len(kinds)))
    return ShardLayout(structure, tuple(kinds), tuple(kind_of))


def without_rows(spec: Spec) -> Spec:
    """The spec of an array without rows."""
    return Spec((0, *spec.shape[1:]), spec.dtype)


# What runs where the shards are: here, or on a worker.


class load_shard:  # a function that travels
    """Reads the arrays of a shard from the values of its pieces, which are called if they are readers."""

    def __init__(self, name: str, structure: tree.Structure):
        self.name, self.structure = name, structure

    def __call__(self, *pieces: Any) -> tuple[Contents, list[np.ndarray]]:
        with naming_shard(self.name):
            values = [piece() if is_reader(piece) else piece for piece in pieces]
            if any(value is None for value in values):
                return Contents(None, ()), []
            leaves, structure = tree.flatten(tree.unflatten(self.structure, values))
            arrays = [as_shard_array(leaf, self.name) for leaf in leaves]
        return Contents(structure, tuple(map(Spec.of, arrays))), arrays


def is_reader(piece: Any) -> bool:
    """Whether a piece is called to read or make its part of the data; objects of Dask's are not."""
    return callable(piece) and not isinstance(piece, Array) and not hasattr(piece, "__dask_graph__")


def as_shard_array(leaf: Any, name: str) -> np.ndarray:
    """A leaf of a shard as a C-contiguous array of numbers."""
    value = leaf.detach().numpy() if isinstance(leaf, Array) else leaf
    array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise user_error(TypeError, f"Shard {name!r} has an array of {array.dtype}", "Use numbers or booleans.")
    return array.view(np.ndarray)


def check_arrays(name: str, contents: Contents, arrays: list[np.ndarray], specs: Sequence[Spec]) -> list[np.ndarray]:
    """The arrays of a shard, if they are as they were when the function was traced."""
    if contents.structure is None:
        return [np.empty(spec.shape, spec.dtype) for spec in specs]
    if contents.specs != tuple(specs):
        raise user_error(
            TypeError,
            f"Shard {name!r} has arrays {list(contents.specs)!r}, and had {list(specs)!r} before",
            "Data must not change between two calls of a sum. Make a new one.",
        )
    return arrays


class naming_shard:  # a context manager
    """A block that works on one shard: errors that leave it name the shard."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, Exception):
            note = f"This happened in shard {self.name!r}."
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
