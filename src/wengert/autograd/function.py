"""Function: a user-defined operation with a hand-written derivative.

Each subclass has one primitive, which is not in the table.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.function_call import CONTAINERS, ModeContext, apply_in_mode, arrays_in, has_other_modes
from wengert.autograd.function_context import Context, Saved, add_dead_ends, strip_tensors
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import is_own, iterate_payloads, strip_level
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.in_place import snapshot
from wengert.modes.tape import TapeNode, make_node, output_nodes
from wengert.modes.tensor import Tensor, as_tensor, to_cotangent, to_gradient

OPAQUE = Spec((), np.dtype(object))
"""The spec of an output that is not an array."""


class Function:
    """Base class of operations with a hand-written derivative. Subclass it, and call `.apply(...)`.

    `forward(ctx, *args)` computes on tensors without history, and is not recorded. `backward(ctx, *grad_outputs)`
    returns one gradient for each argument of forward, None where there is none; trailing Nones may be left out.
    In traced and batched functions and in forward mode, both are written in differentiable operations; forward mode
    uses `jvp(ctx, *tangents)` if the class has it, and transposes `backward` otherwise.

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

    def __init__(self, *_: Any, **__: Any):
        raise user_error(TypeError, f"A Function is not instantiated: call {type(self).__name__}.apply(...)")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.primitive = Primitive(
            Definition(
                name=cls.__name__,
                impl=lambda *x, ctx: cls.forward(ctx, *x),
                kind="function",
                inputs=("*x",),
                takes_params=True,
                vjp=lambda t, ctx: pull_function(cls, t, ctx),
            )
        )

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the results; a subclass defines this."""
        raise NotImplementedError("A Function needs a static method forward(ctx, ...).")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the arguments, given those of the results; a subclass defines this."""
        raise NotImplementedError("A Function needs a static method backward(ctx, *grad_outputs) to be differentiated.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record it if an argument requires a gradient.

        Keyword arguments have gradients too, in the order of the parameters of forward.
        """
        if kwargs:
            bound = inspect.signature(cls.forward).bind(None, *args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args[1:], bound.kwargs
        refuse_hidden(cls.__name__, args, kwargs)
        if has_other_modes(args):
            return apply_in_mode(cls, args, kwargs)
        recorded = recording.is_recording()
        ctx = Context(cls.__name__, tuple(recorded and isinstance(a, Tensor) and a.requires_grad for a in args))
        inputs = [Tensor(np.asarray(strip_tensors(a))) if isinstance(a, Tensor) else a for a in args]
        given = [x.value if isinstance(x, Tensor) else x for x in inputs]
        with recording.override(enabled=False):
            returned = cls.forward(ctx, *inputs, **kwargs)
        levels = sorted({layer.level for a in args for layer in iterate_payloads(a)})
        if not levels:
            return returned
        tracked = [any(layer.requires_grad for layer in iterate_payloads(a)) for a in args]
        if recorded and any(tracked):
            refuse_nested(ctx, as_sequence(returned))
        outputs = Outputs(ctx, as_sequence(returned), [*map(Source, range(len(args)), inputs, given, tracked)])
        for level in levels:
            outputs.lift(cls.primitive, level, args, recorded)
        return tuple(outputs.values) if isinstance(returned, tuple | list) else outputs.values[0]


def refuse_hidden(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if a gradient would be lost: values in containers, and keyword-only ones.

    Modules and other objects may hold tensors, which have no gradient by this function.
    """
    hidden = [x for a in args if isinstance(a, CONTAINERS) for x in arrays_in(a)]
    for x in [*hidden, *arrays_in(kwargs)]:
        if isinstance(x, Array) and (not isinstance(x, Tensor) or (x.requires_grad and recording.is_recording())):
            raise user_error(
                GradientError,
                f"{name}.apply got a tensor that requires a gradient inside a container, or as a keyword-only argument",
                because="its gradient would be lost. Pass it as a positional argument of its own.",
            )


def refuse_nested(ctx: Context, returned: Sequence[Any]) -> None:
    """Raise if a gradient would be lost: outputs in containers."""
    for x in tree.leaves([y for y in returned if not isinstance(y, Array | np.ndarray)]):
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


def as_sequence(returned: Any) -> Sequence[Any]:
    """A tuple or list as it is; anything else as the only element of a tuple."""
    return returned if isinstance(returned, tuple | list) else (returned,)


class Outputs:
    """The outputs of forward, which `lift` turns from plain arrays into tensors of each level of the arguments."""

    def __init__(self, ctx: Context, returned: Sequence[Any], inputs: Sequence[Source]):
        self.ctx = ctx
        self.values = [output_value(y) for y in returned]
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
        saved = ctx._close(
            lambda x: not any(s.tracked and (x is s.value or shares_memory(x, s.numbers)) for s in sources)
        )
        self.arrays = [not isinstance(x, Tensor) for x in saved]
        self.origins = [origin(x, sources) for x in saved]
        self.saved = [x.value if isinstance(x, Tensor) else freeze(x) for x in saved]
        self.below: list[tuple[int, tuple[Any, ...]]] = []

    def lift(self, primitive: Primitive, level: int, args: tuple[Any, ...], recorded: bool) -> None:
        """Make each output a tensor of this level, with a node if an argument of this level has one."""
        operands = [next((layer for layer in iterate_payloads(a) if layer.level <= level), None) for a in args]
        parents = tuple(x.node if x is not None and x.level == level else None for x in operands)
        nodes: Sequence[TapeNode | None] = [None] * len(self.values)
        if recorded and any(parents) and any(self.live):
            saved = Saved(
                [self.at_level(i, operands, level) for i in range(len(self.saved))],
                self.arrays,
                self.origins,
                level,
                self.below,
            )
            ctx = copy.copy(self.ctx) if self.below else self.ctx
            make = make_node if recording.active else TapeNode
            nodes = output_nodes(primitive, {"ctx": ctx}, parents, (saved,), self.specs, make)
            saved.attach(nodes[0].parents[0], ctx)
        self.values = [
            v if spec is OPAQUE else Tensor(v, level, node if live else None)
            for v, spec, node, live in zip(self.values, self.specs, nodes, self.live, strict=True)
        ]
        self.below.append((level, parents))

    def at_level(self, i: int, operands: Sequence[Array | None], level: int) -> Any:
        """A saved value with its histories at lower levels."""
        source = self.origins[i]
        if source is None:
            return self.saved[i]
        if source < 0:
            return self.values[~source]
        x = operands[source]
        if x is None:
            return self.saved[i]
        value = strip_level(x, level)
        return snapshot(value) if isinstance(value, Tensor) else value


def output_value(y: Any) -> Any:
    """One output as a new plain array; anything else as it is."""
    if isinstance(y, Tensor):
        return strip_tensors(y)
    if isinstance(y, np.ndarray):
        return y.copy()
    return np.asarray(y)[()] if isinstance(y, Number) else y


class Source(NamedTuple):
    """An input or output, with its position in the notation of `Saved`.

    `numbers` is the array that an input had before forward, which may have changed the input in place.
    """

    position: int
    value: Any
    numbers: Any
    tracked: bool  # whether it has a history


def origin(x: Any, sources: Sequence[Source]) -> int | None:
    """The position of the source that a saved value is: the same object, or an array on the same memory."""
    for source in sources:
        if x is source.value and (not isinstance(x, Tensor) or x.value is source.numbers):
            return source.position
    found = [source.position for source in sources if shares_memory(x, source.numbers) and is_same(x, source.numbers)]
    several_inputs = len(found) > 1 and found[1] >= 0
    return found[0] if found and not several_inputs else None


def shares_memory(x: Any, y: Any) -> bool:
    """Whether two values are plain arrays that may share memory."""
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)


def is_same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays are the same view of the same memory."""
    return (x.ctypes.data, x.shape, x.strides, x.dtype) == (y.ctypes.data, y.shape, y.strides, y.dtype)


def freeze(x: Any) -> Any:
    """A read-only copy of an array."""
    x = snapshot(x)
    if isinstance(x, np.ndarray):
        x.flags.writeable = False
    return x


def pull_function(cls: type[Function], t: list[Any], ctx: Context) -> list[Any]:
    """The vjp of a Function: cotangents of the arguments, from those of the outputs.

    The user's backward gets and returns gradients, which are the conjugates of cotangents.
    """
    saved = ctx._open()
    whole = saved.whole
    recorded = saved.is_nested or any(isinstance(c, Tensor) for c in t)
    grad_outputs = [
        to_gradient(c)
        if c is not None
        else Tensor(np.zeros(shape, dtype))
        if ctx._materialize and dtype.kind != "O"
        else None
        for c, shape, dtype in zip(t, whole.shape, whole.dtype, strict=True)
    ]
    with recording.override(enabled=recorded):
        gradients = list(as_sequence(cls.backward(ctx, *grad_outputs)))
        return [
            c if c is None or recorded else c.value for c in check_gradients(cls.__name__, gradients, whole.parents)
        ]


def check_gradients(name: str, gradients: list[Any], parents: tuple[Any, ...]) -> list[Tensor | None]:
    """The cotangents for the gradients that a backward returned, one for each argument.

    Trailing gradients that are missing and not needed are None.
    """
    surplus, missing = gradients[len(parents) :], parents[len(gradients) :]
    if any(g is not None for g in surplus) or any(missing):
        raise user_error(
            GradientError,
            f"{name}.backward returned {len(gradients)} gradients for the {len(parents)} arguments of forward",
            "Return one for each, in the same order, and None for those without a gradient.",
        )
    gradients = gradients[: len(parents)] + [None] * len(missing)
    return [check_gradient(name, i, g, parent) for i, (g, parent) in enumerate(zip(gradients, parents, strict=True))]


def check_gradient(name: str, i: int, gradient: Any, parent: TapeNode | None) -> Tensor | None:
    """The cotangent for the gradient of argument i, which must have its shape."""
    if gradient is None or parent is None:
        return None
    t = to_cotangent(as_tensor(gradient))
    if t.shape != parent.shape:
        raise user_error(
            GradientError,
            f"{name}.backward returned a gradient of shape {t.shape} for argument {i}, which has shape {parent.shape}",
            "They must be equal; sum over the axes that were broadcast.",
        )
    return t


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a backward that is not differentiable, under `@staticmethod`: second derivatives raise an error.

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
        if isinstance(ctx, ModeContext):
            return recording.as_read(backward)(ctx._forbid(), *grad_outputs)
        recorded = recording.is_recording()
        with recording.override(enabled=False):
            returned = as_sequence(
                backward(ctx, *[Tensor(strip_tensors(g)) if isinstance(g, Tensor) else g for g in grad_outputs])
            )
        if not recorded:
            return tuple(returned)
        histories = [
            (
                level,
                (
                    *parents,
                    *(
                        layer.node
                        for g in grad_outputs
                        for layer in iterate_payloads(g)
                        if is_own(layer, Tensor, level)
                    ),
                ),
            )
            for level, parents in ctx._open().histories
        ]
        because = "its backward is marked once_differentiable."
        return tuple(
            g if g is None else add_dead_ends(strip_tensors(as_tensor(g)), histories, ctx._name, because)
            for g in returned
        )

    return wrapper
