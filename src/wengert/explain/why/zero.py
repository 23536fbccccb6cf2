"""`why_zero`: for each argument, why its derivative is zero or missing, and on which source line it is lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import user_error
from wengert.core.primitive import OUTPUT
from wengert.explain import aspects  # noqa: F401  # fills `zero_slope`
from wengert.explain.recorder import Recording, plain_arguments, plain_arrays, record_run
from wengert.explain.sweeps import Adjoints, adjoints, local_derivative
from wengert.explain.tables.numbers import format_number, format_value
from wengert.explain.why.report import Answer, SourceLine, element_name, source_line_of
from wengert.explain.why.zero_slopes import zero_slope
from wengert.graph.ir import Constant, Input, Node, Operation, is_a
from wengert.modes.forward import push
from wengert.ops.elementwise.choices import _where
from wengert.ops.shape.casting import _stop_gradient

FINE = "fine"
LONGEST = 8
"""How many lines of a path are shown."""
REMEDIES = {
    FINE: "",
    "not finite": "Ask wg.why_nan.",
    "integer": "Pass floating-point numbers: x.astype(float), 2.0 instead of 2.",
    "not used": "If it should matter, check that the line which uses it is run and that its result is used.",
    "only compared": "A decision has no derivative. To have one, weight both sides by something smooth, such as "
    "wg.sigmoid(x / width).",
    "detached": "Leave detach or stop_gradient out where the derivative should pass.",
    "not differentiable": "Use a smooth replacement: wg.sigmoid for a comparison, a softmax for argmax, the number "
    "itself for its rounding; or wg.custom_vjp to pass the derivative straight through.",
    "multiplied by zero": "Look at the other factor: weights that all start at 0 and masks are the usual reasons.",
    "saturated": "Bring the argument back to where the function has a slope: smaller weights or inputs, a leaky "
    "variant, wider bounds; for a logarithm of it use wg.softplus or wg.logsumexp.",
    "not selected": "Only what is selected receives a derivative. A smooth selection such as wg.logsumexp or a softmax "
    "gives some to all.",
    "overwritten": "Keep the earlier value under another name, or add to it instead of assigning.",
    "stationary": "The function is flat at this point; start from another one.",
    "cancels": "The contributions of several paths or elements add up to zero; that may well be right.",
    "underflow": "The product of small numbers is below the smallest one; scale the function, or compute with "
    "logarithms.",
}


class Loss(NamedTuple):
    """An operation on the path from an argument to the result that passes no derivative on."""

    node: Operation
    kind: str
    text: str
    path: tuple[SourceLine, ...]
    source_line: SourceLine


class Reason(NamedTuple):
    """Why the gradient of one argument is zero. `path` has the source lines from it to where the gradient is lost."""

    name: str
    kind: str
    text: str
    gradient: Any
    source_line: SourceLine | None = None
    path: tuple[SourceLine, ...] = ()
    losses: tuple[Loss, ...] = ()
    zeros: int = 0

    @property
    def is_fine(self) -> bool:
        return self.kind == FINE

    @property
    def operation(self) -> str | None:
        return self.source_line.operation if self.source_line else None

    @property
    def filename(self) -> str | None:
        return self.source_line.filename if self.source_line else None

    @property
    def line(self) -> int | None:
        return self.source_line.line if self.source_line else None

    @property
    def function(self) -> str | None:
        return self.source_line.function if self.source_line else None

    @property
    def code(self) -> str | None:
        return self.source_line.code if self.source_line else None

    @property
    def remedy(self) -> str:
        return REMEDIES[self.kind if self.kind != FINE or not self.losses else self.losses[0].kind]

    def rows(self) -> Iterator[tuple[str, str]]:
        yield self.name, f"{self.kind}: {self.text}" if self.text else self.kind
        if self.is_fine and not self.losses:
            return
        skipped = len(self.path) - LONGEST
        for i, step in enumerate(self.path):
            if skipped <= 0 or not LONGEST // 2 <= i < LONGEST // 2 + skipped:
                yield "  path", str(step)
            elif i == LONGEST // 2:
                yield "  path", f"... {skipped} more ..."
        if self.source_line is not None:
            yield "  lost", f"by {self.operation} at {self.source_line}"
        for loss in self.losses[1:4]:
            yield "  also", f"{loss.kind} ({loss.text}) at {loss.source_line}"
        if self.remedy:
            yield "  usually done", self.remedy


class WhyZero(Answer):
    """The answers by argument: `answer["x"]` or `answer[0]`, or in order."""

    def __init__(self, reasons: list[Reason]):
        self.reasons = reasons

    def __getitem__(self, key: int | str) -> Reason:
        if isinstance(key, int):
            return self.reasons[key]
        found = [reason for reason in self.reasons if reason.name == key]
        if not found:
            names = ", ".join(reason.name for reason in self.reasons)
            raise user_error(KeyError, f"{key!r} is not an argument", f"The arguments are {names}.")
        return found[0]

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def __len__(self) -> int:
        return len(self.reasons)

    @property
    def is_fine(self) -> bool:
        return all(reason.is_fine for reason in self.reasons)

    def rows(self) -> list[tuple[str, str]]:
        return [row for reason in self.reasons for row in reason.rows()] or [
            ("No argument", "is a number or an array.")
        ]


def why_zero(f: Callable, *args: Any, **kwargs: Any) -> WhyZero:
    """For each argument, why its gradient is zero or missing, with the path to where it is lost.

    >>> print(why_zero(lambda x, n: x * 2.0, 1.0, 3))
    x               fine: the derivative is 2
    n               integer: i64 numbers do not vary continuously
      usually done  Pass floating-point numbers: x.astype(float), 2.0 instead of 2.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        given, named = plain_arguments((args, kwargs))
        recording = record_run(f, *given, **named)
        back = adjoints(recording, [np.ones(node.shape) for node in recording.outputs])
        return WhyZero([Search(recording, back, node).reason() for node in recording.inputs])


class Search:
    """The paths from one argument to the result, followed while the adjoint is zero.

    `alive` has, for each value on such a path, a mask of the elements that depend on elements of the argument without a
    gradient.
    """

    def __init__(self, recording: Recording, back: Adjoints, start: Input):
        self.recording, self.back, self.start = recording, back, start
        self.name = start.name or "x"
        self.values, self.operations = recording.values, recording.graph.operations
        self.alive: dict[Node, Any] = {}
        self.came_from: dict[Node, Node] = {}

    def reason(self) -> Reason:
        if self.start.dtype.kind not in "fc":
            return Reason(
                self.name, "integer", f"{self.start.spec!r} numbers do not vary continuously".replace("[]", ""), None
            )
        gradient = plain_arrays(self.back.values.get(self.start))
        if gradient is not None and not np.all(np.isfinite(gradient)):
            return Reason(self.name, "not finite", f"the derivative is {format_value(gradient)}", gradient[()])
        zero = np.ones(self.start.shape, bool) if gradient is None else gradient == 0
        if not np.any(zero) and gradient is not None:
            return Reason(self.name, FINE, f"the derivative is {format_value(gradient)}", gradient[()])
        if self.start not in self.recording.graph.nodes:
            return self.unused_reason()
        losses = self.losses(zero)
        first, count = losses[0] if losses else None, int(np.count_nonzero(zero))
        if gradient is not None and count < zero.size:
            index = tuple(np.argwhere(zero)[0].tolist())
            kind, text = FINE, f"{zero.size - count} of {zero.size} elements have a derivative; "
            text += f"{element_name(self.name, index)} is the first of the others"
            text += f" ({first.kind}: {first.text})" if first else ""
            gradient = gradient[()]
        elif first is None:
            return Reason(self.name, "not used", "nothing of it reaches the result", gradient)
        else:
            kind, text = first.kind, first.text
        at, path = (first.source_line, first.path) if first else (None, ())
        return Reason(self.name, kind, text, gradient, at, path, tuple(losses), count)

    def unused_reason(self) -> Reason:
        """An argument that no operation connects with the result."""
        seen: set[Node] = {self.start}
        last: Operation | None = None
        for node in sorted(self.values, key=lambda node: node.sequence):
            if isinstance(node, Operation) and any(a in seen for a in node.args):
                seen.add(node)
                self.came_from.setdefault(node, next(a for a in node.args if a in seen))
                last = node
        detached = {id(self.values[node]): node for node in seen if not isinstance(self.values[node], tuple)}
        for node in self.operations:
            for a in node.args:
                origin = detached.get(id(self.values[a])) if isinstance(a, Constant) and a.dtype.kind in "fc" else None
                if origin is not None:
                    at, text = source_line_of(self.recording, node), "its number is used, cut off by detach"
                    return Reason(self.name, "detached", text, None, at, self.path_to(origin))
        if last is None:
            return Reason(self.name, "not used", "no operation takes it", None)
        at = source_line_of(self.recording, last)
        if all(self.is_comparison(node) for node in seen if node is not self.start):
            return Reason(self.name, "only compared", "it only decides which branch the program takes", None, at)
        text = "what is computed from it enters no result"
        return Reason(self.name, "not used", text, None, at, self.path_to(last)[:-1])

    def is_comparison(self, node: Node) -> bool:
        return isinstance(node, Operation) and node.primitive.kind == "nondifferentiable" and node.dtype.kind == "b"

    def losses(self, start: Any) -> list[Loss]:
        """All operations that stop the derivative, in order of execution."""
        self.alive = {self.start: start}
        found: list[Loss] = []
        for node in self.operations:
            live = [i for i, a in enumerate(node.args) if a in self.alive]
            open_ = [i for i in live if node.primitive is OUTPUT or node.primitive.definition.has_derivative(i)]
            if live and not open_:
                found.append(self.blocking_loss(node, live[0]))
            if not open_:
                continue
            self.came_from[node] = node.args[open_[0]]
            mask = self.reached_elements(node, open_)
            if not any_true(mask):
                replaced = "overwritten", "its elements are replaced"
                skipped = "not selected", "its elements are left out"
                found.append(self.loss(node, *(replaced if node.primitive.facts.overwrites else skipped)))
                continue
            if not has_nonzero(self.back.values.get(node), mask):
                self.alive[node] = mask
            else:
                found += [self.lost_at(node, i) for i in open_[:1]]
        return found

    def reached_elements(self, node: Operation, operands: list[int]) -> Any:
        """A mask of the elements of a result that the marked elements of these operands can change."""
        primitive = node.primitive
        masks = {i: self.alive[node.args[i]] for i in operands}
        if primitive is OUTPUT:
            return masks[0][node.params["index"]]
        if primitive.kind == "elementwise":
            return np.any([np.broadcast_to(mask, node.shape) for mask in masks.values()], axis=0)
        if primitive.kind == "linear":
            args = [plain_arrays(self.values[a]) for a in node.args]
            marks = [masks[i].astype(a.dtype) if i in masks else None for i, a in enumerate(node.args)]
            pushed = push(primitive, args, marks, self.values[node], node.params)
            return tuple([p != 0 for p in pushed]) if isinstance(pushed, tuple | list) else plain_arrays(pushed) != 0
        some = any(any_true(mask) for mask in masks.values())
        if primitive.outputs == 1:
            return np.full(node.shape, some)
        return tuple([np.full(spec.shape, some) for spec in node.spec])

    def blocking_loss(self, node: Operation, operand: int) -> Loss:
        """The loss at an operation that has no derivative with respect to this operand."""
        self.came_from[node] = node.args[operand]
        if is_a(node, _stop_gradient):
            return self.loss(node, "detached", "stop_gradient lets no derivative through")
        if is_a(node, _where):
            return self.loss(node, "not differentiable", "it is the condition of where, which only chooses")
        reason = node.primitive.definition.reason or "this operand has no derivative"
        return self.loss(node, "not differentiable", f"{node.primitive.name} has no derivative ({reason})")

    def lost_at(self, node: Operation, operand: int) -> Loss:
        """The loss at an operation whose adjoint is not zero, and which contributes zero to this operand."""
        arg = node.args[operand]
        adjoint = plain_arrays(self.back.values[node])
        terms = [term for term in self.back.terms.get(arg, []) if has_nonzero(term.value, self.alive[arg])]
        if terms:
            lines = ", ".join(dict.fromkeys(str(source_line_of(self.recording, term.consumer).line) for term in terms))
            return self.loss(node, "cancels", f"{len(terms)} contributions (line {lines}) add up to zero")
        local = plain_arrays(local_derivative(node, operand, self.values)) if node.primitive.outputs == 1 else None
        if local is not None:
            relevant = np.broadcast_to(self.alive[arg], node.shape) & (adjoint != 0)
            slopes = np.broadcast_to(local, node.shape)[relevant]
            if np.any(slopes != 0):
                if np.any(slopes * adjoint[relevant]):
                    return self.loss(node, "cancels", "its elements add up to zero")
                return self.loss(node, "underflow", "the product is too small")
        account: Any = zero_slope.of(node.primitive)
        return self.loss(node, *account(self, node, operand))

    def describe(self, node: Node) -> str:
        """A value by name and number; of an array on the path, the first element that matters."""
        name = self.recording.graph.value_names().get(node)
        found = plain_arrays(self.values[node])
        mask = self.alive.get(node)
        if found.size > 1 and isinstance(mask, np.ndarray) and np.any(mask):
            index = tuple(np.argwhere(mask)[0].tolist())
            name, shown = name and element_name(name, index), format_number(found[index])
        else:
            shown = format_value(found)
        return f"{name} = {shown}" if name else shown

    def loss(self, node: Operation, kind: str, text: str) -> Loss:
        return Loss(node, kind, text, self.path_to(node)[:-1], source_line_of(self.recording, node))

    def path_to(self, node: Node) -> tuple[SourceLine, ...]:
        """The source lines from the argument to a node, without repetitions in a row."""
        lines: list[SourceLine] = []
        while isinstance(node, Operation):
            here = source_line_of(self.recording, node)
            if not lines or (here.filename, here.line) != (lines[-1].filename, lines[-1].line):
                lines.append(here)
            node = self.came_from[node]
        return tuple(reversed(lines))


def any_true(mask: Any) -> bool:
    """Whether a mask, or one of several, marks an element."""
    return any(map(any_true, mask)) if isinstance(mask, tuple) else bool(np.any(mask))


def has_nonzero(adjoint: Any, mask: Any) -> bool:
    """Whether a marked element of an adjoint, or of one of several, is not zero."""
    if adjoint is None:
        return False
    if isinstance(mask, tuple):
        return any(has_nonzero(part, m) for part, m in zip(adjoint, mask, strict=True))
    return bool(np.any(plain_arrays(adjoint)[mask]))
