"""TapeValue: what a tensor knows from its node alone, without running operations.

Whether it requires a gradient, whether it is a leaf, and when its numbers may be taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import OUTPUT
from wengert.modes import recording
from wengert.modes.in_place import is_traced, snapshot
from wengert.modes.tape import Handle, Leaf, TapeNode

RETAIN = -1
"""The key of the hook of `retain_grad`."""


def has_node(value: Any) -> bool:
    """Whether a tensor requires a gradient."""
    return value.node is not None


class TapeValue(Array):
    """A value with a node of the tape, None if it does not require a gradient; the base of `Tensor`."""

    if TYPE_CHECKING:
        node: TapeNode | None
    else:
        __slots__ = ()
        node = Array.extra

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to this value. For leaves it can be set."""
        if recording.active and is_traced(self):
            return bool(recording.current_trace().read(self, has_node))
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted == self.requires_grad:
            return
        self._refuse_trace("A change of requires_grad of")
        if self.node is not None:
            if not self.is_leaf:
                raise user_error(
                    GradientError,
                    f"requires_grad can be switched off on leaves only; this value was made by {self.node.name}",
                    "Use y.detach() for a value without history.",
                )
            self.node = None
            return
        if self.dtype.kind not in "fc":
            raise user_error(
                GradientError,
                f"A tensor of dtype {self.dtype} cannot require a gradient: derivatives need floating-point or complex "
                f"values",
                "Pass dtype=float, or convert with x.astype(float).",
            )
        self.node = Leaf(self.value, self)

    @property
    def is_live(self) -> bool:
        return self.node is not None

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad`, and return this value."""
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the user made this value, rather than a recorded operation."""
        return self.node is None or self.node.primitive is None

    @property
    def grad_fn(self) -> TapeNode | None:
        """The node of the operation that made this value; None for leaves."""
        node = self.node
        if node is None or node.primitive is None:
            return None
        return node.parents[0] if node.primitive is OUTPUT and node.parents else node

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this value."""
        node = self.node
        return node is not None and not self.is_leaf and node.hooks is not None and RETAIN in node.hooks.arrived

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> Handle:
        """Call `hook` with this leaf after a gradient was added to its `grad`."""
        if not isinstance(self.node, Leaf):
            raise user_error(GradientError, "A hook after accumulation needs a leaf that requires a gradient")
        return Handle(self.node.get_hooks().accumulated, hook)

    def _refuse_trace(self, what: str) -> None:
        """Raise in a trace, whose program has only the numbers of a tensor."""
        if is_traced(self):
            raise user_error(
                GradientError,
                f"{what} a captured tensor inside a compiled function",
                because="later calls would not repeat it. Do it before, and copy tensors with x.clone().",
            )

    def _refuse_leaf(self) -> None:
        """Raise for a recorded change of a leaf."""
        if isinstance(self.node, Leaf):
            raise user_error(
                GradientError,
                "A leaf that requires a gradient was changed in place",
                because="its gradient would be lost. Work on x.clone(), or update parameters inside `with "
                "wg.no_grad():`.",
            )

    # Conversion to plain numbers.

    def _plain(self, what: str) -> np.ndarray:
        return snapshot(self)._plain(what) if is_traced(self) else super()._plain(what)

    def __bool__(self) -> bool:
        return bool(snapshot(self) if is_traced(self) else self.value)

    def numpy(self) -> np.ndarray:
        """The numbers as a read-only array that shares memory."""
        return self.__array__()

    def item(self, *index: Any) -> Any:
        return snapshot(self).item(*index) if is_traced(self) else super().item(*index)

    def tolist(self) -> Any:
        return snapshot(self).tolist() if is_traced(self) else super().tolist()
