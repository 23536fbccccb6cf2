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

import itertools
import math
from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine, native
from wengert.core.array import Array
from wengert.core.constant_key import BY_EQUALITY, constant_key
from wengert.core.spec import Spec
from wengert.modes.tape import TapeNode
from wengert.ops.indexing.key import Index

ROUTINES = frozenset(("multilinear", "general"))
"""Kinds of operations that are mostly functions of their own."""
NATIVE = frozenset(map(np.dtype, "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]))
"""The dtypes of inputs."""

read_node = attrgetter("primitive", "params", "parents", "saved", "shape", "dtype", "hooks")
read_spec, read_dtype, is_contiguous = (
    attrgetter("shape", "dtype"),
    attrgetter("dtype"),
    attrgetter("flags.c_contiguous"),
)
DESCRIBED = frozenset((Spec, type(None)))
"""The classes of what nodes save that describes itself."""
flatten = itertools.chain.from_iterable


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

    `inputs` are the arrays that the nodes saved or hold, and the cotangents, each once; `strides` are those of the ones
    that are not C-contiguous, and `known` has their numbers by identity. `key` is the outline: it has a number for each
    input, and equal tapes have equal keys. `hash` is that of the key.

    The key has a column for each attribute of the nodes, rather than a row for each node: columns are read and compared
    without a step of the interpreter for each node.
    """

    def __init__(self, order: Sequence[TapeNode], seeds: dict[TapeNode, Any]):
        self.order, self.seeds = order, seeds
        primitives, params, parents, saved, shapes, dtypes, hooks = zip(*map(read_node, order), strict=True)
        if hooks.count(None) < len(hooks):
            refuse_hooks(order)
        if any(primitive is not None and primitive.kind == "function" for primitive in set(primitives)):
            raise TypeError("a rule is a function of the user, which sees numbers")
        numbers: dict[TapeNode | None, int] = dict(zip(order, itertools.count(), strict=False))
        numbers[None] = len(order)
        values = list(flatten(saved))
        described: dict[int, Any] = dict(zip(map(id, values), values, strict=True))  # each once
        self.inputs: list[np.ndarray] = []
        self.known: dict[int, int] = {}
        self.strides: dict[int, tuple[int, ...]] = {}
        for identity, x in described.items():
            if x.__class__ is np.ndarray and identity not in self.known:  # no further call for most values
                described[identity] = self.add_input(x)
            elif x.__class__ not in DESCRIBED:
                described[identity] = self.describe_value(x)
        started = [(numbers[node], self.describe_value(t)) for node, t in seeds.items()]
        self.key = (
            *(primitives, shapes, dtypes),
            (*map(len, parents), *map(numbers.__getitem__, flatten(parents))),
            (*map(len, saved), *map(described.__getitem__, map(id, values))),
            tuple([self.describe_parameters(given) if given else None for given in params]),
            tuple(started),
            tuple(map(read_spec, self.inputs)),
            tuple(self.strides.items()),
        )
        if not NATIVE.issuperset(map(read_dtype, self.inputs)):
            raise TypeError("its numbers are not those of native code")
        self.hash = hash(self.key)

    @property
    def specs(self) -> list[Spec]:
        """The specs of the inputs."""
        return list(map(Spec.of, self.inputs))

    def describe_parameters(self, params: dict[str, Any]) -> tuple[Any, ...]:
        """What describes the parameters of a node: the keys of constants; arrays that they hold are inputs."""
        return *params, *[
            (x.__class__, x)
            if x.__class__ in BY_EQUALITY
            else constant_key(x)
            if x.__class__ is tuple
            else self.describe_parameter(x)
            for x in params.values()
        ]

    def describe_parameter(self, x: Any) -> Any:
        """What describes one parameter."""
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
        number = self.known[id(x)] = len(self.inputs)
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)
        elif not x.flags.c_contiguous:
            self.strides[number] = x.strides
        self.inputs.append(x)
        return number

    def release(self) -> None:
        """Release the history, as the pass node by node does."""
        for node in self.order:
            if node.primitive is not None:
                node.saved, node.parents = None, ()


def refuse_hooks(order: Sequence[TapeNode]) -> None:
    """Raise if nodes have hooks that a program does not call: it calls those that follow the gradient of a leaf."""
    for node in order:
        if node.hooks is not None and (node.primitive is not None or node.hooks.arrived):
            raise TypeError("hooks see the cotangents between operations")


def find_layout(x: Any) -> tuple[np.ndarray, MemoryLayout]:
    """The contiguous array behind an array, without a copy where there is one, and its layout."""
    if x.__class__ is not np.ndarray or x.flags.c_contiguous:
        return np.asarray(x), MemoryLayout(Spec(x.shape, x.dtype))
    single, order, axes = order_axes(x.shape, x.strides, x.itemsize)
    array = x if single is None else x[single]
    array = np.ascontiguousarray(array) if order is None else array.transpose(order)
    return array, MemoryLayout(Spec(array.shape, array.dtype), axes, x.shape)


@machine.kept("max_layouts_kept")
def order_axes(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> tuple[tuple[slice, ...] | None, tuple[int, ...] | None, tuple[int, ...]]:
    """The key of one element along each broadcast axis, if any, the order of axes in memory, and its inverse.

    There is no order where the array has gaps, or is reversed: then it is copied.
    """
    single = None if all(strides) else tuple([slice(None) if step else slice(0, 1) for step in strides])
    extents = [n if step else 1 for n, step in zip(shape, strides, strict=True)]
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    wanted = itemsize
    for axis in reversed(order):
        if extents[axis] != 1:
            if strides[axis] != wanted:
                return single, None, tuple(range(len(shape)))
            wanted *= extents[axis]
    return single, tuple(order), tuple([order.index(axis) for axis in range(len(shape))])


LEFT: dict[int, int] = {}
"""The nanoseconds that NumPy is left to spend on each outline, roughly, by its hash: so that nothing is kept alive."""
machine.on_change(LEFT.clear)

new_tapes = 0
"""The number of tapes of small arrays since one had come before, and had a program if it was time for one."""


def run_outlined(
    order: Sequence[TapeNode], seeds: dict[TapeNode, Any], retain: bool
) -> list[tuple[TapeNode, np.ndarray]] | None:
    """The cotangents of the leaves of a tape, from its program; None if there is none, or if it does not pay yet."""
    global new_tapes
    now = machine.current
    if len(order) > now.max_nodes_of_compiled_tape or not native.IS_ON:
        return None
    try:
        tape = OutlinedTape(order, seeds)
    except TypeError:  # a hook, a value of another mode, or a constant without a hash
        return None
    left = LEFT.get(tape.hash)
    is_new = left is None
    if left is None:
        if len(LEFT) >= now.max_tapes_counted:
            LEFT.clear()
        left = native.compile_time(count_compiled_operations(order))
    if left > 0:
        left = LEFT[tape.hash] = left - estimate_time(tape)
    run = native.find_native("backward_programs", "run_program") if left <= 0 else None
    found: list[tuple[TapeNode, np.ndarray]] | None = None if run is None else run(tape)
    if not is_new and (run is None or found is not None):
        new_tapes = 0
    if found is not None and not retain:
        tape.release()
    return found


def count_compiled_operations(order: Sequence[TapeNode]) -> int:
    """The number of operations of a tape, as they take time to compile."""
    routines = [node for node in order if node.primitive is not None and node.primitive.kind in ROUTINES]
    return len(order) + (machine.current.operations_of_routine - 1) * len(routines)


def estimate_time(tape: OutlinedTape) -> int:
    """The nanoseconds that NumPy takes for the backward pass, roughly."""
    now = machine.current
    saved = now.nanoseconds_of_choice_element * sum([x.size for x in tape.inputs])
    pulled = now.nanoseconds_of_pulled_element * count_elements(tape.order)
    return max(saved, pulled) + now.nanoseconds_of_node * len(tape.order)


def count_elements(order: Sequence[TapeNode]) -> int:
    """The number of elements of all nodes, roughly: some are counted for all."""
    step = 1 + len(order) // machine.current.max_nodes_sampled
    counted: int = sum([math.prod(node.shape) for node in order[::step] if node.dtype.__class__ is not tuple])
    return step * counted


def may_pay(order: Sequence[TapeNode]) -> bool:
    """Whether a tape without large arrays is worth an outline.

    It is long, which the backward pass asks, and its arrays are not tiny. If such tapes have never come again, most of
    them are not outlined.
    """
    global new_tapes
    now = machine.current
    if len(order) > now.max_nodes_of_compiled_tape:
        return False
    if count_elements(order) < now.min_elements_of_long_tape * len(order):
        return False
    new_tapes += 1
    return new_tapes <= now.new_tapes_before_sampling or new_tapes % now.new_tapes_before_sampling == 0
