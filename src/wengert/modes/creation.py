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

from wengert.modes.reverse import Tensor, tensor


def _owned(value: Any, requires_grad: bool) -> Tensor:
    """A tensor of an array that nobody else has, without a copy."""
    new = Tensor(value) if value.dtype.kind in "biufc" else tensor(value)  # which says why not
    new.requires_grad = requires_grad
    return new


def creation(function: Callable) -> Callable:
    """A NumPy function that makes an array, making a tensor."""

    @wraps(function)
    def create(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if isinstance(made, tuple):  # linspace(retstep=True)
            return _owned(made[0], requires_grad), *made[1:]
        return _owned(made, requires_grad)

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
