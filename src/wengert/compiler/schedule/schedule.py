"""The schedule of a graph: kernels, routines and fallbacks, and which values are stored between them.

A kernel is a loop nest over one domain, with everything that it stores or reduces. Values that only elementwise
operations and views use stay in registers. Each value has a stage, one above those of the values that must be in memory
before it can be computed. So kernels of one stage do not depend on each other, and those of one stage and domain are
one loop, unless it would use too many arrays (`schedule_steps.py`).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from wengert.compiler.forms.affine import ZERO, Position, loop_position, reshape_position
from wengert.compiler.forms.classify import COMPUTED, Form, form_of, operation_cost, scalar_operations
from wengert.compiler.forms.gather import Written
from wengert.compiler.forms.lowering import MatrixFunction, Routine, View, converted_numbers, lowering_of
from wengert.compiler.forms.matrices import is_matrix_transpose
from wengert.compiler.forms.short_rows import (
    copy_by_columns,
    in_rows,
    is_outer_product,
    keeps_rows,
    row_candidates,
    shows_rows,
)
from wengert.compiler.forms.strides import Strides, layout_of
from wengert.compiler.schedule.later_stages import delay_to_uses, store_late_uses
from wengert.compiler.schedule.pieces import find_pieces
from wengert.compiler.schedule.product_sums import add_to_products
from wengert.compiler.schedule.scatter_kernels import can_join, is_scattered_from_memory, join, store_parts
from wengert.compiler.schedule.schedule_steps import Kernel, order_steps
from wengert.compiler.schedule.stencils import count_reads
from wengert.compiler.schedule.unrolled_rows import can_unroll, narrow_rows
from wengert.compiler.schedule.written_elements import is_too_long, written_terms
from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.views import RESHAPES
from wengert.ops.shape.reshaping import _reshape

OUTSIDE = (Form.ROUTINE, Form.FALLBACK, Form.LOOP, Form.SCATTER)
"""What an unrolled program cannot have."""


class Schedule:
    """The schedule of one graph: its `steps`, its `stored` values, and the form and stage of every node.

    The graph may be the body of a loop or choice.
    """

    def __init__(self, graph: Graph, reads_early: bool = False, is_body: bool = False):
        self.graph, self.reads_early, self.is_body = graph, reads_early, is_body
        self.forms: dict[Node, Form] = {}
        self.rows: tuple[int, ...] = ()
        self.columns: set[Node] = set()  # copies in which the lanes of rows are neighbours
        self.pieces: dict[Node, Operation] = {}  # what is computed piece by piece, and the choice that joins the pieces
        self.unrolled: set[Node] = set()  # what is computed at fixed positions only, along axes that are not looped
        self.is_tiny = False
        self.choose_loops()
        self.numbers = {node: i for i, node in enumerate(self.graph.nodes)}  # in order: operands come first
        self.uses: dict[Node, int] = {}
        self.consumers: dict[Node, list[Operation]] = {}
        for user in self.graph.operations:
            for a in user.args:
                self.uses[a] = self.uses.get(a, 0) + 1
                self.consumers.setdefault(a, []).append(user)
        for out in self.graph.outputs:
            self.uses[out] = self.uses.get(out, 0) + 1
        self.stored: dict[Node, None] = {}  # in order of decision
        self.aliases: dict[Node, Node] = {}
        self.joined: dict[Node, Operation] = {}  # scatters, and those before them in the same kernel
        self.axis_orders: dict[Node, tuple[int, ...]] = {}  # of values whose axes are in another order in memory
        self.inlined: frozenset[Operation] = frozenset()  # loops and choices whose bodies become part of it
        self.layouts: dict[tuple[Operation, Node], Strides] = {}  # of operands that a routine reads with strides
        self.reduced_along: dict[tuple, tuple[int, ...]] = {}
        self.stages: dict[Node, int] = {}
        self.costs: dict[Node, int] = {}
        self.reads = count_reads(self)  # how often a result needs each element of a value, if more than once
        for node in self.graph.nodes:
            self.decide_stage(node)
        for out in self.graph.outputs:
            self.store_output(out)
        delay_to_uses(self)
        store_late_uses(self)
        self.steps = order_steps(self)

    @property
    def is_in_registers(self) -> bool:
        """Whether this is a body of few scalars, whose states are replaced where they are, in registers."""
        return self.is_body and self.is_tiny and len(self.steps) <= 1

    @property
    def is_inline(self) -> bool:
        """Whether this is a body of few scalars, or of few steps of one element: it becomes part of its loop.

        Its steps are kernels, and loops and choices whose bodies are such.
        """
        if self.is_in_registers:
            return True
        is_short = 1 <= len(self.steps) <= machine.current.max_kernels_of_inline_body
        if not self.is_body or not is_short or Form.MATRIX in self.forms.values():
            return False
        is_single = lambda step: isinstance(step, Kernel) and math.prod(step.domain) == 1
        return all(is_single(step) or step in self.inlined for step in self.steps)

    @property
    def cheap(self) -> int:
        """The scalar operations of an element up to which it is computed again rather than stored."""
        return machine.current.max_operations_computed_again

    @property
    def cheap_if_large(self) -> int:
        """The same for arrays that are not in the cache."""
        return machine.current.max_operations_computed_again_beyond_cache

    @property
    def storing(self) -> int:
        """The scalar operations that take as long as writing an element and reading it again in a later loop."""
        return machine.current.operations_of_storing

    @property
    def storing_if_large(self) -> int:
        """The same for arrays that are not in the cache."""
        return machine.current.operations_of_storing_beyond_cache

    # Forms and loops

    def choose_loops(self) -> None:
        """Unroll the whole program, or the rows of a batch, or neither."""
        graph = self.graph
        plain = {node: form_of(node, ()) for node in graph.nodes}
        elements = sum(scalar_operations(node) for node in graph.operations if plain[node] is not Form.VIEW)
        stored = {*graph.outputs, *[node.args[0] for node in graph.operations if plain[node] is Form.GATHER]}
        elements += sum(node.size for node in stored if plain[node] is Form.VIEW)
        is_short = elements <= machine.current.max_operations_of_unrolled_program
        if is_short and not any(plain[node] in OUTSIDE for node in graph.operations):
            self.is_tiny = True
            self.forms = {node: form_of(node, (), is_tiny=True) for node in graph.nodes}
            return
        for rows in row_candidates(graph):
            forms = {node: form_of(node, rows) for node in graph.nodes}
            if can_unroll(graph, rows, forms):
                self.rows = rows
                self.graph, self.columns = copy_by_columns(graph, rows)
                self.forms = {node: forms.get(node) or form_of(node, rows) for node in self.graph.nodes}
                return
        narrow = narrow_rows(graph, plain)
        if narrow is not None:
            self.rows = narrow
            self.forms = {node: form_of(node, self.rows) for node in graph.nodes}
            return
        self.graph = add_to_products(graph, plain, self.is_body)
        self.forms = {node: plain.get(node) or form_of(node, ()) for node in self.graph.nodes}

    def loop_ndim(self, node: Node) -> int:
        """The number of axes of a value that are looped over to compute it; the others are unrolled."""
        if self.forms[node] is Form.MATRIX:
            assert isinstance(node, Operation)
            return min(self.reading_ndim(node), lowering_of(node, MatrixFunction).lead(node))
        return self.reading_ndim(node)

    def reading_ndim(self, node: Node) -> int:
        """The number of axes of a value that are looped over to reduce it."""
        if self.is_tiny:
            return 0
        return len(self.rows) if in_rows(node, self.rows) else node.ndim

    def domain(self, node: Node) -> tuple[int, ...]:
        """The extents of the loops that compute a value: one loop for all of its pieces, if it has several."""
        if node in self.pieces:
            return self.pieces[node].args[0].shape
        return node.shape[: self.loop_ndim(node)]

    def reading_domain(self, node: Node) -> tuple[int, ...]:
        """The extents of the loops that reduce a value."""
        return node.shape[: self.reading_ndim(node)]

    def reduced_axes(self, node: Operation) -> tuple[int, ...]:
        """The looped axes along which a node reduces its operand."""
        return tuple([axis for axis in node.params["axis"] if axis < self.reading_ndim(node.args[0])])

    def loop_domain(self, node: Operation) -> tuple[int, ...]:
        """The extents of the loops that compute, reduce or scatter a value."""
        form = self.forms[node]
        if form is Form.SCATTER:
            return Written.by(node).shape
        return self.domain(node) if form in COMPUTED else self.reading_domain(node.args[0])

    # Stages

    def decide_stage(self, node: Node) -> None:
        """Decide the stage and the cost of a node, and which of its operands are stored."""
        form = self.forms[node]
        if form is Form.GIVEN:
            self.stages[node] = self.costs[node] = 0
            return
        assert isinstance(node, Operation)
        if form in (Form.ROUTINE, Form.FALLBACK, Form.LOOP):
            for a in node.args:
                self.store_operand(node, a)
            self.stages[node] = 1 + max([self.ready(a) for a in node.args], default=-1)
        elif form is Form.VIEW:
            (a,) = node.args
            if self.is_split(node):
                self.store(a)
                self.aliases[node] = a
            self.stages[node] = self.stages[a]
        elif form is Form.OUTPUT:
            self.stages[node] = self.stages[node.args[0]]
        else:
            find_pieces(self, node)
            domain = self.loop_domain(node)
            stage = max([self.operand_stage(node, i, domain) for i in range(len(node.args))], default=0)
            self.stages[node] = self.reduction_stage(node, domain, stage) if form is Form.REDUCE else stage
        if form not in (*COMPUTED, Form.VIEW) or node in self.columns:
            self.stored[node] = None
            join(self, node)
        self.costs[node] = self.cost(node)
        is_read_early = self.reads_early and form in (Form.GATHER, Form.VIEW) and self.is_part_of_updated(node)
        if is_read_early or (form in COMPUTED and self.is_read_apart(node)):
            self.store(node)
        if self.is_unrolled(node):
            self.unrolled.add(node)

    def operand_stage(self, node: Operation, i: int, domain: tuple[int, ...]) -> int:
        """The first stage at which a loop over a domain can use an operand, which is stored if that is better."""
        a, form = node.args[i], self.forms[node]
        base, direct = self.source(a)
        if form is Form.SCATTER and i == 0 and can_join(self, node, a):
            assert isinstance(a, Operation)
            self.joined[node] = a
            return self.stages[a]
        if form is Form.SCATTER and self.rows and i == (Written.by(node).base is not None):
            return store_parts(self, a, domain)
        if (form is Form.GATHER and i == 0) or (form is Form.SCATTER and is_scattered_from_memory(self, node, i)):
            self.store(a)
            return self.ready(a)
        if not in_rows(node, self.rows):
            base = self.store_row_view(a) or base
        if self.forms[base] is Form.GIVEN:
            return 0
        if base in self.stored:
            return self.ready(base)
        if form is Form.UNROLLED and not self.is_tiny and not in_rows(a, self.rows) and is_too_long(self, node):
            self.store(base)
            return self.ready(base)
        if not self.is_same_loop(node, a, base, direct, domain) and self.is_worth_storing(base, domain):
            self.store(base)
            return self.ready(base)
        return self.stages[base]

    def store_row_view(self, node: Node) -> Node | None:
        """Store what has affine positions in rows only, a reshape within them, for a loop over other elements."""
        while self.forms[node] is Form.VIEW and node not in self.stored and node not in self.aliases:
            assert isinstance(node, Operation)
            if is_a(node, _reshape) and in_rows(node, self.rows):
                position = loop_position(node.shape)
                if reshape_position(position, node.args[0].shape, node.shape) is None:
                    self.store(node)
                    return node
            node = node.args[0]
        return None

    def is_part_of_updated(self, node: Operation) -> bool:
        """Whether a value is a small part of one that a scatter or a loop may overwrite."""
        base = node.args[0]
        users = self.consumers[base] if 2 * node.size <= base.size else []
        return any(
            self.forms[user] is Form.LOOP or self.forms[user] is Form.SCATTER and Written.by(user).base is base
            for user in users
        )

    def is_same_loop(self, node: Operation, a: Node, base: Node, direct: bool, domain: tuple[int, ...]) -> bool:
        """Whether an operand is computed at the same position of the same loop: views in between keep the row."""
        if self.domain(base) != domain or (base in self.unrolled and not self.reads_in_place(node, base)):
            return False
        rows = self.rows if in_rows(base, self.rows) else ()
        if self.forms[base] is self.forms[node] is Form.MATRIX and base.shape[: len(domain)] == domain:
            rows = domain  # all elements of a matrix are read
        elif not rows:
            return direct and (self.forms[node] is not Form.CHOICE or node in self.pieces)
        return shows_rows(a, base, rows) and (self.forms[node] is not Form.CHOICE or keeps_rows(node, rows))

    def reads_in_place(self, node: Operation, base: Node) -> bool:
        """Whether an operation in the loop that computes a value needs elements at fixed positions along other axes."""
        form = self.forms[node]
        if form is Form.UNROLLED and min(node.params["axis"], default=0) < self.loop_ndim(base):
            return False
        looped = node if form in COMPUTED else node.args[0]
        return form in (Form.UNROLLED, Form.MATRIX) or (in_rows(looped, self.rows) and in_rows(base, self.rows))

    def is_unrolled(self, node: Operation) -> bool:
        """Whether the elements of a value can only be computed at fixed positions: those of small matrices."""
        if self.forms[node] not in (*COMPUTED, Form.VIEW) or self.loop_ndim(node) == node.ndim:
            return False
        bases = [self.source(a)[0] for a in node.args]
        return self.forms[node] is Form.MATRIX or any(b in self.unrolled and b not in self.stored for b in bases)

    def reduction_stage(self, node: Operation, domain: tuple[int, ...], stage: int) -> int:
        """One loop reduces along one set of axes: for others, it stores an expensive operand."""
        operand = node.args[0]
        axes = self.reduced_axes(node)
        if self.reduced_along.setdefault((domain, stage), axes) == axes:
            return stage
        base, _ = self.source(operand)
        if base in self.stored or self.forms[base] is Form.GIVEN or self.is_cheap(base):
            return stage
        self.store(base)
        return max(stage, self.ready(base))

    def source(self, node: Node) -> tuple[Node, bool]:
        """The value behind the views of a value, and whether there are no views."""
        direct = True
        while self.forms[node] is Form.VIEW and node not in self.stored:
            if node in self.aliases:
                return self.aliases[node], False
            (node,) = node.args  # type: ignore[attr-defined]  # a view is an operation
            direct = False
        return node, direct

    def ready(self, node: Node) -> int:
        """The first stage at which a stored value can be read."""
        base, _ = self.source(node)
        if self.forms[base] is Form.GIVEN and node not in self.stored:
            return 0
        return self.stages[base] + 1

    def store(self, node: Node) -> None:
        """Keep a value in memory, or the value that it is an alias of."""
        base = self.aliases.get(node)
        if base is not None:
            self.store(base)
        elif self.forms[node] is not Form.GIVEN and node not in self.stored:
            if self.forms[node] is Form.VIEW:
                base, _ = self.source(node)
                if base in self.unrolled and not self.is_tiny and not self.is_row_of(node, base):
                    self.stored[base] = None
                self.stages[node] = self.ready(base) if base in self.stored else self.stages[base]
            self.stored[node] = None

    def is_row_of(self, view: Node, base: Node) -> bool:
        """Whether the loop that stores a view has the elements of the unrolled value behind it at fixed positions."""
        domain = self.domain(base)
        if self.domain(view) != domain:
            return False
        lead = loop_position(domain)
        position: Position | None = lead + (ZERO,) * (view.ndim - len(domain))
        while view is not base and position is not None:
            assert isinstance(view, Operation)
            position = lowering_of(view, View).position(position, view.args[0].spec, **view.params)
            view = view.args[0]
        if position is None or position[: len(domain)] != lead:
            return False
        return not any(index.terms for index in position[len(domain) :])

    def store_output(self, node: Node) -> None:
        """Keep an output in memory: a reshaped result of a routine is that result."""
        if self.forms[node] is Form.VIEW and is_a(node, *RESHAPES) and node not in self.stored:
            base = node.args[0]
            if self.forms[base] is Form.ROUTINE and base in self.stored:
                self.aliases.setdefault(node, base)
        self.store(node)

    def store_operand(self, consumer: Operation, node: Node) -> None:
        """Keep an operand of a routine or a fallback in memory."""
        routine = lowering_of(consumer, Routine) if self.forms[consumer] is Form.ROUTINE else None
        if routine is not None and routine.reads_strided is not None:
            is_readable = partial(routine.reads_strided, consumer.args.index(node))
            layout = layout_of(node, self.forms, self.aliases, self.stored.__contains__, is_readable)
            if layout is not None:
                self.layouts[consumer, node] = layout
                self.store(layout.base)
                return
        if (
            routine is not None
            and routine.reads_transposed
            and is_matrix_transpose(node)
            and self.forms[node] is Form.VIEW
        ):
            node = node.args[0]
        if self.forms[node] is Form.VIEW and node not in self.aliases and is_a(node, *RESHAPES):
            self.store(node.args[0])
            self.aliases[node] = node.args[0]
            return
        self.store(node)

    def is_split(self, node: Operation) -> bool:
        """Whether a view has no affine positions: a reshape that splits a looped axis."""
        if not is_a(node, _reshape):
            return False
        if self.is_tiny or (in_rows(node, self.rows) and in_rows(node.args[0], self.rows)):
            return False
        return reshape_position(loop_position(node.shape), node.args[0].shape, node.shape) is None

    def is_worth_storing(self, base: Node, domain: tuple[int, ...]) -> bool:
        """Whether it is cheaper to store a value than to compute it again in another loop."""
        if self.is_tiny:
            return False
        if base in self.unrolled:
            return True
        if base in self.pieces:  # another loop computes all pieces for each element
            return not self.is_cheap(base)
        if math.prod(domain) >= 2 * base.size:  # several iterations of the loop use one element
            return self.costs[base] > (2 if base.size > 1 else 8)
        return self.uses[base] > 1 and not self.is_cheap(base)

    def is_read_apart(self, node: Operation) -> bool:
        """Whether a value is needed at several positions, and it is cheaper to store it than to compute it at each."""
        again = self.reads.get(node, 1.0) - 1.0
        if again * self.costs[node] <= self.cheap * words_of(node):
            return False
        bases = [self.source(a)[0] for a in node.args]
        moves = self.forms[node] is Form.CHOICE  # elements that are in memory: it reads one of them
        return not (moves and all(base in self.stored or self.forms[base] is Form.GIVEN for base in bases))

    def cost(self, node: Operation) -> int:
        """The cost of one element, computed from values that are given or stored."""
        if self.forms[node] not in (*COMPUTED, Form.VIEW):
            return 1
        bases = [self.source(a)[0] for a in node.args]
        inner = sum(1 if base in self.stored else self.costs[base] for base in bases)
        if self.forms[node] is Form.MATRIX:
            return min(inner * node.size + lowering_of(node, MatrixFunction).flops(node), 1 << 20)
        if self.forms[node] is Form.UNROLLED:
            inner *= max(node.args[0].size // max(node.size, 1), 1)
        return min(inner + operation_cost(node), 1 << 20)

    def is_beyond_cache(self, node: Node) -> bool:
        """Whether a value, if it is stored, is not in the cache when it is read."""
        return node.spec.__class__ is Spec and node.nbytes >= machine.current.min_bytes_beyond_cache

    def own_cost(self, node: Operation) -> int:
        """The cost of one element, computed from values that are there; products that are added up cost nothing."""
        if self.forms[node] is Form.UNROLLED:
            return written_terms(node)
        users = self.consumers.get(node, ())
        is_term = is_outer_product(node) and all(self.forms[user] is Form.UNROLLED for user in users)
        return 0 if is_term else operation_cost(node)

    def cost_of_storing(self, node: Node) -> int:
        """The scalar operations that take as long as storing an element of a value for later loops."""
        return words_of(node) * (self.storing_if_large if self.is_beyond_cache(node) else self.storing)

    def cost_of_reading(self, node: Node) -> int:
        """The part of that for reading alone: memory is read before it is written, and then written."""
        return self.cost_of_storing(node) // 3

    def is_cheap(self, node: Node) -> bool:
        """Whether it is cheaper to compute an element again than to store it."""
        most = self.cheap_if_large if self.is_beyond_cache(node) else self.cheap
        return self.costs[node] <= words_of(node) * most

    # Operations

    def may_fail(self, node: Node) -> bool:
        """Whether an operation may raise an error."""
        form = self.forms[node]
        if form is Form.ROUTINE:
            assert isinstance(node, Operation)
            return lowering_of(node, Routine).may_fail(node)
        if form is Form.MATRIX:
            assert isinstance(node, Operation)
            return lowering_of(node, MatrixFunction).may_fail(node)
        if form is Form.ELEMENT and node.dtype == np.int32:
            assert isinstance(node, Operation)
            return bool(converted_numbers(node))
        return form in (Form.FALLBACK, Form.GATHER, Form.LOOP, Form.SCATTER)

    def outputs_of(self, node: Operation) -> list[Operation]:
        """The outputs that are used of an operation with several."""
        return [user for user in self.consumers.get(node, ()) if user.primitive is OUTPUT]


def words_of(node: Node) -> int:
    """The size of an element, for the cost to store it: a complex number takes as long as two real ones."""
    return max(node.dtype.itemsize // 8, 1)
