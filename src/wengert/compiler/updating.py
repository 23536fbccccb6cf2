"""Functions whose results replace their first arguments, as native code that writes into these."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.entry import Argument, fits_entry
from wengert.compiler.native import LOCK, load_or_compile
from wengert.compiler.python_objects import is_supported
from wengert.core.tree import flatten
from wengert.modes.in_place import is_sole_owner
from wengert.modes.tensor import Tensor
from wengert.transforms.tracing import Traced

SOLE_OWNER = max(map(sys.getrefcount, [np.zeros(1)])) + 1
"""The number of references to an array in a list that a tensor has, and nobody else."""


class UpdatingProgram:
    """A function of arrays whose results are the new values of the first ones, in order and with the same specs.

    It is called with tensors for these, and arrays for the others. It writes into the buffers of the tensors, unless
    something else refers to them, such as the tape: such tensors get new buffers.

    >>> x = Tensor(np.array([1.0, 2.0]))
    >>> add = UpdatingProgram(lambda x, y: (x + y,), [x.value], [np.ones(2)], "add")
    >>> add([x], [np.ones(2)])
    >>> x
    tensor([2., 3.])
    """

    def __init__(self, f: Callable[..., Any], updated: Sequence[np.ndarray], others: Sequence[np.ndarray], name: str):
        arrays = [*updated, *others]
        _, structure = flatten((tuple(arrays), {}))
        graph = Traced(f, arrays, structure).graph
        updates = [(i, i) for i in range(len(updated))]
        arguments = [a for a in map(Argument.of, arrays) if a is not None]
        has_entry = is_supported() and len(arguments) == len(arrays) and fits_entry(arguments, ())
        with LOCK:
            self.native = load_or_compile(
                graph, arguments if has_entry else None, () if has_entry else None, name, updates
            )
        self.in_place = [o for _, o in self.native.build.program.in_place]

    def __call__(self, updated: Sequence[Tensor], others: Sequence[np.ndarray]) -> None:
        if not self.overwrite(updated, others):
            contiguous = [np.ascontiguousarray(x) for x in others]
            if not self.overwrite(updated, contiguous):
                self.replace(updated, contiguous)

    def overwrite(self, updated: Sequence[Tensor], others: Sequence[np.ndarray]) -> bool:
        """Write into the buffers; whether it could: tensors must be sole owners, and arrays contiguous."""
        entry, values = self.native.entry, [t.value for t in updated]
        is_free = entry is not None and max(map(sys.getrefcount, values)) == SOLE_OWNER
        return is_free and entry(*values, *others) is not NotImplemented

    def replace(self, updated: Sequence[Tensor], others: Sequence[np.ndarray]) -> None:
        """The same for arrays of any layout, and tensors that are not the sole owners of their buffers."""
        targets = {
            o: updated[o].value for o in self.in_place if is_sole_owner(t := updated[o]) and t.value.flags.c_contiguous
        }
        results = self.native([*[t.value for t in updated], *others], targets)
        for t, new in zip(updated, results, strict=True):
            if new is not t.value:
                t.value = np.asarray(new)
