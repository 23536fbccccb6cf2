"""Arrays of other libraries as operands: PyTorch, JAX, pandas, whatever NumPy can read.

They enter as constants. An array on another device, or one that requires a gradient in its own library, raises an
error: a silent copy would be slow, and the gradient would be lost. So do numbers that NumPy keeps as objects, such as
`Decimal` and `Fraction`.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np

from wengert.core.devices import LIBRARIES, ArrayLibrary, DeviceArray, library_of
from wengert.core.errors import TrackedValueError, user_error

PROTOCOLS = ("__array__", "__dlpack__", "__array_interface__", "__cuda_array_interface__")
HOSTS = (1, 3)
"""DLPack's numbers of devices whose memory the CPU can read: its own, and memory pinned for a GPU."""


def is_foreign(x: Any) -> bool:
    """Whether something that is neither a NumPy array nor a value is an array of another library."""
    return any(hasattr(x, protocol) for protocol in PROTOCOLS)


def read_foreign(x: Any) -> Any:
    """The numbers of another library's array: as a NumPy array, or where they are, as one of the device's library."""
    refuse_unreadable(x)
    if not is_on_host(x):
        return read_dlpack(x)
    try:
        array = np.asarray(x) if hasattr(x, "__array__") or not hasattr(x, "__dlpack__") else np.from_dlpack(x)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise user_error(TypeError, f"A {class_name(x)} cannot be read as a NumPy array", because=str(error)) from error
    if array.dtype.kind not in "biufc":
        raise user_error(
            TypeError,
            f"A {class_name(x)} of {array.dtype} is not an array of numbers",
            "Convert it first, for example to float.",
        )
    return array


def read_dlpack(x: Any) -> Any:
    """The memory of another library's array, by DLPack."""
    refuse_unreadable(x)
    library = dlpack_library(x)
    found = np.from_dlpack(x) if library is None else library.numpy.from_dlpack(x)
    library_of(found)
    return found


def refuse_unreadable(x: Any) -> None:
    """Raise for an array that requires a gradient in its own library, or is on another device."""
    if getattr(x, "requires_grad", False) is True:
        raise user_error(
            TrackedValueError,
            f"A {class_name(x)} that requires a gradient met a value of wengert",
            because="its gradient would be lost. Pass its detach(), or make it a value with wg.tensor(t.detach()).",
        )
    if not is_on_host(x) and dlpack_library(x) is None:
        raise user_error(
            TypeError,
            f"A {class_name(x)} on another device than the CPU met a value of wengert",
            "Copy it first: t.cpu(). Values are on a GPU where CuPy is installed: pip install 'wengert[cuda]'.",
        )


def refuse_objects(x: Any) -> None:
    """Raise for what NumPy would keep as an object or a string: a Decimal or Fraction, a dict, or a list of these."""
    for leaf in list_leaves(x):
        if isinstance(leaf, np.ndarray | np.generic | DeviceArray | int | float | complex) or leaf is None:
            continue
        if is_foreign(leaf):
            refuse_unreadable(leaf)
        elif np.asarray(leaf).dtype.kind not in "biufc":
            is_number = isinstance(leaf, Number)
            raise user_error(
                TypeError,
                f"An object of type {class_name(leaf)} is not a number that derivatives can be computed with",
                "Convert it first: float(x)." if is_number else "Pass numbers in an array or in lists of equal length.",
            )


def list_leaves(x: Any) -> Iterator[Any]:
    """The elements of nested lists; anything else itself."""
    if isinstance(x, list | tuple):
        for part in x:
            yield from list_leaves(part)
    else:
        yield x


def class_name(x: Any) -> str:
    """The class of an object with the package that it is from: `torch.Tensor`."""
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}".removeprefix("builtins.")


def dlpack_library(x: Any) -> ArrayLibrary | None:
    """The library for the device that an array of another one is on; None for the CPU, and where none is installed."""
    if not hasattr(x, "__dlpack_device__"):
        return None
    number = dlpack_number(x)
    return next((library for library in LIBRARIES.values() if number in library.dlpack and library.is_installed), None)


def dlpack_number(x: Any) -> int | None:
    """DLPack's number of the device that an array is on; None if DLPack does not know it."""
    try:
        number: int = x.__dlpack_device__()[0]
    except (TypeError, ValueError, RuntimeError, BufferError):
        return None
    return number


def is_on_host(x: Any) -> bool:
    """Whether the CPU can read the memory of an array."""
    if hasattr(x, "__dlpack_device__"):
        return dlpack_number(x) in HOSTS
    return not hasattr(x, "__cuda_array_interface__")
