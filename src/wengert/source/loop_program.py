"""The operation of a loop whose states have settled: its body, its condition, and what becomes of its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.control.bodies import Closed, close_graph
from wengert.control.checks import Failure
from wengert.control.loop import LOOP, Shape
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation, make_constant, make_operation
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.elementwise.predicates import logical_and
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import reshape
from wengert.source.rows import NotRolled, Row
from wengert.source.states import State
from wengert.source.tracing import Inner, register_check
from wengert.source.values import is_flag, is_unknown

if TYPE_CHECKING:
    from wengert.source.rolling import Roller

BOOLEAN = Spec((), np.dtype(bool))


class Carried(NamedTuple):
    """A number or array that each step gives to the next."""

    before: Node
    after: Node
    initial: Any
    is_number: bool = False  # it began as a Python number


class Appended(NamedTuple):
    """An element that each step appends to a list."""

    place: int
    structure: tree.Structure
    nodes: list[Node]


class LoopProgram:
    """The nodes of one step, in the order in which a loop has them."""

    def __init__(self, roller: Roller, inner: Inner):
        self.roller, self.inner, self.memory = roller, inner, roller.memory
        self.carried: list[Carried] = []
        for state, given in zip(roller.states, roller.given, strict=True):
            self.carry(state, given.nodes, inner.contents(state.place))
        counter = roller.counter.node
        self.carried.append(Carried(counter, make_operation(ADD, [counter, make_constant(np.int64(1))]), np.asarray(0)))
        for k, window in roller.windows.items():
            shifted = roller.shifted(k, len(window), self.appended_to(k))
            for state, given, new in zip(window, roller.seen[k], shifted, strict=True):
                self.carry(state, given.nodes, new)
        for holds, _ in inner.checks:
            before = Input(BOOLEAN)
            self.carried.append(Carried(before, make_operation(LOGICAL_AND, [before, holds]), np.asarray(True)))
        self.appended: list[Appended] = []
        for k in roller.lists:
            for x in self.appended_to(k):
                leaves, structure = tree.flatten(x)
                self.appended.append(Appended(k, structure, [inner.node_of(y) for y in leaves]))

    def appended_to(self, k: int) -> list[Any]:
        """What a step appends to a list."""
        contents: list[Any] = self.inner.contents(k)
        return contents[len(self.memory.before[k]) :]

    def carry(self, state: State, nodes: Sequence[Node], after: Any) -> None:
        """Carry the numbers of a state."""
        for slot, node, y in zip(state.moving, nodes, state.numbers(after), strict=True):
            assert slot.spec is not None
            is_number = slot.initial.__class__ in PYTHON_NUMBERS
            self.carried.append(Carried(node, self.inner.node_of(y, slot.spec.dtype), slot.start(), is_number))

    def run(self) -> None:
        """Run the loop, and put its results into the memory."""
        outputs = [node for x in self.appended for node in x.nodes]
        plain = self.plain_results(outputs)
        outs = self.run_loop(self.carried, outputs)
        outs = [plain.get(i, y) for i, y in enumerate(outs)]
        rest = iter(outs)
        for state in self.roller.states:
            values = [next(rest) for _ in state.moving]
            self.memory.places[state.place].write(state.fill(values))
        for k, undefined in self.roller.lost.items():
            self.memory.places[k].write(undefined)
        first = len(self.carried) - len(self.inner.checks)
        for (_, failure), holds in zip(self.inner.checks, outs[first:], strict=False):
            self.require(holds, failure)
        self.extend_lists(outs[len(self.carried) :])

    def require(self, holds: Any, failure: Failure) -> None:
        """Check after the loop what each step must fulfil."""
        if is_unknown(holds):
            register_check(holds, failure)
        elif not holds:
            raise failure.error()

    def run_loop(self, carried: Sequence[Carried], outputs: Sequence[Node]) -> list[Any]:
        """The results of a loop over these states, with these outputs."""
        items = self.roller.items
        length = None if self.roller.condition is not None or items is None else items.length
        inputs = [*[c.before for c in carried], *[x.node for x in self.roller.slices]]
        body = close_graph(inputs, [*[c.after for c in carried], *outputs])
        closed = [body]
        if self.roller.condition is not None:
            inner, nodes = self.roller.trace_condition()
            others = [Input(c.before.spec) for c in carried[len(nodes) :]]
            closed.append(close_graph([*nodes, *others], [inner.node_of(inner.result)]))
        graphs, captured = join_constants(closed, [len(inputs), len(carried)])
        shape = Shape(len(captured), len(carried), length)
        condition = graphs[1] if len(graphs) > 1 else None
        operands = [*captured, *[c.initial for c in carried], *self.roller.arrays]
        return list(LOOP.op(*operands, body=graphs[0], condition=condition, shape=shape))

    def plain_results(self, outputs: Sequence[Node]) -> dict[int, Any]:
        """The results that are computed from plain values alone, which stay plain; raises if all of them are."""
        known = {
            x.node for x, a in zip(self.roller.slices, self.roller.arrays, strict=True) if not isinstance(a, Array)
        }
        states = [c for c in self.carried if not isinstance(c.initial, Array)]
        while True:
            given = {c.before for c in states} | known
            still = [c for c in states if is_computed_from(c.after, given)]
            if len(still) == len(states):
                break
            states = still
        if self.roller.condition is not None:
            if self.roller.items is not None and not is_unknown(self.roller.items.length) and self.ends_known(states):
                raise NotRolled("the number of its steps is known")
            return {}
        plain = [node for node in outputs if is_computed_from(node, given)]
        if len(states) == len(self.carried) and len(plain) == len(outputs):
            raise NotRolled("nothing in it is traced")
        if len(states) == 1 and not plain:  # the counter
            return {}
        return self.run_plain(states, plain, outputs)

    def ends_known(self, plain: list[Carried]) -> bool:
        """Whether plain values alone say when the loop ends."""
        flags = [s for s in self.roller.states if is_flag(s.name) and not s.name.startswith("__skipped_")]
        slots = [c for s, c in self.by_state() if s in flags]
        return all(c in plain for c in slots)

    def by_state(self) -> Iterator[tuple[State, Carried]]:
        """The states, and the numbers that they carry."""
        rest = iter(self.carried)
        for state in self.roller.states:
            for _ in state.moving:
                yield state, next(rest)

    def run_plain(self, states: list[Carried], plain: list[Node], outputs: Sequence[Node]) -> dict[int, Any]:
        """Run the part of the loop that depends on plain values only."""
        slices = [x for x, a in zip(self.roller.slices, self.roller.arrays, strict=True) if not isinstance(a, Array)]
        arrays = [a for a in self.roller.arrays if not isinstance(a, Array)]
        inputs = [*[c.before for c in states], *[x.node for x in slices]]
        body = close_graph(inputs, [*[c.after for c in states], *plain]).body
        assert self.roller.items is not None
        shape = Shape(0, len(states), self.roller.items.length)
        found = LOOP.impl(*[c.initial for c in states], *arrays, body=body, condition=None, shape=shape)
        results: dict[int, Any] = {}
        for c, y in zip(states, found, strict=False):
            results[self.carried.index(c)] = y.item() if c.is_number else y[()]
        for node, y in zip(plain, found[len(states) :], strict=True):
            results[len(self.carried) + list(outputs).index(node)] = y
        return results

    def extend_lists(self, outs: Sequence[Any]) -> None:
        """Append the rows of the outputs to the lists that have grown."""
        rest = iter(outs)
        groups: dict[int, list[Any]] = {}
        for x in self.appended:
            groups.setdefault(x.place, []).append(tree.unflatten(x.structure, [next(rest) for _ in x.nodes]))
        for k, trees in groups.items():
            n = self.roller.items.length  # type: ignore[union-attr]  # lists grow in loops over items only
            target = self.memory.places[k].target
            together = join_trees(trees, n)
            if isinstance(together, np.ndarray) and together.ndim == 1:  # plain numbers stay plain
                list.extend(target, together.tolist())
                continue
            if together is not None:
                trees, n = [together], n * len(trees)
            list.extend(target, [Row(arrays, i, n) for i in range(n) for arrays in trees])


ADD, LOGICAL_AND = primitive_of(add), primitive_of(logical_and)


def is_computed_from(node: Node, given: set[Node]) -> bool:
    """Whether a node depends on these nodes and on plain constants only."""
    stack, seen = [node], {node}
    while stack:
        node = stack.pop()
        if node in given:
            continue
        if isinstance(node, Input) or (isinstance(node, Constant) and node.is_captured):
            return False
        if isinstance(node, Operation):
            new = [a for a in node.args if a not in seen]
            seen.update(new)
            stack += new
    return True


def join_trees(trees: Sequence[Any], n: int) -> Any:
    """What several trees have in each of n steps, as one tree with the rows of all in turn; None if they differ."""
    if len(trees) == 1:
        return trees[0]
    columns = [tree.flatten(x) for x in trees]
    specs = [[Spec.of(y) for y in leaves] for leaves, _ in columns]
    if any(structure != columns[0][1] for _, structure in columns) or any(s != specs[0] for s in specs):
        return None
    merge = lambda *parts: reshape(stack(list(parts), 1), (n * len(parts), *parts[0].shape[1:]))
    return tree.unflatten(
        columns[0][1], [merge(*parts) for parts in zip(*[leaves for leaves, _ in columns], strict=True)]
    )


def join_constants(closed: Sequence[Closed], counts: Sequence[int]) -> tuple[list[Graph], list[Any]]:
    """Graphs whose first inputs are the captured values of all of them."""
    captured: list[Any] = []
    for _, values in closed:
        captured += [v for v in values if not any(v is known for known in captured)]
    graphs = []
    for (body, values), n in zip(closed, counts, strict=False):
        own = dict(zip(map(id, values), body.inputs[n:], strict=True))
        constants = [own.get(id(v)) or Input(Spec.of(v)) for v in captured]
        graphs.append(Graph([*constants, *body.inputs[:n]], body.outputs))
    return graphs, captured
