"""The elements of all parameters as one vector, for methods of second order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.core.levels import bottom_array
from wengert.modes import recording
from wengert.modes.forward import zeros_like
from wengert.modes.tensor import Tensor
from wengert.structure.flat_tree import FlatTree


class ParameterVector:
    """Parameters one after the other in a vector: their numbers, their gradients, and assignment."""

    def __init__(self, params: Sequence[Tensor]):
        self.params = list(params)
        self.flat = FlatTree([p.detach() for p in params], "params")
        self.size = self.flat.size

    def get(self) -> np.ndarray:
        """A copy of the numbers of the parameters."""
        return self.flat.vector([bottom_array(p) for p in self.params]).copy()

    def gradient(self) -> np.ndarray:
        """A copy of the gradients; zeros for parameters without one."""
        grads = [zeros_like(p) if p.grad is None else bottom_array(p.grad) for p in self.params]
        return self.flat.vector(grads).copy()

    def assign(self, vector: np.ndarray) -> None:
        """Set the parameters to the elements of a vector."""
        with recording.override(enabled=False):
            for p, value in zip(self.params, self.flat.tree(vector), strict=True):
                p[...] = value
