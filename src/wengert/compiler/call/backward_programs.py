"""Programs of backward passes: a tape is made again from its outline, with symbols, and the pass runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.entry.python_objects import is_supported
from wengert.compiler.machine.native import LOCK, NativeProgram, load_or_compile
from wengert.control.bodies import trace_body
from wengert.core.spec import Spec
from wengert.modes.backward import backward_pass
from wengert.modes.outlines import Fixed, Layout, Outline, Source
from wengert.modes.tape import TapeNode
from wengert.ops.shape.reshaping import broadcast_to, transpose

MOST_PROGRAMS = 64
"""The number of programs that are kept in memory."""


class BackwardProgram(NamedTuple):
    """A program, and the numbers of the leaves whose cotangents are its results."""

    native: NativeProgram
    leaves: list[int]


def run_program(outline: Outline, arrays: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray]] | None:
    """The cotangents of leaves, by the numbers of their nodes; None where NumPy would run a part of the program."""
    program = program_of(outline)
    if program is None:
        return None
    entry = program.native.entry
    results = entry(*arrays) if entry is not None else NotImplemented
    if results is NotImplemented:
        results = program.native(arrays)
    return list(zip(program.leaves, results, strict=True))


@lru_cache(MOST_PROGRAMS)
def program_of(outline: Outline) -> BackwardProgram | None:
    """The program of an outline; None if a rule cannot be traced, or NumPy would run a part of it."""
    specs, leaves = [layout.spec for layout in outline.inputs], []

    def pull(values: list[Any]) -> list[Any]:
        found = pull_tape(outline, values)
        leaves.extend(found)
        return list(found.values())

    try:
        graph = trace_body(pull, specs)
    except Exception:  # a rule looks at numbers, for which there are symbols here
        return None
    arguments = [Argument("array", spec) for spec in specs]
    outputs = [node.spec for node in graph.outputs]
    signature = EntrySignature(arguments, outputs) if is_supported() else None
    with LOCK:
        program = load_or_compile(graph, signature, "backward")
    return None if program.build.program.fallbacks else BackwardProgram(program, leaves)


def pull_tape(outline: Outline, values: Sequence[Any]) -> dict[int, Any]:
    """The cotangents of the leaves of a tape that is made again with other values, by their numbers."""
    inputs = [as_laid_out(value, layout) for value, layout in zip(values, outline.inputs, strict=True)]
    nodes: dict[int, TapeNode] = {}
    for i, step in reversed(list(enumerate(outline.steps))):  # the oldest first
        parents = tuple([None if p is None else nodes[p] for p in step.parents])
        params = {} if step.params is None else step.params.value
        saved = value_of(step.saved, inputs)
        nodes[i] = TapeNode(step.primitive, params, parents, saved, Spec(step.shape, step.dtype))
    numbers = {node: i for i, node in nodes.items()}
    found: dict[int, Any] = {}
    backward_pass(
        [(nodes[i], value_of(source, inputs)) for i, source in outline.seeds],
        lambda node, t: found.__setitem__(numbers[node], t),
    )
    return found


def as_laid_out(value: Any, layout: Layout) -> Any:
    """The array that has a layout, from the contiguous one behind it."""
    if layout.axes is None or layout.shape is None:
        return value
    return broadcast_to(transpose(value, layout.axes), layout.shape)


def value_of(source: Source, inputs: Sequence[Any]) -> Any:
    """The value that a source stands for."""
    if isinstance(source, tuple):
        return tuple([value_of(part, inputs) for part in source])
    return source.value if isinstance(source, Fixed) else inputs[source]
