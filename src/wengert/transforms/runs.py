"""One run of a function in one mode, at a level of its own; what comes out belongs to the levels below.

`no_grad` and `inference_mode` around a transform do not switch the transform off, only what tapes around it would
record; inside the function they act as always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.primitive import new_level
from wengert.core.spec import Spec
from wengert.core.tree import flatten
from wengert.modes import recording
from wengert.modes.cotangent import conform
from wengert.modes.forward import Dual
from wengert.modes.reverse import Tensor
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import Leaf, Node, pull_back
from wengert.modes.taylor import Jet, Series
from wengert.transforms.arguments import mapped

Call = Callable[[Sequence[Any]], Any]
"""The function under differentiation, of a list of leaves."""


class Tape:
    """A function recorded once, at some inputs: its result, and the way back from it."""

    __slots__ = ("aux", "inputs", "level", "nodes", "result")

    aux: Any

    def __init__(self, call: Call, inputs: Sequence[Any], given: Any = (), has_aux: bool = False):
        self.level = level = new_level()
        self.inputs = inputs
        self.nodes = [Leaf(x) for x in inputs]
        tracked = [Tensor(x, level, node) for x, node in zip(inputs, self.nodes, strict=True)]
        result = called(call, tracked, level)
        self.result, self.aux = pair(result) if has_aux else (result, None)
        if has_aux:
            self.aux = mapped(lambda y: aside(y, level, given), self.aux)

    def pull(self, outputs: Sequence[Any], cotangents: Sequence[Any], retain: bool = False) -> list:
        """The cotangents of the inputs, for those of `outputs` (leaves of the result).

        None where nothing depends on an input.
        """
        seeds: dict[Node, Any] = {}
        for y, t in zip(outputs, cotangents, strict=True):
            if isinstance(y, Tensor) and y.level == self.level and y.node is not None:
                seeds[y.node] = seeds[y.node] + t if y.node in seeds else t
        found: dict[Node, Any] = {}
        if seeds:
            pull_back(seeds, found.__setitem__, retain=retain)
        return [None if (t := found.get(node)) is None else conform(t, node.shape, node.dtype) for node in self.nodes]


def pushed(
    call: Call, inputs: Sequence[Any], tangents: Sequence[Any], given: Any, has_aux: bool = False
) -> tuple[Any, Any, Any]:
    """The result of a function, its tangent, and what else it returned; all trees."""
    level = new_level()
    result = called(call, [Dual(x, t, level) for x, t in zip(inputs, tangents, strict=True)], level)
    aux = None
    if has_aux:
        result, aux = pair(result)
        aux = mapped(lambda y: aside(y, level, given), aux)
    user = any(map(is_users, inputs))
    taken = set(map(id, tangents))

    def own(y: Any) -> Any:
        t = settled(y.tangent if isinstance(y, Dual) and y.level == level else no_tangent(y), user, given)
        if t.__class__ is np.ndarray:
            t = t.copy() if id(t) in taken else t
            taken.add(id(t))
            kept.append(t)
        return t

    kept: list = []  # so that no id is used twice
    tangent = mapped(own, result)
    return mapped(lambda y: lowered(y, level, given), result), tangent, aux


def called(call: Call, arguments: Sequence[Any], level: int) -> Any:
    """The result of a function that is being differentiated, whatever is switched off around it."""
    if not recording.active or recording.recording():
        return call(arguments)
    with recording.switched(enabled=True, inference=False):
        result = call(arguments)
    return mapped(lambda y: forgetful(y, level), result)


def pair(result: Any) -> tuple[Any, Any]:
    """What a function with `has_aux` returned."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise user_error(
            TypeError,
            f"With has_aux=True the function returns a pair, the value to differentiate and anything else; this one "
            f"returned a {type(result).__name__}",
        )
    return result


def lowered(y: Any, level: int, given: Any) -> Any:
    """A result as those outside a level see it, who have `given` the arguments."""
    return unboxed(as_given(y.value if isinstance(y, Array) and y.level == level else y, given))


def aside(y: Any, level: int, given: Any) -> Any:
    """What a function returned beside its result: what did not pass through the level is the user's own, and stays as
    it is.
    """
    return lowered(y, level, given) if isinstance(y, Array) and y.level == level else y


def as_given(y: Any, given: Any) -> Any:
    """A tensor without history as its numbers, unless there is one in the tree that was `given`: NumPy in, NumPy out.

    It is a constant, or was computed from constants that were tensors.
    """
    if isinstance(y, Tensor) and not y.level and y.node is None and not any(map(is_users, flatten(given)[0])):
        return unboxed(y.value)
    return y


def unboxed(y: Any) -> Any:
    """What has no axes as a NumPy scalar."""
    return y[()] if y.__class__ is np.ndarray and not y.ndim else y


def forgetful(y: Any, level: int) -> Any:
    """A result of which the derivatives around this level, switched off by `no_grad`, know nothing."""
    if isinstance(y, Tensor) and y.level == level:
        return Tensor(forgetful(y.value, level), level, y.node)
    if isinstance(y, Dual) and y.level == level:
        return Dual(forgetful(y.value, level), forgetful(y.tangent, level), level)
    if isinstance(y, Jet) and y.level == level:
        return Jet(Series(y.series.run, [forgetful(t, level) for t in y.series.terms]), level)
    if isinstance(y, Dual | Jet):
        return forgetful(y.value, level)
    if isinstance(y, Tensor) and y.level:
        return Tensor(forgetful(y.value, level), y.level)
    return y.detach() if isinstance(y, Tensor | Symbol) else y


def settled(t: Any, user: bool, given: Any) -> Any:
    """A derivative as it is handed out: a tensor where the `user` gave tensors, writeable and nobody else's otherwise.

    `given` has all that the user gave, what is not differentiated too.
    """
    if user:
        return t if isinstance(t, Array) else Tensor(t)
    t = as_given(t, given)
    if t.__class__ is np.ndarray:
        return t[()] if not t.ndim else t if t.flags.writeable and t.base is None else t.copy()
    return t


def is_users(x: Any) -> bool:
    """Whether a value is, at the bottom, a tensor that a user made."""
    while isinstance(x, Array):
        if not x.level:
            return True
        x = x.value
    return False


def handed_out(cotangents: Sequence[Any], inputs: Sequence[Any], given: Any, taken: Sequence[Any] = ()) -> list:
    """Pulled cotangents as derivatives in the inputs: zeros for None, and no two of them (or of those `taken`) one
    array.
    """
    taken_ids = set(map(id, taken))
    results = []
    for t, x in zip(cotangents, inputs, strict=True):
        t = settled(np.zeros(x.shape, x.dtype) if t is None else t, is_users(x), given)
        if t.__class__ is np.ndarray:
            if id(t) in taken_ids:
                t = t.copy()
            taken_ids.add(id(t))
        results.append(t)
    return results


def no_tangent(y: Any) -> np.ndarray:
    """The tangent of what does not depend on the inputs."""
    spec = Spec.of(y)
    return np.zeros(spec.shape, spec.dtype if spec.dtype.kind in "fc" else float)
