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

from wengert.core.errors import TrackedValueError, user_error

PROTOCOLS = ("__array__", "__dlpack__", "__array_interface__", "__cuda_array_interface__")
HOSTS = (1, 3)
"""DLPack's numbers of devices whose memory the CPU can read: its own, and memory pinned for a GPU."""


def is_foreign(x: Any) -> bool:
    """Whether something that is neither a NumPy array nor a value is an array of another library."""
    return any(hasattr(x, protocol) for protocol in PROTOCOLS)


def read_foreign(x: Any) -> np.ndarray:
    """The numbers of another library's array, as a NumPy array."""
    refuse_unreadable(x)
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


def read_dlpack(x: Any) -> np.ndarray:
    """The memory of another library's array, by DLPack."""
    refuse_unreadable(x)
    return np.from_dlpack(x)


def refuse_unreadable(x: Any) -> None:
    """Raise for an array that requires a gradient in its own library, or is on another device."""
    if getattr(x, "requires_grad", False) is True:
        raise user_error(
            TrackedValueError,
            f"A {class_name(x)} that requires a gradient met a value of wengert",
            because="its gradient would be lost. Pass its detach(), or make it a value with wg.tensor(t.detach()).",
        )
    if not is_on_host(x):
        raise user_error(
            TypeError,
            f"A {class_name(x)} on another device than the CPU met a value of wengert",
            "Copy it first: t.cpu(), or cupy.asnumpy(t).",
        )


def refuse_objects(x: Any) -> None:
    """Raise for what NumPy would keep as an object or a string: a Decimal or Fraction, a dict, or a list of these."""
    for leaf in list_leaves(x):
        if isinstance(leaf, np.ndarray | np.generic | int | float | complex) or leaf is None:
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


def is_on_host(x: Any) -> bool:
    """Whether the CPU can read the memory of an array."""
    try:
        return bool(x.__dlpack_device__()[0] in HOSTS)
    except AttributeError:  # no DLPack
        return not hasattr(x, "__cuda_array_interface__")
    except (TypeError, ValueError, RuntimeError, BufferError):  # a device that DLPack does not know
        return False
