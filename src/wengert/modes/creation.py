"""Tensors from nothing: the creation functions of NumPy, for results that are filled in step by step.

>>> y = zeros(3)
>>> y[1] = Tensor(np.float64(2.0))
>>> y
tensor([0., 2., 0.])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.modes.reverse import Tensor


def creation(function: Callable) -> Callable[..., Tensor]:
    """A NumPy function that makes an array, making a tensor."""

    @wraps(function)
    def create(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Tensor:
        new = Tensor(function(*args, **kwargs))
        new.requires_grad = requires_grad
        return new

    create.__doc__ = f"As `numpy.{function.__name__}`, but a tensor; `requires_grad` makes it a leaf that gets a gradient."
    return create


zeros = creation(np.zeros)
ones = creation(np.ones)
full = creation(np.full)
empty = creation(np.empty)
eye = creation(np.eye)
identity = creation(np.identity)
arange = creation(np.arange)
linspace = creation(np.linspace)
logspace = creation(np.logspace)
