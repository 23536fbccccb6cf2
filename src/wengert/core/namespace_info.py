"""What the array API standard asks a namespace about itself: its devices, dtypes and capabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.devices import LIBRARIES, find_device


class __array_namespace_info__:
    """NumPy's answers, with the devices of other libraries.

    >>> __array_namespace_info__().devices()[0]
    'cpu'
    """

    def devices(self) -> list[str]:
        """The names of all devices that arrays can be on here."""
        found = ["cpu"]
        for library in LIBRARIES.values():
            if library.is_installed:
                try:
                    found += [f"{library.kind}:{i}" for i in range(library.count())]
                except (ImportError, RuntimeError):  # no device that the library can use
                    continue
        return found

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def capabilities(self) -> dict[str, Any]:
        """What arrays can do."""
        return dict(np.__array_namespace_info__().capabilities())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new arrays, which are the same on all devices."""
        find_device("cpu" if device is None else device)
        return dict(np.__array_namespace_info__().default_dtypes())

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of the standard, which all devices have."""
        find_device("cpu" if device is None else device)
        return dict(np.__array_namespace_info__().dtypes(kind=kind))
