"""The stand-in for `cupy.ndarray`."""

from __future__ import annotations

import operator
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np

HOST_COPIES: list[str] = []
"""The methods that copied numbers to NumPy."""

DEVICES = 2

COMPARISONS = {"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"}


class Device:
    """The stand-in for `cupy.cuda.Device`: entered, it is the current device."""

    current: list[int] = [0]

    def __init__(self, device: int | None = None):
        self.id = Device.current[-1] if device is None else int(device)

    def __enter__(self) -> Device:
        Device.current.append(self.id)
        return self

    def __exit__(self, *_: Any) -> None:
        Device.current.pop()

    def synchronize(self) -> None:
        """Nothing is left to be done."""

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


class ndarray:  # CuPy's name
    """An array on a device: an array of NumPy that NumPy does not see."""

    __slots__ = ("__weakref__", "_numbers", "device")
    shape: tuple[int, ...]
    dtype: np.dtype
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]  # as arrays of CuPy have none

    def __init__(self, numbers: Any):
        self._numbers = np.asarray(numbers)
        self.device = Device()

    def copy_to_host(self, why: str) -> np.ndarray:
        HOST_COPIES.append(why)
        return self._numbers

    # What CuPy copies to the host, all of which is explicit.

    def get(self, *_: Any, **__: Any) -> np.ndarray:
        return self.copy_to_host("get").copy()

    def item(self, *index: Any) -> Any:
        return self.copy_to_host("item").item(*index)

    def tolist(self) -> Any:
        return self.copy_to_host("tolist").tolist()

    def __bool__(self) -> bool:
        return bool(self.copy_to_host("bool"))

    def __int__(self) -> int:
        return int(self.copy_to_host("int"))

    def __float__(self) -> float:
        return float(self.copy_to_host("float"))

    def __complex__(self) -> complex:
        return complex(self.copy_to_host("complex"))

    def tobytes(self, *args: Any) -> bytes:
        return self.copy_to_host("tobytes").tobytes(*args)

    def __repr__(self) -> str:
        return repr(self.copy_to_host("repr"))

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )

    # NumPy's protocols, as CuPy has them.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        modules = [import_module(f"tests.stand_in.{name}") for name in ("arrays", "scipy.special")]
        own = next((getattr(m, ufunc.__name__) for m in modules if hasattr(m, ufunc.__name__)), None)
        own = own if method == "__call__" else getattr(own, method, None)
        if own is None or (method == "at" and isinstance(inputs[1], tuple)):
            return NotImplemented
        if isinstance(kwargs.get("out"), tuple):
            (kwargs["out"],) = kwargs["out"]
        if ufunc.__name__ in COMPARISONS:
            inputs = tuple([x.item() if isinstance(x, np.ndarray) and not x.ndim else x for x in inputs])
        return own(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        try:
            parts = function.__module__.split(".")[1:]
            module = reduce(getattr, parts, import_module("tests.stand_in.arrays"))
            own = getattr(module, function.__name__)
        except AttributeError:
            return NotImplemented
        if not all(issubclass(t, ndarray | np.ndarray) for t in types):
            return NotImplemented
        return own(*args, **kwargs)

    def __dlpack__(self, **_: Any) -> Any:
        return self._numbers.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device.id

    # Indices may be arrays of NumPy, which CuPy copies to the device.

    def __getitem__(self, key: Any) -> Any:
        return ndarray(self._numbers[plain_key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
        numbers = value._numbers if isinstance(value, ndarray) else value
        before = self._numbers.copy()
        self._numbers[plain_key(key)] = numbers
        keys = key if isinstance(key, tuple) else (key,)
        if any(getattr(k, "ndim", 0) and k.dtype.kind in "iu" for k in keys) and np.ndim(numbers):
            self._write_first(before, plain_key(key), numbers)

    def _write_first(self, before: np.ndarray, key: Any, numbers: Any) -> None:
        """Where an index occurs several times, let the first one win: of CuPy's threads, any one does."""
        chosen, flat = before[key], np.full(before.shape, -1)
        np.maximum.at(flat, key, chosen.size - 1 - np.arange(chosen.size).reshape(chosen.shape))
        first = chosen.size - 1 - flat[key]
        self._numbers[key] = np.broadcast_to(numbers, chosen.shape).reshape(-1)[first]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Any:
        return iter([ndarray(x) for x in self._numbers])

    def __copy__(self) -> ndarray:
        return ndarray(self._numbers.copy())

    def __deepcopy__(self, _: Any) -> ndarray:
        return ndarray(self._numbers.copy())

    def __reduce__(self) -> Any:
        return ndarray, (self._numbers,)


def plain_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(plain_key, key))
    return key._numbers if isinstance(key, ndarray) else key


def delegate_property(name: str) -> property:
    return property(lambda self: getattr(self._numbers, name))


def delegate_view(name: str) -> property:
    return property(lambda self: ndarray(getattr(self._numbers, name)))


def diagonal(self: ndarray, *args: Any) -> ndarray:
    """A view, which can be written to, as with CuPy."""
    view = self._numbers.diagonal(*args)
    view.flags.writeable = True
    return ndarray(view)


def delegate_method(name: str) -> Any:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        wrapping = import_module("tests.stand_in.wrapping")
        return wrapping.on_device(getattr(np.ndarray, name))(self, *args, **kwargs)

    method.__name__ = name
    return method


def delegate_operator(name: str) -> Any:
    """An operator, which is a ufunc of the library; operands that are not for CuPy have the operator themselves."""
    reflected = name.startswith("r") and hasattr(operator, f"__{name[1:]}__")
    function = getattr(operator, f"__{name[1:] if reflected else name}__")

    def method(self: ndarray, other: Any) -> Any:
        wrapping = import_module("tests.stand_in.wrapping")
        if not isinstance(other, ndarray | np.ndarray | np.generic | bool | int | float | complex):
            return NotImplemented
        return wrapping.on_device(function)(*((other, self) if reflected else (self, other)))

    return method


def delegate_unary(name: str) -> Any:
    function = getattr(operator, f"__{name}__")
    return lambda self: ndarray(function(self._numbers))


def delegate_update(name: str) -> Any:
    """An operator in place, which writes into the array."""
    function = getattr(operator, f"__i{name}__")

    def method(self: ndarray, other: Any) -> Any:
        wrapping = import_module("tests.stand_in.wrapping")
        function(self._numbers, wrapping.unwrap(other))
        return self

    return method


for _name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags", "base"):
    setattr(ndarray, _name, delegate_property(_name))
for _name in ("T", "real", "imag", "mT"):
    setattr(ndarray, _name, delegate_view(_name))
METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress", "conj",
    "conjugate", "copy", "cumprod", "cumsum", "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "partition",
    "prod", "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes",
    "take", "trace", "transpose", "var", "view",
)  # fmt: skip
OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "radd",
    "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul", "rand", "ror", "rxor", "eq", "ne", "lt", "le",
    "gt", "ge",
)  # fmt: skip
for _name in METHODS:
    setattr(ndarray, _name, delegate_method(_name))
for _name in OPERATORS:
    setattr(ndarray, f"__{_name}__", delegate_operator(_name))
for _name in ["add", "sub", "mul", "truediv", "and", "or", "xor"]:
    setattr(ndarray, f"__i{_name}__", delegate_update(_name))
ndarray.diagonal = diagonal  # type: ignore[attr-defined]  # classes may get attributes
for _name in ("neg", "pos", "abs", "invert"):
    setattr(ndarray, f"__{_name}__", delegate_unary(_name))
