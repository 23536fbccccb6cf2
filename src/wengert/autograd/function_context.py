"""The context of a Function: what its forward saves for its backward, and the histories of the saved values.

Each saved value was an input, an output, or something in between. When the backward pass is itself recorded, inputs and
outputs are restored with their history, so that a backward written in differentiable operations can be differentiated
again. Any other value is restored with a dead end as its history, which raises an error if a gradient arrives there:
contributions are never dropped silently.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import OUTPUT, Primitive
from wengert.modes import recording
from wengert.modes.in_place import snapshot
from wengert.modes.tape import TapeNode
from wengert.modes.tensor import Tensor


class Context:
    """What `forward` saves for `backward`: tensors and any attributes, as they are when forward returns.

    Numbers in attributes are constants, and so are plain arrays, unless they are the memory of an input or output.

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
        self._to_save: tuple[Any, ...] = ()
        self._to_forward: tuple[Any, ...] = ()
        self._attributes: dict[str, int] = {}  # attributes with a history: their indices among the saved values
        self._nondifferentiable: tuple[Any, ...] = ()
        self._materialize = True
        self._saved: Callable[[], Saved | None] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Save these tensors or arrays (or None) as they are when forward returns; `saved_tensors` restores them."""
        for x in tensors:
            if x is not None and not isinstance(x, Array | np.ndarray | np.generic):
                raise user_error(
                    TypeError,
                    f"{self._name}: save_for_backward takes tensors, arrays and None, not a {type(x).__name__}",
                    "Keep it as an attribute instead: ctx.name = value.",
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save these tensors for `jvp`, where `saved_tensors` restores them; without it, those for backward."""
        self._to_forward = tensors

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """No gradient flows through these outputs."""
        self._nondifferentiable = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for outputs that nothing was computed from."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given. Arrays come back as read-only arrays, unless they have a history."""
        saved = self._open()
        return tuple(saved.restore(i) for i in range(len(saved.values) - len(self._attributes)))

    def __getattr__(self, name: str) -> Any:
        index = self.__dict__.get("_attributes", {}).get(name)
        if index is None:
            raise AttributeError(f"the context of {self.__dict__.get('_name')} has no attribute {name!r}")
        return self._open().restore(index)

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
        """All that forward saved; attributes with a history are last."""
        named = {}
        for name, x in vars(self).items():
            if isinstance(x, np.ndarray | np.generic) and is_constant(x):
                vars(self)[name] = snapshot(x)
            elif isinstance(x, Tensor | np.ndarray | np.generic):
                named[name] = x
        self._attributes = {name: len(self._to_save) + i for i, name in enumerate(named)}
        for name in named:
            delattr(self, name)
        to_save, self._to_save, self._to_forward, self._nondifferentiable = self._to_save, (), (), ()
        return [*to_save, *named.values()]


class Saved:
    """What one node of a Function keeps. The node alone owns it: it is released with the node.

    `origins` says what each value was: `i` is input i, `~j` is output j, None anything in between. `below` has the
    histories of the inputs at lower levels.
    """

    __slots__ = ("__weakref__", "arrays", "below", "level", "node", "origins", "unpack", "values")

    unpack: Callable[..., Any] | None

    def __init__(
        self,
        values: Sequence[Any],
        arrays: Sequence[bool],
        origins: Sequence[int | None],
        level: int,
        below: Sequence[tuple[Any, ...]],
    ):
        self.values, self.unpack = tuple(values), None
        packing = recording.current().packing
        if packing is not None:
            pack, self.unpack = packing
            self.values = tuple(map(pack, values))
        self.arrays, self.origins, self.level, self.below = arrays, origins, level, tuple(below)
        self.node: Callable[[], TapeNode | None] = lambda: None

    def attach(self, node: TapeNode, ctx: Context) -> None:
        """Tell this, and the context, which node it belongs to."""
        self.node, ctx._saved = weakref.ref(node), weakref.ref(self)

    @property
    def whole(self) -> TapeNode:
        node = self.node()
        assert node is not None
        return node

    @property
    def is_nested(self) -> bool:
        """Whether a transform runs around this one, so that backward is always recorded."""
        return bool(self.below)

    @property
    def histories(self) -> Sequence[tuple[int, tuple[Any, ...]]]:
        """The nodes of the inputs, by level, when backward is recorded."""
        return self.below if self.level else ((0, self.whole.parents),)

    def restore(self, i: int) -> Any:
        """A saved value for `backward`, with a history if the backward pass is recorded."""
        value, origin = self.values[i], self.origins[i]
        if self.unpack:
            value = self.unpack(value)
        if value is None:
            return None
        if isinstance(value, Tensor):
            return snapshot(value) if recording.is_recording() else Tensor(strip_tensors(value))
        if recording.is_recording() and value.dtype.kind in "fc":
            if origin is None:
                return add_dead_ends(value, self.histories, self.whole.name, UNKNOWN_HISTORY)
            if not self.level:
                if origin >= 0:
                    node = self.whole.parents[origin]
                else:
                    node = TapeNode(OUTPUT, {"index": ~origin}, (self.whole,), (), value)
                if node is not None:
                    return Tensor(value, 0, node)
        return value if self.arrays[i] else Tensor(value)


def strip_tensors(x: Any) -> Any:
    """x without the tensors around it: a plain array, or a value of another mode."""
    return strip_tensors(x.value) if isinstance(x, Tensor) else x


def refuse_gradient(name: str, because: str) -> Any:
    """Raise, since a gradient arrived at a dead end."""
    raise user_error(GradientError, f"There is no second derivative of {name}", because=because)


DEAD_END = Primitive(
    Definition(
        name="dead end",
        impl=lambda *x, reason: x,
        kind="function",
        inputs=("*x",),
        takes_params=True,
        vjp=lambda t, reason: refuse_gradient(*reason),
    )
)
"""The operation behind values whose derivative is not known: it raises if a gradient arrives."""


def add_dead_ends(value: Any, histories: Sequence[tuple[int, tuple[Any, ...]]], name: str, because: str) -> Any:
    """The value with a dead end at each level where it depends on nodes in an unknown way."""
    for level, parents in histories:
        if any(parent is not None for parent in parents):
            value = Tensor(value, level, TapeNode(DEAD_END, {"reason": (name, because)}, parents, (), value))
    return value


UNKNOWN_HISTORY = (
    "it needs a value that forward computed and saved, and how that depends on the inputs is unknown. Compute it in "
    "backward from saved inputs or outputs, or return it as one more output; if it is constant, keep it as a plain "
    "array: ctx.name = array."
)
