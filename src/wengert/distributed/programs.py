"""Bodies as programs that travel: the graph is sent, and each process compiles it once, for its own processor."""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from wengert.compiler.call.compiled import compile
from wengert.compiler.call.transformed_call import graph_function
from wengert.control.bodies import specs_of
from wengert.core.errors import user_error
from wengert.graph.graph import Graph

PACKAGES = ("wengert", "numpy", "llvmlite")
"""What the bits of a result depend on."""


class ShardProgram:
    """A body, pickled, with the versions of the process that made it."""

    def __init__(self, body: Graph):
        self.data, self.versions, self.outputs = pickle.dumps(body), own_versions(), specs_of(body.outputs)
        self.name = hashlib.sha256(self.data + repr(self.versions).encode()).hexdigest()

    def __call__(self, operands: Sequence[np.ndarray], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs of the body, computed by one thread of BLAS: several could change their bits."""
        check_versions(self.versions)
        run = compile_program(self.data)
        with one_blas_thread:
            return [np.asarray(y) for y in run(*operands, *arrays)]


@lru_cache(256)
def compile_program(data: bytes) -> Any:
    """The compiled function of a pickled body: from the disk cache of this machine, or compiled now."""
    try:
        body = pickle.loads(data)
    except KeyError as missing:
        raise user_error(
            RuntimeError,
            f"The operation {missing} of the user's is not known to this process",
            "Import the module that defines it on all workers: client.run(import_module, name), or --preload.",
        ) from missing
    run = graph_function(body)
    run.__name__ = "shard"
    return compile(run)


@lru_cache(64)
def shard_program(body: Graph) -> ShardProgram:
    """The program of a body."""
    return ShardProgram(body)


@lru_cache(1)
def own_versions() -> tuple[str, ...]:
    """The versions of the packages that the bits of a result depend on, in this process."""
    return tuple([installed_version(package) for package in PACKAGES])


def installed_version(package: str) -> str:
    """The version of a package that can be imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return str(import_module(package).__version__)


def check_versions(theirs: tuple[str, ...]) -> None:
    """Raise an error if the process that made a program has other versions than this one."""
    own = own_versions()
    differences = [
        f"{package} {here} (there: {there})"
        for package, here, there in zip(PACKAGES, own, theirs, strict=True)
        if here != there
    ]
    if differences:
        raise user_error(
            RuntimeError,
            f"The worker at {worker_address()} has {', '.join(differences)}",
            "Install the same versions on all workers: results could differ in their last digits.",
        )


def worker_address() -> str:
    """The address of the worker that this task runs on."""
    try:
        return str(import_module("distributed").get_worker().address)
    except (ImportError, ValueError):
        return "this process"


class OneBlasThread:
    """A block in which BLAS uses one thread; several threads may be in it at once."""

    def __init__(self) -> None:
        self.count, self.lock, self.limit = 0, threading.Lock(), nullcontext[Any]()
        self.modules = 0
        self.controller: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.count and (controller := self.find_controller()) is not None:
                self.limit = controller.limit(limits=1, user_api="blas")
                self.limit.__enter__()
            self.count += 1

    def __exit__(self, *exc: object) -> None:
        with self.lock:
            self.count -= 1
            if not self.count:
                self.limit.__exit__(None, None, None)

    def find_controller(self) -> Any:
        """What knows the BLAS libraries of this process; None without threadpoolctl, which comes with the extra.

        A library comes with a module, so it is made again when there are new ones.
        """
        if self.modules != len(sys.modules):
            if find_spec("threadpoolctl"):
                self.controller = import_module("threadpoolctl").ThreadpoolController()
            self.modules = len(sys.modules)
        return self.controller


one_blas_thread = OneBlasThread()
