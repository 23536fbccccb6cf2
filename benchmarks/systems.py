"""The systems that are compared: how each is found, set up and read."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class System:
    """A system, by the name of its module where no other is given.

    `prepare` makes it use every core and double precision where asked. `compiler` is the system that compiles for it.
    """

    name: str
    title: str
    prepare: Callable[[], None] = lambda: None
    to_numpy: Callable[[Any], np.ndarray] = np.asarray
    module: str = ""
    compiler: str = ""
    remedy: str = "`pip install -e .[bench]` installs the peers"

    @property
    def provider(self) -> str:
        """The module, or the program, that must be there."""
        return self.module or self.name

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.provider) is not None

    @property
    def version(self) -> str:
        try:
            return importlib.metadata.version(self.provider)
        except importlib.metadata.PackageNotFoundError:
            return getattr(importlib.import_module(self.provider), "__version__", "source")


@dataclass(frozen=True)
class Program(System):
    """A system that is a program on the path."""

    @property
    def installed(self) -> bool:
        return shutil.which(self.provider) is not None

    @property
    def version(self) -> str:
        return subprocess.run(
            [self.provider, "-dumpfullversion"], capture_output=True, text=True, check=True
        ).stdout.strip()


def _detach(value: Any) -> np.ndarray:
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


def _all_cores_for_torch() -> None:
    import torch

    torch.set_num_threads(cores())


def _start_torch_compiler() -> None:
    import torch

    _all_cores_for_torch()
    torch.compiler.reset()  # it compiles the step of only a few optimisers


@dataclass(frozen=True)
class TorchCompiler(System):
    """`torch.compile`, which needs a C++ compiler."""

    @property
    def installed(self) -> bool:
        return super().installed and shutil.which("g++") is not None


def _doubles_for_jax() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)


SYSTEMS = {
    system.name: system
    for system in (
        System("wengert", "Wengert", to_numpy=_detach),
        System("torch", "PyTorch", _all_cores_for_torch, lambda value: value.detach().numpy()),
        System("autograd", "autograd"),
        System("jax", "JAX (jit)", _doubles_for_jax),
        System("numpy", "NumPy by hand"),
    )
}
"""The systems for which every eager workload is written."""

C_REMEDY = "the hand-written loops in C need gcc on the path"
COMPILED_SYSTEMS = {
    system.name: system
    for system in (
        System("wengert compiled", "Wengert (compile)", to_numpy=_detach, module="wengert"),
        System("diffrax", "diffrax (jit)", _doubles_for_jax, compiler="jax"),
        System("optax", "JAX and optax (jit)", compiler="jax"),
        TorchCompiler(
            "torch compiled",
            "PyTorch (torch.compile)",
            _start_torch_compiler,
            lambda value: value.detach().numpy(),
            module="torch",
            remedy="`torch.compile` needs g++ on the path",
        ),
        System("numba", "numba (njit)"),
        Program("c", "C (gcc -O3)", module="gcc", remedy=C_REMEDY),
        Program("c-fastmath", "C (gcc -O3 -ffast-math)", module="gcc", remedy=C_REMEDY),
    )
}
"""What the compiled workloads compare besides."""

PEERS = tuple(name for name in (*SYSTEMS, *COMPILED_SYSTEMS) if not name.startswith("wengert"))


def named(name: str) -> System:
    """The system of this name."""
    return COMPILED_SYSTEMS[name] if name in COMPILED_SYSTEMS else SYSTEMS[name]
