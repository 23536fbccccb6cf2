"""Programs of backward passes: a tape is made again with symbols, and the pass runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.machine.native import LOCK, NativeProgram, load_or_compile
from wengert.control.bodies import trace_body
from wengert.core.spec import Spec
from wengert.modes.backward import backward_pass
from wengert.modes.known_tapes import add_known
from wengert.modes.outlines import ArrayHolder, MemoryLayout, OutlinedTape
from wengert.modes.tape import TapeNode
from wengert.ops.shape.reshaping import broadcast_to, transpose

MOST_PROGRAMS = 64
"""The number of programs that are kept in memory."""


MATCHED_AGAIN = 256
"""After so many runs on outlined tapes, code that recognises the last of them is written again: the tapes have another
form than the first, or too many others came between.
"""


class BackwardProgram:
    """A program, the numbers of the leaves whose cotangents are its results, and its runs on outlined tapes."""

    __slots__ = ("leaves", "native", "runs")

    def __init__(self, native: NativeProgram, leaves: list[int]):
        self.native, self.leaves, self.runs = native, leaves, 0


PROGRAMS: dict[int, tuple[Any, BackwardProgram | None]] = {}
"""The programs of outlines, by hash, with the outline; None for those that have none."""


def run_program(tape: OutlinedTape) -> list[tuple[TapeNode, np.ndarray]] | None:
    """The cotangents of the leaves of a tape; None if it has no program."""
    key, program = PROGRAMS.get(tape.hash, (None, None))
    if key != tape.key:
        if len(PROGRAMS) >= MOST_PROGRAMS:
            PROGRAMS.clear()
        program = compile_pass(tape)
        PROGRAMS[tape.hash] = tape.key, program
    if program is None:
        return None
    entry = program.native.entry
    results = entry(*tape.inputs) if entry is not None else NotImplemented
    if entry is not None and program.runs % MATCHED_AGAIN == 0:
        add_known(tape, entry, program.leaves)
    program.runs += 1
    if results is NotImplemented:
        results = program.native(tape.inputs)
    return [(tape.order[i], t) for i, t in zip(program.leaves, results, strict=True)]


def compile_pass(tape: OutlinedTape) -> BackwardProgram | None:
    """The program of a tape; None if a rule cannot be traced, or NumPy would run a part of it."""
    specs = tape.specs
    leaves: list[int] = []

    def pull(values: list[Any]) -> list[Any]:
        found = pull_again(tape, values)
        leaves.extend(found)
        return list(found.values())

    try:
        graph = trace_body(pull, specs)
    except Exception:  # a rule looks at numbers, for which there are symbols here
        return None
    arguments = [Argument("array", spec) for spec in specs]
    signature = EntrySignature(arguments, [node.spec for node in graph.outputs])
    with LOCK:
        program = load_or_compile(graph, signature, "backward")
    return BackwardProgram(program, leaves) if program.build.program.is_native else None


def pull_again(tape: OutlinedTape, values: Sequence[Any]) -> dict[int, Any]:
    """The cotangents of the leaves of a tape with other values as inputs, by the numbers of the leaves."""
    inputs = [as_laid_out(value, tape.layouts.get(i)) for i, value in enumerate(values)]
    new = {identity: inputs[i] for identity, i in tape.known.items()}
    copies: dict[Any, TapeNode | None] = {None: None}
    numbers: dict[TapeNode, int] = {}
    for i, node in reversed(list(enumerate(tape.order))):  # the oldest first
        parents = tuple([copies[parent] for parent in node.parents])
        params = {name: replace_arrays(p, new) for name, p in node.params.items()}
        copy = TapeNode(node.primitive, params, parents, replace_arrays(node.saved, new), Spec(node.shape, node.dtype))
        copies[node], numbers[copy] = copy, i
    found: dict[int, Any] = {}
    seeds = [(copies[node], replace_arrays(t, new)) for node, t in tape.seeds.items()]
    backward_pass(seeds, lambda node, t: found.__setitem__(numbers[node], t))  # type: ignore[arg-type]  # no seed is None
    return found


def replace_arrays(x: Any, new: dict[int, Any]) -> Any:
    """A saved value, or a parameter, with others instead of its arrays, by identity."""
    if id(x) in new:
        return new[id(x)]
    if isinstance(x, ArrayHolder):
        return x.with_arrays([replace_arrays(array, new) for array in x.arrays])
    return tuple([replace_arrays(part, new) for part in x]) if x.__class__ is tuple else x


def as_laid_out(value: Any, layout: MemoryLayout | None) -> Any:
    """The array that has a layout, from the contiguous one behind it."""
    if layout is None or layout.axes is None or layout.shape is None:
        return value
    return broadcast_to(transpose(value, layout.axes), layout.shape)
