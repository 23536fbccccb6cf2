"""`Parameter`: a tensor that a module finds when it is assigned to an attribute."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compat.torch.values import Tensor
from wengert.core.array import Array

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that requires a gradient, for an attribute of a module.

    >>> import wengert.compat.torch as torch
    >>> Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Any = (), requires_grad: bool = True):
        value = data.value if isinstance(data, Array) else np.asarray(data)
        super().__init__(value, data.level if isinstance(data, Array) else 0)
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that becomes a buffer of a module when it is assigned to an attribute.

    >>> import wengert.compat.torch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()

    def __init__(self, data: Any):
        super().__init__(data.value if isinstance(data, Array) else np.asarray(data))
