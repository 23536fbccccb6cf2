"""From the steps of a loop to one operation: trace a step until its states keep their shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.loop import STEPS
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.ir import Node
from wengert.source.iterables import Items
from wengert.source.loop_program import LoopProgram
from wengert.source.memory import GeneratorState, ListContents, Memory, PlainNumbers, SetContents, Variable
from wengert.source.rows import NotRolled, Rows
from wengert.source.states import Given, State
from wengert.source.syntax import RESULT
from wengert.source.tracing import Inner
from wengert.source.values import Undefined, is_flag, is_function, is_unknown, truth

PASSES = 7
"""After so many traces of a step, its states should have settled."""


class Roller:
    """A loop that becomes one operation.

    `step(i, slices)` runs a step on the memory, `condition(i)`, if there is one, says whether there is another.
    `at_least_one` says that there is a first step.
    """

    def __init__(
        self,
        memory: Memory,
        step: Callable[[Any, Any], None],
        temporary: Sequence[str],
        items: Items | None,
        condition: Callable[[Any], Any] | None,
        at_least_one: bool,
    ):
        self.memory, self.step, self.temporary = memory, step, temporary
        self.items, self.condition, self.at_least_one = items, condition, at_least_one
        self.arrays = [as_operand(x) for x in items.arrays] if items is not None and condition is None else []
        self.states: list[State] = []
        self.windows: dict[int, list[State]] = {}  # the last elements of lists that steps read
        self.lost: dict[int, Undefined] = {}  # variables that have no value after a step, nor before the next
        self.given: list[Given] = []  # what the last trace of a step was given: states, windows, counter and slices
        self.seen: dict[int, list[Given]] = {}
        self.counter: Any = None
        self.slices: list[Any] = []
        self.lists: list[int] = []  # those that steps append to, of which only the last elements are known in a step

    def run(self) -> None:
        """Put the results of the loop into the memory."""
        LoopProgram(self, self.settle()).run()

    # One step.

    def settle(self) -> Inner:
        """Trace a step until its states have settled."""
        for _ in range(PASSES):
            inner = self.trace()
            if inner.error is not None:
                raise inner.error
            grown = [k for k in inner.changes if self.is_list(k) and k not in self.lists]
            self.lists = sorted([*self.lists, *grown])
            states, windows = self.next_states(inner), self.next_windows(inner)
            if not grown and self.is_settled(states, windows):
                return inner
            self.states, self.windows = states, windows
        raise NotRolled("the shapes and dtypes of its variables do not settle")

    def is_list(self, k: int) -> bool:
        """Whether a place is a list of which the elements may be rows of arrays."""
        place = self.memory.places[k]
        return isinstance(place, ListContents) and isinstance(place.target, Rows)

    def is_settled(self, states: list[State], windows: dict[int, list[State]]) -> bool:
        """Whether states are those that the step was traced with."""
        key = lambda s: (s.place, s.structure, [(slot.spec, slot.weak) for slot in s.slots])
        old = [*self.states, *[s for w in self.windows.values() for s in w]]
        return list(map(key, old)) == list(map(key, [*states, *[s for w in windows.values() for s in w]]))

    def trace(self) -> Inner:
        """One step, on symbols in place of the states."""

        def run(inner: Inner) -> None:
            self.given = [state.symbols(inner) for state in self.states]
            self.counter = inner.input(STEPS, int)
            self.slices = [inner.input(Spec(x.shape[1:], x.dtype)) for x in self.arrays]
            self.seen = {k: [state.symbols(inner) for state in w] for k, w in self.windows.items()}
            for state, given in zip(self.states, self.given, strict=True):
                self.memory.places[state.place].write(given.value)
            for k, undefined in self.lost.items():
                self.memory.places[k].write(undefined)
            for k in self.lists:
                target = self.memory.places[k].target
                target.window = [given.value for given in self.seen.get(k, [])]
                target.start, target.needed = len(self.memory.before[k]), 0
            try:
                self.step(self.counter, iter(self.slices))
            finally:
                for k in self.lists:
                    del self.memory.places[k].target.window

        return Inner(self.memory, run)

    def next_states(self, inner: Inner) -> list[State]:
        """The states, with those places that the step has changed."""
        known = {state.place: state for state in self.states}
        states = []
        for k in sorted({*inner.changes, *known}):
            place, after = self.memory.places[k], inner.contents(k)
            if k in self.lists or (k not in known and isinstance(place, Variable) and self.is_passing(k, after)):
                continue
            if isinstance(place, GeneratorState | PlainNumbers | SetContents):
                raise NotRolled(f"a step changes {place.name or 'something'} in place")
            if k not in known:
                before = self.memory.before[k]
                is_blank = isinstance(before, Undefined)
                known[k] = State.of(k, place.name, after if is_blank else before, is_blank)
            states.append(known[k].adapt(after))
        return states

    def is_passing(self, k: int, after: Any) -> bool:
        """Whether the next step does not need a variable: one that has no value before the step, or is a function."""
        name, before = self.memory.places[k].name, self.memory.before[k]
        if isinstance(after, Undefined):
            self.lost[k] = after
            return True
        if is_function(after) and after is not before and (name in self.temporary or self.condition is not None):
            self.lost[k] = Undefined(name, "each step of a loop on traced values makes another function.")
            return True
        if not isinstance(before, Undefined):
            return False
        if name in self.temporary:
            return True
        if self.at_least_one or name == RESULT or is_flag(name):
            return False
        why = "a loop whose number of steps is not known assigns it only inside. Give it a value before the loop."
        self.lost[k] = Undefined(name, why)
        return True

    def next_windows(self, inner: Inner) -> dict[int, list[State]]:
        """The last elements of lists that steps read, as states."""
        windows = {}
        for k in self.lists:
            rows: Rows = self.memory.places[k].target
            before = self.memory.before[k]
            after = inner.contents(k)
            if len(after) < len(before) or any(map(lambda x, y: x is not y, before, after)):
                raise NotRolled("a step changes the elements of a list that grows")
            appended = after[len(before) :]
            m = max(rows.needed, len(self.windows.get(k, [])))
            if appended and self.condition is not None:
                raise NotRolled(f"the list {self.memory.places[k].name!r} grows, and the number of steps is not known")
            if m and appended:
                name = self.memory.places[k].name
                old = self.windows.get(k, [])
                if len(old) < m:
                    old = [State.of(k, name, rows.get(len(before) - m + j)) for j in range(m)]
                shifted = self.shifted(k, m, appended)
                windows[k] = [state.adapt(x) for state, x in zip(old, shifted, strict=True)]
        return windows

    def shifted(self, k: int, m: int, appended: Sequence[Any]) -> list[Any]:
        """The last m elements of a list after a step."""
        rows, n = self.memory.places[k].target, len(self.memory.before[k])
        seen = self.seen.get(k, [])
        earlier = [given.value for given in seen] if len(seen) == m else [rows.get(n - m + j) for j in range(m)]
        return [*earlier, *appended][-m:]

    def trace_condition(self) -> tuple[Inner, list[Node]]:
        """The condition, on symbols in place of the states; their nodes, and that of the counter."""
        nodes: list[Node] = []

        def run(inner: Inner) -> Any:
            for state in self.states:
                given = state.symbols(inner)
                self.memory.places[state.place].write(given.value)
                nodes.extend(given.nodes)
            counter = inner.input(STEPS, int)
            nodes.append(counter.node)
            assert self.condition is not None
            found = self.condition(counter)
            for state in self.states:
                self.memory.places[state.place].write(self.memory.before[state.place])
            return truth(found) if is_unknown(found) else np.asarray(bool(found))

        inner = Inner(self.memory, run)
        if inner.error is not None:
            raise inner.error
        if inner.changes:
            names = ", ".join(repr(self.memory.places[k].name) for k in inner.changes)
            raise user_error(
                TypeError, f"The condition of a `while` on traced values changes {names}", "Do it in the body."
            )
        return inner, nodes
