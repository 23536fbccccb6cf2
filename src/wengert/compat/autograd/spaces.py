"""Vector spaces: what values of one shape have in common, as `autograd.core.vspace` gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.core.spec import Spec
from wengert.ops.contraction.products import dot
from wengert.ops.elementwise.complex_numbers import conj, real
from wengert.ops.shape.reshaping import ravel


class VSpace:
    """The space of the trees of arrays that have the structure, shapes and dtypes of a value.

    Its operations are differentiable. Complex numbers count as two real ones.

    >>> space = VSpace({"w": np.ones(2), "b": 1.0})
    >>> space.size, space.zeros()
    (3, {'w': array([0., 0.]), 'b': array(0.)})
    """

    mappings: dict[type, Callable[[Any], VSpace]] = {}
    """The spaces of users' types."""

    def __init__(self, value: Any):
        leaves, self.structure = tree.flatten(value)
        self.specs = [Spec.of(bottom_array(leaf)) for leaf in leaves]
        for spec in self.specs:
            if spec.dtype.kind not in "biufc":
                raise user_error(TypeError, f"A {type(value).__name__} with values of dtype {spec.dtype} has no space")

    @classmethod
    def register(cls, value_type: type, maker: Callable[[Any], VSpace] | None = None) -> None:
        """Let `vspace` make spaces of this class for values of a type."""
        VSpace.mappings[value_type] = maker or cls

    @property
    def shape(self) -> Any:
        """The shape of an array, or a tree of shapes."""
        return self._build([spec.shape for spec in self.specs])

    @property
    def dtype(self) -> Any:
        """The dtype of an array, or a tree of dtypes."""
        return self._build([spec.dtype for spec in self.specs])

    @property
    def ndim(self) -> int:
        """The number of axes of an array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of real numbers."""
        return sum(spec.size * (1 + (spec.dtype.kind == "c")) for spec in self.specs)

    @property
    def iscomplex(self) -> bool:
        """Whether the numbers are complex."""
        return any(spec.dtype.kind == "c" for spec in self.specs)

    def _build(self, leaves: Any) -> Any:
        return tree.unflatten(self.structure, leaves)

    def zeros(self) -> Any:
        """Zeros."""
        return self._build([np.zeros(*spec) for spec in self.specs])

    def ones(self) -> Any:
        """Ones; 1 + 1j where numbers are complex."""
        return self._build(
            [np.full(spec.shape, 1 + 1j if spec.dtype.kind == "c" else 1, spec.dtype) for spec in self.specs]
        )

    def randn(self) -> Any:
        """Numbers of the standard normal distribution, from NumPy's global generator."""
        return self._build([random_array(spec) for spec in self.specs])

    def standard_basis(self) -> Iterator[Any]:
        """The vectors of which one element is 1, and for complex numbers also those of which one is 1j."""
        for i, spec in enumerate(self.specs):
            for index in np.ndindex(*spec.shape):
                for unit in (1.0, 1.0j) if spec.dtype.kind == "c" else (1.0,):
                    leaves = [np.zeros(*each) for each in self.specs]
                    leaves[i][index] = unit
                    yield self._build(leaves)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        return tree.map(lambda a, b: a + b, x, y)

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a number."""
        return tree.map(lambda leaf: leaf * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The inner product of two vectors, a real number."""
        pairs = zip(tree.leaves(x), tree.leaves(y), strict=True)
        return sum(real(dot(conj(ravel(a)), ravel(b))) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        """The gradient for a cotangent, and the reverse: the conjugate."""
        return tree.map(conj, x) if self.iscomplex else x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and (self.structure, self.specs) == (other.structure, other.specs)

    def __hash__(self) -> int:
        return hash((self.structure, tuple(self.specs)))

    def __repr__(self) -> str:
        return f"VSpace({self._build(self.specs)!r})"


def random_array(spec: Spec) -> np.ndarray:
    """An array of numbers of the standard normal distribution."""
    draw = lambda: np.asarray(np.random.randn(*spec.shape))  # as in the peer
    return (draw() + 1j * draw() if spec.dtype.kind == "c" else draw()).astype(spec.dtype)


def vspace(value: Any) -> VSpace:
    """The space that a value belongs to.

    >>> vspace(np.ones((2, 3))).shape
    (2, 3)
    """
    maker = VSpace.mappings.get(type(value), VSpace)
    return maker(value)
