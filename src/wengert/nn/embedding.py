"""A table of vectors, one for each of a number of words, classes or other things."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor
from wengert.nn import functional
from wengert.nn.module import Module, Parameter
from wengert.random.generator import default_rng


class Embedding(Module):
    """The rows of a table for integer indices. The row `padding_idx` is zero at first and gets no gradient.

    >>> Embedding(10, 4, rng=0)([[1, 2, 3]]).shape
    (1, 3, 4)
    """

    weight: Tensor

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise user_error(ValueError, f"Embedding: padding_idx={padding_idx} of {num_embeddings} rows")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        numbers = default_rng(rng).numpy.standard_normal((num_embeddings, embedding_dim))
        if self.padding_idx is not None:
            numbers[self.padding_idx] = 0.0
        self.weight = Parameter(numbers, dtype=dtype)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """A table with these numbers, frozen unless `freeze` is False."""
        table = np.asarray(embeddings)
        made = cls(table.shape[0], table.shape[1], padding_idx, dtype=table.dtype)
        made.weight.data = table
        made.weight.requires_grad = not freeze
        return made

    def forward(self, input: Any) -> Any:
        return functional.embedding(input, self.weight, self.padding_idx)


class EmbeddingBag(Module):
    """Sums or means (`mode`) of rows of a table, for bags of indices (`functional.embedding_bag`).

    >>> EmbeddingBag(10, 3, rng=0)(np.array([[1, 2], [4, 4]])).shape
    (2, 3)
    """

    weight: Tensor

    def __init__(
        self, num_embeddings: int, embedding_dim: int, mode: str = "mean", *, rng: Any = None, dtype: Any = np.float32
    ):
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        numbers = default_rng(rng).numpy.standard_normal((num_embeddings, embedding_dim))
        self.weight = Parameter(numbers, dtype=dtype)

    def forward(self, input: Any, offsets: Any = None) -> Any:
        return functional.embedding_bag(input, self.weight, offsets, self.mode)
