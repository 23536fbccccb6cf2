"""Outlines of tapes: the backward pass as one program, where the same tape comes again and again.

A training records the same operations in every step. The outline of a tape is everything but its numbers: operations,
parameters, wires, shapes and layouts. Where tapes of one outline have taken as much time as a compiler would, the pass
is traced, by running it on symbols, and compiled. Later tapes are outlined too, which takes a few microseconds a node,
and only those with an equal outline run the program. Which pass runs depends on sizes and counts only, so the same
program has the same results each time.

Everything else is left to the pass node by node: small arrays, hooks, passes that are recorded or checked, values of
other modes, rules that cannot be traced, and programs that would run a part in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core import native
from wengert.core.array import Array
from wengert.core.constant_key import constant_key
from wengert.core.spec import Spec
from wengert.modes.tape import TapeNode

LONGEST = 256
"""The most nodes of a tape that is compiled: a longer one would take seconds."""
MOST_OUTLINES = 64
"""The number of different tapes whose time is counted."""


class MemoryLayout(NamedTuple):
    """How an array lies in memory: it is a contiguous one whose axes are permuted, and then broadcast to a shape.

    A contiguous array has no axes here, and no other shape.
    """

    spec: Spec
    axes: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None


class OutlinedTape:
    """A tape with its outline: nodes, newest first, and the cotangents that a pass starts with.

    `inputs` are the arrays that the nodes saved, and the cotangents, each once; `known` has their numbers by identity.
    `key` is the outline: it has a number for each input, and equal tapes have equal keys.
    """

    def __init__(self, order: Sequence[TapeNode], seeds: dict[TapeNode, Any]):
        self.order, self.seeds = order, seeds
        self.inputs: list[np.ndarray] = []
        self.layouts: list[MemoryLayout] = []
        self.known: dict[int, int] = {}
        numbers: dict[TapeNode | None, int] = {node: i for i, node in enumerate(order)}
        numbers[None] = len(order)
        find = numbers.__getitem__
        steps = [
            (node.primitive, *map(find, node.parents), *self.describe(node), node.shape, node.dtype) for node in order
        ]
        started = [(find(node), self.describe_value(t)) for node, t in seeds.items()]
        self.key = tuple(steps), tuple(started), tuple(self.layouts)

    def describe(self, node: TapeNode) -> tuple[Any, Any]:
        """What describes the parameters of a node, and what it saved."""
        primitive, hooks, params = node.primitive, node.hooks, node.params
        if hooks is not None and (primitive is not None or hooks.arrived):
            raise TypeError("hooks see the cotangents between operations")
        if primitive is not None and primitive.kind == "function":
            raise TypeError("its rule is a function of the user, which sees numbers")
        described = tuple([(name, constant_key(value)) for name, value in params.items()]) if params else None
        return described, self.describe_value(node.saved)

    def describe_value(self, x: Any) -> Any:
        """What describes a value: the number of an input, for arrays and NumPy's numbers, or the key of a constant."""
        kind = x.__class__
        if x is None or id(x) in self.known:
            return self.known.get(id(x))
        if kind is tuple:
            return tuple([self.describe_value(part) for part in x])
        if kind is np.ndarray or isinstance(x, np.generic):
            return self.add_input(x)
        if isinstance(x, Array | np.ndarray):
            raise TypeError("a value of another mode")
        return constant_key(x)

    def add_input(self, x: Any) -> int:
        """The number of a new input."""
        if x.dtype.kind not in "fcbiu" or not x.dtype.isnative:
            raise TypeError("its numbers are not those of native code")
        number = self.known[id(x)] = len(self.inputs)
        array, layout = find_layout(x)
        self.inputs.append(array)
        self.layouts.append(layout)
        return number

    def release(self) -> None:
        """Release the history, as the pass node by node does."""
        for node in self.order:
            if node.primitive is not None:
                node.saved, node.parents = None, ()


def find_layout(x: Any) -> tuple[np.ndarray, MemoryLayout]:
    """The contiguous array behind an array, without a copy where there is one, and its layout."""
    if x.__class__ is not np.ndarray or x.flags.c_contiguous:
        return np.asarray(x), MemoryLayout(Spec(x.shape, x.dtype))
    single = x[tuple([slice(None) if step else slice(0, 1) for step in x.strides])]
    order = sorted(range(x.ndim), key=lambda axis: -abs(single.strides[axis]))
    array = single.transpose(order)
    if not array.flags.c_contiguous:
        array, order = np.ascontiguousarray(single), list(range(x.ndim))
    axes = tuple([order.index(axis) for axis in range(x.ndim)])
    return array, MemoryLayout(Spec(array.shape, array.dtype), axes, x.shape)


SPENT: dict[int, int] = {}
"""The nanoseconds that were spent on each outline so far, roughly, by its hash: so that nothing is kept alive."""


def run_outlined(
    order: Sequence[TapeNode], seeds: dict[TapeNode, Any], retain: bool
) -> list[tuple[TapeNode, np.ndarray]] | None:
    """The cotangents of the leaves of a tape, from its program; None if there is none, or if it does not pay yet."""
    if len(order) > LONGEST or not native.IS_ON:
        return None
    try:
        tape = OutlinedTape(order, seeds)
        outline = hash(tape.key)
    except TypeError:  # a hook, a value of another mode, or a constant without a hash
        return None
    if len(SPENT) >= MOST_OUTLINES:
        SPENT.clear()
    pays = native.compile_time(len(order))
    nanoseconds = native.EXPENSIVE * sum([x.size for x in tape.inputs])
    spent = SPENT[outline] = min(SPENT.get(outline, 0) + nanoseconds, pays)
    run = native.find_native("backward_programs", "run_program") if spent == pays else None
    found: list[tuple[TapeNode, np.ndarray]] | None = None if run is None else run(tape)
    if found is not None and not retain:
        tape.release()
    return found
