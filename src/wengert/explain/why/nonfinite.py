"""`why_nan`: the first operation that makes a number that is not finite, on the way forward or back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT
from wengert.explain import aspects  # noqa: F401  # fills `remedies`
from wengert.explain.observation import Recording, record
from wengert.explain.sweeps import Adjoints, adjoints, enumerate_terms, local_derivative
from wengert.explain.tables.numbers import number, value
from wengert.explain.why.remedies import ABSORBED, BACKWARD, FORWARD, UNTAKEN, remedy
from wengert.explain.why.source_lines import Place, indexed, listed, listed_html, numbers_of, place, plain_arguments
from wengert.graph.ir import Constant, Input, Node, Operation
from wengert.graph.variables import known_names
from wengert.modes.backward import broadcast_axes
from wengert.modes.tape import Leaf
from wengert.modes.tape import TapeNode as TapeNode
from wengert.ops.elementwise.arithmetic import divide
from wengert.ops.elementwise.choices import _where, fmax, fmin, maximum, minimum
from wengert.ops.indexing.subscripts import _getitem, _set_at, gather
from wengert.ops.reductions.extremes import _max, _min
from wengert.transforms.tracing import record_node

FINITE, INFINITE, NOT_A_NUMBER = range(3)
CHOICES = frozenset(map(primitive_of, (_where, _set_at, maximum, minimum, fmax, fmin, _max, _min, _getitem, gather)))
MOST = 4
"""How many operations are told of: the first, and what became of it."""


class Operand(NamedTuple):
    """What an operation was given: the user's name for it, if there is one, and its number, or its array where no one
    element matters.
    """

    name: str | None
    value: Any

    def __str__(self) -> str:
        shown = value(self.value)
        return shown if self.name is None else f"{self.name} = {shown}"


@dataclass(frozen=True)
class Event:
    """An operation that made a number that is not finite out of better ones."""

    node: Node
    direction: str
    index: tuple[int, ...]
    made: Any
    operands: tuple[Operand, ...]
    local_derivative: Any
    cause: str
    remedy: str

    @property
    def place(self) -> Place:
        return place(self.node)


class WhyNan:
    """The answer.

    `events` are all operations that made something not finite of better numbers, on the way to the result, the first
    first.

    `operation`, `line`, `code`, `index`, `operands`, `local_derivative`, `cause`, `remedy` and `direction` are those of
    the first; all are None if result and gradients are finite, and `line` is if an argument was not finite to begin
    with.
    """

    def __init__(self, events: list[Event], hidden: str | None, harmless: list[Place]):
        self.events, self.harmless = events, harmless
        first = events[0] if events else None
        at = first.place if first else None
        self.direction = first.direction if first else None
        self.operation = at.operation if at else None
        self.filename = at.filename if at else None
        self.line = at.line if at else None
        self.function = at.function if at else None
        self.code = at.code if at else None
        self.index = first.index if first else None
        self.operands = first.operands if first else ()
        self.local_derivative = first.local_derivative if first else None
        self.cause = first.cause if first else None
        self.remedy = (f"{first.remedy} {hidden}" if hidden else first.remedy) if first else None

    @property
    def is_finite(self) -> bool:
        return not self.events

    def rows(self) -> Iterator[tuple[str, str]]:
        """What is shown: a heading, and what belongs under it."""
        if not self.events:
            yield "Everything is finite", "the result, and its derivatives in all arguments."
            if self.harmless:
                yield (
                    "On the way",
                    f"{len(self.harmless)} values are not finite and do no harm, the first at {self.harmless[0]}",
                )
            return
        first = self.events[0]
        if isinstance(first.node, Operation):
            way = "on the way forward" if first.direction == FORWARD else "on the way back"
            yield "Not finite", f"first made by {self.operation}, {way}"
            yield "Where", str(first.place)
        else:
            yield "Not finite", f"{first.cause}, before anything was computed"
        made = "gives" if first.direction == FORWARD else "passes back"
        given = ", ".join(map(str, first.operands))
        element = f"element {list(first.index)}: " if first.index else ""
        if first.operands:
            yield "What", f"{element}{self.operation} of {given} {made} {value(first.made)}: {first.cause}"
        if first.local_derivative is not None:
            yield "Local derivative", number(first.local_derivative)
        for event in self.events[1:MOST]:
            back = "" if event.direction == FORWARD else ", on the way back"
            yield "Then", f"{event.place.operation} gives {value(event.made)}{back} ({event.cause}), at {event.place}"
        yield "Usually done", str(self.remedy)

    def __str__(self) -> str:
        return listed(list(self.rows()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return listed_html(list(self.rows()))


def why_nan(f: Callable, *args: Any, **kwargs: Any) -> WhyNan:
    """The first operation that makes a number that is not finite, forward or backward, and what is usually done about
    it.

    >>> print(why_nan(lambda x: np.log(x) * 2.0, 1.0))
    Everything is finite  the result, and its derivatives in all arguments.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        given, named = plain_arguments((args, kwargs))
        recording = record(f, *given, **named)
        found = forward_events(recording, {node: level(recording, node) > FINITE for node in recording.outputs})
        if found:
            return WhyNan(found, None, [])
        back = adjoints(recording, [np.ones(node.shape) for node in recording.outputs])
        events = backward_events(recording, back)
        if not events:
            operations = recording.graph.operations
            return WhyNan([], None, [place(node) for node in operations if np.any(level(recording, node) > FINITE)])
        cause = events[0].node
        assert isinstance(cause, Operation)
        start = {node: level(recording, node) > FINITE for node in (cause, *cause.args)}
        before = [event for event in forward_events(recording, start) if isinstance(event.node, Operation)]
        return WhyNan(before + events, hidden_by(recording, before[0].node) if before else None, [])


def hidden_by(recording: Recording, node: Node) -> str:
    """How it came that a value that is not finite left the result finite: by a choice, or by arithmetic such as 1 /
    inf.
    """
    reached = {node}
    for later in recording.graph.operations:
        if any(a in reached for a in later.args):
            reached.add(later)
            if later.primitive in CHOICES:
                return UNTAKEN
    return ABSORBED


def level(recording: Recording, node: Node) -> Any:
    """For each element of a value: finite, infinite or NaN; of an operation with several outputs, the worst of all."""
    return levels(numbers_of(recording.values[node]))


def levels(x: Any) -> np.ndarray:
    if isinstance(x, tuple):
        return np.asarray(
            max([int(levels(part).max(initial=FINITE)) for part in x if part is not None], default=FINITE)
        )
    if x.dtype.kind not in "fc":
        return np.zeros(x.shape, np.int8)
    return np.where(np.isnan(x), NOT_A_NUMBER, np.where(np.isinf(x), INFINITE, FINITE)).astype(np.int8)


def forward_events(recording: Recording, start: dict[Node, Any]) -> list[Event]:
    """The operations that made something worse of their operands, among what the marked elements were made of, in the
    order of the run.

    If there are none, what was given is at fault: an argument or a captured array.
    """
    relevant = {node: mask for node, mask in start.items() if np.any(mask)}
    found: list[tuple[Operation, tuple[int, ...]]] = []
    for node in reversed(recording.graph.operations):
        mask = relevant.get(node)
        if mask is None:
            continue
        worst, sources = before(recording, node, mask)
        made = mask & (level(recording, node) > worst)
        if np.any(made):
            found.append((node, first_of(made)))
        for a, part in sources:
            if np.any(part):
                relevant[a] = relevant[a] | part if a in relevant else part
    if found:
        return [forward_event(recording, node, index) for node, index in found[: -MOST - 1 : -1]]
    return [given_event(recording, node, mask) for node, mask in relevant.items() if isinstance(node, Input | Constant)]


def before(recording: Recording, node: Operation, mask: Any) -> tuple[Any, list[tuple[Node, Any]]]:
    """The worst of what each marked element was made of, and which elements of the operands these are."""
    primitive = node.primitive
    bad = {a: level(recording, a) for a in node.args}
    if primitive.kind == "elementwise":
        taken = chosen(recording, node)
        wide = [np.where(t, np.broadcast_to(bad[a], node.shape), FINITE) for a, t in taken]
        worst = np.max(wide, axis=0)
        return worst, [(a, gathered_back(mask & (w > FINITE), a.shape)) for (a, _), w in zip(taken, wide, strict=True)]
    if primitive.kind == "linear" and primitive.outputs == 1 and mask.shape == node.shape:
        sources = moved_back(recording, node, mask, bad)
    else:
        sources = [(a, bad[a] > FINITE) for a in node.args]
    worst = max([int(bad[a][part].max(initial=FINITE)) for a, part in sources], default=FINITE)
    return worst, sources


def chosen(recording: Recording, node: Operation) -> list[tuple[Node, Any]]:
    """The operands of an elementwise operation, with where they matter: of `where`, only what is taken."""
    if node.primitive is not primitive_of(_where):
        return [(a, True) for a in node.args]
    condition = numbers_of(recording.values[node.args[0]]).astype(bool)
    return [(node.args[1], condition), (node.args[2], ~condition)]


def gathered_back(mask: Any, shape: tuple[int, ...]) -> Any:
    """Which elements of an operand of this shape went to any marked element."""
    axes = broadcast_axes(mask.shape, shape)
    return np.any(mask, axis=axes).reshape(shape) if axes else mask


def moved_back(recording: Recording, node: Operation, mask: Any, bad: dict[Node, Any]) -> list[tuple[Node, Any]]:
    """The elements that a linear operation moved to the marked ones, found by its own transpose."""
    values = recording.values
    leaves: dict[Node, TapeNode] = {
        a: Leaf(values[a]) for a in node.args if a.dtype is not None and a.dtype.kind in "fc"
    }
    kept = record_node(node, leaves, values.__getitem__) if leaves else None
    if kept is None:
        return []
    terms = enumerate_terms(kept, mask.astype(node.dtype)[()], None)
    return [(node.args[i], (numbers_of(c) != 0) & (bad[node.args[i]] > FINITE)) for i, (_, c, _) in terms]


def first_of(mask: Any) -> tuple[int, ...]:
    return tuple(np.argwhere(mask)[0].tolist())


def forward_event(recording: Recording, node: Operation, index: tuple[int, ...]) -> Event:
    values = recording.values
    whole = numbers_of(values[node])
    made = whole if isinstance(whole, tuple) else whole[index][()]
    operands = operands_at(recording, node, node.shape, index)
    cause, advice = remedy(node.primitive, FORWARD, [np.asarray(o.value) for o in operands])
    return Event(
        node,
        FORWARD,
        index,
        made,
        operands,
        derivative_at(node, blamed(node), values, index, node.shape),
        cause,
        advice,
    )


def given_event(recording: Recording, node: Node, mask: Any) -> Event:
    index = first_of(mask)
    made = numbers_of(recording.values[node])[index][()]
    what = (
        "the argument " + indexed(node.name or "x", index) if isinstance(node, Input) else "a captured array or number"
    )
    advice = "Look at where it comes from: np.isfinite(x).all() before the call tells."
    return Event(node, FORWARD, index, made, (), None, f"{what} is {number(made)}", advice)


def blamed(node: Operation) -> int:
    """The operand that a derivative is shown for: the denominator of a quotient, else the first that is computed."""
    if node.primitive is primitive_of(divide) and not isinstance(node.args[1], Constant):
        return 1
    return next((i for i, a in enumerate(node.args) if not isinstance(a, Constant)), 0)


def derivative_at(
    node: Operation, operand: int, values: dict[Node, Any], index: tuple[int, ...], shape: tuple[int, ...]
) -> Any:
    """The local derivative of one element, where it is a single number."""
    if node.primitive.outputs != 1 or node.args[operand].dtype.kind not in "fc":
        return None
    found = numbers_of(local_derivative(node, operand, values))
    return None if found is None or found.shape != shape else found[index][()]


def operands_at(
    recording: Recording, node: Operation, shape: tuple[int, ...], index: tuple[int, ...]
) -> tuple[Operand, ...]:
    """The operands of one element of an elementwise operation; of any other, whole."""
    names = known_names(recording.graph)
    found = []
    for a in node.args:
        whole = numbers_of(recording.values[a])
        name = names.get(a)
        if node.primitive.kind == "elementwise" and not isinstance(whole, tuple):
            found.append(
                Operand(name and indexed(name, clipped(index, whole.shape)), np.broadcast_to(whole, shape)[index][()])
            )
        else:
            found.append(Operand(name, whole))
    return tuple(found)


def clipped(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index in an operand of this shape that was broadcast."""
    return tuple([0 if n == 1 else i for i, n in zip(index[len(index) - len(shape) :], shape, strict=True)])


def backward_events(recording: Recording, back: Adjoints) -> list[Event]:
    """The operations whose local derivatives made something worse of the adjoint that came to them, in the order of the
    walk back.
    """
    relevant: set[Node] = {node for node in recording.inputs if np.any(adjoint_level(back, node) > FINITE)}
    found: dict[Operation, Event] = {}
    for node in recording.graph.nodes:
        if node not in relevant:
            continue
        for term in back.terms.get(node, []):
            worse = levels(numbers_of(term.value))
            if not np.any(worse):
                continue
            arrived = adjoint_level(back, term.consumer)
            if np.any(arrived):
                relevant.add(term.consumer)
            if term.consumer.primitive.kind == "elementwise" and arrived.shape == worse.shape:
                made = worse > arrived
            else:
                made = worse > arrived.max(initial=FINITE)
            if np.any(made):
                found.setdefault(
                    term.consumer, backward_event(recording, term.consumer, term.operand, first_of(made), term.value)
                )
        if isinstance(node, Operation) and node.primitive is OUTPUT:
            relevant.add(node.args[0])
    return [found[node] for node in back.order if node in found]


def adjoint_level(back: Adjoints, node: Node) -> np.ndarray:
    return levels(numbers_of(back.values[node])) if node in back.values else np.zeros((), np.int8)


def backward_event(recording: Recording, node: Operation, operand: int, index: tuple[int, ...], term: Any) -> Event:
    values = recording.values
    arg = node.args[operand]
    is_single = node.primitive.kind == "elementwise" and node.shape == arg.shape
    operands = operands_at(recording, node, node.shape, index) if is_single else operands_whole(recording, node)
    cause, advice = remedy(node.primitive, BACKWARD, [np.asarray(o.value) for o in operands])
    derivative = derivative_at(node, operand, values, index, arg.shape)
    return Event(node, BACKWARD, index, numbers_of(term)[index][()], operands, derivative, cause, advice)


def operands_whole(recording: Recording, node: Operation) -> tuple[Operand, ...]:
    names = known_names(recording.graph)
    return tuple([Operand(names.get(a), numbers_of(recording.values[a])) for a in node.args])
