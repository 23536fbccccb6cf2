"""Arrays as programs written for JAX know them: they never change, and every function returns one.

Inside transforms, values are those of Wengert's modes, and `jax.Array` is the class of all of them. Outside, numbers
are in a `ConcreteArray`, a tensor without history. Operations on these alone run at once, also in traces, where their
results are constants.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.primitive import Primitive, as_constant, holds_value, stack_lists
from wengert.modes import recording
from wengert.modes.tensor import Tensor
from wengert.ops.samples.sorting import argsort, sort
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import reshape

PLAIN_CONTAINERS = (dict, list, tuple)
"""Containers that are taken apart without the structure of a tree."""


class ConcreteArray(Tensor):
    """Numbers that never change.

    >>> x = y = ConcreteArray(np.array([1.0, 2.0]))
    >>> x += 1.0
    >>> x, y.at[0].set(5.0)
    (Array([2., 3.], dtype=float64), Array([5., 2.], dtype=float64))
    """

    __slots__ = ()
    is_frozen = True

    @staticmethod
    def process_unary(primitive: Primitive, level: int, x: Any) -> Any:  # noqa: ARG004  # always 0
        return ConcreteArray(primitive.impl(x.value))

    @staticmethod
    def process_binary(primitive: Primitive, level: int, x: Any, y: Any) -> Any:
        if isinstance(x, ConcreteArray):
            if isinstance(y, ConcreteArray):
                return ConcreteArray(primitive.impl(x.value, y.value))
            if not isinstance(y, Array):
                return ConcreteArray(primitive.impl(x.value, y))
        elif not isinstance(x, Array):
            return ConcreteArray(primitive.impl(x, y.value))
        return Tensor.process_binary(primitive, level, x, y)

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if any(isinstance(a, Array) and not isinstance(a, ConcreteArray) for a in args):
            return Tensor.process(primitive, level, args, params)
        out = primitive.impl(*[a.value if isinstance(a, Array) else a for a in args], **params)
        return ConcreteArray(out) if primitive.outputs == 1 else tuple([ConcreteArray(y) for y in out])

    def detach(self) -> Tensor:
        return self

    @property
    def requires_grad(self) -> bool:
        """False: gradients are those of functions."""
        return False

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted:
            raise user_error(TypeError, "An array of JAX's has no history", "Use jax.grad, or a wg.tensor.")

    def sort(self, axis: int = -1, *, stable: bool = True, descending: bool = False) -> Any:  # type: ignore[override]  # JAX's
        """The elements in order along an axis, as a new array."""
        return sort(self, axis, stable=stable, descending=descending)

    def argsort(self, axis: int = -1, *, stable: bool = True, descending: bool = False) -> Any:  # type: ignore[override]  # JAX's
        """The indices of the elements in order along an axis; equal ones keep their order."""
        return argsort(self, axis, stable=stable, descending=descending)

    def block_until_ready(self) -> ConcreteArray:
        """This array: operations have run when they return."""
        return self

    def __repr__(self) -> str:
        numbers = np.array2string(np.asarray(self.value), separator=", ", prefix="Array(")
        return f"Array({numbers}, dtype={self.dtype})"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value[()] if not self.ndim else self.value, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConcreteArray, (self.value,)


def to_array(x: Any) -> Any:
    """An array or a number of NumPy's, or a tensor without history, as an array of this layer."""
    if isinstance(x, Array):
        bare = x.__class__ is Tensor and not x.level and x.node is None and recording.current_trace() is None
        return ConcreteArray(x.value) if bare else x
    if x.__class__ is np.ndarray and x.base is not None:
        x = x.copy()  # it may share memory with an array of the user's
    is_number = isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biufc"
    return ConcreteArray(x) if is_number else x


def to_arrays(values: Any) -> Any:
    """The same for all leaves of a tree."""
    if isinstance(values, Array | np.ndarray | np.generic):
        return to_array(values)
    if values.__class__ in PLAIN_CONTAINERS:
        return map_children(to_arrays, values)
    return tree.map(to_array, values)


def map_children(function: Callable[[Any], Any], values: Any) -> Any:
    """`function` of the children of a dict, list or tuple."""
    if values.__class__ is dict:
        return {key: function(part) for key, part in values.items()}
    return values.__class__([function(part) for part in values])


def as_arrays(values: Any) -> Any:
    """The same, with copies of NumPy's arrays and of Python's numbers: the state of a loop."""
    return tree.map(lambda x: array(x) if isinstance(x, np.ndarray | int | float | complex) else to_array(x), values)


def strip_array(x: Any) -> Any:
    """The numbers of a `ConcreteArray`; anything else as it is."""
    return x.value if x.__class__ is ConcreteArray else x


def strip_arrays(values: Any) -> Any:
    """A tree with the numbers of its arrays. An object of another class without any is returned as it is."""
    if isinstance(values, Array | np.ndarray):
        return strip_array(values)
    if values.__class__ in PLAIN_CONTAINERS:
        return map_children(strip_arrays, values)
    leaves, structure = tree.flatten(values)
    if not any(x.__class__ is ConcreteArray for x in leaves):
        return values
    return tree.unflatten(structure, [strip_array(x) for x in leaves])


def sort_like(values: Any, like: Any) -> Any:
    """A tree whose dictionaries have their keys in the order of another one: JAX does not see the order."""
    if isinstance(values, dict) and isinstance(like, dict) and values.keys() == like.keys():
        return type(values)({key: sort_like(values[key], part) for key, part in like.items()})
    if isinstance(values, tuple | list) and type(like) is type(values) and len(values) == len(like):
        parts = [sort_like(part, other) for part, other in zip(values, like, strict=True)]
        return type(values)(*parts) if hasattr(values, "_fields") else type(values)(parts)
    return values


def lift(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """A function of Wengert's, or of NumPy's, that returns arrays of this layer."""

    @wraps(function)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        if isinstance(out, Array) and (out.level or out.__class__ is ConcreteArray):
            return out
        if out.__class__ is np.ndarray and any(out is a for a in args):
            out = out.copy()
        return to_arrays(out)

    if name is not None:
        lifted.__name__ = lifted.__qualname__ = name
    return lifted


def lift_names(space: Any, names: str) -> dict[str, Callable[..., Any]]:
    """Functions of a namespace, lifted, by name."""
    return {name: lift(getattr(space, name), name) for name in names.split()}


def array(
    object: Any,
    dtype: Any = None,
    copy: bool = True,  # noqa: ARG001  # what does not change need not be copied
    order: str = "K",
    ndmin: int = 0,
) -> Any:
    """Numbers, an array, or nested lists of them as an array of this layer.

    >>> array([1, 2]) / 2
    Array([0.5, 1. ], dtype=float64)
    """
    if holds_value(object):
        made = to_array(stack_lists(object))
        made = made if dtype is None else astype(made, dtype)
        return made if made.ndim >= ndmin else reshape(made, (1,) * (ndmin - made.ndim) + made.shape)
    given = object if isinstance(object, list | tuple) else as_constant(object)
    made = np.array(given, dtype, order=order, ndmin=ndmin)  # type: ignore[call-overload]  # NumPy checks
    made.flags.writeable = False  # rules may keep it without a copy
    return ConcreteArray(made)
