"""C files compiled by the compiler of this machine, warnings as errors, and loaded as functions of arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from wengert.compiler.forms.failures import FAILURES
from wengert.compiler.program.program import FIRST_FAILURE
from wengert.export.c_source import CSource, write_c
from wengert.export.interface import Interface, make_interface
from wengert.graph.graph import Graph

COMPILER = shutil.which("gcc") or shutil.which("clang")
FLAGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"),
    *("-Wshadow", "-Wmissing-prototypes", "-Wconversion", "-Wsign-conversion", "-Wcast-qual"),
)
GUARD = 0x5A
"""What is in memory before a call, and around arrays after it."""

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler on this machine")


class Written(NamedTuple):
    """A program in C, and its interface."""

    source: CSource
    interface: Interface


def write_graph(graph: Graph, name: str) -> Written:
    """The C file of a graph."""
    interface = make_interface(lambda: None, graph, [node.name for node in graph.inputs], name, None)
    return Written(write_c(graph, interface), interface)


def compile_graphs(graphs: Mapping[str, Graph], compiler: str | None = COMPILER) -> dict[str, Callable[..., list]]:
    """The functions of several graphs, by name, from one shared library."""
    assert compiler is not None
    programs = {name: write_graph(graph, name) for name, graph in graphs.items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, program in programs.items():
            (Path(folder) / f"{name}.c").write_text(program.source.text)
        files = [f"{name}.c" for name in programs]
        command = [compiler, *FLAGS, "-shared", "-fPIC", *files, "-o", "programs.so", "-lm"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr[:4000]
        library = ctypes.CDLL(str(Path(folder) / "programs.so"))
    return {name: bind(program, library) for name, program in programs.items()}


def bind(program: Written, library: ctypes.CDLL) -> Callable[..., list[np.ndarray]]:
    """A function of arrays that calls one of C: memory around results and the arena is checked.

    The arena is not aligned.
    """
    (_, arena), interface = program.source, program.interface
    function = getattr(library, interface.name)
    function.restype = ctypes.c_int32

    def call(*args: Any) -> list[np.ndarray]:
        given = [np.array(x, p.spec.dtype, order="C") for x, p in zip(args, interface.inputs, strict=True)]
        assert [x.shape for x in given] == [p.spec.shape for p in interface.inputs]
        specs = [p.spec for p in interface.outputs]
        memory = [np.full(128 + spec.size * spec.dtype.itemsize, GUARD, np.uint8) for spec in specs]
        scratch = np.full(arena + 125, GUARD, np.uint8)
        before = [x.tobytes() for x in given]
        addresses = [*[x.ctypes.data for x in given], *[m.ctypes.data + 64 for m in memory], scratch.ctypes.data + 61]
        status = function(*map(ctypes.c_void_p, addresses))
        assert [x.tobytes() for x in given] == before, "an input was changed"
        for whole, start in (*[(m, 64) for m in memory], (scratch, 61)):
            assert (whole[:start] == GUARD).all(), "written before an array"
            assert (whole[-64:] == GUARD).all(), "written behind an array"
        if status:
            raise FAILURES[status - FIRST_FAILURE].error()
        return [m[64:-64].view(spec.dtype).reshape(spec.shape) for m, spec in zip(memory, specs, strict=True)]

    return call
