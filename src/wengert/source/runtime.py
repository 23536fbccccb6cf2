"""What rewritten functions call: statements that run as Python does, or become operations if a value is not known yet.

Whatever plain Python values decide stays plain Python. A branch or loop on a traced value becomes one operation, whose
operands are the variables that it changes.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.control.bodies import Closed, close_function
from wengert.control.branches import cond, run_closed
from wengert.control.loops import is_in_trace, scan, while_loop
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, make_constant
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.predicates import logical_and, logical_not, logical_or
from wengert.ops.indexing.subscripts import set_at
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to

slice = builtins.slice
UNROLLED = 16
"""A loop of at most so many steps is written out."""
RESULT = "__result__"
"""The variable that holds what a function returns from inside a branch or loop."""
PYTHON_NUMBERS = (bool, int, float, complex)
Values = tuple[Any, ...]
Step = Callable[..., Values]


class Undefined:
    """Stands for a variable that has no value."""

    def __init__(self, name: str, why: str = ""):
        self.name, self.why = name, why

    def __getattr__(self, name: str) -> Any:
        raise NameError(f"the variable {self.name!r} has no value here{self.why and ': ' + self.why}")

    def __repr__(self) -> str:
        return f"<{self.name} has no value>"


class NotRolled(Exception):  # a message from a loop to the one that runs it
    """A loop whose steps differ in more than the numbers of its variables."""


def variable(read: Callable[[], Any], name: str) -> Any:
    """The value of a variable, or `Undefined`."""
    try:
        return read()
    except NameError:
        return Undefined(name)


def is_unknown(x: Any) -> bool:
    """Whether the numbers of a value are known only when the program runs."""
    return isinstance(x, Array) and any(isinstance(payload, Symbol) for payload in iterate_payloads(x))


def is_state(x: Any) -> bool:
    """Whether a value can be a state of a loop or a result of a branch: a tree of arrays and numbers."""
    if x is None or isinstance(x, Undefined | str):
        return False
    leaves = tree.flatten(x)[0]
    return bool(leaves) and all(isinstance(a, Array | np.ndarray | np.generic | int | float | complex) for a in leaves)


# Branches


def branch(test: Callable[[], Any], then: Step, otherwise: Step, values: Values, names: tuple[str, ...]) -> Values:
    """`if`: the new values of the variables that the branches change."""
    decided = test()
    if not is_unknown(decided):
        return then(*values) if decided else otherwise(*values)
    return choose_values(decided, then, otherwise, values, names)


def choose_values(test: Any, then: Step, otherwise: Step, values: Values, names: tuple[str, ...]) -> Values:
    """The same for a test that is not known yet: an operation that holds both branches."""
    found: list[Values] = []

    def trace(function: Step) -> Callable[[list[Any]], list[Any]]:
        def run(_: list[Any]) -> list[Any]:
            found.append(function(*values))
            return [leaf for y in found[-1] if is_state(y) for leaf in map(as_operand, tree.flatten(y)[0])]

        return run

    closed = [close_function(trace(function), [], "a branch") for function in (otherwise, then)]
    nodes = [outputs_by_variable(outs, body.outputs) for outs, (body, _) in zip(found, closed, strict=True)]
    results: list[Any] = [None] * len(names)
    chosen: dict[int, tree.Structure] = {}
    outputs: tuple[list[Node], list[Node]] = ([], [])
    for i, (a, b) in enumerate(zip(*found, strict=True)):
        if is_state(a) and is_state(b):
            chosen[i] = check_alike(names[i], a, b, nodes[0][i], nodes[1][i])
            pair = nodes[0][i], nodes[1][i]
        elif names[i] == RESULT and (is_state(a) or is_state(b)):  # read only where it was assigned
            known = nodes[0][i] or nodes[1][i]
            chosen[i] = tree.flatten(a if is_state(a) else b)[1]
            blank = [make_constant(np.zeros(node.shape, node.dtype)) for node in known]
            pair = (known, blank) if is_state(a) else (blank, known)
        elif a is b:
            results[i] = a
            continue
        elif isinstance(a, Undefined) or isinstance(b, Undefined):
            results[i] = Undefined(names[i], "only one branch of an `if` on a traced value assigns it")
            continue
        else:
            raise different_kinds(names[i], a, b)
        for side, part in zip(outputs, pair, strict=True):
            side += part
    bodies = [Closed(Graph(body.inputs, side), values) for (body, values), side in zip(closed, outputs, strict=True)]
    outs = iter(run_closed(as_operand(test).astype(int), [], bodies))
    for i, structure in chosen.items():
        results[i] = tree.unflatten(structure, [next(outs) for _ in range(structure.size)])
    return tuple(results)


def outputs_by_variable(outs: Values, nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes of each variable; none for what is no tree of arrays."""
    rest = iter(nodes)
    return [[next(rest) for _ in tree.flatten(y)[0]] if is_state(y) else [] for y in outs]


def check_alike(name: str, a: Any, b: Any, first: Sequence[Node], second: Sequence[Node]) -> tree.Structure:
    """The structure of a variable after both branches; an error if these give it different shapes or dtypes."""
    structure, other = tree.flatten(a)[1], tree.flatten(b)[1]
    specs = [[node.spec for node in nodes] for nodes in (first, second)]
    if structure != other or specs[0] != specs[1]:
        raise user_error(
            TypeError,
            f"The variable {name!r} is {specs[1] if structure == other else other} after one branch of an `if` on a "
            f"traced value, and {specs[0] if structure == other else structure} after the other",
            "Give it the same shape and dtype in both.",
        )
    return structure


def different_kinds(name: str, a: Any, b: Any) -> TypeError:
    """The error for a variable that is an array after one branch, and something else after the other."""
    return user_error(
        TypeError,
        f"The variable {name!r} is a {type(b).__name__} after one branch of an `if` on a traced value, and a "
        f"{type(a).__name__} after the other",
        "Give it an array or a number in both.",
    )


def choose(test: Callable[[], Any], first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`first if test else second`."""
    decided = test()
    return cond(decided, first, second) if is_unknown(decided) else first() if decided else second()


def all_of(*operands: Callable[[], Any]) -> Any:
    """`a and b and ...`."""
    return combine(operands, logical_and, lambda x: not x)


def any_of(*operands: Callable[[], Any]) -> Any:
    """`a or b or ...`."""
    return combine(operands, logical_or, bool)


def combine(operands: Sequence[Callable[[], Any]], join: Callable[..., Any], decides: Callable[[Any], bool]) -> Any:
    """Operands in turn until one decides; from the first that is not known yet, all of them."""
    total: Any = None
    for k, operand in enumerate(operands):
        x = operand()
        if total is not None:
            total = join(total, x)
        elif is_unknown(x):
            total = x
        elif decides(x) or k == len(operands) - 1:
            return x
    return total


def chain(*parts: Any) -> Any:
    """`a < b < c`, of its parts."""
    return all_of(*[lambda part=part: part for part in parts])


def negate(x: Any) -> Any:
    """`not x`."""
    return logical_not(x) if is_unknown(x) else not x


def set_item(x: Any, key: Any, value: Any) -> Any:
    """`x[key] = value`, as a new value for x if it is traced."""
    if is_unknown(x) or (isinstance(x, Array) and is_unknown(value)):
        return set_at(x, key, value)
    if isinstance(x, np.ndarray) and is_unknown(value):
        return set_at(as_symbol(x, value), key, value)
    x[key] = value
    return x


def as_symbol(x: np.ndarray, like: Any) -> Any:
    """A plain array as a value that can hold a traced one."""
    return x + 0 * like.reshape(-1)[0].astype(x.dtype) if x.dtype.kind in "fc" else x


# Loops


def repeat(condition: Callable[..., Any], step: Step, values: Values, names: tuple[str, ...]) -> Values:
    """`while`: as Python runs it, as long as its condition is known."""
    while not is_unknown(goes_on := condition(*values)):
        if not goes_on:
            return values
        values = step(*values)
    loop = Carried(values, names, step)
    states = while_loop(lambda states: condition(*loop.fill(states)), loop.step, loop.initial())
    return loop.result(states, "a `while` on traced values assigns it only inside")


def iterate(
    items: Any, step: Step, values: Values, names: tuple[str, ...], goes_on: Callable[..., Any] | None
) -> Values:
    """`for`: written out, or as one operation if it has many steps."""
    source = Source.of(items)
    if source is not None and (source.is_unknown or (len(source) > UNROLLED and is_in_trace(traceable(values)))):
        try:
            return roll(source, step, values, names, goes_on)
        except (NotRolled, TrackedValueError, TypeError, ValueError, IndexError):
            if source.is_unknown:
                raise
    for item in items:
        decided = True if goes_on is None else goes_on(*values)
        if is_unknown(decided):
            values = choose_values(decided, lambda *v, item=item: step(item, *v), lambda *v: v, values, names)
        elif decided:
            values = step(item, *values)
        else:
            break
    return values


def traceable(values: Values) -> list[Any]:
    """The leaves of those variables that can be states."""
    return [leaf for v in values if is_state(v) for leaf in tree.flatten(v)[0]]


def roll(
    source: Source, step: Step, values: Values, names: tuple[str, ...], goes_on: Callable[..., Any] | None
) -> Values:
    """A `for` as one operation."""
    why = "a `for` on traced values assigns it only inside"
    if goes_on is None and not source.is_unknown:
        loop = Carried(values, names, lambda *v: step(source.example(), *v))

        def run(states: Any, item: Any) -> tuple[Any, None]:
            return Carried(values, names, lambda *v: step(source.item(item), *v), loop.kept).step(states), None

        return loop.result(scan(run, loop.initial(), source.arrays)[0], why)
    loop = Carried(values, names, lambda *v: step(source.at(source.first), *v))

    def run_while(carry: Any) -> Any:
        i, states = carry
        return i + 1, Carried(values, names, lambda *v: step(source.at(i), *v), loop.kept).step(states)

    def holds(carry: Any) -> Any:
        i, states = carry
        inside = i < source.length
        return inside if goes_on is None else all_of(lambda: inside, lambda: goes_on(*loop.fill(states)))

    _, states = while_loop(holds, run_while, (np.int64(0), loop.initial()))
    return loop.result(states, why)


class Carried:
    """The variables of a loop: those that are its states, and those that must stay as they are."""

    def __init__(self, values: Values, names: tuple[str, ...], step: Step, kept: list[int] | None = None):
        self.values, self.names, self.run = values, names, step
        self.kept = [i for i, v in enumerate(values) if is_state(v)] if kept is None else kept

    def fill(self, states: Sequence[Any]) -> Values:
        """The values of all variables, given those of the states."""
        values = list(self.values)
        for i, state in zip(self.kept, states, strict=True):
            values[i] = state
        return tuple(values)

    def step(self, states: Sequence[Any]) -> list[Any]:
        """One step, on the states."""
        new = self.run(*self.fill(states))
        for i, (before, after) in enumerate(zip(self.values, new, strict=True)):
            if i not in self.kept and after is not before and not isinstance(before, Undefined):
                raise NotRolled(self.names[i])
        return [new[i] for i in self.kept]

    def initial(self) -> list[Any]:
        """The states before the loop; a Python number takes the dtype and shape that a step gives it."""
        states = [self.values[i] for i in self.kept]
        for _ in range(3):
            leaves, structure = tree.flatten(states)
            arrays = [as_operand(x) for x in leaves]
            flat = lambda symbols, s=structure: tree.flatten(self.step(tree.unflatten(s, symbols)))[0]
            body = close_function(flat, [Spec.of(x) for x in arrays], "a loop").body
            specs = [node.spec for node in body.outputs]
            if [Spec.of(x) for x in arrays] == specs or len(specs) != len(arrays):
                break
            new = [self.adapt(x, a, spec) for x, a, spec in zip(leaves, arrays, specs, strict=True)]
            states = tree.unflatten(structure, new)
        return states

    def adapt(self, given: Any, x: Any, spec: Spec) -> Any:
        """A state with the shape and dtype that a step gives it, if it began as a Python number."""
        if Spec.of(x) == spec or given.__class__ not in PYTHON_NUMBERS:
            return given
        return broadcast_to(astype(x, spec.dtype), spec.shape)

    def result(self, states: Sequence[Any], why: str) -> Values:
        """The values of all variables after the loop."""
        values = list(self.fill(states))
        return tuple([Undefined(v.name, why) if isinstance(v, Undefined) else v for v in values])


class Source:
    """What a `for` goes over: arrays whose slices make the items."""

    def __init__(self, arrays: Any, length: Any, item: Callable[[Any], Any]):
        self.arrays, self.length, self.item = arrays, length, item
        self.first = np.int64(0)

    @property
    def is_unknown(self) -> bool:
        """Whether the number of items is known only when the program runs."""
        return is_unknown(self.length)

    def __len__(self) -> int:
        return int(self.length)

    def at(self, i: Any) -> Any:
        """The item of index i."""
        return self.item(tree.map(lambda x: x[i], self.arrays))

    def example(self) -> Any:
        """The first item."""
        return self.at(0)

    @staticmethod
    def of(items: Any) -> Source | None:
        """The source of something to iterate over; None if its items are no slices of arrays."""
        if isinstance(items, Source):
            return items
        if isinstance(items, range):
            return Source(np.arange(items.start, items.stop, items.step), len(items), lambda x: x)
        if isinstance(items, np.ndarray | Array) and items.ndim:
            return Source(items, items.shape[0], lambda x: x)
        return None

    def __iter__(self) -> Iterator[Any]:
        return (self.at(i) for i in builtins.range(len(self)))


# Calls


def read(f: Any) -> Any:
    """The function to call: the user's own functions are read too, and `range` and its like take traced values."""
    from wengert.source.reading import read_function  # which knows this module

    if f is builtins.range:
        return traced_range
    if f is builtins.enumerate:
        return traced_enumerate
    if f is builtins.zip:
        return traced_zip
    return read_function(f)


def traced_range(*bounds: Any) -> Any:
    """`range`, of bounds that may be traced."""
    if not any(map(is_unknown, bounds)):
        return builtins.range(*bounds)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if is_unknown(step):
        raise user_error(TypeError, "range with a traced step", "Pass a number, or use a `while` loop.")
    length = as_operand(stop) - start
    length = (length + (step - 1)) // step if step > 0 else (length + (step + 1)) // step
    made = Source((), length, lambda x: x)
    made.at = lambda i: start + i * step  # type: ignore[method-assign]  # there are no arrays
    return made


def traced_enumerate(items: Any, start: int = 0) -> Any:
    """`enumerate`, of slices of an array too."""
    inner = Source.of(items)
    if inner is None or inner.is_unknown:
        return builtins.enumerate(items, start)
    counter = np.arange(start, start + len(inner))
    return Source((counter, inner.arrays), inner.length, lambda x: (x[0], inner.item(x[1])))


def traced_zip(*items: Any, strict: bool = False) -> Any:
    """`zip`, of slices of arrays too."""
    parts = [Source.of(x) for x in items]
    if not parts or any(part is None or part.is_unknown for part in parts) or strict:
        return builtins.zip(*items, strict=strict)
    known = [part for part in parts if part is not None]
    n = min(map(len, known))
    arrays = tuple([tree.map(lambda x: x[:n], part.arrays) for part in known])
    return Source(arrays, n, lambda x: tuple([part.item(y) for part, y in zip(known, x, strict=True)]))


def check(test: Callable[[], Any], message: Callable[[], Any] | None) -> None:
    """`assert`: of a traced value nothing is known yet."""
    passed = test()
    if not is_unknown(passed) and not passed:
        raise AssertionError(*([message()] if message else []))
