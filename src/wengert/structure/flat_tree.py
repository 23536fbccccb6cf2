"""Trees of real arrays as vectors, for solvers that take vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.core.tree import is_alike, leaf_paths
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.boundary import flatten_arrays, unflatten_arrays

__all__ = ["ravel"]


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of a tree of real arrays as one vector, and the function that makes such a tree of a vector.

    Both can be differentiated, batched and compiled. Leaves keep their floating-point dtypes; integers become floats.

    >>> vector, unravel = ravel({"w": np.ones((2, 2)), "b": 3.0})
    >>> vector
    array([1., 1., 1., 1., 3.])
    >>> unravel(2 * vector)["w"]
    array([[2., 2.],
           [2., 2.]])
    """
    flat = FlatTree(tree, "The tree")

    def unravel(vector: Any) -> Any:
        found = np.shape(vector)
        if found != (flat.size,):
            raise user_error(ValueError, f"The tree has {flat.size} elements, and was given a vector of shape {found}")
        return flat.tree(as_operand(vector))

    return flat.vector(tree), unravel


class FlatTree:
    """How a tree of real arrays lies in one vector, and back.

    >>> flat = FlatTree({"w": np.ones((2, 2)), "b": 3.0}, "example")
    >>> flat.size, flat.vector({"w": np.eye(2), "b": 5.0})
    (5, array([1., 0., 0., 1., 5.]))
    """

    def __init__(self, tree: Any, what: str):
        leaves, self.structure = flatten_arrays(tree)
        if not leaves:
            raise user_error(ValueError, f"{what} has no arrays in it")
        for x, path in zip(leaves, leaf_paths(self.structure), strict=True):
            if x.dtype.kind not in "biuf":
                raise user_error(
                    TypeError,
                    f"{what}{path} has dtype {x.dtype}, and must be real",
                    "Take real and imaginary parts as two arrays.",
                )
        self.what = what
        self.dtype = np.result_type(*[x.dtype if x.dtype.kind == "f" else float for x in leaves])
        self.specs = [Spec(x.shape, x.dtype if x.dtype.kind == "f" else np.dtype(float)) for x in leaves]
        self.size = sum(spec.size for spec in self.specs)

    def vector(self, tree: Any) -> Any:
        """A tree of this structure and these shapes as one vector."""
        leaves, structure = flatten_arrays(tree)
        if not is_alike(structure, self.structure):
            raise user_error(TypeError, f"{self.what} has the structure {self.structure!r}, and not {structure!r}")
        for x, spec, path in zip(leaves, self.specs, leaf_paths(structure), strict=True):
            if x.shape != spec.shape:
                raise user_error(ValueError, f"{self.what}{path} has shape {spec.shape}, and not {x.shape}")
        parts = [reshape(x, (-1,)) if x.dtype == self.dtype else astype(reshape(x, (-1,)), self.dtype) for x in leaves]
        return parts[0] if len(parts) == 1 else concatenate(parts)

    def tree(self, vector: Any) -> Any:
        """The inverse of `vector`."""
        leaves, start = [], 0
        for spec in self.specs:
            part = reshape(vector[start : start + spec.size], spec.shape)
            leaves.append(part if part.dtype == spec.dtype else astype(part, spec.dtype))
            start += spec.size
        return unflatten_arrays(
            self.structure, [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in leaves]
        )

    def function(self, f: Callable) -> Callable:
        """`f` of a tree as a function of a vector, whose value is a vector too."""
        return lambda v: FlatTree(y := f(self.tree(v)), "the value of the function").vector(y)
