"""Layouts: the order in which the axes of a value are in memory, where only loops read it.

A loop that reads by columns what another one writes by rows touches one element after the other, each in a cache line
of its own. The same happens where tangents are an axis in front of one that is read at computed indices: behind it, the
tangents of one element are neighbours. For one loop after the other, the orders are tried in which everything that it
touches has neighbours along one of its axes. They are taken if all loops that touch these values then read and write
fewer vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from wengert.compiler.forms.affine import Affine
from wengert.compiler.forms.classify import COMPUTED, Form, is_immediate
from wengert.compiler.forms.gather import gather_source
from wengert.compiler.nests.nest import Nest
from wengert.compiler.schedule.row_kernels import RowKernel
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.ops.shape.reshaping import _transpose

Order = tuple[int, ...]


class Access(NamedTuple):
    """Elements of a value that a loop reads or writes: an index for each axis, and the axes of the loop.

    An index that is computed is None; those of its array depend on the axes `within` of the loop.
    """

    node: Node
    indices: tuple[Affine | None, ...]
    within: frozenset[int]

    def count(self, nest: Nest) -> int:
        """How many elements a loop reads or writes."""
        axes = {axis for index in self.indices if index is not None for axis in axes_of(index)}
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


def choose_layouts(schedule: Schedule) -> dict[Node, Order]:
    """The constants and values whose axes are in another order in memory, from the outermost to the innermost."""
    orders: dict[Node, Order] = {}
    free = free_values(schedule) if may_gain(schedule) else set()
    if not free:
        return orders
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    parts = [part for step in kernels for part in (step.parts if isinstance(step, RowKernel) else [step])]
    loops = [Loop(nest, accesses(nest)) for nest in (Nest(part, schedule) for part in parts)]
    for loop in sorted(loops, key=lambda loop: -loop.nest.work):
        own = free.intersection(loop.nodes)
        if not own or loop.least_work(orders) == loop.work_along(None, orders):
            continue  # it reads and writes neighbours
        touching = [other for other in loops if own.intersection(other.nodes)]
        work = lambda some, touching=touching: sum(other.least_work(some) for other in touching)
        best = min([orders, *[orders | loop.orders_for(axis, own) for axis in loop.nest.inner_axes]], key=work)
        if machine.current.percent_of_work_in_layout * work(orders) > 100 * work(best):
            orders = best
    return orders


class Loop(NamedTuple):
    """A nest, and what it reads and writes."""

    nest: Nest
    accesses: list[Access]

    @property
    def nodes(self) -> set[Node]:
        """The values that it touches."""
        return {access.node for access in self.accesses}

    def work_along(self, axis: int | None, orders: dict[Node, Order]) -> int:
        """The vectors that it reads and writes with lanes along an axis; along None, if all were neighbours."""
        single = machine.current.elements_of_vector_access
        order = lambda a: orders.get(a.node) or range(a.node.ndim)
        is_vector = lambda a: axis is None or a.has_neighbours(axis, order(a))
        return sum(a.count(self.nest) * (1 if is_vector(a) else single) for a in self.accesses)

    def least_work(self, orders: dict[Node, Order]) -> int:
        """The same with lanes along the best axis."""
        return min([self.work_along(axis, orders) for axis in self.nest.inner_axes], default=0)

    def orders_for(self, axis: int, nodes: Set[Node]) -> dict[Node, Order]:
        """The orders of some values in which elements along an axis of the loop are neighbours."""
        found: dict[Node, Order] = {}
        for node, indices, _ in self.accesses:
            last = [k for k, index in enumerate(indices) if index is not None and axis in axes_of(index)]
            if node in nodes and len(last) == 1:
                found.setdefault(node, (*[k for k in range(node.ndim) if k != last[0]], last[0]))
        return found


def axes_of(index: Affine) -> set[int]:
    """The axes of the loop on which an index depends."""
    return {counter.axis for counter, _ in index.terms}


def may_gain(schedule: Schedule) -> bool:
    """Whether anything is transposed, or read at computed indices."""
    is_across = lambda node: is_a(node, _transpose) or schedule.forms[node] is Form.GATHER
    return not schedule.is_tiny and any(map(is_across, schedule.graph.operations))


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


def free_values(schedule: Schedule) -> set[Node]:
    """The constants and values whose order in memory nothing but loops knows."""
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
    values = [] if schedule.is_body else [node for node in written if is_free_value(schedule, node)]
    return {node for node in (*filter(is_free_constant, schedule.graph.nodes), *values) if node.ndim > 1} - fixed


def is_free_constant(node: Node) -> bool:
    """Whether a constant may be stored in another order: data of the user may be large, and are not copied."""
    is_stored = isinstance(node, Constant) and not is_immediate(node) and not node.is_captured
    return is_stored and node.nbytes <= machine.current.max_bytes_of_permuted_constant


def is_free_value(schedule: Schedule, node: Node) -> bool:
    """Whether a value has an element for each step of the loops that store it, and is large enough to matter."""
    is_large = node.size >= machine.current.min_elements_of_free_layout
    is_computed = schedule.forms[node] in (*COMPUTED, Form.VIEW)
    return isinstance(node, Operation) and is_large and is_computed and schedule.loop_ndim(node) == node.ndim


def behind_views(schedule: Schedule, node: Node) -> list[Node]:
    """A value and those that views show it as a part of."""
    found = [node, schedule.aliases.get(node, node)]
    while isinstance(node, Operation) and schedule.forms[node] is Form.VIEW:
        node = node.args[0]
        found += [node, schedule.aliases.get(node, node)]
    return found
