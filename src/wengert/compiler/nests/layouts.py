"""Layouts: the order in which the axes of a value are in memory, where only loops read it.

A value that is computed by rows and read by columns has a loop that reads or writes one element after the other, each
in a cache line of its own. So have tangents and columns of a Jacobian, which are an axis of their own, where others are
read at computed indices: behind these, the tangents of one element are neighbours. Which axis comes last is decided for
one value after the other, by the vectors that all loops which touch it read and write.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.compiler.forms.affine import Affine
from wengert.compiler.forms.classify import COMPUTED, Form
from wengert.compiler.forms.gather import gather_source
from wengert.compiler.nests.nest import Nest
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine
from wengert.graph.ir import Node, Operation, is_a
from wengert.ops.shape.reshaping import _transpose


class Access(NamedTuple):
    """Elements of a value that a loop reads or writes: an index for each axis, and the axes of the loop.

    An index that is computed is None; those of its array depend on the axes `within` of the loop.
    """

    node: Node
    indices: tuple[Affine | None, ...]
    within: frozenset[int]

    def count(self, nest: Nest) -> int:
        """How many elements a loop reads or writes."""
        axes = {counter.axis for index in self.indices if index is not None for counter, _ in index.terms}
        return math.prod(nest.domain[axis] for axis in axes | self.within)

    def has_neighbours(self, axis: int, order: Sequence[int]) -> bool:
        """Whether elements along an axis of the loop are neighbours in memory, or one element."""
        if axis in self.within:
            return False
        stride, found = 1, 0
        for k in reversed(order):
            index = self.indices[k]
            found += 0 if index is None else stride * sum(c for counter, c in index.terms if counter.axis == axis)
            stride *= self.node.shape[k]
        return abs(found) <= 1


def choose_layouts(schedule: Schedule) -> dict[Node, tuple[int, ...]]:
    """The values whose axes are in another order in memory, from the outermost to the innermost."""
    orders: dict[Node, tuple[int, ...]] = {}
    candidates = [node for node in free_values(schedule) if is_read_across(schedule, node)]
    if not candidates:
        return orders
    kernels = [step for step in schedule.steps if isinstance(step, Kernel) and not isinstance(step, RowKernel)]
    loops = [(nest, accesses(nest)) for nest in (Nest(kernel, schedule) for kernel in kernels)]
    for node in candidates:
        touching = [(nest, found) for nest, found in loops if any(a.node is node for a in found)]
        seconds = lambda order, node=node, touching=touching: sum(
            least_work(nest, found, orders | {node: order}) for nest, found in touching
        )
        usual = tuple(range(node.ndim))
        others = [(*[k for k in usual if k != last], last) for last in usual[:-1]]
        best = min(others, key=seconds)
        if machine.current.percent_of_work_in_layout * seconds(usual) > 100 * seconds(best):
            orders[node] = best
    return orders


def least_work(nest: Nest, found: Sequence[Access], orders: dict[Node, tuple[int, ...]]) -> float:
    """The vectors and single elements that a loop reads and writes, with lanes along the best axis."""
    single = machine.current.elements_of_vector_access
    order_of = lambda a: orders.get(a.node) or range(a.node.ndim)
    work = lambda axis: sum(a.count(nest) * (1 if a.has_neighbours(axis, order_of(a)) else single) for a in found)
    return min(map(work, nest.inner_axes), default=0)


def accesses(nest: Nest) -> list[Access]:
    """What a loop reads and writes in memory; numbers, which are the same for all elements, are left out."""
    found = [Access(node, at, frozenset()) for node in nest.kernel.maps for at in nest.stored_positions(node)]
    for node, position in nest.requested_elements():
        if nest.sources.is_stored(node):
            found.append(Access(node, position, frozenset()))
        elif nest.schedule.forms[node] is Form.GATHER:
            assert isinstance(node, Operation)
            indexed = gather_source(node, position)
            within = {counter.axis for index in indexed.in_arrays for counter, _ in index.terms}
            found.append(Access(node.args[0], tuple([axis.affine for axis in indexed.axes]), frozenset(within)))
    return [a for a in found if a.node.size > 1 and not nest.is_flat]


def free_values(schedule: Schedule) -> list[Node]:
    """The values whose order in memory nothing but loops knows, and that are large enough to matter."""
    if schedule.is_tiny or schedule.is_body:
        return []
    fixed: set[Any] = {*schedule.graph.outputs, *schedule.aliases, *schedule.aliases.values(), *schedule.pieces}
    fixed |= {layout.base for layout in schedule.layouts.values()}
    written: set[Node] = set()
    for step in schedule.steps:
        if not isinstance(step, Kernel):
            for node in step.args:
                fixed |= set(behind_views(schedule, node))
        elif isinstance(step, RowKernel):
            fixed |= {node for part in step.parts for node in (*part.operands, *part.roots)}
        else:
            written |= set(step.maps)
            fixed |= {step.scatter_base} if step.scatters else set()
    return [
        node
        for node in schedule.graph.operations
        if node in written
        and node not in fixed
        and node.ndim > 1
        and node.size >= machine.current.min_elements_of_free_layout
        and schedule.forms[node] in (*COMPUTED, Form.VIEW)
        and schedule.loop_ndim(node) == node.ndim
    ]


def is_read_across(schedule: Schedule, node: Node) -> bool:
    """Whether a value is read at computed indices, or transposed, perhaps behind other views."""
    for user in schedule.consumers.get(node, ()):
        if is_a(user, _transpose) or (schedule.forms[user] is Form.GATHER and user.args[0] is node):
            return True
        if schedule.forms[user] is Form.VIEW and is_read_across(schedule, user):
            return True
    return False


def behind_views(schedule: Schedule, node: Node) -> list[Node]:
    """A value and those that views show it as a part of."""
    found = [node, schedule.aliases.get(node, node)]
    while isinstance(node, Operation) and schedule.forms[node] is Form.VIEW:
        node = node.args[0]
        found += [node, schedule.aliases.get(node, node)]
    return found
