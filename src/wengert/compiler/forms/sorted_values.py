"""Sorted numbers without their order: where nothing else reads the indices that sort an array, NumPy sorts it.

`sort` is a gather at the indices of `argsort`, to which its derivative belongs. Native code sorts by digits, with the
indices. NumPy sorts numbers alone in vectors, which takes less time where there are enough of them for its call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import SUPPORTED
from wengert.compiler.machine.target import machine_target
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.definition import Definition
from wengert.core.kinds import shift_axis
from wengert.core.primitive import Primitive
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.ops.indexing.key import Hole
from wengert.ops.indexing.subscripts import gather
from wengert.ops.samples.sorting import _argsort

ARGSORT = primitive_of(_argsort)


def sort_numbers(x: Any, axis: int) -> Any:
    """The numbers in their order: zeros of both signs, and NaNs, stay in theirs, as in a stable sort."""
    out = np.sort(x, axis)
    if x.dtype.kind == "f":
        rows, sorted_rows = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
        for find in (lambda a: a == 0, np.isnan):
            found = find(sorted_rows)
            if found.any():
                sorted_rows[found] = rows[find(rows)]
    return out


SORT = Primitive(
    Definition(
        name="sort",
        impl=sort_numbers,
        kind="nondifferentiable",
        inputs=("x",),
        takes_params=True,
        batch=shift_axis,
        spec=lambda x, axis: x,
        reason="a compiled program has it where no derivative is asked for",
    )
)
"""The numbers along an axis in their order; equal ones stay in theirs."""


def is_for_library(x: Node, calls: int) -> bool:
    """Whether NumPy orders numbers, by some `calls`, in less time than native code sorts their indices by digits."""
    target, now = machine_target(), machine.current
    if target.is_freestanding or x.dtype not in SUPPORTED or x.dtype.kind not in "fi":
        return False
    by_library = now.nanoseconds_of_library_call * calls + now.nanoseconds_of_sorted_vector * (
        x.nbytes // target.vector_bytes
    )
    return by_library < now.nanoseconds_of_element_sorted_by_digits * x.size


def sort_values(graph: Graph) -> Graph:
    """Replace gathers at indices of `argsort` that nothing else uses, where NumPy's sort takes less time."""
    if not any(node.primitive is ARGSORT for node in graph.operations):
        return graph
    uses = graph.count_uses()

    def rule(node: Operation, before: Operation) -> Node | None:
        if not is_a(node, gather) or node.params["key"].key != (Hole.ARRAY,) * node.args[0].ndim:
            return None
        x, *indices = node.args
        for axis, order in enumerate(indices):
            is_order = is_order_of(order, x, axis) and uses[before.args[1 + axis]] == 1
            if is_order and are_rows(indices, x.shape, axis) and is_for_library(x, calls=8):
                return make_operation(SORT, [x], axis=axis)
        return None

    return rebuild(graph, rule)


def is_order_of(order: Node, x: Node, axis: int) -> bool:
    """Whether indices are those that sort an array along an axis."""
    if not isinstance(order, Operation) or order.primitive is not ARGSORT or order.args[0] is not x:
        return False
    return order.params["axis"] == axis and order.params["kind"] == "stable"


def are_rows(indices: Sequence[Node], shape: tuple[int, ...], axis: int) -> bool:
    """Whether indices along all other axes are those of each element itself."""
    for i, (index, n) in enumerate(zip(indices, shape, strict=True)):
        own = (n,) + (1,) * (len(shape) - 1 - i)
        if i != axis and not (isinstance(index, Constant) and not index.is_captured and index.shape == own):
            return False
        if i != axis and not np.array_equal(index.value.ravel(), np.arange(n)):  # type: ignore[attr-defined]  # a constant
            return False
    return True
