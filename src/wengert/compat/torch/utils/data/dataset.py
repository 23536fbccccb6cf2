"""Datasets: samples by index, or one after the other."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from wengert.compat.torch.drawing import Generator, default_generator
from wengert.core.errors import user_error

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Samples by index: derive from it, and define `__getitem__` and `__len__`."""

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples one after the other: derive from it, and define `__iter__`."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class TensorDataset(Dataset[tuple[Any, ...]]):
    """The rows of tensors of one length.

    >>> import wengert.compat.torch as torch
    >>> data = TensorDataset(torch.arange(3), torch.arange(3) ** 2)
    >>> len(data), [x.item() for x in data[2]]
    (3, [2, 4])
    """

    def __init__(self, *tensors: Any):
        if any(x.shape[0] != tensors[0].shape[0] for x in tensors):
            raise user_error(
                ValueError,
                f"TensorDataset was given tensors of {[x.shape[0] for x in tensors]} rows",
                "One number of rows is needed.",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([x[index] for x in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side, as tuples, or as dicts if they have names."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.datasets: Any = kwargs or args

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: data[index] for name, data in self.datasets.items()}
        return tuple([data[index] for data in self.datasets])

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values())) if isinstance(self.datasets, dict) else self.datasets[0])


class ConcatDataset(Dataset[Any]):
    """The samples of several datasets, one after the other."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index: int) -> Any:
        index = range(len(self))[index]
        i = bisect_right(self.cumulative_sizes, index)
        return self.datasets[i][index - (self.cumulative_sizes[i - 1] if i else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1] if self.datasets else 0


class ChainDataset(IterableDataset[Any]):
    """The samples of several iterable datasets, one after the other."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for data in self.datasets:
            yield from data


class Subset(Dataset[Any]):
    """Some of the samples of a dataset, by their indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[Any], generator: Generator | None = None) -> list[Subset]:
    """Parts of a dataset in random order, of these lengths, or these shares of it.

    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1.0) and sum(lengths) <= 1.0:
        counts = [math.floor(total * share) for share in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
    else:
        counts = list(lengths)
    if sum(counts) != total:
        raise user_error(ValueError, f"random_split of {total} samples into parts of {counts}", "They must add up.")
    order = (generator or default_generator).numpy.permutation(total).tolist()
    return [Subset(dataset, order[end - n : end]) for n, end in zip(counts, accumulate(counts), strict=True)]
