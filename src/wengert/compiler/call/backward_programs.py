"""Programs of backward passes: a tape is made again with symbols, and the pass runs on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.call.parted_program import compile_parts
from wengert.control.bodies import trace_body
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.modes.backward import backward_pass
from wengert.modes.known_tapes import add_known
from wengert.modes.outlines import ArrayHolder, OutlinedTape
from wengert.modes.tape import TapeNode


class BackwardProgram:
    """A program, the numbers of the leaves whose cotangents are its results, and its runs on outlined tapes."""

    __slots__ = ("leaves", "run", "runs")

    def __init__(self, run: Callable[..., Any], leaves: list[int]):
        self.run, self.leaves, self.runs = run, leaves, 0


PROGRAMS: dict[int, tuple[Any, BackwardProgram | None]] = {}
"""The programs of outlines, by hash, with the outline; None for those that have none."""
machine.on_change(PROGRAMS.clear)


def run_program(tape: OutlinedTape) -> list[tuple[TapeNode, np.ndarray]] | None:
    """The cotangents of the leaves of a tape; None if it has no program."""
    key, program = PROGRAMS.get(tape.hash, (None, None))
    now = machine.current
    if key != tape.key:
        if len(PROGRAMS) >= now.max_tape_programs:
            PROGRAMS.clear()
        program = compile_pass(tape)
        PROGRAMS[tape.hash] = tape.key, program
    if program is None:
        return None
    results = program.run(*tape.inputs)
    if results is NotImplemented:  # unaligned arrays
        return None
    if program.runs % now.outlined_runs_between_matches == 0:  # the tapes may have another form now than the first
        add_known(tape, program.run, program.leaves)
    program.runs += 1
    return [(tape.order[i], t) for i, t in zip(program.leaves, results, strict=True)]


def compile_pass(tape: OutlinedTape) -> BackwardProgram | None:
    """The program of a tape; None if a rule cannot be traced, or if it gives other results with symbols.

    The program has the bits of the pass node by node, because it runs the same operations (`parted_program.py`). A rule
    may ask whether it is given symbols, and use other operations then: so results are compared once.
    """
    leaves: list[int] = []

    def pull(values: list[Any]) -> list[Any]:
        found = pull_again(tape, values)
        leaves.extend(found)
        return list(found.values())

    try:
        graph = trace_body(pull, tape.specs)
    except Exception:  # a rule looks at numbers, for which there are symbols here
        return None
    run = compile_parts(graph, tape.inputs)
    results = NotImplemented if run is None else run(*tape.inputs)
    if run is None or results is NotImplemented:
        return None
    expected = pull_again(tape, tape.inputs)
    same = leaves == list(expected) and all(map(has_same_bits, results, expected.values()))
    return BackwardProgram(run, leaves) if same else None


def has_same_bits(x: Any, y: Any) -> bool:
    """Whether two arrays have the same bits, NaN whatever its own, and lie in memory in the same way."""
    x, y = np.asarray(x), np.asarray(y)
    if (x.shape, x.dtype) != (y.shape, y.dtype) or (x.strides != y.strides and x.size > 1):
        return False
    return bool(
        np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x), np.signbit(y))
        if x.dtype.kind == "f"
        else x.tobytes() == y.tobytes()
    )


def pull_again(tape: OutlinedTape, values: Sequence[Any]) -> dict[int, Any]:
    """The cotangents of the leaves of a tape with other values as inputs, by the numbers of the leaves.

    It runs node by node.
    """
    new = {identity: values[i] for identity, i in tape.known.items()}
    copies: dict[Any, TapeNode | None] = {None: None}
    numbers: dict[TapeNode, int] = {}
    for i, node in reversed(list(enumerate(tape.order))):  # the oldest first
        parents = tuple([copies[parent] for parent in node.parents])
        params = {name: replace_arrays(p, new) for name, p in node.params.items()}
        copy = TapeNode(node.primitive, params, parents, replace_arrays(node.saved, new), Spec(node.shape, node.dtype))
        copies[node], numbers[copy] = copy, i
    found: dict[int, Any] = {}
    seeds = [(copies[node], replace_arrays(t, new)) for node, t in tape.seeds.items()]
    leaves = {copies[node] for node in tape.order if node.primitive is None}  # with targets, there is no program
    backward_pass(seeds, lambda node, t: found.__setitem__(numbers[node], t), targets=leaves)  # type: ignore[arg-type]  # no seed is None
    return found


def replace_arrays(x: Any, new: dict[int, Any]) -> Any:
    """A saved value, or a parameter, with others instead of its arrays, by identity."""
    if id(x) in new:
        return new[id(x)]
    if isinstance(x, ArrayHolder):
        return x.with_arrays([replace_arrays(array, new) for array in x.arrays])
    return tuple([replace_arrays(part, new) for part in x]) if x.__class__ is tuple else x
