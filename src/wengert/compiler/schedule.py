"""Which values are stored, and which are computed where they are needed: a graph as kernels, library calls and
fallbacks.

A kernel is a loop nest over one domain, with everything that it stores or reduces. Values that only elementwise
operations and views need stay in registers. Each value has a stage: it is one higher than that of every value that must
be in memory before it can be computed, so kernels of one stage do not depend on each other, and those of one stage and
domain are one loop.
"""

from __future__ import annotations

import math
from typing import Any

from wengert.compiler.affine import Affine, Counter, reshape_position
from wengert.compiler.blas_calls import MATMUL, is_matrix_transpose
from wengert.compiler.classify import COMPUTED, RESHAPE, Kind, is_reshape, kind_of, operation_cost, work
from wengert.compiler.short_rows import ROW_INTENSITY, ROW_OPERATIONS, by_columns, candidates, in_rows, keeps_rows
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

TINY = 400
"""A program of so many scalar operations is written out without loops."""
CHEAP, CHEAP_IF_LARGE = 12, 48
"""What costs no more is computed again rather than stored, where it is needed in several kernels: so many operations
take less time than to write an element to memory and read it again, in the processor's cache or, for arrays that are
large, beyond it.
"""
BEYOND_CACHE = 1 << 20
OUTSIDE = (Kind.LIBRARY, Kind.FALLBACK, Kind.SCATTER)
"""What a program that is written out cannot have."""


class Kernel:
    """A loop nest over `domain`, that stores `maps` and makes `reductions` over the `axes` of the domain, or one
    `scatter`.
    """

    def __init__(self, domain: tuple[int, ...], stage: int, axes: tuple[int, ...] = ()):
        self.domain, self.stage, self.axes = domain, stage, axes
        self.maps: list[Node] = []
        self.reductions: list[Operation] = []
        self.scatter: Operation | None = None

    @property
    def folds(self) -> list[Operation]:
        """What it adds up."""
        return [*self.reductions, *([self.scatter] if self.scatter is not None else [])]

    @property
    def roots(self) -> list[Node]:
        """What it stores."""
        return [*self.maps, *self.folds]

    @property
    def wanted(self) -> list[Node]:
        """What it computes element by element."""
        scattered = self.scatter.args if self.scatter is not None else ()
        return [*self.maps, *[r.args[0] for r in self.reductions], *scattered]


class Schedule:
    """The plan of one graph: `steps` in order, `stored` values, and the kind and stage of every node."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.kinds: dict[Node, Kind] = {}
        self.rows: tuple[int, ...] = ()
        self.columns: set[Node] = set()  # copies that are made for the lanes of rows
        self.is_tiny = False
        self.choose_loops()
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
        self.reduced_along: dict[tuple, tuple[int, ...]] = {}
        self.stages: dict[Node, int] = {}
        self.costs: dict[Node, int] = {}
        for node in self.graph.nodes:
            self.decide_stage(node)
        for out in self.graph.outputs:
            self.store(out)
        self.late_uses()
        self.steps = self.ordered_steps()

    # Kinds and loops

    def choose_loops(self) -> None:
        """Whether the whole program is written out, or the elements of a batch are, or neither."""
        graph = self.graph
        plain = {node: kind_of(node, ()) for node in graph.nodes}
        elements = sum(work(node) for node in graph.operations if plain[node] is not Kind.VIEW)
        if elements <= TINY and not any(plain[node] in OUTSIDE for node in graph.operations):
            self.is_tiny = True
            self.kinds = {node: kind_of(node, (), tiny=True) for node in graph.nodes}
            return
        for rows in candidates(graph):
            kinds = {node: kind_of(node, rows) for node in graph.nodes}
            members = [node for node in graph.operations if in_rows(node, rows)]
            mixing = any(kinds[node] in (Kind.UNROLLED, Kind.CHOICE) for node in members)
            count = math.prod(rows)
            per_row = sum(work(node) // count for node in members if kinds[node] is not Kind.VIEW)
            moved = sum(node.size // count for node in (*graph.inputs, *graph.outputs) if in_rows(node, rows))
            if mixing and ROW_INTENSITY * moved <= per_row <= ROW_OPERATIONS:
                self.rows = rows
                self.graph, self.columns = by_columns(graph, rows)
                self.kinds = {node: kinds.get(node) or kind_of(node, rows) for node in self.graph.nodes}
                return
        self.kinds = plain

    def rank(self, node: Node) -> int:
        """How many axes of a value are looped over; the others are written out."""
        if self.is_tiny:
            return 0
        return len(self.rows) if in_rows(node, self.rows) else node.ndim

    def domain(self, node: Node) -> tuple[int, ...]:
        return node.shape[: self.rank(node)]

    # Stages

    def decide_stage(self, node: Node) -> None:
        """Decide the stage of a node, and store what it needs in memory."""
        kind = self.kinds[node]
        if kind is Kind.GIVEN:
            self.stages[node] = self.costs[node] = 0
            return
        assert isinstance(node, Operation)
        if kind in (Kind.LIBRARY, Kind.FALLBACK):
            for a in node.args:
                self.concrete(node, a)
            self.stages[node] = 1 + max([self.ready(a) for a in node.args], default=-1)
            self.stored[node] = None
        elif kind is Kind.OUTPUT:
            self.stages[node] = self.stages[node.args[0]]
            self.stored[node] = None
        elif kind is Kind.VIEW:
            (a,) = node.args
            if self.is_split(node):
                self.store(a)
                self.aliases[node] = a
            self.stages[node] = self.stages[a]
        else:
            stage = 0
            domain = self.domain(node if kind in COMPUTED else node.args[0])
            for i, a in enumerate(node.args):
                base, direct = self.source(a)
                if (kind is Kind.GATHER and i == 0) or (kind is Kind.SCATTER and self.rows):
                    self.store(a)
                    stage = max(stage, self.ready(a))
                    continue
                if self.kinds[base] is Kind.GIVEN:
                    continue
                if base in self.stored:
                    stage = max(stage, self.ready(base))
                elif self.is_same_loop(node, a, base, direct, domain):
                    stage = max(stage, self.stages[base])
                elif self.is_worth_storing(base, node, domain):
                    self.store(base)
                    stage = max(stage, self.ready(base))
                else:
                    stage = max(stage, self.stages[base])
            if kind is Kind.REDUCE:
                stage = self.reduction_stage(node, domain, stage)
            if kind not in COMPUTED or node in self.columns:
                self.stored[node] = None
            self.stages[node] = stage
        self.costs[node] = self.cost(node)

    def is_same_loop(self, node: Operation, a: Node, base: Node, direct: bool, domain: tuple[int, ...]) -> bool:
        """Whether an operand is computed at the same position of the same loop: no view in between, or one that stays
        within the row.
        """
        if self.domain(base) != domain:
            return False
        if not in_rows(base, self.rows):
            return direct and self.kinds[node] is not Kind.CHOICE
        while a is not base:
            assert isinstance(a, Operation)
            if not keeps_rows(a, self.rows):
                return False
            a = a.args[0]
        return self.kinds[node] is not Kind.CHOICE or keeps_rows(node, self.rows)

    def reduction_stage(self, node: Operation, domain: tuple[int, ...], stage: int) -> int:
        """One loop reduces along one set of axes: for others, what is dear to compute is stored by the first."""
        axes, operand = node.params["axis"], node.args[0]
        if self.reduced_along.setdefault((domain, stage), axes) == axes:
            return stage
        base, _ = self.source(operand)
        if base in self.stored or self.kinds[base] is Kind.GIVEN or self.is_cheap(base):
            return stage
        self.store(base)
        return max(stage, self.ready(base))

    def source(self, node: Node) -> tuple[Node, bool]:
        """What a value is read from when views are looked through, and whether there were none."""
        direct = True
        while self.kinds[node] is Kind.VIEW and node not in self.stored:
            if node in self.aliases:
                return self.aliases[node], False
            (node,) = node.args  # type: ignore[attr-defined]  # a view is an operation
            direct = False
        return node, direct

    def ready(self, node: Node) -> int:
        """The first stage at which a stored value can be read."""
        base, _ = self.source(node)
        if self.kinds[base] is Kind.GIVEN and node not in self.stored:
            return 0
        return self.stages[base] + 1

    def store(self, node: Node) -> None:
        """Keep a value in memory; views of what is in memory are kept as they are where that will do."""
        base = self.aliases.get(node)
        if base is not None:
            self.store(base)
        elif self.kinds[node] is not Kind.GIVEN and node not in self.stored:
            if self.kinds[node] is Kind.VIEW:
                base, _ = self.source(node)
                self.stages[node] = self.ready(base) if base in self.stored else self.stages[base]
            self.stored[node] = None

    def concrete(self, consumer: Operation, node: Node) -> None:
        """Keep an operand of a library call or a fallback in memory."""
        is_product = self.kinds[consumer] is Kind.LIBRARY and consumer.primitive is MATMUL
        if is_product and is_matrix_transpose(node) and self.kinds[node] is Kind.VIEW:
            node = node.args[0]  # type: ignore[attr-defined]  # BLAS reads it transposed
        if self.kinds[node] is Kind.VIEW and node not in self.aliases and is_reshape(node):
            self.store(node.args[0])  # type: ignore[attr-defined]  # a view is an operation
            self.aliases[node] = node.args[0]  # type: ignore[attr-defined]  # a view is an operation
            return
        self.store(node)

    def is_split(self, node: Operation) -> bool:
        """Whether a view cannot be followed by affine positions: a reshape that splits a looped axis."""
        if node.primitive is not RESHAPE:
            return False
        if self.is_tiny or (in_rows(node, self.rows) and in_rows(node.args[0], self.rows)):
            return False
        position = tuple([Affine(0, ((Counter(i, n), 1),)) for i, n in enumerate(node.shape)])
        return reshape_position(position, node.args[0].shape, node.shape) is None

    def is_worth_storing(self, base: Node, consumer: Node, domain: tuple[int, ...]) -> bool:
        """Whether a value that another loop needs is better kept than computed again there."""
        if self.is_tiny:
            return False
        if math.prod(domain) >= 2 * base.size:  # several positions of the loop need one element
            return self.costs[base] > (2 if base.size > 1 else 8)
        return self.uses[base] > 1 and not self.is_cheap(base)

    def cost(self, node: Operation) -> int:
        """What it costs to compute one element from what is given or stored."""
        if self.kinds[node] not in (*COMPUTED, Kind.VIEW):
            return 1
        bases = [self.source(a)[0] for a in node.args]
        inner = sum(1 if base in self.stored else self.costs[base] for base in bases)
        if self.kinds[node] is Kind.UNROLLED:
            inner *= max(node.args[0].size // max(node.size, 1), 1)
        return min(inner + operation_cost(node), 1 << 20)

    def is_cheap(self, node: Node) -> bool:
        return self.costs[node] <= (CHEAP if node.nbytes < BEYOND_CACHE else CHEAP_IF_LARGE)

    def late_uses(self) -> None:
        """Store what a later kernel of the same domain needs and would be dear to compute again."""
        if self.is_tiny:
            return
        for node in reversed(self.graph.operations):
            if self.kinds[node] not in COMPUTED or node in self.stored:
                continue
            stage = self.stages[node]
            later = any(self.stage_of_use(user) > stage for user in self.consumers.get(node, ()))
            if later and not self.is_cheap(node):
                self.stored[node] = None

    def stage_of_use(self, user: Operation) -> int:
        """When a value is read by a consumer, or by the consumers of a view of it."""
        if self.kinds[user] is not Kind.VIEW or user in self.stored:
            return self.stages[user]
        seen, stack, latest = {user}, [user], 0
        while stack:
            view = stack.pop()
            for consumer in self.consumers.get(view, ()):
                if self.kinds[consumer] is Kind.VIEW and consumer not in self.stored:
                    if consumer not in seen:
                        seen.add(consumer)
                        stack.append(consumer)
                else:
                    latest = max(latest, self.stages[consumer])
        return latest

    # Steps

    def ordered_steps(self) -> list[Any]:
        """Kernels, library calls and fallbacks, by stage."""
        kernels: dict[Any, Kernel] = {}
        others: list[tuple[int, Operation]] = []
        for node in self.stored:
            kind = self.kinds[node]
            if kind in (Kind.LIBRARY, Kind.FALLBACK):
                assert isinstance(node, Operation)
                others.append((self.stages[node], node))
            elif kind is Kind.SCATTER:
                assert isinstance(node, Operation)
                kernel = kernels[node] = Kernel(node.args[0].shape, self.stages[node])
                kernel.scatter = node
            elif kind is Kind.REDUCE:
                assert isinstance(node, Operation)
                operand = node.args[0]
                axes = tuple(i for i in node.params["axis"] if i < self.rank(operand))
                key = (self.domain(operand), self.stages[node], axes)
                kernels.setdefault(key, Kernel(key[0], key[1], axes)).reductions.append(node)
        for node in self.stored:
            kind = self.kinds[node]
            if kind in (Kind.LIBRARY, Kind.FALLBACK, Kind.OUTPUT, Kind.REDUCE, Kind.SCATTER):
                continue
            stage, domain = self.stages[node], self.domain(node)
            home = next(
                (k for k in kernels.values() if k.domain == domain and k.stage == stage and k.scatter is None), None
            )
            if home is None:
                home = kernels[domain, stage, ()] = Kernel(domain, stage)
            home.maps.append(node)
        steps: list[tuple[int, int, Any]] = [(k.stage, 0, k) for k in kernels.values()] + [
            (s, 1, node) for s, node in others
        ]
        steps.sort(key=lambda step: step[:2])
        return [step[2] for step in steps]
