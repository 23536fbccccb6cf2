"""The boundary of a transform: arguments in, as flat lists of arrays, and results out, as the user expects them.

`no_grad` and `inference_mode` around a transform do not switch the transform off, only what tapes around it would record;
inside the function they act as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.control.values import match_given, to_scalar
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import is_users, strip_level
from wengert.core.primitive import SHAPED, operand
from wengert.core.spec import Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import LEAF, Structure, flatten, unflatten
from wengert.core.tree import map as map_tree
from wengert.modes import recording
from wengert.modes.forward import Dual
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet, Series
from wengert.modes.tensor import Tensor
from wengert.ops.shape.casting import astype

Argnums = int | Sequence[int]


def to_array(x: Any) -> Any:
    """A leaf as something with a shape: numbers become NumPy's."""
    return x if isinstance(x, SHAPED) else operand(x)[()]


def flatten_arrays(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree as arrays, and its structure."""
    if isinstance(tree, SHAPED):
        return [tree], LEAF
    if tree.__class__ is tuple and all(isinstance(x, SHAPED) for x in tree):
        return list(tree), row_structure(len(tree))
    leaves, structure = flatten(tree)
    return [to_array(x) for x in leaves], structure


def unflatten_arrays(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The inverse of `flatten_arrays`."""
    if structure is LEAF:
        return leaves[0]
    return tuple(leaves) if structure is row_structure(len(leaves)) else unflatten(structure, leaves)


@cache
def row_structure(n: int) -> Structure:
    """The structure of the most frequent tree, a tuple of arrays: made once, so that it is known when it is met."""
    return Structure(tuple, tuple(range(n)), (LEAF,) * n)


def map_arrays(function: Callable[..., Any], tree: Any) -> Any:
    """`function` of each leaf of a tree, which is often one array."""
    return function(tree) if isinstance(tree, SHAPED) else map_tree(function, tree)


class Arguments:
    """The arguments of one call that are differentiated: their leaves, their structure, and how to call a function with
    others.
    """

    __slots__ = ("args", "argnums", "kwargs", "leaves", "structure")

    def __init__(self, transform: str, argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]):
        self.args, self.kwargs, self.argnums = args, kwargs, argnums
        try:
            chosen = args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])
        except IndexError:
            raise user_error(
                TypeError,
                f"{transform}: argnums={argnums}, but the function was called with {len(args)} positional arguments",
                "Arguments to differentiate are passed by position; choose others with argnums.",
            ) from None
        if not isinstance(argnums, int) and len({i % len(args) for i in argnums}) < len(argnums):
            raise user_error(ValueError, f"{transform}: argnums={argnums} names an argument twice", "Name each once.")
        self.leaves, self.structure = flatten_arrays(chosen)
        for i, x in enumerate(self.leaves):
            refuse_subclass(x)
            if x.dtype.kind not in "fc":
                raise user_error(
                    GradientError,
                    f"{transform}: {self.leaf_name(i)} has dtype {x.dtype}, and derivatives need floating-point or complex "
                    f"numbers",
                    "Convert it with x.astype(float), or choose other arguments.",
                )

    def call(self, f: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """`f` with these leaves in place of the chosen ones."""
        chosen = unflatten_arrays(self.structure, leaves)
        argnums, args = self.argnums, self.args
        if isinstance(argnums, int):
            if len(args) == 1:
                return f(chosen, **self.kwargs)
            argnums, chosen = (argnums,), (chosen,)
        changed = list(args)
        for i, x in zip(argnums, chosen, strict=True):
            changed[i] = x
        return f(*changed, **self.kwargs)

    @property
    def given(self) -> tuple[Any, ...]:
        """All arguments of the call, those that are not differentiated too."""
        return self.args, self.kwargs

    def leaf_name(self, i: int) -> str:
        """Where leaf `i` is: `argument 0['w']`."""
        if isinstance(self.argnums, int):
            return f"argument {self.argnums}{list(leaf_paths(self.structure))[i]}"
        paths = [
            f"{n}{path}"
            for n, child in zip(self.argnums, self.structure.children, strict=True)
            for path in leaf_paths(child)
        ]
        return f"argument {paths[i]}"


def leaf_paths(structure: Structure) -> Iterator[str]:
    """The way to each leaf of a tree, as Python writes it.

    >>> list(places(flatten({"w": [1, 2], "b": 3})[1]))
    ["['w'][0]", "['w'][1]", "['b']"]
    """
    if structure is LEAF:
        yield ""
        return
    indexed = issubclass(structure.make, dict | list | tuple)
    for key, child in zip(structure.keys, structure.children, strict=True):
        for rest in leaf_paths(child):
            yield (f"[{key!r}]" if indexed else f".{key}") + rest


def check_directions(name: str, tree: Any, structure: Structure, specs: Sequence[Spec]) -> list[Any]:
    """The leaves of a tangent or cotangent (its `name`), which must have the structure, shapes and dtypes of the
    values.
    """
    leaves, found = flatten_arrays(tree)
    if found is not structure and found != structure and loose_structure(found) != loose_structure(structure):
        raise user_error(
            TypeError, f"The {name} has the structure {found!r}, the value {structure!r}", "They must be the same."
        )
    checked = []
    for i, (t, spec) in enumerate(zip(leaves, specs, strict=True)):
        if t.shape != spec.shape:
            where = list(leaf_paths(structure))[i]
            raise user_error(
                ValueError, f"The {name}{where} has shape {t.shape}, the value {spec.shape}", "They must be equal."
            )
        if t.dtype != spec.dtype:
            if not np.can_cast(t.dtype, spec.dtype, "same_kind"):
                where = list(leaf_paths(structure))[i]
                raise user_error(
                    TypeError, f"The {name}{where} has dtype {t.dtype}, which cannot be cast to {spec.dtype}"
                )
            t = astype(t, spec.dtype)
        checked.append(t)
    return checked


def loose_structure(structure: Structure) -> Any:
    """A structure in which lists and tuples are the same: where one is meant, the other will do at the top."""
    return tuple if structure.make in (list, tuple) else structure.make, structure.keys, structure.children


FlatFunction = Callable[[Sequence[Any]], Any]
"""The function under differentiation, of a list of leaves."""


def call_function(call: FlatFunction, arguments: Sequence[Any], level: int) -> Any:
    """The result of a function that is being differentiated, whatever is switched off around it."""
    if not recording.active or recording.is_recording():
        return call(arguments)
    with recording.switched(enabled=True, inference=False):
        result = call(arguments)
    return map_arrays(lambda y: detach_below(y, level), result)


def split_aux(result: Any) -> tuple[Any, Any]:
    """What a function with `has_aux` returned."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise user_error(
            TypeError,
            f"With has_aux=True the function returns a pair, the value to differentiate and anything else; this one "
            f"returned a {type(result).__name__}",
        )
    return result


def hand_out_value(y: Any, level: int, given: Any) -> Any:
    """A result as those outside a level see it, who have `given` the arguments."""
    return to_scalar(match_given(strip_level(y, level), given))


def hand_out_aux(y: Any, level: int, given: Any) -> Any:
    """What a function returned beside its result: what did not pass through the level is the user's own, and stays as
    it is.
    """
    return hand_out_value(y, level, given) if isinstance(y, Array) and y.level == level else y


def detach_below(y: Any, level: int) -> Any:
    """A result of which the derivatives around this level, switched off by `no_grad`, know nothing."""
    if isinstance(y, Tensor) and y.level == level:
        return Tensor(detach_below(y.value, level), level, y.node)
    if isinstance(y, Dual) and y.level == level:
        return Dual(detach_below(y.value, level), detach_below(y.tangent, level), level)
    if isinstance(y, Jet) and y.level == level:
        return Jet(Series(y.series.run, [detach_below(t, level) for t in y.series.terms]), level)
    if isinstance(y, Dual | Jet):
        return detach_below(y.value, level)
    if isinstance(y, Tensor) and y.level:
        return Tensor(detach_below(y.value, level), y.level)
    return y.detach() if isinstance(y, Tensor | Symbol) else y


def hand_out(t: Any, user: bool, given: Any) -> Any:
    """A derivative as it is handed out: a tensor where the `user` gave tensors, writeable and nobody else's otherwise.

    `given` has all that the user gave, what is not differentiated too.
    """
    if user:
        return t if isinstance(t, Array) else Tensor(t)
    t = match_given(t, given)
    if t.__class__ is np.ndarray:
        return t[()] if not t.ndim else t if t.flags.writeable and t.base is None else t.copy()
    return t


def hand_out_all(cotangents: Sequence[Any], inputs: Sequence[Any], given: Any, taken: Sequence[Any] = ()) -> list[Any]:
    """Pulled cotangents as derivatives in the inputs: zeros for None, and no two of them (or of those `taken`) one
    array.
    """
    taken_ids = set(map(id, taken))
    results = []
    for t, x in zip(cotangents, inputs, strict=True):
        t = hand_out(np.zeros(x.shape, x.dtype) if t is None else t, is_users(x), given)
        if t.__class__ is np.ndarray:
            if id(t) in taken_ids:
                t = t.copy()
            taken_ids.add(id(t))
        results.append(t)
    return results


def zero_tangent(y: Any) -> np.ndarray:
    """The tangent of what does not depend on the inputs."""
    spec = Spec.of(y)
    return np.zeros(spec.shape, spec.dtype if spec.dtype.kind in "fc" else float)
