"""A compiled program as it is kept on disk."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np

from wengert.compiler.entry.tuning import TimedDecisions
from wengert.compiler.program.program import Program
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of


class Build(NamedTuple):
    """A compiled program; `text` is its LLVM text, compressed, and `trials` are decisions that were measured."""

    program: Program
    code: tuple[bytes, ...]
    text: bytes
    operations: tuple[int, int]
    seconds: float
    trials: tuple[TimedDecisions, ...] = ()


class GraphConstant(NamedTuple):
    """An array that the traced graph has, by its number: whoever asks for the program has the graph."""

    number: int


def dump_build(build: Build, graph: Graph) -> bytes:
    """The bytes of a program for the disk, without the arrays of the graph that it was compiled from."""
    numbers = {id(array): i for i, array in enumerate(constant_arrays(graph))}
    known = [GraphConstant(numbers[id(x)]) if id(x) in numbers else x for x in build.program.constants]
    return pickle.dumps(with_constants(build, known))


def load_build(stored: bytes, graph: Graph) -> Build:
    """The program that was stored for a graph with the same fingerprint."""
    build: Build = pickle.loads(stored)
    arrays = constant_arrays(graph)
    found = [arrays[x.number] if isinstance(x, GraphConstant) else x for x in build.program.constants]
    return with_constants(build, found)


def with_constants(build: Build, constants: list) -> Build:
    """The same program with these constants."""
    return build._replace(program=build.program._replace(constants=tuple(constants)))


def constant_arrays(graph: Graph) -> list[np.ndarray]:
    """The arrays among the constants of a graph and of those that it holds, in an order that its fingerprint fixes."""
    found = [node.value for node in graph.constants if isinstance(node.value, np.ndarray)]
    for node in graph.operations:
        for part in graphs_of(node):
            found += constant_arrays(part.graph)
    return found
