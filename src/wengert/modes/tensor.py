"""Reverse mode, define by run: Tensor, a value with a history."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from wengert.core.array import NO_PARAMS, Array
from wengert.core.devices import DeviceArray, move
from wengert.core.errors import GradientError, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.frozen import refuse_frozen
from wengert.core.primitive import Primitive, as_constant, holds_value, read_list, stack_lists
from wengert.core.subclasses import is_masked, refuse_subclass
from wengert.modes import recording
from wengert.modes.backward import conform
from wengert.modes.in_place import UNCHANGING, can_write_into, is_sole_owner, is_traced, protect, snapshot
from wengert.modes.tape import Handle, Leaf, TapeNode, make_node, output_nodes
from wengert.modes.tape_value import RETAIN, TapeValue
from wengert.ops.indexing.subscripts import set_at
from wengert.ops.shape.casting import astype

__all__ = ["Tensor", "tensor"]

ACCUMULATING = threading.Lock()
"""Held while a gradient is added to `grad`: threads may share a leaf."""


class Tensor(TapeValue):
    """An array that records how it was computed. The user makes leaves; `backward` fills their `grad`.

    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    if TYPE_CHECKING:
        _grad: Tensor | None

        def backward(  # attached by modes/history.py
            self,
            gradient: Any = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Tensor | Sequence[Tensor] | None = None,
        ) -> None: ...

    else:
        __slots__ = ()

    def __init__(self, value: Any, level: int = 0, node: TapeNode | None = None):
        self.value = value
        self.level = level
        self.node = node

    # History.

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` accumulated, for leaves and after `retain_grad`."""
        if recording.active and is_traced(self):
            current: Tensor | None = recording.current_trace().grad_of(self)
            return current
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            value = as_tensor(value)
            if value.shape != self.shape:
                raise user_error(ValueError, f"grad has shape {value.shape}, the tensor {self.shape}")
            if not np.can_cast(value.dtype, self.dtype, "same_kind"):
                raise user_error(TypeError, f"grad of dtype {value.dtype} cannot be cast to the tensor's {self.dtype}")
            value = astype(value, self.dtype) if value.dtype != self.dtype else value
        if is_traced(self):
            recording.current_trace().set_grad(self, value)
        else:
            self._grad = value

    def retain_grad(self) -> None:
        """Let `backward` fill `grad` of this value, although it is not a leaf."""
        if self.node is None:
            raise user_error(GradientError, "retain_grad() needs a value that requires a gradient")
        if not self.is_leaf:
            owner = weakref.ref(self)

            def keep(t: Any) -> Any:
                tensor = owner()
                if tensor is not None:
                    accumulate(tensor, t)
                return t

            self.node.get_hooks().arrived[RETAIN] = keep

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Handle:
        """Call `hook` with the gradient of this value each time it is computed; its result, if any, replaces it."""
        if self.node is None:
            raise user_error(GradientError, "register_hook needs a value that requires a gradient")

        def call_hook(t: Any) -> Any:
            returned = hook(to_gradient(t))
            return t if returned is None else replacement(returned, t, "A hook on a tensor returned a gradient")

        hooks = self.node.get_hooks().arrived
        handle = Handle(hooks, call_hook)
        if RETAIN in hooks:
            hooks[RETAIN] = hooks.pop(RETAIN)  # `retain_grad` sees the result of the other hooks
        return handle

    def detach(self) -> Tensor:
        """The same numbers without history. Changes in place of one do not change the other."""
        return snapshot(self).detach() if is_traced(self) else Tensor(self.value, self.level)

    @property
    def data(self) -> Tensor:
        """The numbers without history; assignment to it is not recorded."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        with recording.override(enabled=False):
            self._rebind((value if isinstance(value, Array) else tensor(value)).detach())

    # Changes in place. The buffer is written to only if this object is its sole owner: the tape may have saved it.

    def __setitem__(self, key: Any, v: Any) -> None:
        refuse_frozen(self)
        refused = isinstance(self.node, Leaf) and recording.is_recording()
        self._rebind(set_at(self, key, v, reuse=not self.level and not refused and is_sole_owner(self)))

    def _update(self, function: Callable[..., Any], ufunc: np.ufunc | None, v: Any) -> None:
        plain = v.value if isinstance(v, Tensor) and not v.level else v
        if ufunc is not None and can_write_into(self, plain):
            ufunc(self.value, plain, out=self.value)
            self._changes = self._version + 1
        else:
            super()._update(function, ufunc, v)

    def _become(self, new: Array) -> None:
        while isinstance(new, Tensor) and new.level > self.level and new.node is None:  # constant to its transform
            new = new.value if isinstance(new.value, Array) else Tensor(new.value, self.level)
        is_recorded = recording.is_recording()
        if is_traced(self):
            recording.current_trace().assign(self, new, is_recorded)
            return
        if is_recorded:
            self._refuse_leaf()
        self._changes = self._version + 1
        if not is_recorded and isinstance(new, Tensor):
            self.value = new.value
        else:
            hooks = self.node.hooks if self.node is not None else None
            keep = hooks.arrived.pop(RETAIN, None) if hooks is not None else None
            super()._become(new)
            if keep is not None and isinstance(new, Tensor) and new.node is not None:
                new.node.get_hooks().arrived[RETAIN] = keep

    def __repr__(self) -> str:
        numbers = (
            repr(self.value)
            if self.level
            else np.array2string(np.asarray(move(self.value, "cpu")), separator=", ", prefix="tensor(")
        )
        details = "" if self.dtype in (np.float64, np.int64, np.bool_) else f", dtype={self.dtype}"
        details += f", device={self.device!r}" if isinstance(self.value, DeviceArray) else ""
        if self.node is not None:
            details += ", requires_grad=True" if self.is_leaf else f", grad_fn={self.grad_fn}"
        return f"tensor({numbers}{details})"

    def __reduce__(self) -> tuple[Any, ...]:
        self._refuse_trace("A copy of")
        if not self.is_leaf or self.level:
            raise user_error(
                GradientError, "A value with a history cannot be copied or pickled", "Use x.detach(), or x.clone()."
            )
        return rebuild, (type(self), self.value, self.requires_grad, self.grad)


def operations_of(  # noqa: C901  # hot: no further calls per operation
    cls: type[Tensor], adopt: Callable[[Any], Any] = lambda x: x
) -> tuple[Any, Any, Any]:
    """How tensors run operations of one argument, of two, and of any number; the results are of this class.

    In a trace they are symbols, and `adopt` makes values of them that go with the class. Payloads are plain arrays at
    level 0; at higher levels they may be values of lower levels.
    """

    def run_unary(primitive: Primitive, level: int, x: Any) -> Any:
        active = recording.active
        if active and (trace := recording.capturing_trace(level)) is not None:
            return adopt(trace.run(primitive, (x,), NO_PARAMS))
        node = x.node
        x = x.value
        out = primitive.op(x) if level else primitive.impl(x)
        keep = primitive.keep_x
        if node is None or keep is None:
            return cls(out, level)
        if active:
            return cls(out, level, make_node(primitive, NO_PARAMS, (node,), keep(out, x), out))
        return cls(out, level, TapeNode(primitive, NO_PARAMS, (node,), keep(out, x), out))

    def run_binary(primitive: Primitive, level: int, x: Any, y: Any) -> Any:
        active = recording.active
        if active and (trace := recording.capturing_trace(level, (x, y))) is not None:
            return adopt(trace.run(primitive, (x, y), NO_PARAMS))
        constant = None
        if isinstance(x, Tensor) and x.level == level:
            x_node = x.node
            x = x.value
        else:
            x_node, constant = None, x
        if isinstance(y, Tensor) and y.level == level:
            y_node = y.node
            y = y.value
        else:
            y_node, constant = None, y
        out = primitive.op(x, y) if level else primitive.impl(x, y)
        if x_node is None:
            if y_node is None:
                return cls(out, level)
            keep = primitive.keep_y
        elif y_node is None:
            keep = primitive.keep_x
        else:
            keep = primitive.keep_xy
        if keep is None:
            return cls(out, level)
        saved = keep(out, x, y)
        if constant.__class__ not in UNCHANGING:
            saved = protect(saved, (constant,))
        if active:
            return cls(out, level, make_node(primitive, NO_PARAMS, (x_node, y_node), saved, out))
        return cls(out, level, TapeNode(primitive, NO_PARAMS, (x_node, y_node), saved, out))

    def run_any(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if recording.active and (trace := recording.capturing_trace(level, args)) is not None:
            return adopt(trace.run(primitive, args, params))
        if primitive.is_unary:  # the rest, for one operand
            (x,) = args
            node, x = x.node, x.value
            out = primitive.op(x, **params) if level else primitive.impl(x, **params)
            keep = primitive.keep_x
            if node is None or keep is None:
                return cls(out, level)
            make = make_node if recording.active else TapeNode
            return cls(out, level, make(primitive, params, (node,), keep(out, x), out))
        values, parents, constants = split_operands(args, level)
        out = primitive.op(*values, **params) if level else primitive.impl(*values, **params)
        return record_result(primitive, level, params, values, parents, constants, out, cls)

    return run_unary, run_binary, run_any


def split_operands(args: Iterable[Any], level: int) -> tuple[list[Any], list[TapeNode | None], list[Any]]:
    """The payloads of the operands, their nodes, and the constants among them that the user could still change."""
    values, parents, constants = [], [], []
    for a in args:
        if isinstance(a, Tensor) and a.level == level:
            values.append(a.value)
            parents.append(a.node)
        elif level and isinstance(a, Array) and a.is_frozen:
            values.append(a.value)
            parents.append(None)
        else:
            values.append(a)
            parents.append(None)
            if a.__class__ not in UNCHANGING:
                constants.append(a)
    return values, parents, constants


def record_result(
    primitive: Primitive,
    level: int,
    params: dict[str, Any],
    values: list[Any],
    parents: list[TapeNode | None],
    constants: list[Any],
    out: Any,
    cls: type[Tensor] = Tensor,
) -> Any:
    """The result of an operation with its history: a tensor of a class, or a tuple of them."""
    live = [parent is not None for parent in parents]
    keep = primitive.keep(*live) if True in live else None
    if keep is None:
        return cls(out, level) if primitive.outputs == 1 else tuple(cls(o, level) for o in out)
    for i in primitive.constants:
        if i < len(parents):
            parents[i] = None
    saved = keep(out, *values)
    if constants:
        saved = protect(saved, constants)
    make = make_node if recording.active else TapeNode
    if primitive.outputs != 1:
        nodes = (
            output_nodes(primitive, params, tuple(parents), saved, out, make)
            if recording.is_recording()
            else [None] * len(out)
        )
        return tuple(cls(o, level, node) for o, node in zip(out, nodes, strict=True))
    return cls(out, level, make(primitive, params, tuple(parents), saved, out))


Tensor.process_unary, Tensor.process_binary, Tensor.process = map(staticmethod, operations_of(Tensor))  # type: ignore[method-assign]  # of Array


def rebuild(cls: type[Tensor], value: Any, requires_grad: bool, grad: Tensor | None) -> Tensor:
    """A pickled tensor."""
    new = cls(value)
    new.requires_grad = requires_grad
    if grad is not None:
        new._grad = grad
    return new


def tensor(
    data: Any, requires_grad: bool = False, dtype: Any = None, *, device: Any = None, **foreign: Never
) -> Tensor:
    """A new tensor with a copy of the data: a number, an array, or nested lists of them.

    A list of values that are being differentiated becomes a value that depends on them, as with `wg.stack`.

    >>> tensor([[1, 2], [3, 4]], dtype=float, requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    if foreign:
        refuse_keywords(foreign)
    if holds_value(data):
        values = data = stack_lists(data)
        while isinstance(data, Tensor) and data.node is None and not is_traced(data):
            data = data.value
        if isinstance(data, Array):
            value: Tensor = astype(values, values.dtype if dtype is None else dtype, device=device)
            return value
    if is_masked(data):
        refuse_subclass(data)
    numbers = read_list(data if isinstance(data, list | tuple) else as_constant(data), dtype)
    return adopt_array(numbers if device is None else move(numbers, device), requires_grad)


def adopt_array(value: Any, requires_grad: bool = False, is_uniform: bool = False) -> Tensor:
    """A new tensor around an array that nothing else refers to; in a trace, a symbol.

    There, an array whose elements are all equal is one number that is broadcast.
    """
    if value.dtype.kind not in "biufc":
        raise user_error(
            TypeError,
            f"Data of dtype {value.dtype} cannot be a tensor",
            "Pass numbers in an array or in lists of equal length.",
        )
    trace = recording.current_trace()
    if trace is not None:
        if is_uniform and value.size:
            value = np.broadcast_to(value[(0,) * value.ndim], value.shape)
        made: Tensor = trace.tape_holder().leaf(value) if requires_grad else trace.symbol(value)
        return made
    new = Tensor(value)
    if requires_grad:
        new.requires_grad = True
    return new


def as_tensor(value: Any) -> Tensor:
    """A tensor as it is, in a trace its current value; anything else as a new tensor."""
    made: Tensor = tensor(value) if not isinstance(value, Tensor) else snapshot(value) if is_traced(value) else value
    return made


# Cotangents follow the transpose convention. Users see gradients: that of a complex value is the direction of steepest
# ascent, the conjugate of the cotangent.


def to_gradient(t: Any) -> Tensor:
    """The gradient of a cotangent."""
    new: Any = t if isinstance(t, Array) else adopt_array(t) if recording.active else Tensor(t)
    gradient: Tensor = new.conj() if new.dtype.kind == "c" else new
    return gradient


to_cotangent = to_gradient  # conjugation is its own inverse


def replacement(gradient: Any, t: Any, returned: str) -> Any:
    """The cotangent that replaces `t` after a hook `returned` a gradient."""
    new = to_cotangent(as_tensor(gradient))
    if new.shape != t.shape:
        raise user_error(
            GradientError, f"{returned} of shape {new.shape} in place of {t.shape}", "The shapes must be equal."
        )
    return conform(new if isinstance(t, Array) else new.value, t.shape, t.dtype)


def accumulate(tensor: Tensor, t: Any) -> None:
    """Add a cotangent to `grad`, which has a history only if the cotangent has one."""
    if recording.active and recording.current_trace() is not None:
        new, old = to_gradient(conform(t, tensor.shape, tensor.dtype)), tensor.grad
        tensor.grad = new if old is None else old + new
        return
    if not isinstance(t, Array) and t.dtype is tensor.dtype and t.dtype.kind == "f" and t.shape == tensor.shape:
        new = Tensor(t)
    else:
        new = to_gradient(conform(t, tensor.shape, tensor.dtype))
    with ACCUMULATING:
        old = getattr(tensor, "_grad", None)
        if old is not None:
            new = old + new if isinstance(t, Tensor) else Tensor(old.value + new.value)
        elif new.node is None and isinstance(new.value, np.ndarray) and not new.value.flags.carray:
            new = Tensor(new.value.copy())  # optimisers write and read gradients as they lie in memory
        tensor._grad = new
