"""Creation functions of NumPy and of the array API standard.

They make tensors from numbers, lists and the arrays of other libraries.

>>> y = zeros(3)
>>> y[1] = 2.0
>>> y
tensor([0., 2., 0.])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import index
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.devices import DeviceArray, as_payload, make_on, move
from wengert.core.errors import user_error
from wengert.core.foreign import read_dlpack
from wengert.core.foreign_keywords import refuse_sizes
from wengert.core.kinds import describe
from wengert.core.primitive import as_constant, holds_value, read_list, stack_lists
from wengert.modes.tensor import adopt_array
from wengert.ops.shape.casting import astype, to
from wengert.ops.shape.reshaping import broadcast_to, reshape

__all__ = ["arange", "array", "asarray", "empty", "eye", "from_dlpack", "full", "identity", "ones", "zeros"]


def creation(function: Callable[..., Any], example: str = "", is_uniform: bool = False) -> Callable[..., Any]:
    """A NumPy function that makes an array, making a tensor; an example is written `zeros(2) -> tensor([0., 0.])`.

    With `is_uniform`, its elements are all equal.
    """

    @wraps(function)
    def create(*args: Any, requires_grad: bool = False, device: Any = None, **kwargs: Any) -> Any:
        try:
            made = function(*args, **kwargs) if device is None else make_on(device, function, *args, **kwargs)
        except (TypeError, ValueError) as error:
            refuse_sizes(function, args, kwargs, error)
            raise
        if isinstance(made, tuple):  # linspace(retstep=True)
            return adopt_array(made[0], requires_grad), *made[1:]
        return adopt_array(made, requires_grad, is_uniform)

    summary = f"As `numpy.{function.__name__}`, but a tensor; with `requires_grad`, a leaf that gets a gradient."
    describe({create: f"{summary} >>> {example}"})
    create.__module__ = "wengert"
    return create


zeros = creation(np.zeros, "zeros(2) -> tensor([0., 0.])", is_uniform=True)
ones = creation(np.ones, "ones(2) -> tensor([1., 1.])", is_uniform=True)
empty = creation(np.empty, "empty(2).shape -> (2,)")
eye = creation(np.eye, "eye(2).tolist() -> [[1.0, 0.0], [0.0, 1.0]]")
identity = creation(np.identity, "identity(2).tolist() -> [[1.0, 0.0], [0.0, 1.0]]")
arange = creation(np.arange, "arange(3.0) -> tensor([0., 1., 2.])")


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, requires_grad: bool = False
) -> Any:
    """As `numpy.full`, but a tensor, and differentiable with respect to `fill_value`.

    >>> full(2, 7.0)
    tensor([7., 7.])
    """
    if not holds_value(fill_value):
        return adopt_array(make_on(device, np.full, shape, fill_value, dtype, order), requires_grad)
    fill = stack_lists(fill_value)
    fill = fill if device is None else to(fill, device)
    sizes = tuple(map(index, shape)) if isinstance(shape, list | tuple) else (index(shape),)
    return broadcast_to(fill if dtype is None else astype(fill, dtype), sizes)


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """A value as it is, with its history; a number, an array, or a list of numbers or values as a new tensor.

    With `copy=False` nothing is copied, and an array shares its memory: do not write to it any more.

    >>> asarray([1, 2])
    tensor([1, 2])
    """
    if holds_value(obj):
        obj = stack_lists(obj)
        obj = obj if device is None else to(obj, device)
        if copy is False and dtype is not None and obj.dtype != dtype:
            raise user_error(ValueError, f"asarray cannot change {obj.dtype} to {np.dtype(dtype)} without a copy")
        return (
            obj if dtype is None and not copy else astype(obj, obj.dtype if dtype is None else dtype, copy=bool(copy))
        )
    obj = obj if isinstance(obj, list | tuple) else as_constant(obj)
    if copy is not False:
        value = read_list(obj, dtype)
    elif isinstance(obj, DeviceArray):
        value = as_payload(obj, dtype)
    else:
        value = np.asarray(obj, dtype=dtype, copy=False)
    return adopt_array(value if device is None else move(value, device), requires_grad)


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, requires_grad: bool = False
) -> Any:
    """As `numpy.array`, but a tensor.

    A copy of a value keeps its history, and a list of values is stacked.

    >>> array([1.0, 2.0], ndmin=2)
    tensor([[1., 2.]])
    """
    made = asarray(object, dtype=dtype, copy=copy, requires_grad=requires_grad)
    return made if made.ndim >= ndmin else reshape(made, (1,) * (ndmin - made.ndim) + made.shape)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor of the numbers of another library's array, which is copied unless `copy=False`.

    >>> from_dlpack(np.array([1.0, 2.0]))
    tensor([1., 2.])
    """
    return asarray(x if isinstance(x, Array) else read_dlpack(x), device=device, copy=copy)


def fftfreq(n: int, /, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `wg.fft.fft` of n samples at a distance d, differentiable with respect to d.

    >>> fftfreq(4, 0.25)
    tensor([ 0.,  1., -2., -1.])
    """
    half = (index(n) - 1) // 2 + 1
    return _frequencies(np.concatenate([np.arange(half), np.arange(-(n // 2), 0)]), n, d, dtype, device)


def rfftfreq(n: int, /, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `wg.fft.rfft` of n samples at a distance d.

    >>> rfftfreq(4)
    tensor([0.  , 0.25, 0.5 ])
    """
    return _frequencies(np.arange(index(n) // 2 + 1), n, d, dtype, device)


def _frequencies(multiples: np.ndarray, n: int, d: Any, dtype: Any, device: Any) -> Any:
    return asarray(multiples * (1.0 / (n * d)), dtype=dtype, device=device)
