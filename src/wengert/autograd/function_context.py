"""What the forward of a Function leaves for its backward, and what is known of the histories of those values.

Of each saved value it is known whether it was an input, an output, or something in between. When the walk back is
itself recorded, inputs and outputs come back with their history, so that a backward written in differentiable
operations can be differentiated again. Something in between comes back with a dead end for a history, which raises if a
gradient arrives there: terms are never dropped silently.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error, user_line
from wengert.core.primitive import OUTPUT, Primitive
from wengert.modes import recording
from wengert.modes.reverse import Tensor, snapshot
from wengert.modes.tape import Node


class Context:
    """What `forward` leaves for `backward`: saved tensors, and any attribute, as they are when forward returns.

    Numbers kept as attributes are constants, and so are plain arrays, unless they are the memory of an input or output.

    >>> from wengert.autograd import Function
    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2.0 * x * grad
    >>> x = Tensor(np.float64(3.0)).requires_grad_()
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, name: str, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._name = name
        self._to_save: tuple = ()
        self._attributes: dict[str, int] = {}  # attributes whose history matters, by their place among the saved values
        self._nondifferentiable: tuple = ()
        self._materialize = True
        self._saved: Callable[[], Saved | None] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep these tensors or arrays (or None) as forward leaves them; `saved_tensors` gives them back."""
        for x in tensors:
            if x is not None and not isinstance(x, Array | np.ndarray | np.generic):
                raise user_error(
                    TypeError,
                    f"{self._name}: save_for_backward takes tensors, arrays and None, not a {type(x).__name__}",
                    "Keep it as an attribute instead: ctx.name = value.",
                )
        self._to_save = tensors

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """No gradient flows through these outputs."""
        self._nondifferentiable = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for outputs that nothing was computed from."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        """What `save_for_backward` was given. Arrays come back as read-only arrays, unless their history matters."""
        saved = self._open()
        return tuple(saved.restored(i) for i in range(len(saved.values) - len(self._attributes)))

    def __getattr__(self, name: str) -> Any:
        place = self.__dict__.get("_attributes", {}).get(name)
        if place is None:
            raise AttributeError(f"the context of {self.__dict__.get('_name')} has no attribute {name!r}")
        return self._open().restored(place)

    def _open(self) -> Saved:
        if self._saved is None:
            raise user_error(
                GradientError, f"{self._name}: saved tensors exist once forward has returned and was recorded"
            )
        saved = self._saved()
        if saved is None:
            raise user_error(
                GradientError,
                f"The tensors that {self._name} saved were released",
                "Pass retain_graph=True to the earlier backward.",
            )
        return saved

    def _close(self, is_constant: Callable[[Any], bool]) -> list[Any]:
        """All that forward saved; attributes whose history matters are last."""
        named = {}
        for name, x in vars(self).items():
            if isinstance(x, np.ndarray | np.generic) and is_constant(x):
                vars(self)[name] = snapshot(x)
            elif isinstance(x, Tensor | np.ndarray | np.generic):
                named[name] = x
        self._attributes = {name: len(self._to_save) + i for i, name in enumerate(named)}
        for name in named:
            delattr(self, name)
        to_save, self._to_save, self._nondifferentiable = self._to_save, (), ()
        return [*to_save, *named.values()]


class Saved:
    """What one node of a Function keeps. The node alone owns it: when the node is released, so is this.

    `origins` says where each value comes from: `i` is input i, `~j` is output j, None anything in between. `below` has
    the histories of the inputs at lower levels.
    """

    __slots__ = ("__weakref__", "arrays", "below", "level", "node", "origins", "unpack", "values")

    unpack: Callable | None

    def __init__(
        self,
        values: Sequence[Any],
        arrays: Sequence[bool],
        origins: Sequence[int | None],
        level: int,
        below: Sequence[tuple],
    ):
        self.values, self.unpack = tuple(values), None
        packing = recording.current().packing
        if packing is not None:
            pack, self.unpack = packing
            self.values = tuple(map(pack, values))
        self.arrays, self.origins, self.level, self.below = arrays, origins, level, tuple(below)
        self.node: Callable[[], Node | None] = lambda: None

    def belong(self, node: Node, ctx: Context) -> None:
        self.node, ctx._saved = weakref.ref(node), weakref.ref(self)

    @property
    def whole(self) -> Node:
        node = self.node()
        assert node is not None
        return node

    @property
    def nested(self) -> bool:
        """Whether a transform runs around this one, so that backward must be recorded in any case."""
        return bool(self.below)

    @property
    def histories(self) -> Sequence[tuple[int, tuple]]:
        """The nodes of the inputs, by level, as a recorded backward sees them."""
        return self.below if self.level else ((0, self.whole.parents),)

    def restored(self, i: int) -> Any:
        """A saved value as `backward` sees it, with a history if the walk back is recorded."""
        value, origin = self.values[i], self.origins[i]
        if self.unpack:
            value = self.unpack(value)
        if value is None:
            return None
        if isinstance(value, Tensor):
            return snapshot(value) if recording.recording() else Tensor(bottom(value))
        if recording.recording() and value.dtype.kind in "fc":
            if origin is None:
                return ended(value, self.histories, unknown_history(self.whole.name))
            if not self.level:
                node = (
                    self.whole.parents[origin]
                    if origin >= 0
                    else Node(OUTPUT, {"index": ~origin}, (self.whole,), (), value)
                )
                if node is not None:
                    return Tensor(value, 0, node)
        return value if self.arrays[i] else Tensor(value)


def layers(x: Any) -> Iterator[Tensor]:
    """A tensor and the tensors of lower level inside it."""
    while isinstance(x, Tensor):
        yield x
        x = x.value


def bottom(x: Tensor) -> Any:
    *_, last = layers(x)
    return last.value


def _refuse(t: Any, reason: str) -> Any:
    raise GradientError(f"{reason} It was asked for at {user_line()}.")


DEAD_END = Primitive("dead end", lambda *x, reason: x, "function", ("*x",), vjp=_refuse)
"""Stands behind values whose derivative is not known, and says so if a gradient arrives."""


def ended(value: Any, histories: Sequence[tuple[int, tuple]], reason: str) -> Any:
    """The value with a dead end at each level where it depends, in an unknown way, on nodes."""
    for level, parents in histories:
        if any(parent is not None for parent in parents):
            value = Tensor(value, level, Node(DEAD_END, {"reason": reason}, parents, (), value))
    return value


def unknown_history(name: str) -> str:
    return (
        f"The second derivative of {name} needs a value that its forward computed in between and saved, and how that "
        f"depends on the inputs "
        f"is unknown. Compute it in backward from saved inputs or outputs, or return it as one more output; if it is "
        f"constant, keep it as "
        f"a plain array: ctx.name = array."
    )
