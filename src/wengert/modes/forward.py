"""Forward mode: Dual, a value with a tangent.

Each kind of operation pushes tangents by its definition in the table: an elementwise rule is its own transpose, a
linear operation is applied to the tangents, a multilinear one to each tangent in turn, and the rule of a reduction is
summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wengert.core import allocator
from wengert.core.array import NO_PARAMS, Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import find_own, numpy_of, payloads
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to

Params = dict[str, Any]
Values = Sequence[Any]


class Dual(Array):
    """A primal (`value`) and its tangent."""

    if TYPE_CHECKING:
        tangent: Any
    else:
        __slots__ = ()
        tangent = Array.extra

    def __init__(self, value: Any, tangent: Any, level: int):
        if not allocator.is_configured:
            allocator.keep_freed_memory()
        self.value, self.tangent, self.level = value, tangent, level

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: Params) -> Any:
        if len(args) == 1 and primitive.kind == "linear" and primitive.outputs == 1 and not recording.active:
            (x,) = args
            return Dual(primitive.op(x.value, **params), primitive.op(x.tangent, **params), level)
        if recording.active and (trace := recording.capturing_trace(level)) is not None:
            return trace.run(primitive, args, params)
        own = find_own(args, Dual, level)
        values = payloads(args, own)
        tangents = [a.tangent if mine else None for a, mine in zip(args, own, strict=True)]
        out = primitive.op(*values, **params)
        if recording.active and not recording.is_recording():
            return out
        pushed = push(primitive, values, tangents, out, params)
        if pushed is None:
            fills = primitive.definition.filled_in and out.dtype.kind in "fc"
            return Dual(out, zeros_like(out), level) if fills else out
        if primitive.outputs != 1:
            return tuple([Dual(o, t, level) for o, t in zip(out, pushed, strict=True)])
        return Dual(out, pushed, level)

    # A fast path for elementwise operations of one and two arguments.

    @staticmethod
    def process_unary(primitive: Primitive, level: int, x: Any) -> Any:
        if primitive.kind != "elementwise" or recording.active:
            return Dual.process(primitive, level, (x,), NO_PARAMS)
        value, t = x.value, x.tangent
        out = primitive.op(value)
        return Dual(out, fit_tangent(primitive.pushes[0](t, primitive.keep_x(out, value), NO_PARAMS), out), level)

    @staticmethod
    def process_binary(primitive: Primitive, level: int, x: Any, y: Any) -> Any:
        if primitive.kind != "elementwise" or recording.active:
            return Dual.process(primitive, level, (x, y), NO_PARAMS)
        t = u = None
        if isinstance(x, Dual) and x.level == level:
            x, t = x.value, x.tangent
        if isinstance(y, Dual) and y.level == level:
            y, u = y.value, y.tangent
        out = primitive.op(x, y)
        first, second = primitive.pushes
        if u is None:
            pushed = first(t, primitive.keep_x(out, x, y), NO_PARAMS)
        elif t is None:
            pushed = second(u, primitive.keep_y(out, x, y), NO_PARAMS)
        else:
            saved = primitive.keep_xy(out, x, y)
            # one expression, so that NumPy adds large arrays in place
            pushed = first(t, saved, NO_PARAMS) + second(u, saved, NO_PARAMS)
        return Dual(out, fit_tangent(pushed, out), level)

    def detach(self) -> Any:
        """The primal."""
        return self.value

    def __repr__(self) -> str:
        return f"dual({self.value!r}, {self.tangent!r})"


def push(primitive: Primitive, values: Values, tangents: Values, out: Any, params: Params) -> Any:
    """The tangent of an operation's output. None stands for a zero tangent."""
    live = [t is not None and primitive.definition.has_derivative(i) for i, t in enumerate(tangents)]
    if not any(live):
        return None
    return PUSHES[primitive.kind](
        primitive, values, [t if alive else None for t, alive in zip(tangents, live, strict=True)], out, params
    )


def push_by_rule(primitive: Primitive, values: Values, tangents: Values, out: Any, params: Params) -> Any:
    """The sum of the tangents that the rules push."""
    keep = primitive.keep(*[t is not None for t in tangents])
    assert keep is not None
    saved = keep(out, *values)
    total = None
    for i, t in enumerate(tangents):
        if t is not None:
            c = primitive.pushes[i](t, saved, params)
            total = c if total is None else add_tangents(total, c)
    return total


def add_tangents(a: Any, b: Any) -> Any:
    """a + b, for each output where there are several."""
    return tuple(map(add, a, b)) if isinstance(a, tuple) else add(a, b)


def push_elementwise(primitive: Primitive, values: Values, tangents: Values, out: Any, params: Params) -> Any:
    """The tangent of an elementwise operation."""
    return fit_tangent(push_by_rule(primitive, values, tangents, out, params), out)


def push_reduction(primitive: Primitive, values: Values, tangents: Values, out: Any, params: Params) -> Any:
    """The tangent of a reduction: the rule, summed over the reduced axes."""
    pushed = push_by_rule(primitive, values, tangents, out, params)
    return fit_tangent(sum_(pushed, params["axis"], keepdims=params["keepdims"]), out)


def push_linear(primitive: Primitive, values: Values, tangents: Values, _out: Any, params: Params) -> Any:
    """The operation applied to the tangents; arguments that it is not linear in, such as indices, stay."""
    moved = [
        t if t is not None else zeros_like(v) if primitive.definition.has_derivative(i) else v
        for i, (v, t) in enumerate(zip(values, tangents, strict=True))
    ]
    return primitive.op(*moved, **params)


def push_multilinear(primitive: Primitive, values: Values, tangents: Values, _out: Any, params: Params) -> Any:
    """The sum of the operation applied to each tangent in turn."""
    total = None
    for i, t in enumerate(tangents):
        if t is not None:
            c = primitive.op(*values[:i], t, *values[i + 1 :], **params)
            total = c if total is None else add(total, c)
    return total


def push_general(primitive: Primitive, values: Values, tangents: Values, out: Any, params: Params) -> Any:
    """The tangent of an operation with its own forward rules."""
    if not primitive.definition.jvps:
        raise user_error(GradientError, f"{primitive.name} has a derivative for reverse mode only", "Use grad or vjp.")
    return push_by_rule(primitive, values, tangents, out, params)


PUSHES: dict[str, Callable[..., Any]] = {
    "elementwise": push_elementwise,
    "reduction": push_reduction,
    "linear": push_linear,
    "multilinear": push_multilinear,
    "general": push_general,
    "function": push_general,
}


def fit_tangent(t: Any, out: Any) -> Any:
    """A tangent with the shape and dtype of the output."""
    if t.dtype is not out.dtype and t.dtype != out.dtype:
        t = astype(real(t) if t.dtype.kind == "c" and out.dtype.kind != "c" else t, out.dtype)
    return t if t.shape == out.shape else broadcast_to(t, out.shape)


def zeros_like(x: Any, *beside: Any) -> Any:
    """Zeros with the spec of a value, on its device, or with this spec, on the device of other values."""
    spec = x if isinstance(x, Spec) else Spec.of(x)
    return numpy_of(x, *beside).zeros(spec.shape, spec.dtype)
