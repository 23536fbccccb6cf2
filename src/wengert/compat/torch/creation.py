"""New tensors, with PyTorch's sizes and options."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch import dtypes, values
from wengert.compat.torch.devices import check_device
from wengert.compat.torch.dtypes import get_default_dtype, int64
from wengert.compat.torch.shaping import as_size
from wengert.compat.torch.values import TorchValue, adopt, layered, plain
from wengert.core.primitive import holds_value, stack_lists
from wengert.modes.tensor import adopt_array

__all__ = [
    "Tensor", "arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "clone", "detach", "empty",
    "empty_like", "eye", "from_numpy", "frombuffer", "full", "full_like", "hamming_window", "hann_window",
    "is_tensor", "kaiser_window", "linspace", "logspace", "ones", "ones_like", "range", "scalar_tensor", "tensor",
    "tril_indices", "triu_indices", "vander", "zeros", "zeros_like",
]  # fmt: skip

LAYOUTS = {"layout", "memory_format", "pin_memory"}
"""Options about how numbers lie in memory, which have no meaning here."""


def make(value: Any, requires_grad: bool = False, device: Any = None, **layout: Any) -> Any:
    """A new tensor around an array that nothing else refers to."""
    check_device(device)
    if layout.keys() - LAYOUTS:
        raise TypeError(f"unexpected keyword argument {min(layout.keys() - LAYOUTS)!r}")
    return adopt(adopt_array(value, requires_grad))


def infer_dtype(data: Any, array: np.ndarray) -> np.dtype:
    """The type of the numbers of nested lists: Python's floats have the default type, and NumPy's keep theirs."""
    while isinstance(data, list | tuple) and len(data):
        data = data[0]
    if isinstance(data, np.generic | np.ndarray) or array.dtype.kind not in "fc":
        return array.dtype
    return get_default_dtype() if array.dtype.kind == "f" else dtypes.COMPLEX[get_default_dtype()]


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A new tensor with a copy of the data, without history.

    >>> import wengert.compat.torch as torch
    >>> torch.tensor([1.0, 2.0]).dtype
    dtype('float32')
    """
    check_device(device)
    if holds_value(data):
        stacked = stack_lists(plain(data))
        array = stacked.detach() if isinstance(stacked, wg.Array) else stacked
        if not isinstance(array, wg.Tensor) or array.level:
            return adopt(array if dtype is None else wg.astype(array, dtype))
        data = array = np.asarray(array)
    else:
        array = np.asarray(data)
    chosen = np.dtype(dtype) if dtype is not None else infer_dtype(data, array)
    return make(np.array(array, dtype=chosen), requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor as it is, in another type if one is given; anything else as a new tensor."""
    check_device(device)
    if isinstance(data, TorchValue):
        return data if dtype is None or data.dtype == dtype else wg.astype(data, dtype)  # type: ignore[attr-defined]  # a value
    return tensor(data, dtype=dtype)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """As `as_tensor`; with `copy`, always a new tensor."""
    made = clone(as_tensor(obj, dtype, device)) if copy else as_tensor(obj, dtype, device)
    return made.requires_grad_() if requires_grad else made


def from_numpy(ndarray: np.ndarray) -> Any:
    """A tensor with the numbers of an array, which is copied."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy takes an ndarray, not a {type(ndarray).__name__}")
    return make(ndarray.copy())


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A tensor with the numbers of a buffer, which is copied."""
    return make(np.frombuffer(buffer, dtype, count, offset).copy(), requires_grad)


def scalar_tensor(s: Any, **options: Any) -> Any:
    """A tensor of one number, without axes."""
    return full((), s, **({"dtype": get_default_dtype()} | options))


@layered
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy, through which derivatives flow."""
    return wg.copy(input)


def detach(input: Any) -> Any:
    """The same numbers without history."""
    return input.detach()


def is_tensor(obj: Any) -> bool:
    """Whether this is a tensor."""
    return isinstance(obj, TorchValue)


class TensorType(type):
    """The class of `torch.Tensor`: its instances are the tensors of all modes, and calling it makes new ones."""

    def __instancecheck__(cls, x: Any) -> bool:
        return issubclass(type(x), TorchValue)

    def __subclasscheck__(cls, other: type) -> bool:
        return TorchValue in other.__mro__

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        check_device(device)
        if len(data) == 1 and isinstance(data[0], TorchValue) and data[0].dtype == get_default_dtype():  # type: ignore[attr-defined]  # a value
            return data[0].detach()  # type: ignore[attr-defined]  # a value
        return OfType("Tensor", get_default_dtype())(*data)


class Tensor(values.Tensor, metaclass=TensorType):
    """A tensor of the default type, from data (`Tensor([1, 2])`) or of a size (`Tensor(2, 3)`).

    >>> import wengert.compat.torch as torch
    >>> isinstance(torch.ones(2), torch.Tensor), torch.Tensor([1, 2])
    (True, tensor([1., 2.]))
    """

    __slots__ = ()


def zeros(*size: Any, dtype: Any = None, **options: Any) -> Any:
    """Zeros of a size: `zeros(2, 3)` or `zeros((2, 3))`."""
    return make(np.zeros(as_size(options.pop("size", size)), dtype or get_default_dtype()), **options)


def ones(*size: Any, dtype: Any = None, **options: Any) -> Any:
    """Ones of a size."""
    return make(np.ones(as_size(options.pop("size", size)), dtype or get_default_dtype()), **options)


def empty(*size: Any, dtype: Any = None, **options: Any) -> Any:
    """A tensor of a size whose numbers mean nothing; they are zeros."""
    return zeros(*size, dtype=dtype, **options)


def full(size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
    """One number everywhere, whose type decides."""
    value = fill_value.item() if isinstance(fill_value, TorchValue) else fill_value  # type: ignore[attr-defined]  # a value
    chosen = dtype or dtypes.number_type(value)
    return make(np.full(as_size((size,) if isinstance(size, tuple | list) else [size]), value, chosen), **options)


def zeros_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    """Zeros of the size and type of a tensor."""
    return make(np.zeros(tuple(input.shape), dtype or input.dtype), **options)


def ones_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    """Ones of the size and type of a tensor."""
    return make(np.ones(tuple(input.shape), dtype or input.dtype), **options)


def empty_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    """A tensor of the size and type of another, whose numbers mean nothing; they are zeros."""
    return zeros_like(input, dtype=dtype, **options)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
    """One number everywhere, of the size and type of a tensor."""
    return full(tuple(input.shape), fill_value, dtype=dtype or input.dtype, **options)


def number(x: Any) -> Any:
    """A bound or step as a Python number."""
    return x.item() if isinstance(x, TorchValue | np.generic) else x  # type: ignore[union-attr]  # values have `item`


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, **options: Any) -> Any:
    """Numbers from `start` to `end`, without it, in steps."""
    start, end, step = map(number, (0, start, step) if end is None else (start, end, step))
    is_whole = all(isinstance(x, int) for x in (start, end, step))
    return make(np.arange(start, end, step).astype(dtype or (int64 if is_whole else get_default_dtype())), **options)


def range(start: Any, end: Any, step: Any = 1, *, dtype: Any = None, **options: Any) -> Any:
    """Numbers from `start` to `end`, which is included, in steps."""
    count = int(np.floor((end - start) / step)) + 1
    return make((start + step * np.arange(count)).astype(dtype or get_default_dtype()), **options)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **options: Any) -> Any:
    """Numbers at equal distances from `start` to `end`, which is included."""
    return make(np.linspace(number(start), number(end), steps).astype(dtype or get_default_dtype()), **options)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, **options: Any) -> Any:
    """Powers of a base, with exponents at equal distances."""
    return make(np.logspace(start, end, steps, base=base).astype(dtype or get_default_dtype()), **options)


def eye(n: int, m: int | None = None, *, dtype: Any = None, **options: Any) -> Any:
    """The identity matrix."""
    return make(np.eye(n, m, dtype=dtype or get_default_dtype()), **options)


def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Any:
    """The indices of the lower triangle, one vector for rows and one for columns."""
    return make(np.stack(np.tril_indices(row, offset, col)), **options)


def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Any:
    """The indices of the upper triangle, one vector for rows and one for columns."""
    return make(np.stack(np.triu_indices(row, offset, col)), **options)


@layered
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each element of a vector."""
    return wg.astype(wg.vander(x, N, increasing), x.dtype)


def window(make_window: Any) -> Any:
    """A function that makes a window, with one more point than asked for if it is periodic."""

    def create(window_length: int, periodic: bool = True, *args: Any, dtype: Any = None, **options: Any) -> Any:
        whole = (
            make_window(window_length + periodic, *args)[:window_length]
            if window_length > 1
            else np.ones(window_length)
        )
        return make(np.array(whole, dtype or get_default_dtype()), **options)

    create.__doc__ = f"As `numpy.{make_window.__name__}`, periodic by default."
    return create


bartlett_window, blackman_window = window(np.bartlett), window(np.blackman)
hann_window, hamming_window, kaiser_window = (
    window(np.hanning),
    window(np.hamming),
    window(lambda n, beta=12.0: np.kaiser(n, beta)),
)


class OfType:
    """`torch.FloatTensor` and its like: makes tensors of one type from sizes or data."""

    def __init__(self, name: str, dtype: np.dtype):
        self.__name__, self.dtype = name, dtype

    def __call__(self, *data: Any) -> Any:
        if len(data) == 1 and not isinstance(data[0], int):
            return tensor(data[0], dtype=self.dtype)
        return zeros(*data, dtype=self.dtype)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, TorchValue) and x.dtype == self.dtype  # type: ignore[attr-defined]  # a value

    def __repr__(self) -> str:
        return f"torch.{self.__name__}"


NAMED_TYPES: dict[str, np.dtype] = {
    "Float": dtypes.float32, "Double": dtypes.float64, "Half": dtypes.float16, "Long": dtypes.int64,
    "Int": dtypes.int32, "Short": dtypes.int16, "Char": dtypes.int8, "Byte": dtypes.uint8, "Bool": dtypes.bool,
}  # fmt: skip
TYPED = {f"{name}Tensor": OfType(f"{name}Tensor", dtype) for name, dtype in NAMED_TYPES.items()}
globals().update(TYPED)
__all__ += [*TYPED]
