"""`Batches`: data in epochs of batches, in an order that a seed determines, from any position on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from operator import index
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.errors import user_error
from wengert.data.prefetch import prefetch_items
from wengert.data.sources import ArraySource, IterableSource, open_source
from wengert.random.generator import default_rng


class Batches:
    """Data in batches; each iteration is an epoch.

    `data` is an array, a tree of arrays of the same length (tuples, dicts, dataclasses), the name of an `.npy` file, or
    an iterable of samples. Each epoch has another order (`shuffle`), which the seed and the number of the epoch
    determine. `transform(batch)` is applied to each batch; if it has a parameter `rng`, it is given a generator of its
    own for each batch. A thread makes `prefetch` batches ahead. `state_dict` is the position, and `load_state_dict`
    continues there.

    >>> batches = Batches((np.arange(5.0), np.arange(5)), 2)
    >>> len(batches), batches.samples
    (3, 5)
    >>> for x, y in batches:
    ...     print(x, y)
    [0. 1.] [0 1]
    [2. 3.] [2 3]
    [4.] [4]
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        shuffle: bool = False,
        rng: Any = None,
        drop_last: bool = False,
        transform: Callable[..., Any] | None = None,
        prefetch: int = 0,
    ):
        self.source = open_source(data)
        self.batch_size, self.shuffle, self.drop_last = index(batch_size), shuffle, drop_last
        self.transform, self.prefetch = transform, prefetch
        self.wants_rng = transform is not None and has_rng(transform)
        check_arguments(self.source, self.batch_size, shuffle, prefetch)
        draws = shuffle or self.wants_rng
        self.seed = int(default_rng(rng).numpy.integers(2**63)) if draws else 0
        self.epoch, self.position, self.continues = 0, 0, False

    @property
    def samples(self) -> int:
        """The number of samples in an epoch."""
        if self.source.length is None:
            raise user_error(
                TypeError, "An iterable without a length has no number of samples", "Count while iterating."
            )
        return self.source.length - self.source.length % self.batch_size if self.drop_last else self.source.length

    @property
    def can_restart(self) -> bool:
        """Whether an epoch can be repeated: not that of an iterator, which can be read once."""
        return isinstance(self.source, ArraySource) or not hasattr(self.source.data, "__next__")

    def __len__(self) -> int:
        return -(-self.samples // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        """The batches of the next epoch, or the rest of the one that `load_state_dict` has set."""
        if self.position and not self.continues:
            self.epoch, self.position = self.epoch + 1, 0  # an epoch that was left early counts
        self.continues = False
        return self.run_epoch(self.epoch, self.position)

    def run_epoch(self, epoch: int, first: int) -> Iterator[Any]:
        """The batches of an epoch from the one with number `first` on."""
        batches = (self.prepare(batch, epoch, number) for number, batch in self.read(epoch, first))
        for number, batch in enumerate(prefetch_items(batches, self.prefetch) if self.prefetch else batches, first):
            self.epoch, self.position = epoch, number + 1
            yield batch
        if not first and not self.position:
            raise user_error(
                ValueError,
                "There is no batch: the iterator is at its end, or has fewer samples than a batch",
                "Pass a function that returns a new iterator for each epoch, such as lambda: open(path).",
            )
        self.epoch, self.position = epoch + 1, 0

    def read(self, epoch: int, first: int) -> Iterator[tuple[int, Any]]:
        """The batches of an epoch, as they are in the data, with their numbers, from the one with number `first` on."""
        if isinstance(self.source, IterableSource):
            for number, batch in enumerate(self.source.batches(self.batch_size)):
                is_whole = not self.drop_last or len(tree.leaves(batch)[0]) == self.batch_size
                if number >= first and is_whole:
                    yield number, batch
            return
        order = self.generator(epoch).permutation(self.source.length) if self.shuffle else None
        for number in range(first, len(self)):
            rows = slice(number * self.batch_size, (number + 1) * self.batch_size)
            yield number, self.source.take(rows if order is None else order[rows])

    def prepare(self, batch: Any, epoch: int, number: int) -> Any:
        """The batch after the transform."""
        if self.transform is None:
            return batch
        return self.transform(batch, rng=self.generator(epoch, number)) if self.wants_rng else self.transform(batch)

    def generator(self, *key: int) -> np.random.Generator:
        """A generator for an epoch, or for a batch of an epoch, independent of all others."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def state_dict(self) -> dict[str, int]:
        """The seed and the position, as plain integers: the number of the epoch, and how many batches it has given."""
        return {"seed": self.seed, "epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue, in the next iteration, where these batches, or others of the same data, were."""
        if state.keys() != {"seed", "epoch", "position"}:
            raise user_error(
                ValueError, f"The state has the entries {sorted(state)}", "Use what `state_dict` of Batches returned."
            )
        self.seed, self.epoch, self.position = state["seed"], state["epoch"], state["position"]
        self.continues = True

    def __repr__(self) -> str:
        n = "?" if self.source.length is None else f"{self.source.length:,}"
        return f"Batches({n} samples, batch_size={self.batch_size}, shuffle={self.shuffle}, epoch={self.epoch})"


def check_arguments(source: ArraySource | IterableSource, batch_size: int, shuffle: bool, prefetch: int) -> None:
    """Raise an error for arguments of `Batches` that cannot be."""
    if batch_size < 1:
        raise user_error(ValueError, f"batch_size is {batch_size}", "A batch has one sample or more.")
    if source.length is not None and batch_size > source.length:
        raise user_error(
            ValueError,
            f"A batch of {batch_size:,} is larger than the data, which has {source.length:,} samples",
            f"Use batch_size={source.length}, or less.",
        )
    if shuffle and isinstance(source, IterableSource):
        raise user_error(
            TypeError, "An iterable has one order, and cannot be shuffled", "Shuffle what it reads, or use arrays."
        )
    if prefetch < 0:
        raise user_error(ValueError, f"prefetch is {prefetch}", "It is the number of batches to make ahead.")


def has_rng(transform: Callable[..., Any]) -> bool:
    """Whether a transform takes a generator."""
    try:
        return "rng" in inspect.signature(transform).parameters
    except (TypeError, ValueError):
        return False
