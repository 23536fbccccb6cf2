"""Function: an operation of the user's own, with its derivative written by hand.

Each subclass is one primitive, outside the table.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.function_context import Context, Saved, bottom, ended, layers
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.reverse import Tensor, as_tensor, internal, public, snapshot
from wengert.modes.tape import Node, several

OPAQUE = Spec((), np.dtype(object))
"""Stands for an output that is no array."""


class Function:
    """Base of operations with a derivative written by hand. Subclass it, and call `.apply(...)`.

    `forward(ctx, *args)` computes, unrecorded, on tensors without history; `backward(ctx, *grad_outputs)` returns one
    gradient for each argument of forward, None where there is none; trailing Nones may be left out.

    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 3.0 * x * x * grad
    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    primitive: Primitive

    def __init__(self, *args: Any, **kwargs: Any):
        raise user_error(TypeError, f"A Function is not instantiated: call {type(self).__name__}.apply(...)")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.primitive = Primitive(
            cls.__name__,
            lambda *x, ctx: cls.forward(ctx, *x),
            "function",
            ("*x",),
            vjp=lambda t, ctx: pull(cls, t, ctx),
        )

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("A Function needs a static method forward(ctx, ...).")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("A Function needs a static method backward(ctx, *grad_outputs) to be differentiated.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record it if an argument requires a gradient.

        Arguments by keyword have gradients too, in forward's order.
        """
        if kwargs:
            bound = inspect.signature(cls.forward).bind(None, *args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args[1:], bound.kwargs
        refuse_hidden(cls.__name__, args, kwargs)
        recorded = recording.recording()
        ctx = Context(cls.__name__, tuple(recorded and isinstance(a, Tensor) and a.requires_grad for a in args))
        inputs = [Tensor(np.asarray(bottom(a))) if isinstance(a, Tensor) else a for a in args]
        given = [x.value if isinstance(x, Tensor) else x for x in inputs]
        with recording.switched(enabled=False):
            returned = cls.forward(ctx, *inputs, **kwargs)
        levels = sorted({layer.level for a in args for layer in layers(a)})
        if not levels:
            return returned
        tracked = [any(layer.requires_grad for layer in layers(a)) for a in args]
        if recorded and any(tracked):
            refuse_nested(ctx, listed(returned))
        outputs = Outputs(ctx, listed(returned), [*map(Source, range(len(args)), inputs, given, tracked)])
        for level in levels:
            outputs.lift(cls.primitive, level, args, recorded)
        return tuple(outputs.values) if isinstance(returned, tuple | list) else outputs.values[0]


def refuse_hidden(name: str, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise where a gradient would be lost: tensors in containers, keyword-only tensors, values of other modes."""
    for x in tree.flatten(([bottom(a) if isinstance(a, Tensor) else a for a in args], kwargs))[0]:
        if isinstance(x, Tensor) and x.requires_grad and recording.recording():
            raise user_error(
                GradientError,
                f"{name}.apply got a tensor that requires a gradient inside a container, or as a keyword-only argument",
                because="its gradient would be lost. Pass it as a positional argument of its own.",
            )
        if isinstance(x, Array) and not isinstance(x, Tensor):
            raise user_error(TypeError, f"{name} has a derivative for reverse mode only, and got a {type(x).__name__}")


def refuse_nested(ctx: Context, returned: Sequence[Any]) -> None:
    """Raise where a gradient would be lost: outputs in containers."""
    for x in tree.flatten([y for y in returned if not isinstance(y, Array | np.ndarray)])[0]:
        if (
            isinstance(x, Array | np.ndarray)
            and x.dtype.kind in "fc"
            and not any(x is c for c in ctx._nondifferentiable)
        ):
            raise user_error(
                GradientError,
                f"{ctx._name}.forward returned a tensor or array inside a container",
                because="its gradient would be lost. Return it as an output of its own, or call "
                "ctx.mark_non_differentiable with it.",
            )


def listed(returned: Any) -> Sequence[Any]:
    return returned if isinstance(returned, tuple | list) else (returned,)


class Outputs:
    """What forward returned, on its way up from plain arrays to tensors of each level among the arguments."""

    def __init__(self, ctx: Context, returned: Sequence[Any], inputs: Sequence[Source]):
        self.ctx = ctx
        self.values = [plain(y) for y in returned]
        self.specs = [Spec.of(v) if isinstance(v, np.ndarray | np.generic) else OPAQUE for v in self.values]
        constant = ctx._nondifferentiable
        self.live = [
            s.dtype.kind in "fc" and not any(y is c for c in constant)
            for y, s in zip(returned, self.specs, strict=True)
        ]
        sources = [
            *inputs,
            *(
                Source(~j, y, y.value if isinstance(y, Tensor) else y, True)
                for j, y in enumerate(returned)
                if self.live[j]
            ),
        ]
        saved = ctx._close(lambda x: not any(s.tracked and (x is s.value or overlap(x, s.numbers)) for s in sources))
        self.arrays = [not isinstance(x, Tensor) for x in saved]
        self.origins = [origin(x, sources) for x in saved]
        self.saved = [x.value if isinstance(x, Tensor) else frozen(x) for x in saved]
        self.below: list[tuple[int, tuple]] = []

    def lift(self, primitive: Primitive, level: int, args: tuple, recorded: bool) -> None:
        """Make each output a tensor of this level, with a node if an argument of this level has one."""
        operands = [next((layer for layer in layers(a) if layer.level <= level), None) for a in args]
        parents = tuple(x.node if x is not None and x.level == level else None for x in operands)
        nodes: Sequence[Node | None] = [None] * len(self.values)
        if recorded and any(parents) and any(self.live):
            saved = Saved(
                [self.at_level(i, operands, level) for i in range(len(self.saved))],
                self.arrays,
                self.origins,
                level,
                self.below,
            )
            ctx = copy.copy(self.ctx) if self.below else self.ctx
            make = recording.special_node if recording.active else Node
            nodes = several(primitive, {"ctx": ctx}, parents, (saved,), self.specs, make)
            saved.belong(nodes[0].parents[0], ctx)
        self.values = [
            v if spec is OPAQUE else Tensor(v, level, node if live else None)
            for v, spec, node, live in zip(self.values, self.specs, nodes, self.live, strict=True)
        ]
        self.below.append((level, parents))

    def at_level(self, i: int, operands: Sequence[Tensor | None], level: int) -> Any:
        """A saved value with what lower levels know of it."""
        source = self.origins[i]
        if source is None:
            return self.saved[i]
        if source < 0:
            return self.values[~source]
        x = operands[source]
        if x is None:
            return self.saved[i]
        value = x.value if x.level == level else x
        return snapshot(value) if isinstance(value, Tensor) else value


def plain(y: Any) -> Any:
    """One output as numbers of its own; what is no array stays."""
    if isinstance(y, Tensor):
        return bottom(y)
    if isinstance(y, np.ndarray):
        return y.copy()
    return np.asarray(y)[()] if isinstance(y, Number) else y


class Source(NamedTuple):
    """An input or output, with its place in the notation of `Saved`."""

    place: int
    value: Any
    numbers: (
        Any  # those that an input came with: forward may have changed it in place, and then it is no longer the input
    )
    tracked: bool  # whether it has a history


def origin(x: Any, sources: Sequence[Source]) -> int | None:
    """The place of the source that a saved value is: the same object, or an array on the same memory."""
    for source in sources:
        if x is source.value and (not isinstance(x, Tensor) or x.value is source.numbers):
            return source.place
    found = [source.place for source in sources if overlap(x, source.numbers) and is_same(x, source.numbers)]
    several_inputs = len(found) > 1 and found[1] >= 0
    return found[0] if found and not several_inputs else None


def overlap(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)


def is_same(x: np.ndarray, y: np.ndarray) -> bool:
    return (x.ctypes.data, x.shape, x.strides, x.dtype) == (y.ctypes.data, y.shape, y.strides, y.dtype)


def frozen(x: Any) -> Any:
    x = snapshot(x)
    if isinstance(x, np.ndarray):
        x.flags.writeable = False
    return x


def pull(cls: type[Function], t: list, ctx: Context) -> list:
    """The vjp of a Function: cotangents of the outputs to those of the arguments, in public convention for the user in
    between.
    """
    saved = ctx._open()
    whole = saved.whole
    recorded = saved.nested or any(isinstance(c, Tensor) for c in t)
    grad_outputs = [
        public(c)
        if c is not None
        else Tensor(np.zeros(shape, dtype))
        if ctx._materialize and dtype.kind != "O"
        else None
        for c, shape, dtype in zip(t, whole.shape, whole.dtype, strict=True)
    ]
    with recording.switched(enabled=recorded):
        gradients = list(listed(cls.backward(ctx, *grad_outputs)))
        return [c if c is None or recorded else c.value for c in checked(cls.__name__, gradients, whole.parents)]


def checked(name: str, gradients: list, parents: tuple) -> list[Tensor | None]:
    """The gradients that a backward returned, one for each argument.

    Trailing ones that are missing, and not needed, are None.
    """
    surplus, missing = gradients[len(parents) :], parents[len(gradients) :]
    if any(g is not None for g in surplus) or any(missing):
        raise user_error(
            GradientError,
            f"{name}.backward returned {len(gradients)} gradients for the {len(parents)} arguments of forward",
            "Return one for each, in the same order, and None for those without a gradient.",
        )
    gradients = gradients[: len(parents)] + [None] * len(missing)
    return [checked_one(name, i, g, parent) for i, (g, parent) in enumerate(zip(gradients, parents, strict=True))]


def checked_one(name: str, i: int, gradient: Any, parent: Node | None) -> Tensor | None:
    if gradient is None or parent is None:
        return None
    t = internal(as_tensor(gradient))
    if t.shape != parent.shape:
        raise user_error(
            GradientError,
            f"{name}.backward returned a gradient of shape {t.shape} for argument {i}, which has shape {parent.shape}",
            "They must be equal; sum over the axes that were broadcast.",
        )
    return t


def once_differentiable(backward: Callable) -> Callable:
    """Decorates, under `@staticmethod`, a backward not written in differentiable operations: a second derivative
    through it raises.

    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2.0 * ctx.saved_tensors[0].numpy() * grad.numpy()
    >>> x = Tensor(np.float64(3.0)).requires_grad_()
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    @functools.wraps(backward)
    def wrapper(ctx: Context, *grad_outputs: Any) -> Any:
        recorded = recording.recording()
        with recording.switched(enabled=False):
            returned = listed(backward(ctx, *[Tensor(bottom(g)) if isinstance(g, Tensor) else g for g in grad_outputs]))
        if not recorded:
            return tuple(returned)
        histories = [
            (level, (*parents, *(layer.node for g in grad_outputs for layer in layers(g) if layer.level == level)))
            for level, parents in ctx._open().histories
        ]
        reason = f"The backward of {ctx._name} is marked once_differentiable, so it has no second derivative."
        return tuple(g if g is None else ended(bottom(as_tensor(g)), histories, reason) for g in returned)

    return wrapper
