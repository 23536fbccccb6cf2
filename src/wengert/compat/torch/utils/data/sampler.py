"""Samplers: in which order the samples of a dataset are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from wengert.compat.torch.drawing import Generator, default_generator

T = TypeVar("T", covariant=True)


class Sampler(Generic[T]):
    """The base of samplers: derive from it, and define `__iter__`, and `__len__` if it is known."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """The samples in order."""

    def __init__(self, data_source: Any):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The samples in random order, or with `replacement` each drawn from all."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples

    def __iter__(self) -> Iterator[int]:
        rng, n = (self.generator or default_generator).numpy, len(self.data_source)
        if self.replacement:
            return iter(rng.integers(n, size=self.num_samples).tolist())
        rounds = [rng.permutation(n) for _ in range(-(-self.num_samples // n))]
        return iter(np.concatenate(rounds)[: self.num_samples].tolist() if rounds else [])

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = (self.generator or default_generator).numpy.permutation(len(self.indices))
        return iter([self.indices[i] for i in order])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples drawn with probabilities that are proportional to weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None):
        self.weights = np.asarray(weights, dtype=float)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        rng, shares = (self.generator or default_generator).numpy, self.weights / self.weights.sum()
        return iter(rng.choice(len(shares), self.num_samples, self.replacement, shares).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of a sampler in lists of one length; the last may be shorter unless `drop_last`."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # where it has a length
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
