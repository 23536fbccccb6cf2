"""Traces with a tape: `backward` and `grad` in a function that is traced.

In such a trace, a captured tensor that requires a gradient is a tensor again: its payload is a symbol, and its level is
that of the trace's tape. So the tape, its rules, hooks and errors are those of eager code, and what they compute
becomes part of the program. A trace begins without a tape, and is run again with one if the function needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import new_level, strip_level
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.ir import Input
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import Leaf, TapeNode
from wengert.modes.tensor import Tensor
from wengert.modes.trace import Assignment, Gradient, Trace


class TapedTrace(Trace):
    """A trace in which captured tensors have histories and gradients.

    `histories` are the nodes of captured tensors on the trace's tape.
    """

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.tape = new_level()
        self.histories: dict[int, tuple[Tensor, TapeNode | None]] = {}

    def captures(self, level: int, args: Iterable[Any]) -> bool:
        return not level or (level == self.tape and any(isinstance(a, Array) and not a.level for a in args))

    def run(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return primitive.op(*[self.value_of(a) if isinstance(a, Array) and not a.level else a for a in args], **params)

    def value_of(self, tensor: Any) -> Any:
        symbol, history = self.symbol(tensor), self.history_of(tensor)
        return symbol if history is None else Tensor(symbol, self.tape, history)

    def leaf(self, value: Any) -> Tensor:
        """A new tensor that requires a gradient."""
        new = Tensor(self.symbol(value), self.tape)
        new.node = Leaf(new.value, new)
        return new

    def history_of(self, tensor: Any) -> TapeNode | None:
        """The node of a captured tensor on the tape of this trace."""
        if id(tensor) not in self.histories:
            if not tensor.is_leaf:
                raise user_error(
                    GradientError,
                    f"A function that calls backward captures a value with a history, made by {tensor.node.name}",
                    because="a program has the history of its own operations only. Compute it inside the function, or "
                    "capture x.detach().",
                )
            node = Leaf(tensor, tensor) if tensor.requires_grad else None
            if node is not None and self.read(tensor, hooks_of):
                node.hooks = tensor.node.hooks
            self.histories[id(tensor)] = tensor, node
        return self.histories[id(tensor)][1]

    def assign(self, tensor: Array, new: Any, is_recorded: bool) -> None:
        history = self.history_of(tensor)
        if is_recorded:
            if isinstance(history, Leaf):
                tensor._refuse_leaf()  # type: ignore[attr-defined]  # a tensor
            is_live = isinstance(new, Tensor) and new.level == self.tape
            self.histories[id(tensor)] = tensor, new.node if is_live else None  # type: ignore[assignment]  # a tensor
        super().assign(tensor, strip_level(new, self.tape), is_recorded=False)

    # Gradients.

    def grad_of(self, tensor: Tensor) -> Any:
        if id(tensor) not in self.gradients:
            state = self.read(tensor, gradient_state)
            if state == RECORDED:
                raise user_error(
                    GradientError,
                    "The gradient of a captured tensor has a history (create_graph=True)",
                    because="a program has the history of its own operations only. Set t.grad = t.grad.detach().",
                )
            given = Input(Spec(tensor.shape, tensor.dtype.newbyteorder("=")), name="grad") if state else None
            current = None if given is None else Symbol(given, self.level, self)
            self.gradients[id(tensor)] = Gradient(tensor, given, current)
        return self.gradients[id(tensor)].current

    def set_grad(self, tensor: Tensor, value: Any) -> None:
        if self.repeated:
            raise user_error(
                GradientError,
                f"The gradient of a tensor that a compiled function captures was changed inside {self.repeated}",
                because="its value afterwards is not defined.",
            )
        self.gradients.setdefault(id(tensor), Gradient(tensor)).current = value

    def close(self) -> list[Assignment]:
        assignments = super().close()
        for gradient in self.gradients.values():
            current = strip_level(gradient.current, self.tape)
            if current is not None:
                assignments.append(Assignment(gradient, current.node, False))
            elif gradient.given is not None or (id(gradient.tensor), gradient_state) not in self.guards:
                self.removed.append(gradient)
            gradient.current = None  # symbols and nodes refer to the trace: there must be no cycle
        self.histories.clear()
        return [a for a in assignments if not (isinstance(a.target, Gradient) and a.node is a.target.given)]


MISSING, PLAIN, RECORDED = range(3)
"""What the gradient of a tensor is: None, numbers, or a value with a history."""


def gradient_state(tensor: Tensor) -> int:
    """What the gradient of a tensor is at this moment."""
    grad = getattr(tensor, "_grad", None)
    return MISSING if grad is None else PLAIN if grad.node is None else RECORDED


def hooks_of(tensor: Tensor) -> tuple[Any, ...]:
    """The hooks of a leaf at this moment."""
    hooks = tensor.node.hooks if tensor.node is not None else None
    return () if hooks is None else (*hooks.arrived.values(), *hooks.accumulated.values())
