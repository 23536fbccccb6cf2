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
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.modes.tape import TapeNode

LONGEST = 256
"""The most nodes of a tape that is compiled: a longer one would take seconds."""
MOST_OUTLINES = 64
"""The number of different tapes whose time is counted."""
NODES_OF_KERNEL = 8
"""So many nodes take as long to compile as one kernel."""


class Fixed:
    """A constant of an outline, compared by a key."""

    __slots__ = ("key", "value")

    def __init__(self, key: Any, value: Any):
        self.key, self.value = key, value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Layout(NamedTuple):
    """How an array lies in memory: it is a contiguous one whose axes are permuted, and then broadcast to a shape.

    A contiguous array has no axes here, and no other shape.
    """

    spec: Spec
    axes: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None


Source = int | Fixed | tuple[Any, ...]
"""What a rule reads: one of the inputs of the program, a constant, or several of these."""


class Step(NamedTuple):
    """A node of a tape: what its rules are called with, and the numbers of its parents."""

    primitive: Primitive | None
    params: Fixed | None
    parents: tuple[int | None, ...]
    saved: Source
    shape: tuple[int, ...]
    dtype: np.dtype


class Outline(NamedTuple):
    """A tape without its arrays, newest nodes first: equal outlines have equal programs."""

    steps: tuple[Step, ...]
    seeds: tuple[tuple[int, Source], ...]
    inputs: tuple[Layout, ...]


class OutlinedTape:
    """The outline of a tape, and the arrays that are the inputs of its program."""

    def __init__(self, order: Sequence[TapeNode], seeds: dict[TapeNode, Any]):
        self.arrays: list[np.ndarray] = []
        self.layouts: list[Layout] = []
        self.known: dict[int, int] = {}
        self.elements = 0
        self.numbers = {node: i for i, node in enumerate(order)}
        started = tuple([(self.numbers[node], self.source(t)) for node, t in seeds.items()])
        self.outline = Outline(tuple([self.step(node) for node in order]), started, tuple(self.layouts))

    def step(self, node: TapeNode) -> Step:
        """The step of a node."""
        if node.hooks is not None and (node.primitive is not None or node.hooks.arrived):
            raise TypeError("hooks see the cotangents between operations")
        if node.primitive is not None and node.primitive.kind == "function":
            raise TypeError("its rule is a function of the user, which sees numbers")
        parents = tuple([None if p is None else self.numbers[p] for p in node.parents])
        params = node.params and Fixed(tuple([(k, constant_key(v)) for k, v in node.params.items()]), node.params)
        return Step(node.primitive, params or None, parents, self.source(node.saved), node.shape, node.dtype)

    def source(self, x: Any) -> Source:
        """What stands for a value: arrays and NumPy's numbers are inputs, everything else is a constant."""
        kind = x.__class__
        if kind is np.ndarray or isinstance(x, np.generic):
            number = self.known.get(id(x))
            return self.input(x) if number is None else number
        if kind is tuple:
            return tuple([self.source(part) for part in x])
        if isinstance(x, Array | np.ndarray):
            raise TypeError("a value of another mode")
        return Fixed(constant_key(x), x)

    def input(self, x: Any) -> int:
        """The number of a new input."""
        number = self.known[id(x)] = len(self.arrays)
        if x.dtype.kind not in "fcbiu" or not x.dtype.isnative:
            raise TypeError("its numbers are not those of native code")
        array, layout = find_layout(x)
        self.elements += array.size
        self.arrays.append(array)
        self.layouts.append(layout)
        return number


def find_layout(x: Any) -> tuple[np.ndarray, Layout]:
    """The contiguous array behind an array, without a copy where there is one, and its layout."""
    if x.__class__ is not np.ndarray or x.flags.c_contiguous:
        array = np.asarray(x)
        return array, Layout(Spec(array.shape, array.dtype))
    single = x[tuple([slice(0, 1) if not step else slice(None) for step in x.strides])]
    order = sorted(range(x.ndim), key=lambda axis: -abs(single.strides[axis]))
    array = single.transpose(order)
    if not array.flags.c_contiguous:
        array, order = np.ascontiguousarray(single), list(range(x.ndim))
    axes = tuple([order.index(axis) for axis in range(x.ndim)])
    return array, Layout(Spec(array.shape, array.dtype), axes, x.shape)


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
        if len(SPENT) >= MOST_OUTLINES:
            SPENT.clear()
        pays = native.PAYS * (1 + len(order) // NODES_OF_KERNEL)
        key = hash(tape.outline)
        spent = SPENT[key] = min(SPENT.get(key, 0) + tape.elements * native.EXPENSIVE, pays)
    except TypeError:  # a hook, a value of another mode, or a constant without a hash
        return None
    program = native.find_native("backward_programs", "run_program") if spent == pays else None
    found = None if program is None else program(tape.outline, tape.arrays)
    if found is None:
        return None
    if not retain:
        for node in order:
            if node.primitive is not None:
                node.saved, node.parents = None, ()
    return [(order[i], t) for i, t in found]
