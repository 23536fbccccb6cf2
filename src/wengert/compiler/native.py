"""Native: one program in memory, ready to be called; and how it comes there, compiled or from the disk."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import pickle
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler import cache as disk
from wengert.compiler import entry, program, python_objects, target
from wengert.compiler.expand import expand
from wengert.compiler.fingerprint import surroundings
from wengert.compiler.program import Program
from wengert.compiler.simd.vector_functions import object_of
from wengert.compiler.upcall import upcall
from wengert.core import allocator, parallel
from wengert.core.blas import blas
from wengert.core.errors import user_error
from wengert.core.primitive import OUTPUT, Primitive
from wengert.graph.graph import Graph
from wengert.graph.passes import REWRITES, settled
from wengert.graph.passes.fold import fold
from wengert.graph.passes.simplify import simplify
from wengert.graph.passes.subexpressions import common
from wengert.graph.passes.views import views

THREADS = ctypes.c_int64(1)
"""How many threads large kernels use, where native code reads it; set when a program is loaded."""

TIDY = (fold, common, simplify, views)
"""What runs after operations were expanded: no reduction may become a contraction again."""


class Build(NamedTuple):
    """A compiled program as it is kept on disk: `text` is LLVM's, compressed."""

    program: Program
    code: tuple[bytes, ...]
    text: bytes
    operations: tuple[int, int]
    seconds: float


class Native:
    """A compiled program. Called with the leaves of the arguments, it gives those of the result.

    `entry` is the function for Python to call directly, with arguments and a result like those that it was built for.
    """

    def __init__(self, build: Build, arguments: Sequence[entry.Argument] | None, name: str, is_warm: bool):
        if not allocator.is_configured:
            allocator.keep_freed_memory()
        THREADS.value = parallel.num_threads()
        self.build, self.is_warm = build, is_warm
        made = build.program
        addresses = {"wengert.threads": ctypes.addressof(THREADS), **python_objects.symbols()}
        if made.uses_blas:
            addresses |= blas().addresses
        self.loaded = target.Loaded(build.code, addresses)
        constants = [np.ascontiguousarray(value) for value in made.constants]
        upcalls = [
            upcall(work, made, constants) for work in made.fallbacks
        ]  # which do not know this object: that would be a cycle
        self.loaded.fill("wengert.constants", [array.ctypes.data for array in constants], constants)
        self.loaded.fill("wengert.upcalls", list(map(id, upcalls)), upcalls)
        self.failure = partial(failure, made.arena)
        self.caller = entry.Caller(self.loaded, made.inputs, made.outputs, releases_gil(made))
        self.entry: Callable | None = (
            entry.callable_from(self.loaded, name, self.failure) if arguments is not None else None
        )

    def __call__(self, leaves: Sequence[Any], targets: Mapping[int, np.ndarray] = entry.NO_TARGETS) -> list:
        """The results; of those that have a target, where the program can write them, that is filled in."""
        status, outs = self.caller(leaves, targets)
        if status:
            raise self.failure(status)
        return [out if out.ndim else out[()] for out in outs]


def failure(arena: int, status: int) -> BaseException:
    """What there is to say of a run that gave up."""
    if status == program.NO_MEMORY:
        return user_error(MemoryError, f"No memory for the {arena} bytes of intermediate results")
    return user_error(IndexError, "An index is out of bounds in a compiled function")


def releases_gil(made: Program) -> bool:
    return made.is_large and not made.fallbacks


def native(
    graph: Graph,
    arguments: Sequence[entry.Argument] | None,
    result: entry.Result | None,
    name: str,
    updates: Sequence[tuple[int, int]] = (),
) -> Native:
    """The program of a graph, from the disk if it was compiled before.

    With `arguments` it also has an entry for Python.

    `updates` pairs inputs with the outputs that take their place when the program has run.
    """
    signature = repr((arguments, result, tuple(updates))) if arguments is not None or updates else ""
    around = surroundings() if is_portable(graph) else None
    key = (
        hashlib.sha256("\n".join((graph.fingerprint, signature, around)).encode()).hexdigest()
        if around is not None
        else None
    )
    stored = disk.load(key) if key is not None else None
    if stored is not None:
        with contextlib.suppress(Exception):  # whatever it is that cannot be read, it is compiled again
            return Native(pickle.loads(stored), arguments, name, True)
    build = compiled(graph, arguments, result, updates)
    if key is not None:
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError, RecursionError):
            disk.store(key, pickle.dumps(build))
    return Native(build, arguments, name, False)


def compiled(
    graph: Graph,
    arguments: Sequence[entry.Argument] | None,
    result: entry.Result | None,
    updates: Sequence[tuple[int, int]] = (),
) -> Build:
    """trace -> passes -> schedule -> memory plan -> LLVM -> machine code."""
    start = time.perf_counter()
    optimised = prepared(graph)
    made = program.write(optimised, updates)
    text = made.text
    if arguments is not None and result is not None:
        text = joined(text, entry.text(arguments, result, releases_gil(made)))
    code = [target.object_code(text), *[object_of(*key) for key in made.vector_functions]]
    if made.quick_text:
        code.append(target.object_code(made.quick_text, is_long=True))
    counts = len(graph.operations), len(optimised.operations)
    shown = zlib.compress((text + "\n\n" + made.quick_text).encode(), 1)
    return Build(made._replace(text="", quick_text=""), tuple(code), shown, counts, time.perf_counter() - start)


def joined(text: str, more: str) -> str:
    """Two texts as one module: what both declare is declared once."""
    known = set(text.splitlines())
    return "\n".join(
        [text, "", *[line for line in more.splitlines() if not (line.startswith("declare ") and line in known)]]
    )


def prepared(graph: Graph) -> Graph:
    """The graph as it is scheduled: optimised, expanded, and tidied up after that."""
    optimised = settled(graph, REWRITES)
    expanded = expand(optimised)
    return expanded if expanded.outputs == optimised.outputs else settled(expanded, TIDY)


def is_portable(graph: Graph) -> bool:
    """Whether every operation belongs to this package, so that another process knows the same by its name."""
    return all(node.primitive is OUTPUT or node.primitive in own_operations() for node in graph.operations)


@cache
def own_operations() -> frozenset[Primitive]:
    """The operations that modules of this package define; users may add others to the table."""
    modules = [module for name, module in sys.modules.items() if name.startswith("wengert.")]
    functions = [f for module in modules for f in vars(module).values() if isinstance(f, FunctionType)]
    return frozenset([f.primitive for f in functions if isinstance(getattr(f, "primitive", None), Primitive)])  # type: ignore[attr-defined]  # functions of the table
