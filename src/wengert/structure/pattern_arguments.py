"""The arguments of one call, as a pattern depends on them: those to differentiate, other unknowns, and constants."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.primitive import SHAPED
from wengert.core.spec import Spec
from wengert.core.tree import flatten, unflatten
from wengert.graph.ir import PYTHON_NUMBERS
from wengert.modes.trace import digest
from wengert.transforms.boundary import Argnums, Arguments


class CallSignature:
    """A pattern holds for all arguments with one `key`: unknowns have equal shapes, constants are equal.

    `leaves` are the arrays that are differentiated, `others` the floating-point numbers and arrays among the other
    arguments.
    """

    __slots__ = ("chosen", "count", "fixed", "key", "leaves", "others", "structure", "unknown")

    def __init__(self, transform: str, argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]):
        self.chosen = chosen = Arguments(transform, argnums, args, kwargs)
        self.leaves, self.count = chosen.leaves, len(chosen.leaves)
        chosen.refuse_complex(
            "Sparse derivatives are for real numbers; pass the real and imaginary parts.", f"{transform}: "
        )
        mine = {i % len(args) for i in ((argnums,) if isinstance(argnums, int) else argnums)}
        self.fixed, self.structure = flatten(([None if i in mine else a for i, a in enumerate(args)], kwargs))
        self.unknown = [is_unknown(x) for x in self.fixed]
        self.others = [x for x, missing in zip(self.fixed, self.unknown, strict=True) if missing]
        constants = tuple([argument_key(x) for x, missing in zip(self.fixed, self.unknown, strict=True) if not missing])
        specs = tuple([x.__class__ if x.__class__ in PYTHON_NUMBERS else (x.shape, x.dtype) for x in self.arrays])
        self.key = specs, chosen.structure, self.structure, constants

    @property
    def arrays(self) -> list:
        """All arrays that vary from call to call."""
        return [*self.leaves, *self.others]

    def call(self, function: Callable, arrays: Sequence[Any]) -> Any:
        """The function with these arrays in place of those that vary."""
        given = iter(arrays[self.count :])
        args, kwargs = unflatten(
            self.structure, [next(given) if m else x for x, m in zip(self.fixed, self.unknown, strict=True)]
        )
        changed = copy.copy(self.chosen)
        changed.args, changed.kwargs = args, kwargs
        return changed.call(function, arrays[: self.count])

    def without_numbers(self) -> CallSignature:
        """The same with specs in place of arrays, to keep it without their memory."""
        kept = copy.copy(self)
        kept.leaves, kept.others = [Spec.of(x) for x in self.leaves], []
        kept.fixed = [None if missing else x for x, missing in zip(self.fixed, self.unknown, strict=True)]
        kept.chosen = copy.copy(self.chosen)
        kept.chosen.args, kept.chosen.kwargs, kept.chosen.leaves = (), {}, []
        return kept


def is_unknown(x: Any) -> bool:
    """Whether an argument varies from call to call: floating-point numbers do.

    Integers, booleans and strings are constants.
    """
    return isinstance(x, float | complex) or (isinstance(x, SHAPED) and x.dtype.kind in "fc")


def argument_key(x: Any) -> Any:
    """A key that is equal for equal constants."""
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype, digest(x)
    if isinstance(x, Array):
        return id(x)
    try:
        hash(x)
    except TypeError:
        return id(x)
    return type(x), x
