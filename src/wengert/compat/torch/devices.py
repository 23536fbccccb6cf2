"""Devices: the CPU, and clear errors for others."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import user_error

__all__ = ["device", "get_default_device", "set_default_device"]


class device:
    """A device by name: always the CPU.

    >>> device("cpu")
    device(type='cpu')
    """

    index = None

    def __init__(self, type: Any = "cpu", index: int | None = None):
        name = getattr(type, "type", type)
        if name not in ("cpu", "cpu:0") or index not in (None, 0):
            raise user_error(
                RuntimeError,
                f"There is no device {name!r}",
                "Tensors are on the CPU; leave the device out, or use 'cpu'.",
            )
        self.type = "cpu"

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) or other == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")

    def __enter__(self) -> device:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


CPU = device()


def check_device(given: Any) -> None:
    """Raise for a device other than the CPU."""
    if given is not None and given is not CPU:
        device(given)


def get_default_device() -> device:
    """The device of new tensors."""
    return CPU


def set_default_device(given: Any) -> None:
    """Accept the CPU as the device of new tensors."""
    check_device(given)
