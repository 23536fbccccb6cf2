"""What runs operations on the arrays of a device's library.

NumPy's implementation does for most of them: its functions pass the arrays on to the library, by NumPy's protocols.
Others have an entry, a function of the library and the operands. Operations that a library has nothing for have a
reason, which is the error that users see.

This module is imported when the first array of a library is met. Until then operations know nothing of it, and cost
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.devices import ARRAY_CLASSES, device_of
from wengert.core.errors import user_error
from wengert.core.primitive import Primitive, plain_impl

DeviceCall = Callable[..., Any]
"""A function of an `ArrayLibrary`, the operands and the parameters."""


def pass_on(primitive: Primitive) -> DeviceCall | None:
    """NumPy's implementation, which passes arrays on to their library."""
    impl = plain_impl(primitive)
    return lambda library, *operands, **params: impl(*operands, **params)


device_call: Aspect[DeviceCall] = Aspect(
    "device_call",
    "what runs it on the arrays of a GPU, where NumPy's implementation does not",
    default=pass_on,
    filled_by=("wengert.array_libraries.aspects", "wengert.distributed.device_reason"),
)


def attach_device_calls() -> None:
    """Let the operations with an entry, or a reason to have none, ask whether an operand is on a device."""
    device_call.fill()
    for primitive in {*device_call.entries, *device_call.reasons}:
        if not hasattr(primitive.impl, "device_call"):
            primitive.impl = for_devices(primitive)


def for_devices(primitive: Primitive) -> Callable[..., Any]:
    """The implementation of an operation, which runs another one if an operand is on a device."""
    impl = primitive.impl
    call = call_of(primitive)

    @wraps(impl)
    def run(*operands: Any, **params: Any) -> Any:
        for x in operands:
            library = ARRAY_CLASSES.get(x.__class__)
            if library is not None:
                return call(library, *operands, **params)
        return impl(*operands, **params)

    run.__dict__["device_call"] = call
    if isinstance(impl, np.ufunc):
        run.__dict__["ufunc"] = impl
    return run


def call_of(primitive: Primitive) -> DeviceCall:
    """What runs an operation on a device: its entry, NumPy's implementation, or what raises the reason."""
    return device_call.of(primitive) or refuse_call(primitive)


def refuse_call(primitive: Primitive) -> DeviceCall:
    """What raises an error for an operation that devices do not have."""

    def raise_reason(_: Any, *operands: Any, **__: Any) -> Any:
        device = next(device_of(x) for x in operands if x.__class__ in ARRAY_CLASSES)
        raise user_error(
            NotImplementedError,
            f"{primitive.name} does not run on the device {device!r}",
            because=f"{device_call.reasons[primitive]}. Move its operands, x.cpu(), or compute it another way.",
        )

    return raise_reason


attach_device_calls()
