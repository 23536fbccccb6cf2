"""Arrays of other libraries as operands: PyTorch's and JAX's on the CPU, pandas' columns and tables, whatever NumPy can
read.

They come in as constants, by their numbers. One that lives on another device, or that expects a gradient of its own, is
refused: the numbers would have to travel, or the gradient would be lost, without anyone having said so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.errors import TrackedValueError, user_error

PROTOCOLS = ("__array__", "__dlpack__", "__array_interface__", "__cuda_array_interface__")
HOSTS = (1, 3)
"""Devices whose memory the CPU can read, as DLPack counts them: its own, and that which is pinned for a GPU."""


def is_foreign(x: Any) -> bool:
    """Whether something that is neither an array of NumPy nor a value is an array."""
    return any(hasattr(x, protocol) for protocol in PROTOCOLS)


def numbers_of(x: Any) -> np.ndarray:
    """The numbers of another library's array."""
    name = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    if getattr(x, "requires_grad", False) is True:
        raise user_error(
            TrackedValueError,
            f"A {name} that requires a gradient met a value of wengert",
            because="its gradient would be lost. Pass its detach(), or make it a value with wg.tensor(t.detach()).",
        )
    if not is_on_host(x):
        raise user_error(
            TypeError,
            f"A {name} on another device than the CPU met a value of wengert",
            "Copy it first: t.cpu(), or cupy.asnumpy(t).",
        )
    try:
        array = np.asarray(x) if hasattr(x, "__array__") or not hasattr(x, "__dlpack__") else np.from_dlpack(x)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise user_error(TypeError, f"A {name} cannot be read as an array of NumPy", because=error) from error
    if array.dtype.kind not in "biufc":
        raise user_error(
            TypeError, f"A {name} of {array.dtype} is no array of numbers", "Convert it first, for example to float."
        )
    return array


def is_on_host(x: Any) -> bool:
    try:
        return x.__dlpack_device__()[0] in HOSTS
    except AttributeError:  # before DLPack
        return not hasattr(x, "__cuda_array_interface__")
    except (TypeError, ValueError, RuntimeError, BufferError):  # a device that DLPack does not know
        return False
