"""Outlines of tapes: the backward pass as one program, where the same tape comes again and again.

A training records the same operations in every step. The outline of a tape is everything but its numbers: operations,
parameters, wires, shapes and layouts. Where tapes of one outline have taken as much time as a compiler would, the pass
is traced, by running it on symbols, and compiled. Later tapes are outlined too, which takes a few microseconds a node,
and only those with an equal outline run the program. Which pass runs depends on sizes and counts only, so the same
program has the same results each time.

Everything else is left to the pass node by node: small arrays on short tapes, hooks, passes that are recorded or
checked, values of other modes, rules that cannot be traced, and programs that would run a part in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core import native
from wengert.core.array import Array
from wengert.core.constant_key import constant_key
from wengert.core.spec import Spec
from wengert.modes.tape import TapeNode
from wengert.ops.indexing.key import Index

LONGEST = 1024
"""The most nodes of a tape that is compiled: a longer one would take many seconds."""
LONG, SMALL = 64, 64
"""Tapes with so many nodes are outlined even if their arrays are not large, but have so many elements on average."""
ROUTINES, ROUTINE = frozenset(("multilinear", "general")), 8
"""Kinds of operations that are mostly functions of their own, and how many others take as long to compile."""
NODE = 1 << 13
"""The nanoseconds that a node takes whatever its size."""
MOST_SAMPLES = 64
"""The number of nodes whose elements are counted."""
MOST_OUTLINES = 64
"""The number of different tapes whose time is counted."""
MOST_NEW = 16
"""After so many tapes of small arrays of which none had come before, only one in so many is outlined."""


class MemoryLayout(NamedTuple):
    """How an array lies in memory: it is a contiguous one whose axes are permuted, and then broadcast to a shape.

    A contiguous array has no axes here, and no other shape.
    """

    spec: Spec
    axes: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None


class ArrayHolder:
    """A parameter of a node that holds arrays for its rule, as that of a compiled call does.

    `outline` is equal for two that do the same, except for the numbers in their arrays.
    """

    arrays: Sequence[Any]
    outline: Hashable

    def with_arrays(self, arrays: Sequence[Any]) -> ArrayHolder:
        """The parameter with other values, which may be symbols."""
        raise NotImplementedError  # each kind defines it


class OutlinedTape:
    """A tape with its outline: nodes, newest first, and the cotangents that a pass starts with.

    `inputs` are the arrays that the nodes saved or hold, and the cotangents, each once, or the contiguous ones behind
    them; `specs` are theirs, `layouts` those of the others, and `known` has their numbers by identity. `key` is the
    outline: it has a number for each input, and equal tapes have equal keys. `hash` is that of the key.
    """

    def __init__(self, order: Sequence[TapeNode], seeds: dict[TapeNode, Any]):
        self.order, self.seeds = order, seeds
        self.inputs: list[np.ndarray] = []
        self.specs: list[Spec] = []
        self.layouts: dict[int, MemoryLayout] = {}
        self.known: dict[int, int] = {}
        numbers: dict[TapeNode | None, int] = {node: i for i, node in enumerate(order)}
        numbers[None] = len(order)
        find, describe = numbers.__getitem__, self.describe_value
        started = [(find(node), describe(t)) for node, t in seeds.items()]
        steps = []
        for node in order:
            if node.hooks is not None or node.primitive is None or node.primitive.kind == "function":
                refuse_node(node)
            params = node.params and (*node.params, *map(self.describe_parameter, node.params.values()))
            saved = tuple(map(describe, node.saved or ()))
            steps.append((node.primitive, *map(find, node.parents), params or None, saved, node.shape, node.dtype))
        self.key = tuple(steps), tuple(started), tuple(self.specs), tuple(self.layouts.items())
        self.hash = hash(self.key)

    def describe_parameter(self, x: Any) -> Any:
        """What describes a parameter: the key of a constant; the arrays that one holds are inputs."""
        if x.__class__ is Index:
            return x.as_tuple()
        if isinstance(x, ArrayHolder):
            return x.outline, tuple([self.describe_value(array) for array in x.arrays])
        return constant_key(x)

    def describe_value(self, x: Any) -> Any:
        """What describes a value: the number of an input, for arrays and NumPy's numbers, or the key of a constant."""
        number = self.known.get(id(x))
        if number is not None or x is None:
            return number
        kind = x.__class__
        if kind is np.ndarray:
            return self.add_input(x)
        if kind is Spec:
            return x
        if kind is tuple:
            return tuple([self.describe_value(part) for part in x])
        if isinstance(x, np.generic):
            return self.add_input(x)
        if isinstance(x, Array | np.ndarray):
            raise TypeError("a value of another mode")
        return constant_key(x)

    def add_input(self, x: Any) -> int:
        """The number of a new input."""
        dtype = x.dtype
        if dtype.kind not in "fcbiu" or not dtype.isnative:
            raise TypeError("its numbers are not those of native code")
        number = self.known[id(x)] = len(self.inputs)
        if x.__class__ is not np.ndarray or x.flags.c_contiguous:
            x = np.asarray(x)
        else:
            x, self.layouts[number] = find_layout(x)
        self.inputs.append(x)
        self.specs.append(Spec.of(x))
        return number

    def release(self) -> None:
        """Release the history, as the pass node by node does."""
        for node in self.order:
            if node.primitive is not None:
                node.saved, node.parents = None, ()


def refuse_node(node: TapeNode) -> None:
    """Raise if a node is not one that a program can have."""
    hooks = node.hooks
    if hooks is not None and (node.primitive is not None or hooks.arrived):
        raise TypeError("hooks see the cotangents between operations")
    if node.primitive is not None and node.primitive.kind == "function":
        raise TypeError("its rule is a function of the user, which sees numbers")


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


LEFT: dict[int, int] = {}
"""The nanoseconds that NumPy is left to spend on each outline, roughly, by its hash: so that nothing is kept alive."""

new_tapes = 0
"""The number of tapes of small arrays since one had come before, and had a program if it was time for one."""


def run_outlined(
    order: Sequence[TapeNode], seeds: dict[TapeNode, Any], retain: bool
) -> list[tuple[TapeNode, np.ndarray]] | None:
    """The cotangents of the leaves of a tape, from its program; None if there is none, or if it does not pay yet."""
    global new_tapes
    if len(order) > LONGEST or not native.IS_ON:
        return None
    try:
        tape = OutlinedTape(order, seeds)
    except TypeError:  # a hook, a value of another mode, or a constant without a hash
        return None
    left = LEFT.get(tape.hash)
    is_new = left is None
    if left is None:
        if len(LEFT) >= MOST_OUTLINES:
            LEFT.clear()
        left = native.compile_time(count_operations(order))
    if left > 0:
        left = LEFT[tape.hash] = left - estimate_time(tape)
    run = native.find_native("backward_programs", "run_program") if left <= 0 else None
    found: list[tuple[TapeNode, np.ndarray]] | None = None if run is None else run(tape)
    if not is_new and (run is None or found is not None):
        new_tapes = 0
    if found is not None and not retain:
        tape.release()
    return found


def count_operations(order: Sequence[TapeNode]) -> int:
    """The number of operations of a tape, as they take time to compile."""
    routines = [node for node in order if node.primitive is not None and node.primitive.kind in ROUTINES]
    return len(order) + (ROUTINE - 1) * len(routines)


def estimate_time(tape: OutlinedTape) -> int:
    """The nanoseconds that NumPy takes for the backward pass, roughly."""
    saved = native.EXPENSIVE * sum([x.size for x in tape.inputs])
    return max(saved, native.PULLED * count_elements(tape.order)) + NODE * len(tape.order)


def count_elements(order: Sequence[TapeNode]) -> int:
    """The number of elements of all nodes, roughly: some are counted for all."""
    step = 1 + len(order) // MOST_SAMPLES
    counted: int = sum([math.prod(node.shape) for node in order[::step] if node.dtype.__class__ is not tuple])
    return step * counted


def may_pay(order: Sequence[TapeNode]) -> bool:
    """Whether a tape without large arrays is worth an outline.

    It is long, and its arrays are not tiny. If such tapes have never come again, most of them are not outlined.
    """
    global new_tapes
    if not LONG <= len(order) <= LONGEST or count_elements(order) < SMALL * len(order):
        return False
    new_tapes += 1
    return new_tapes <= MOST_NEW or new_tapes % MOST_NEW == 0
