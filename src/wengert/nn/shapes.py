"""Layers that change the shape of their input and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.nn.module import Module
from wengert.ops.shape.reshaping import reshape


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one.

    >>> import numpy as np
    >>> Flatten()(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        x = as_operand(input)
        first, last = (i + x.ndim if i < 0 else i for i in (self.start_dim, self.end_dim))
        if not 0 <= first <= last < x.ndim:
            raise user_error(
                ValueError,
                f"Flatten(start_dim={self.start_dim}, end_dim={self.end_dim}) was given an input of shape {x.shape}",
            )
        return reshape(x, (*x.shape[:first], -1, *x.shape[last + 1 :]))


class Unflatten(Module):
    """One axis as several.

    >>> import numpy as np
    >>> Unflatten(1, (3, 4))(np.ones((2, 12))).shape
    (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Any) -> Any:
        x = as_operand(input)
        axis = self.dim + x.ndim if self.dim < 0 else self.dim
        return reshape(x, (*x.shape[:axis], *self.unflattened_size, *x.shape[axis + 1 :]))
