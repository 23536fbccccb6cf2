"""The boundary of a transform: arguments in, as flat lists of arrays, and results out, as the user expects them.

`no_grad` and `inference_mode` around a transform do not switch it off, only the recording of tapes around it. Inside
the function they act as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ParamSpec

import numpy as np

from wengert.control.values import match_given
from wengert.core.array import Array
from wengert.core.devices import is_array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import has_user_tensor, is_own, numpy_of
from wengert.core.primitive import SHAPED, as_operand
from wengert.core.spec import PLAIN, Spec
from wengert.core.subclasses import refuse_subclass
from wengert.core.tree import LEAF, Branch, Structure, flatten, is_alike, leaf_paths, unflatten
from wengert.core.tree import map as map_tree
from wengert.modes import recording
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet, Series
from wengert.modes.tensor import Tensor
from wengert.ops.shape.casting import astype

Argnums = int | Sequence[int]
P = ParamSpec("P")


def to_array(x: Any) -> Any:
    """A leaf as an array; a Python number becomes a NumPy scalar."""
    return x if isinstance(x, SHAPED) else as_operand(x)[()]


def flatten_arrays(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree as arrays, and its structure."""
    if isinstance(tree, SHAPED):
        return [tree], LEAF
    kind = tree.__class__
    if (kind is tuple or kind is list) and all(isinstance(x, SHAPED) for x in tree):
        return list(tree), row_structure(kind, len(tree))
    leaves, structure = flatten(tree)
    return [to_array(x) for x in leaves], structure


def unflatten_arrays(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The inverse of `flatten_arrays`."""
    if structure is LEAF:
        return leaves[0]
    kind = structure.make
    is_row = (kind is tuple or kind is list) and structure is row_structure(kind, len(leaves))
    return kind(leaves) if is_row else unflatten(structure, leaves)


@cache
def row_structure(kind: type, n: int) -> Structure:
    """The structure of a tuple or a list of n arrays; always the same object, so that it can be compared with `is`."""
    return Structure(kind, tuple(range(n)), (LEAF,) * n)


def map_arrays(function: Callable[..., Any], tree: Any) -> Any:
    """`function` of each leaf of a tree; fast if the tree is one array."""
    return function(tree) if isinstance(tree, SHAPED) else map_tree(function, tree)


def detach_parameters(tree: Any) -> Any:
    """A tree in which the parameters of modules do not require a gradient, for tools that return plain numbers.

    Other tensors stay as they are: their gradient would be lost, which is an error.
    """
    if isinstance(tree, Branch):
        return map_tree(lambda p: p.detach() if isinstance(p, Tensor) and not p.level and p.is_leaf else p, tree)
    if tree.__class__ in (tuple, list):
        return tree.__class__([detach_parameters(part) for part in tree])
    return {key: detach_parameters(part) for key, part in tree.items()} if tree.__class__ is dict else tree


class Arguments:
    """The differentiated arguments of one call: their leaves and structure, and a way to call with other leaves."""

    __slots__ = ("args", "argnums", "call_arguments", "kwargs", "leaves", "structure")

    def __init__(self, transform: str, argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]):
        self.args, self.kwargs, self.argnums = args, kwargs, argnums
        self.call_arguments = args, kwargs  # differentiated or not
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
        self.leaves: list[Any]
        self.leaves, self.structure = ([chosen], LEAF) if isinstance(chosen, SHAPED) else flatten_arrays(chosen)
        for i, x in enumerate(self.leaves):
            if x.__class__ not in PLAIN:
                refuse_subclass(x)
            if x.dtype.kind not in "fc":
                raise user_error(
                    GradientError,
                    f"{transform}: {self.leaf_name(i)} has dtype {x.dtype}, and derivatives need floating-point or "
                    f"complex numbers",
                    "Convert it with x.astype(float), or choose other arguments.",
                )

    def call(self, f: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """Call `f` with these leaves instead of the chosen ones."""
        if recording.active:
            f = recording.as_read(f)
        chosen = leaves[0] if self.structure is LEAF else unflatten_arrays(self.structure, leaves)
        argnums, args = self.argnums, self.args
        if isinstance(argnums, int):
            if len(args) == 1:
                return f(chosen, **self.kwargs)
            argnums, chosen = (argnums,), (chosen,)
        changed = list(args)
        for i, x in zip(argnums, chosen, strict=True):
            changed[i] = x
        return f(*changed, **self.kwargs)

    def refuse_complex(self, remedy: str, prefix: str = "") -> None:
        """Raise an error if a leaf is complex."""
        for i, x in enumerate(self.leaves):
            if x.dtype.kind == "c":
                raise user_error(GradientError, f"{prefix}{self.leaf_name(i)} has dtype {x.dtype}", remedy)

    def leaf_name(self, i: int) -> str:
        """The name of leaf `i` in messages: `argument 0['w']`."""
        if isinstance(self.argnums, int):
            return f"argument {self.argnums}{list(leaf_paths(self.structure))[i]}"
        paths = [
            f"{n}{path}"
            for n, child in zip(self.argnums, self.structure.children, strict=True)
            for path in leaf_paths(child)
        ]
        return f"argument {paths[i]}"


def check_directions(name: str, tree: Any, structure: Structure, specs: Sequence[Spec]) -> list[Any]:
    """The leaves of a tangent or cotangent (`name`), which must have the structure, shapes and dtypes of a value."""
    leaves, found = flatten_arrays(tree)
    if not is_alike(found, structure) and loose_structure(found) != loose_structure(structure):
        raise user_error(
            TypeError, f"The {name} has the structure {found!r}, the value {structure!r}", "They must be the same."
        )
    directions = []
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
        directions.append(t)
    return directions


def loose_structure(structure: Structure) -> Any:
    """A structure that compares equal whether its outermost container is a list or a tuple."""
    return tuple if structure.make in (list, tuple) else structure.make, structure.keys, structure.children


FlatFunction = Callable[[Sequence[Any]], Any]
"""The differentiated function, as a function of a list of leaves."""


def call_function(call: FlatFunction, arguments: Sequence[Any], level: int) -> Any:
    """Call a function that is being differentiated; recording is on even if `no_grad` around it switched it off."""
    if not recording.active or recording.is_recording():
        return call(arguments)
    with recording.override(enabled=True, inference=False):
        result = call(arguments)
    return map_arrays(lambda y: detach_below(y, level), result)


def split_aux(result: Any) -> tuple[Any, Any]:
    """The value and the auxiliary result of a function with `has_aux`."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise user_error(
            TypeError,
            f"With has_aux=True the function returns a pair, the value to differentiate and anything else; this one "
            f"returned a {type(result).__name__}",
        )
    value, aux = result
    return value, aux


def hand_out_value(y: Any, level: int, given: Any) -> Any:
    """A result without this level, as a caller with the arguments `given` expects it."""
    if isinstance(y, Array):
        y = y.value if y.level == level else y
    if isinstance(y, Array):
        return match_given(y, given)
    return y[()] if y.__class__ is np.ndarray and not y.ndim else y


def hand_out_copy(y: Any, level: int, given: Any) -> Any:
    """The same for results that the caller may write to before rules have read what they saved, which may be these."""
    found = hand_out_value(y, level, given)
    return found.copy() if is_array(found) else found


def hand_out_aux(y: Any, level: int, given: Any) -> Any:
    """A leaf of the auxiliary result: values of the level lose it, and anything else is returned as it is."""
    return hand_out_copy(y, level, given) if is_own(y, Array, level) else y


def detach_below(y: Any, level: int) -> Any:
    """A result with its derivatives at this level, and without those of other levels, which `no_grad` switched off."""
    if is_own(y, Tensor, level):
        return Tensor(detach_below(y.value, level), level, y.node)
    if is_own(y, Dual, level):
        return Dual(detach_below(y.value, level), detach_below(y.tangent, level), level)
    if is_own(y, Jet, level):
        return Jet(Series(y.series.run, [detach_below(t, level) for t in y.series.coefficients]), level)
    if isinstance(y, Dual | Jet):
        return detach_below(y.value, level)
    if isinstance(y, Tensor) and y.level:
        return Tensor(detach_below(y.value, level), y.level)
    return y.detach() if isinstance(y, Tensor | Symbol) else y


def hand_out(t: Any, user: bool, given: Any) -> Any:
    """A derivative for the user: a tensor if the input was one (`user`), else a writeable array that owns its memory.

    `given` are all arguments of the call.
    """
    if user:
        return t if isinstance(t, Array) else Tensor(t)
    if isinstance(t, Array):
        t = match_given(t, given)
    if t.__class__ is np.ndarray:
        return t[()] if not t.ndim else t if t.flags.writeable and t.base is None else t.copy()
    return t


def hand_out_all(cotangents: Sequence[Any], inputs: Sequence[Any], given: Any, taken: Sequence[Any] = ()) -> list[Any]:
    """Cotangents of the inputs as derivatives for the user, with zeros for None.

    No two of them, and none of those `taken`, are the same array.
    """
    taken_ids = set(map(id, taken))
    results = []
    for t, x in zip(cotangents, inputs, strict=True):
        if t is None:
            t = zeros_like(x)
        t = hand_out(t, isinstance(x, Array) and has_user_tensor(x), given)
        if t.__class__ is np.ndarray:
            if id(t) in taken_ids:
                t = t.copy()
            taken_ids.add(id(t))
        results.append(t)
    return results


def zero_tangent(y: Any) -> Any:
    """The tangent of a result that does not depend on the inputs."""
    spec = Spec.of(y)
    return numpy_of(y).zeros(spec.shape, spec.dtype if spec.dtype.kind in "fc" else float)
