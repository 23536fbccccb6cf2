"""Reverse mode, define by run: Tensor, a value with a history."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.array import NO_PARAMS, Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import OUTPUT, Primitive, as_constant, gathered, holds_value
from wengert.core.subclasses import is_masked, refuse_subclass
from wengert.modes import recording
from wengert.modes.cotangent import conform
from wengert.modes.tape import Handle, Leaf, Node, several
from wengert.ops.elementwise import arithmetic, complex_numbers
from wengert.ops.indexing.subscripts import set_at
from wengert.ops.shape.casting import astype

__all__ = ["Tensor", "tensor"]

ACCUMULATING = threading.Lock()
"""Held while a gradient is added to `grad`: threads may share a leaf."""
RETAIN = -1
"""The key of the hook of `retain_grad`."""


class Tensor(Array):
    """An array that remembers how it was made. Leaves are what the user made; `backward` fills their `grad`.

    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    if TYPE_CHECKING:
        node: Node | None
        _grad: Tensor | None
    else:
        __slots__ = ()
        node = Array.extra

    def __init__(self, value: Any, level: int = 0, node: Node | None = None):
        self.value = value
        self.level = level
        self.node = node

    # Running operations. The payloads of level 0 are plain arrays; those of a higher level may be values of a lower
    # one.

    @staticmethod
    def process_unary(primitive: Primitive, level: int, x: Any) -> Tensor:
        active = recording.active
        if active and not level and (trace := recording.trace()) is not None:
            return trace.run(primitive, (x,), NO_PARAMS)
        node = x.node
        x = x.value
        out = primitive.op(x) if level else primitive.impl(x)
        keep = primitive.keep_x
        if node is None or keep is None:
            return Tensor(out, level)
        if active:
            return Tensor(out, level, recording.special_node(primitive, NO_PARAMS, (node,), keep(out, x), out))
        return Tensor(out, level, Node(primitive, NO_PARAMS, (node,), keep(out, x), out))

    @staticmethod
    def process_binary(primitive: Primitive, level: int, x: Any, y: Any) -> Tensor:
        active = recording.active
        if active and not level and (trace := recording.trace()) is not None:
            return trace.run(primitive, (x, y), NO_PARAMS)
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
                return Tensor(out, level)
            keep = primitive.keep_y
        elif y_node is None:
            keep = primitive.keep_x
        else:
            keep = primitive.keep_xy
        if keep is None:
            return Tensor(out, level)
        saved = keep(out, x, y)
        if isinstance(constant, CHANGEABLE):
            saved = protected(saved, (constant,))
        if active:
            return Tensor(out, level, recording.special_node(primitive, NO_PARAMS, (x_node, y_node), saved, out))
        return Tensor(out, level, Node(primitive, NO_PARAMS, (x_node, y_node), saved, out))

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        if not level and (trace := recording.trace()) is not None:
            return trace.run(primitive, args, params)
        values, parents, constants, live = [], [], [], False
        for a in args:
            if isinstance(a, Tensor) and a.level == level:
                values.append(a.value)
                parents.append(a.node)
                live = live or a.node is not None
            else:
                values.append(a)
                parents.append(None)
                if isinstance(a, CHANGEABLE):
                    constants.append(a)
        out = primitive.op(*values, **params) if level else primitive.impl(*values, **params)
        keep = primitive.keep(*[parent is not None for parent in parents]) if live else None
        for i in primitive.constants:
            if i < len(parents):
                parents[i] = None
        if keep is None:
            return Tensor(out, level) if primitive.outputs == 1 else tuple(Tensor(o, level) for o in out)
        saved = keep(out, *values)
        if constants:
            saved = protected(saved, constants)
        make = recording.special_node if recording.active else Node
        if primitive.outputs != 1:
            nodes = (
                several(primitive, params, tuple(parents), saved, out, make)
                if recording.recording()
                else [None] * len(out)
            )
            return tuple(Tensor(o, level, node) for o, node in zip(out, nodes, strict=True))
        return Tensor(out, level, make(primitive, params, tuple(parents), saved, out))

    # History.

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to this value.

        On leaves it can be switched: `x.requires_grad = False` freezes a parameter.
        """
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted == self.requires_grad:
            return
        if not wanted:
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

    is_live = requires_grad

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the user made this value, rather than a recorded operation."""
        return self.node is None or self.node.primitive is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this value; None for leaves."""
        if self.is_leaf:
            return None
        node = self.node
        assert node is not None
        return node.parents[0] if node.primitive is OUTPUT and node.parents else node

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` accumulated here: for leaves, and for values on which `retain_grad` was called."""
        self._refuse_trace("The gradient of")
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._refuse_trace("The gradient of")
        if value is not None:
            value = as_tensor(value)
            if value.shape != self.shape:
                raise user_error(ValueError, f"grad has shape {value.shape}, the tensor {self.shape}")
            if value.dtype != self.dtype:
                if not np.can_cast(value.dtype, self.dtype, "same_kind"):
                    raise user_error(
                        TypeError, f"grad of dtype {value.dtype} cannot be cast to the tensor's {self.dtype}"
                    )
                value = astype(value, self.dtype)
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this value."""
        return not self.is_leaf and self.node.hooks is not None and RETAIN in self.node.hooks.arrived  # type: ignore[union-attr]  # no leaf

    def retain_grad(self) -> None:
        """Keep this value's gradient, although it is not a leaf, when `backward` comes by."""
        if self.node is None:
            raise user_error(GradientError, "retain_grad() needs a value that requires a gradient")
        if not self.is_leaf:
            owner = weakref.ref(self)

            def keep(t: Any) -> Any:
                tensor = owner()
                if tensor is not None:
                    accumulate(tensor, t)
                return t

            self.node.hooked().arrived[RETAIN] = keep

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Handle:
        """Call `hook` with the gradient of this value, each time it is computed.

        What it returns, if anything, takes its place.
        """
        if self.node is None:
            raise user_error(GradientError, "register_hook needs a value that requires a gradient")

        def arrived(t: Any) -> Any:
            returned = hook(public(t))
            return t if returned is None else replacement(returned, t, "A hook on a tensor returned a gradient")

        hooks = self.node.hooked().arrived
        handle = Handle(hooks, arrived)
        if RETAIN in hooks:
            hooks[RETAIN] = hooks.pop(RETAIN)  # `retain_grad` sees what the other hooks made of the gradient
        return handle

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Handle:
        """Call `hook` with this leaf after a gradient was added to its `grad`."""
        if not isinstance(self.node, Leaf):
            raise user_error(GradientError, "A hook after accumulation needs a leaf that requires a gradient")
        return Handle(self.node.hooked().accumulated, hook)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Add the derivative of this value to the `grad` of the leaves that it was computed from (or of `inputs`).

        A scalar needs no `gradient`; any other shape needs one of the same shape, the vector of the vector-Jacobian
        product. The history is released unless `retain_graph`; with `create_graph` the gradients have a history of
        their own.
        """
        from wengert.modes.walk import walk  # which knows Tensor

        walk([self], [gradient], retain_graph, create_graph, [inputs] if isinstance(inputs, Tensor) else inputs)

    def detach(self) -> Tensor:
        """The same numbers without history. Changing one in place does not change the other."""
        return snapshot(self).detach() if is_traced(self) else Tensor(self.value, self.level)

    @property
    def data(self) -> Tensor:
        """The numbers without history; assigning new ones is not recorded."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        with recording.switched(enabled=False):
            self._rebind((value if isinstance(value, Array) else tensor(value)).detach())

    # Changing in place. Numbers that the tape has saved, or that another value shares, are never written to: the buffer
    # is reused only where this object is its sole owner.

    def __setitem__(self, key: Any, v: Any) -> None:
        refused = isinstance(self.node, Leaf) and recording.recording()
        self._rebind(set_at(self, key, v, reuse=not self.level and not refused and is_sole_owner(self)))

    def _update(self, function: Callable, ufunc: np.ufunc | None, v: Any) -> None:
        plain = v.value if v.__class__ is Tensor and not v.level else v
        if (
            ufunc is not None
            and not recording.recording()
            and not self.level
            and recording.trace() is None
            and (isinstance(plain, int | float) or (isinstance(plain, np.ndarray) and plain.shape == self.shape))
            and is_sole_owner(self)
        ):
            ufunc(self.value, plain, out=self.value)
            self._changes = self._version + 1
        else:
            super()._update(function, ufunc, v)

    def _become(self, new: Array) -> None:
        while (
            isinstance(new, Tensor) and new.level > self.level and new.node is None
        ):  # a constant of a transform, which will end
            new = new.value if isinstance(new.value, Array) else Tensor(new.value, self.level)
        is_recorded = recording.recording()
        if is_traced(self):
            recording.trace().assign(self, new, is_recorded)
            return
        if is_recorded:
            self._refuse_leaf()
        self._changes = self._version + 1
        if not is_recorded and isinstance(new, Tensor):
            self.value = new.value
        else:
            keep = (
                self.node.hooks.arrived.pop(RETAIN, None)
                if self.node is not None and self.node.hooks is not None
                else None
            )
            super()._become(new)
            if keep is not None and isinstance(new, Tensor) and new.node is not None:
                new.node.hooked().arrived[RETAIN] = keep

    def _refuse_trace(self, what: str) -> None:
        """Raise in a trace, whose program knows nothing of a tensor but its numbers."""
        if is_traced(self):
            raise user_error(
                GradientError,
                f"{what} a captured tensor inside a compiled function",
                because="it would be the one of the first call for ever. Pass it as an argument, compute gradients by "
                "wg.grad, and copy tensors by x.clone().",
            )

    def _refuse_leaf(self) -> None:
        """Raise where a change that is recorded would make another value of a leaf."""
        if isinstance(self.node, Leaf):
            raise user_error(
                GradientError,
                "A leaf that requires a gradient was changed in place",
                because="its gradient would be lost. Work on x.clone(), or update parameters inside `with "
                "wg.no_grad():`.",
            )

    # Becoming plain numbers.

    def _plain(self, what: str) -> np.ndarray:
        return snapshot(self)._plain(what) if is_traced(self) else super()._plain(what)

    def __bool__(self) -> bool:
        return bool(snapshot(self) if is_traced(self) else self.value)

    def numpy(self) -> np.ndarray:
        """The numbers as a read-only array that shares memory; copy it to write to it."""
        return self.__array__()

    def item(self, *index: Any) -> Any:
        return snapshot(self).item(*index) if is_traced(self) else super().item(*index)

    def tolist(self) -> Any:
        return snapshot(self).tolist() if is_traced(self) else super().tolist()

    def __repr__(self) -> str:
        numbers = (
            np.array2string(np.asarray(self.value), separator=", ", prefix="tensor(")
            if self.level == 0
            else repr(self.value)
        )
        details = "" if self.dtype in (np.float64, np.int64, np.bool_) else f", dtype={self.dtype}"
        if self.node is not None:
            details += ", requires_grad=True" if self.is_leaf else f", grad_fn={self.grad_fn}"
        return f"tensor({numbers}{details})"

    def __reduce__(self) -> tuple:
        self._refuse_trace("A copy of")
        if not self.is_leaf or self.level:
            raise user_error(
                GradientError, "A value with a history cannot be copied or pickled", "Use x.detach(), or x.clone()."
            )
        return rebuild, (type(self), self.value, self.requires_grad, self.grad)


CHANGEABLE = (np.ndarray, Array)


def protected(saved: tuple, constants: Sequence[Any]) -> tuple:
    """`saved` with its own copy of what the user could still change: arrays, and values that can be assigned to in
    place.
    """
    theirs = set(map(id, constants))
    return tuple(
        [
            snapshot(s)
            if id(s) in theirs
            else tuple([snapshot(v) if id(v) in theirs else v for v in s])
            if s.__class__ is tuple
            else s
            for s in saved
        ]
    )


def snapshot(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable or value.base is not None else value
    if isinstance(value, Array):
        if is_traced(value):
            return recording.trace().symbol(value)
        own = object.__new__(type(value))
        own.level, own.value, own.extra = value.level, value.value, value.extra
        return own
    return value


def is_traced(value: Array) -> bool:
    """Whether this is a tensor of the user's inside a trace, which keeps what it stands for there."""
    return not value.level and recording.trace() is not None


def is_sole_owner(tensor: Tensor) -> bool:
    """Whether nobody else, a saved value or a view included, can see the buffer."""
    value = tensor.value
    return (
        isinstance(value, np.ndarray) and value.flags.owndata and value.flags.writeable and sys.getrefcount(value) == 3
    )


def rebuild(cls: type[Tensor], value: Any, requires_grad: bool, grad: Tensor | None) -> Tensor:
    new = cls(value)
    new.requires_grad = requires_grad
    if grad is not None:
        new._grad = grad
    return new


def tensor(data: Any, requires_grad: bool = False, dtype: Any = None) -> Any:
    """A new tensor with its own copy of the data: a number, an array, or nested lists of them.

    Of values that are being differentiated it makes a value that depends on them, as `wg.stack` does.

    >>> tensor([[1, 2], [3, 4]], dtype=float, requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    if holds_value(data):
        values = data = gathered(data)
        while isinstance(data, Tensor) and data.node is None and not is_traced(data):
            data = data.value
        if isinstance(data, Array):
            return astype(values, values.dtype if dtype is None else dtype)
    if is_masked(data):
        refuse_subclass(data)
    return own(np.array(data if isinstance(data, list | tuple) else as_constant(data), dtype=dtype), requires_grad)


def own(value: np.ndarray, requires_grad: bool = False) -> Any:
    """An array that nobody else has as a new tensor; in a trace, where it is made anew at each call, as a symbol."""
    if value.dtype.kind not in "biufc":
        raise user_error(
            TypeError,
            f"Data of dtype {value.dtype} cannot be a tensor",
            "Pass numbers in an array or in lists of equal length.",
        )
    trace = recording.trace()
    if trace is not None:
        if requires_grad:
            raise user_error(
                GradientError,
                "A tensor that requires a gradient was made inside a traced function",
                because="such a program has no tape. Differentiate a function with wg.grad, or make the tensor "
                "outside.",
            )
        return trace.symbol(value)
    new = Tensor(value)
    if requires_grad:
        new.requires_grad = True
    return new


def as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else tensor(value)


# The boundary. Inside, cotangents follow the transpose convention; outside, the gradient of a complex value is the
# direction of steepest ascent, its conjugate.


def public(t: Any) -> Tensor:
    """A cotangent as the user sees it."""
    t = t if isinstance(t, Tensor) else Tensor(t)
    return complex_numbers.conj(t) if t.dtype.kind == "c" else t


internal = public  # conjugation undoes itself


def replacement(gradient: Any, t: Any, returned: str) -> Any:
    """The cotangent that takes the place of `t` when a hook has `returned` a gradient."""
    new = internal(as_tensor(gradient))
    if new.shape != t.shape:
        raise user_error(
            GradientError, f"{returned} of shape {new.shape} in place of {t.shape}", "The shapes must be equal."
        )
    return conform(new if isinstance(t, Tensor) else new.value, t.shape, t.dtype)


def accumulate(tensor: Tensor, t: Any) -> None:
    """Add a cotangent to `grad`; only a cotangent with a history gives it one."""
    if t.__class__ is np.ndarray and t.dtype is tensor.dtype and t.dtype.kind == "f" and t.shape == tensor.shape:
        new = Tensor(t)
    else:
        new = public(conform(t, tensor.shape, tensor.dtype))
    with ACCUMULATING:
        old = getattr(tensor, "_grad", None)
        if old is not None:
            new = arithmetic.add(old, new) if isinstance(t, Tensor) else Tensor(old.value + new.value)
        elif new.node is None and isinstance(new.value, np.ndarray) and not new.value.flags.writeable:
            new = Tensor(new.value.copy())
        tensor._grad = new
