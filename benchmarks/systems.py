"""The systems that are compared: how each is found, set up and read."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class System:
    """A system by the name of its module. `prepare` makes it use every core and double precision where asked."""

    name: str
    title: str
    prepare: Callable[[], None] = lambda: None
    to_numpy: Callable[[Any], np.ndarray] = np.asarray

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.name) is not None

    @property
    def version(self) -> str:
        try:
            return importlib.metadata.version(self.name)
        except importlib.metadata.PackageNotFoundError:
            return getattr(importlib.import_module(self.name), "__version__", "source")


def _all_cores_for_torch() -> None:
    import torch

    torch.set_num_threads(cores())


def _doubles_for_jax() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)


SYSTEMS = {
    system.name: system
    for system in (
        System("wengert", "Wengert", to_numpy=lambda value: np.asarray(value.detach())),
        System("torch", "PyTorch", _all_cores_for_torch, lambda value: value.detach().numpy()),
        System("autograd", "autograd"),
        System("jax", "JAX (jit)", _doubles_for_jax),
        System("numpy", "NumPy by hand"),
    )
}
PEERS = tuple(name for name in SYSTEMS if name != "wengert")
