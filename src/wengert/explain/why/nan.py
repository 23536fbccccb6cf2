"""`why_nan`: the first operation whose result is not finite, in the forward or the backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.core.primitive import OUTPUT
from wengert.explain import aspects  # noqa: F401  # fills `remedies`
from wengert.explain.recorder import Recording, plain_arguments, plain_arrays, record_run
from wengert.explain.sweeps import Adjoints, adjoints, enumerate_terms, local_derivative
from wengert.explain.tables.numbers import format_number, format_value
from wengert.explain.why.remedies import ABSORBED, BACKWARD, FORWARD, UNTAKEN, remedy
from wengert.explain.why.report import Answer, SourceLine, element_name, source_line_of
from wengert.graph.ir import Constant, Input, Node, Operation, is_a
from wengert.modes.backward import broadcast_axes
from wengert.modes.tape import Leaf
from wengert.modes.tape import TapeNode as TapeNode
from wengert.ops.elementwise.arithmetic import divide
from wengert.ops.elementwise.choices import _where
from wengert.transforms.tracing import record_node

FINITE, INFINITE, NOT_A_NUMBER = range(3)
MOST = 4
"""How many operations are listed: the first, and those that follow from it."""


class OperandValue(NamedTuple):
    """An operand: the user's name for it, if it has one, and its number, or the whole array."""

    name: str | None
    value: Any

    def __str__(self) -> str:
        shown = format_value(self.value)
        return shown if self.name is None else f"{self.name} = {shown}"


@dataclass(frozen=True)
class Event:
    """An operation that computed a number that is worse than its operands: infinite of finite ones, or NaN."""

    node: Node
    direction: str
    index: tuple[int, ...]
    made: Any
    operands: tuple[OperandValue, ...]
    local_derivative: Any
    cause: str
    remedy: str
    source_line: SourceLine


class WhyNan(Answer):
    """The answer.

    `events` are the operations on the path to the result whose result is worse than their operands, in order.

    `operation`, `line`, `code`, `index`, `operands`, `local_derivative`, `cause`, `remedy` and `direction` are those of
    the first. All are None if the result and its gradients are finite; `line` is None if an argument is not finite.
    """

    def __init__(self, events: list[Event], hidden: str | None, harmless: list[SourceLine]):
        self.events, self.harmless = events, harmless
        first = events[0] if events else None
        at = first.source_line if first else None
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
        """Headings, and what stands beside them."""
        if not self.events:
            yield "Everything is finite", "the result, and its derivatives with respect to all arguments."
            if self.harmless:
                yield (
                    "On the way",
                    f"{len(self.harmless)} values are not finite and do no harm, the first at {self.harmless[0]}",
                )
            return
        first = self.events[0]
        if isinstance(first.node, Operation):
            way = f"in the {first.direction} pass"
            yield "Not finite", f"first made by {self.operation}, {way}"
            yield "Where", str(first.source_line)
        else:
            yield "Not finite", f"{first.cause}, before anything was computed"
        made = "gives" if first.direction == FORWARD else "passes back"
        given = ", ".join(map(str, first.operands))
        element = f"element {list(first.index)}: " if first.index else ""
        if first.operands:
            yield "What", f"{element}{self.operation} of {given} {made} {format_value(first.made)}: {first.cause}"
        if first.local_derivative is not None:
            yield "Local derivative", format_number(first.local_derivative)
        for event in self.events[1:MOST]:
            back = "" if event.direction == FORWARD else ", in the backward pass"
            where = event.source_line
            yield "Then", f"{where.operation} gives {format_value(event.made)}{back} ({event.cause}), at {where}"
        yield "Usually done", str(self.remedy)


def why_nan(f: Callable, *args: Any, **kwargs: Any) -> WhyNan:
    """The first operation whose result is not finite, in the forward or the backward pass, and the usual remedy.

    >>> print(why_nan(lambda x: np.log(x) * 2.0, 1.0))
    Everything is finite  the result, and its derivatives with respect to all arguments.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        given, named = plain_arguments((args, kwargs))
        recording = record_run(f, *given, **named)
        found = forward_events(recording, {node: severity(recording, node) > FINITE for node in recording.outputs})
        if found:
            return WhyNan(found, None, [])
        back = adjoints(recording, [np.ones(node.shape) for node in recording.outputs])
        events = backward_events(recording, back)
        if not events:
            operations = recording.graph.operations
            return WhyNan(
                [],
                None,
                [source_line_of(recording, node) for node in operations if np.any(severity(recording, node) > FINITE)],
            )
        cause = events[0].node
        assert isinstance(cause, Operation)
        start = {node: severity(recording, node) > FINITE for node in (cause, *cause.args)}
        before = [event for event in forward_events(recording, start) if isinstance(event.node, Operation)]
        return WhyNan(before + events, hiding_reason(recording, before[0].node) if before else None, [])


def hiding_reason(recording: Recording, node: Node) -> str:
    """Why the result is finite although this value is not: by a selection, or by arithmetic such as 1 / inf."""
    reached = {node}
    for later in recording.graph.operations:
        if any(a in reached for a in later.args):
            reached.add(later)
            if later.primitive.facts.selects:
                return UNTAKEN
    return ABSORBED


def severity(recording: Recording, node: Node) -> Any:
    """For each element of a value: finite, infinite or NaN. For several outputs, the worst of all."""
    return severities(plain_arrays(recording.values[node]))


def severities(x: Any) -> np.ndarray:
    """For each element of an array: finite, infinite or NaN."""
    if isinstance(x, tuple):
        return np.asarray(
            max([int(severities(part).max(initial=FINITE)) for part in x if part is not None], default=FINITE)
        )
    if x.dtype.kind not in "fc":
        return np.zeros(x.shape, np.int8)
    return np.where(np.isnan(x), NOT_A_NUMBER, np.where(np.isinf(x), INFINITE, FINITE)).astype(np.int8)


def forward_events(recording: Recording, start: dict[Node, Any]) -> list[Event]:
    """The operations behind the marked elements whose result is worse than their operands, in order of execution.

    If there are none, an argument or a captured array is to blame.
    """
    relevant = {node: mask for node, mask in start.items() if np.any(mask)}
    found: list[tuple[Operation, tuple[int, ...]]] = []
    for node in reversed(recording.graph.operations):
        mask = relevant.get(node)
        if mask is None:
            continue
        worst, sources = worst_operands(recording, node, mask)
        made = mask & (severity(recording, node) > worst)
        if np.any(made):
            found.append((node, first_index(made)))
        for a, part in sources:
            if np.any(part):
                relevant[a] = relevant[a] | part if a in relevant else part
    if found:
        return [forward_event(recording, node, index) for node, index in found[: -MOST - 1 : -1]]
    return [input_event(recording, node, mask) for node, mask in relevant.items() if isinstance(node, Input | Constant)]


def worst_operands(recording: Recording, node: Operation, mask: Any) -> tuple[Any, list[tuple[Node, Any]]]:
    """For each marked element, the worst of its operands, and which elements of the operands these are."""
    primitive = node.primitive
    bad = {a: severity(recording, a) for a in node.args}
    if primitive.kind == "elementwise":
        taken = taken_operands(recording, node)
        wide = [np.where(t, np.broadcast_to(bad[a], node.shape), FINITE) for a, t in taken]
        worst = np.max(wide, axis=0)
        return worst, [(a, gather_back(mask & (w > FINITE), a.shape)) for (a, _), w in zip(taken, wide, strict=True)]
    if primitive.kind == "linear" and primitive.outputs == 1 and mask.shape == node.shape:
        sources = trace_back(recording, node, mask, bad)
    else:
        sources = [(a, bad[a] > FINITE) for a in node.args]
    worst = max([int(bad[a][part].max(initial=FINITE)) for a, part in sources], default=FINITE)
    return worst, sources


def taken_operands(recording: Recording, node: Operation) -> list[tuple[Node, Any]]:
    """The operands of an elementwise operation, with masks of where they matter: for `where`, what is taken."""
    if not is_a(node, _where):
        return [(a, True) for a in node.args]
    condition = plain_arrays(recording.values[node.args[0]]).astype(bool)
    return [(node.args[1], condition), (node.args[2], ~condition)]


def gather_back(mask: Any, shape: tuple[int, ...]) -> Any:
    """Which elements of an operand of this shape were broadcast to a marked element."""
    axes = broadcast_axes(mask.shape, shape)
    return np.any(mask, axis=axes).reshape(shape) if axes else mask


def trace_back(recording: Recording, node: Operation, mask: Any, bad: dict[Node, Any]) -> list[tuple[Node, Any]]:
    """The elements that a linear operation moved to the marked ones, by its transpose."""
    values = recording.values
    leaves: dict[Node, TapeNode] = {
        a: Leaf(values[a]) for a in node.args if a.dtype is not None and a.dtype.kind in "fc"
    }
    kept = record_node(node, leaves, values.__getitem__) if leaves else None
    if kept is None:
        return []
    terms = enumerate_terms(kept, mask.astype(node.dtype)[()], None)
    return [(node.args[i], (plain_arrays(c) != 0) & (bad[node.args[i]] > FINITE)) for i, (_, c, _) in terms]


def first_index(mask: Any) -> tuple[int, ...]:
    """The index of the first true element."""
    return tuple(np.argwhere(mask)[0].tolist())


def forward_event(recording: Recording, node: Operation, index: tuple[int, ...]) -> Event:
    """An operation whose result is worse than its operands."""
    whole = plain_arrays(recording.values[node])
    made = whole if isinstance(whole, tuple) else whole[index][()]
    operands = operand_values(recording, node, index)
    cause, advice = remedy(node.primitive, FORWARD, [np.asarray(o.value) for o in operands])
    derivative = derivative_at(node, blamed_operand(node), recording.values, index, node.shape)
    return Event(node, FORWARD, index, made, operands, derivative, cause, advice, source_line_of(recording, node))


def input_event(recording: Recording, node: Node, mask: Any) -> Event:
    """An argument or a captured array that is not finite."""
    index = first_index(mask)
    made = plain_arrays(recording.values[node])[index][()]
    what = "a captured array or number"
    if isinstance(node, Input):
        what = f"the argument {element_name(node.name or 'x', index)}"
    advice = "Look at where it comes from: np.isfinite(x).all() before the call tells."
    return Event(
        node,
        FORWARD,
        index,
        made,
        (),
        None,
        f"{what} is {format_number(made)}",
        advice,
        source_line_of(recording, node),
    )


def blamed_operand(node: Operation) -> int:
    """The operand whose derivative is shown: the denominator of a quotient, else the first that is not a constant."""
    if is_a(node, divide) and not isinstance(node.args[1], Constant):
        return 1
    return next((i for i, a in enumerate(node.args) if not isinstance(a, Constant)), 0)


def derivative_at(
    node: Operation, operand: int, values: dict[Node, Any], index: tuple[int, ...], shape: tuple[int, ...]
) -> Any:
    """The local derivative of one element, if it is a single number."""
    if node.primitive.outputs != 1 or node.args[operand].dtype.kind not in "fc":
        return None
    found = plain_arrays(local_derivative(node, operand, values))
    return None if found is None or found.shape != shape else found[index][()]


def operand_values(recording: Recording, node: Operation, index: tuple[int, ...] | None) -> tuple[OperandValue, ...]:
    """The operands of one element of an elementwise operation; whole operands of any other, or without an index."""
    names = recording.graph.value_names()
    found = []
    for a in node.args:
        name, value = names.get(a), plain_arrays(recording.values[a])
        if index is not None and node.primitive.kind == "elementwise" and not isinstance(value, tuple):
            name = name and element_name(name, index_before_broadcast(index, value.shape))
            value = np.broadcast_to(value, node.shape)[index][()]
        found.append(OperandValue(name, value))
    return tuple(found)


def index_before_broadcast(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of the same element in an operand of this shape, before it was broadcast."""
    return tuple([0 if n == 1 else i for i, n in zip(index[len(index) - len(shape) :], shape, strict=True)])


def backward_events(recording: Recording, back: Adjoints) -> list[Event]:
    """The operations whose contribution is worse than their adjoint, in the order of the backward pass."""
    relevant: set[Node] = {node for node in recording.inputs if np.any(adjoint_severity(back, node) > FINITE)}
    found: dict[Operation, Event] = {}
    for node in recording.graph.nodes:
        if node not in relevant:
            continue
        for term in back.terms.get(node, []):
            worse = severities(plain_arrays(term.value))
            if not np.any(worse):
                continue
            arrived = adjoint_severity(back, term.consumer)
            if np.any(arrived):
                relevant.add(term.consumer)
            by_element = term.consumer.primitive.kind == "elementwise" and arrived.shape == worse.shape
            made = worse > (arrived if by_element else arrived.max(initial=FINITE))
            if np.any(made) and term.consumer not in found:
                index = first_index(made)
                found[term.consumer] = backward_event(recording, term.consumer, term.operand, index, term.value)
        if isinstance(node, Operation) and node.primitive is OUTPUT:
            relevant.add(node.args[0])
    return [found[node] for node in back.order if node in found]


def adjoint_severity(back: Adjoints, node: Node) -> np.ndarray:
    """For each element of an adjoint: finite, infinite or NaN."""
    return severities(plain_arrays(back.values[node])) if node in back.values else np.zeros((), np.int8)


def backward_event(recording: Recording, node: Operation, operand: int, index: tuple[int, ...], term: Any) -> Event:
    """An operation whose contribution to an operand's adjoint is worse than its own adjoint."""
    arg = node.args[operand]
    operands = operand_values(recording, node, index if node.shape == arg.shape else None)
    cause, advice = remedy(node.primitive, BACKWARD, [np.asarray(o.value) for o in operands])
    derivative = derivative_at(node, operand, recording.values, index, arg.shape)
    return Event(
        node,
        BACKWARD,
        index,
        plain_arrays(term)[index][()],
        operands,
        derivative,
        cause,
        advice,
        source_line_of(recording, node),
    )
