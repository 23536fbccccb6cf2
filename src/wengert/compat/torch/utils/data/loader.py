"""`DataLoader`: batches of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.creation import as_tensor, tensor
from wengert.compat.torch.drawing import Generator
from wengert.compat.torch.dtypes import float64
from wengert.compat.torch.utils.data.dataset import IterableDataset
from wengert.compat.torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from wengert.compat.torch.values import TorchValue, layered
from wengert.core.errors import user_error

stack = layered(wg.stack)


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: tensors, arrays and numbers are stacked, containers keep their form.

    >>> default_collate([(1, 2.0), (3, 4.0)])[0].tolist()
    [1, 3]
    """
    first = batch[0]
    if isinstance(first, TorchValue):
        return stack(list(batch))
    if isinstance(first, np.ndarray | np.generic):
        return as_tensor(np.stack(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, bool | int):
        return tensor(list(batch))
    if isinstance(first, str | bytes):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[default_collate(column) for column in zip(*batch, strict=True)])
    if isinstance(first, list | tuple):
        return [default_collate(column) for column in zip(*batch, strict=True)]
    raise user_error(
        TypeError, f"A DataLoader cannot make a batch of samples of class {type(first).__name__}", "Pass collate_fn."
    )


def get_worker_info() -> None:
    """None: samples are loaded in the calling process."""


class DataLoader:
    """Batches of the samples of a dataset. They are loaded in the calling process, whatever `num_workers` is.

    >>> [batch.tolist() for batch in DataLoader([1, 2, 3], batch_size=2)]
    [[1, 2], [3]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        *,
        generator: Generator | None = None,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ):
        self.is_iterable = isinstance(dataset, IterableDataset)
        if (sampler is not None or batch_sampler is not None or self.is_iterable) and shuffle:
            raise user_error(
                ValueError,
                "A DataLoader with a sampler or an iterable dataset has an order of its own",
                "Leave shuffle out.",
            )
        if batch_sampler is not None and (batch_size != 1 or sampler is not None or drop_last):
            raise user_error(
                ValueError, "A batch_sampler excludes batch_size, sampler and drop_last", "Give one or the other."
            )
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.pin_memory, self.timeout = num_workers, pin_memory, timeout
        self.generator = generator
        if sampler is None and not self.is_iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None and not self.is_iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else as_sample)

    def __iter__(self) -> Iterator[Any]:
        if self.is_iterable:
            yield from self.iterate()
        elif self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
        else:
            for indices in self.batch_sampler:
                yield self.collate_fn([self.dataset[i] for i in indices])

    def iterate(self) -> Iterator[Any]:
        """Batches of an iterable dataset."""
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if self.is_iterable:
            n, size = len(self.dataset), self.batch_size or 1
            return n // size if self.drop_last else -(-n // size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def as_sample(sample: Any) -> Any:
    """A sample that is no part of a batch: arrays become tensors."""
    return as_tensor(sample) if isinstance(sample, np.ndarray | np.generic) else sample
