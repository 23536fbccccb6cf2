"""The variables of a search: a tree of arrays as one vector of float64, and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.levels import bottom_array, iterate_payloads
from wengert.core.tree import LEAF, Structure, children_of, flatten, leaf_paths, unflatten
from wengert.modes.tensor import Tensor
from wengert.structure.flat_tree import FlatTree
from wengert.transforms.boundary import detach_parameters, flatten_arrays


def is_pair(bounds: Any) -> bool:
    """Whether these are the lower and upper bound of one element, numbers or None."""
    return (
        isinstance(bounds, list | tuple) and len(bounds) == 2 and all(b is None or isinstance(b, Real) for b in bounds)
    )


class Variables:
    """The start of a search, as a vector, and its conversion back to trees. `notes` say how it was converted."""

    def __init__(self, x0: Any, name: str = "x0"):
        x0 = detach_parameters(x0)
        refuse_tracked(x0, name)
        leaves, self.structure = flatten_arrays(x0)
        self.notes: list[str] = []
        numbers = []
        for x, path in zip(map(plain_array, leaves), leaf_paths(self.structure), strict=True):
            if x.dtype.kind not in "iuf":
                if x.dtype.kind == "c":
                    advice = "Vary its real and imaginary parts, as two arrays."
                else:
                    advice = "Pass floating-point numbers."
                raise user_error(
                    TypeError, f"{name}{path} has dtype {x.dtype}, and a search moves in real numbers", advice
                )
            if x.dtype.kind != "f":
                self.notes.append(f"{name}{path} had dtype {x.dtype} and was taken as float64")
            if not np.isfinite(x).all():
                raise user_error(
                    ValueError, f"{name}{path} has elements that are not finite", "Start from finite numbers."
                )
            numbers.append(np.asarray(x, np.float64))
        self.flat = FlatTree(unflatten(self.structure, numbers), name)
        self.name, self.size = name, self.flat.size
        if not self.size:
            raise user_error(ValueError, f"{name} has no elements", because="there is nothing to vary.")
        self.start = np.array(self.flat.vector(unflatten(self.structure, numbers)))

    def tree(self, vector: np.ndarray) -> Any:
        """A vector as a tree like x0."""
        return self.flat.tree(vector)

    def element_name(self, i: int) -> str:
        """The name of element `i` of the vector: `x0['w'][1, 0]`."""
        for spec, path in zip(self.flat.specs, leaf_paths(self.structure), strict=True):
            if i < spec.size:
                index = ", ".join(map(str, np.unravel_index(i, spec.shape)))
                return f"{self.name}{path}[{index}]" if index else f"{self.name}{path}"
            i -= spec.size
        raise IndexError(i)

    def bounds(self, given: Any, prefer_pairs: bool = True) -> tuple[np.ndarray, np.ndarray] | None:
        """The lower and upper bound of each element.

        They are given as (lower, upper), each of them None, a number, an array or a tree like x0, of which a part may
        stand for all below it; as `scipy.optimize.Bounds`; or, for one vector, as pairs of numbers, one for each
        element, as in SciPy. What could be both, a tuple of two pairs for two elements, is read as SciPy reads it: as
        pairs by `minimize`, as (lower, upper) by `least_squares`.
        """
        if given is None:
            return None
        if isinstance(given, import_module("scipy.optimize").Bounds):
            lower, upper = (self.whole(side, sign) for side, sign in ((given.lb, -1), (given.ub, 1)))
        elif self.is_pairs(given) and (prefer_pairs or not (isinstance(given, tuple) and self.size == 2)):
            lower, upper = (
                np.array([sign * np.inf if p[i] is None else p[i] for p in given], float)
                for i, sign in ((0, -1), (1, 1))
            )
        elif isinstance(given, tuple) and len(given) == 2:
            lower, upper = (self.spread(side, sign) for side, sign in zip(given, (-1, 1), strict=True))
        else:
            raise user_error(
                TypeError,
                f"bounds are (lower, upper), each a number, an array or a tree like x0, or scipy.optimize.Bounds, or "
                f"for {self.size} elements of one vector a list of as many pairs; this is a {type(given).__name__}",
            )
        for wrong, what in (
            (~(lower <= upper), "has no number within its bounds"),
            (self.start < lower, "is below its lower bound"),
            (self.start > upper, "is above its upper bound"),
        ):
            if wrong.any():
                i = int(np.argmax(wrong))
                raise user_error(
                    ValueError, f"{self.element_name(i)} = {self.start[i]:g} {what}: [{lower[i]:g}, {upper[i]:g}]"
                )
        return lower, upper

    def is_pairs(self, given: Any) -> bool:
        """Whether bounds are pairs, one for each element of one vector."""
        return (
            self.structure is LEAF
            and isinstance(given, list | tuple)
            and len(given) == self.size
            and all(map(is_pair, given))
        )

    def whole(self, side: Any, sign: int) -> np.ndarray:
        """A bound on the vector of all elements."""
        try:
            return np.broadcast_to(np.asarray(sign * np.inf if side is None else side, float), (self.size,)).copy()
        except ValueError:
            raise user_error(
                ValueError, f"A bound of shape {np.shape(side)} does not fit the {self.size} elements of {self.name}"
            ) from None

    def spread(self, side: Any, sign: int) -> np.ndarray:
        """A bound, a tree like x0 or a part of one, as a vector."""
        parts = []
        for given, spec, path in zip(
            leaves_below(side, self.structure), self.flat.specs, leaf_paths(self.structure), strict=True
        ):
            bound = np.asarray(sign * np.inf if given is None else given, float)
            try:
                parts.append(np.broadcast_to(bound, spec.shape).reshape(-1))
            except ValueError:
                raise user_error(
                    ValueError, f"The bound of {self.name}{path} has shape {np.shape(given)}, and not {spec.shape}"
                ) from None
        return np.concatenate(parts)


def leaves_below(tree: Any, structure: Structure) -> list:
    """The leaves of a tree that has this structure, or has a number or None where the structure goes on.

    >>> leaves_below({"w": 1.0, "b": None}, flatten({"w": [0, 0], "b": 0})[1])
    [1.0, 1.0, None]
    """
    if structure is LEAF or tree is None or isinstance(tree, int | float):
        return [tree] * structure.size
    given = children_of(tree)
    if given is None:
        raise user_error(TypeError, f"bounds have a {type(tree).__name__} where x0 has the structure {structure!r}")
    if given.keys() != set(structure.keys):
        raise user_error(TypeError, f"bounds have the keys {sorted(given)}, where x0 has the structure {structure!r}")
    children = zip(structure.keys, structure.children, strict=True)
    return [leaf for key, child in children for leaf in leaves_below(given[key], child)]


def plain_array(x: Any) -> Any:
    """The plain array inside a value."""
    return bottom_array(x)


def refuse_tracked(tree: Any, what: str) -> None:
    """Raise an error for tracked values: a search is not differentiated, and their gradient would be lost."""
    for leaf in flatten(tree)[0]:
        for layer in iterate_payloads(leaf):
            if not (isinstance(layer, Tensor) and layer.node is None and not layer.level):
                raise user_error(
                    GradientError,
                    f"{what} has a value that is being differentiated or traced (a {type(layer).__name__})",
                    because="the gradient would be lost, because SciPy searches with plain numbers. Differentiate a "
                    "solution with wg.implicit.argmin or wg.implicit.root, or detach the value.",
                )


def as_arguments(args: Any) -> tuple:
    """Further arguments of a function, as SciPy takes them: a tuple, or one of them alone."""
    found = detach_parameters(args if isinstance(args, tuple) else (args,))
    refuse_tracked(found, "args")
    return found


def join_notes(notes: Sequence[str]) -> str:
    """Notes in one line."""
    return "; ".join(dict.fromkeys(notes))
