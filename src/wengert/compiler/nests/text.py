"""Nests as text: loops with their decisions, one line for each value that is computed, and the order of additions.

    for i0 in 0..300, threads 1:
      fold along i1 in 0..200, lanes 8:
        %3[i0, i1] = exp(%0[i0, i1])
        %4[i0] sum= %3[i0, i1]        8 lanes along i1

Values have the numbers of their nodes in the graph. Views are not shown: what they show is read where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wengert.compiler.forms.affine import Affine, Position
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import IndexedPosition, Written, gather_source
from wengert.compiler.nests.body_stages import find_sources
from wengert.compiler.nests.cost import Cost, show_seconds
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.nests.legality import kept_axes, reduced_axes
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.policy import Comparison
from wengert.graph.ir import Constant, Node, Operation


def show_nest(nest: Nest, decisions: Sequence[Decision] = ()) -> str:
    """A nest as text, with the decisions beside the loops that they are about."""
    return "\n".join(NestText(nest).lines(decisions))


def show_cost(found: Cost, choices: Sequence[Comparison]) -> str:
    """The cost of a nest, and what it would take with the next best decision, where that matters most.

    >>> show_cost(Cost(instructions=2e-6), [])
    'takes 2 us, limited by instructions'
    """
    text, ranked = f"takes {found}", sorted(choices, key=lambda choice: choice.gain)
    best = next((choice for choice in reversed(ranked) if choice.other is not None), None)
    if best is None or best.other is None:
        return text
    taken, other = best.taken.decisions, best.other.decisions
    kept, instead = [", ".join([str(d) for d in x if d not in y]) for x, y in ((taken, other), (other, taken))]
    how = f"without {kept}" if not instead else f"with {instead}" + (f" in place of {kept}" if kept else "")
    return f"{text}; {show_seconds(best.other.cost.seconds)} {how}"


class NestText:
    """The lines of one nest; values have the numbers of their nodes in the graph."""

    def __init__(self, nest: Nest):
        self.nest = nest
        self.numbers: Mapping[Node, int] = nest.schedule.numbers

    def lines(self, decisions: Sequence[Decision]) -> Iterator[str]:
        """The loops, the outermost first, and the body."""
        nest = self.nest
        outside = list(range(nest.outer))
        loops = [*outside, *kept_axes(nest, decisions), *reduced_axes(nest)]
        for depth, axis in enumerate(loops):
            how = "".join(f", {d.kind}{f' {d.amount}' if d.amount else ''}" for d in decisions if d.axis == axis)
            what = "fold along" if axis in nest.axes else "for"
            yield f"{'  ' * depth}{what} i{axis} in 0..{nest.domain[axis]}{how}:"
        yield from ("  " * len(loops) + line for line in self.body())

    def body(self) -> Iterator[str]:
        """What is computed and stored, each after what it is computed from."""
        nest = self.nest
        stored = {(node, position) for node in nest.kernel.maps for position in nest.stored_positions(node)}
        roots = nest.scattered_elements() or nest.root_elements()
        for node, position in find_sources(roots, nest.sources):
            is_seen = nest.sources.is_stored(node) or nest.schedule.forms[node] is Form.VIEW
            if not is_seen or (node, position) in stored:
                order = nest.schedule.axis_orders.get(node)
                layout = "" if order is None else f"        axes {', '.join(map(str, order))} in memory"
                yield f"{self.element(node, position)} = {self.expression(node, position)}{layout}"
        for node in (*nest.kernel.reductions, *nest.kernel.sums):
            for inner in nest.inner_positions(node.args[0]):
                position = nest.position(node.args[0]) + inner
                kept = [i for k, i in enumerate(position) if k not in node.params["axis"]]
                term = self.element(*self.behind_views(node.args[0], position))
                yield f"{self.name(node, kept)} {node.primitive.name}= {term}{self.order()}"
        for node in nest.kernel.scatters:
            by = Written.by(node)
            target = self.indexed(node, by.target(node.shape, nest.counted_position), by.indices)
            value = self.element(*self.behind_views(by.value, by.value_position(nest.counted_position)))
            pieces = "" if nest.order.scatter_axis is None else f"        in pieces along i{nest.order.scatter_axis}"
            yield f"{target} {'+' if by.adds else ''}= {value}{pieces}"

    def order(self) -> str:
        """The order of the additions of reductions."""
        order = self.nest.order
        parts = [] if order.axis not in self.nest.axes else [f"{order.lanes} lanes along i{order.axis}"]
        parts += [f"{order.accumulators} accumulators"] if order.accumulators > 1 else []
        parts += [f"{count} pieces along i{axis}" for axis, count in order.cuts.items()]
        return f"        {', '.join(parts)}" if parts else ""

    def expression(self, node: Node, position: Position) -> str:
        """What an element is computed from."""
        nest = self.nest
        assert isinstance(node, Operation)
        if nest.schedule.forms[node] is Form.GATHER:
            return self.indexed(node.args[0], gather_source(node, position), node.args[1:])
        if nest.schedule.forms[node] is Form.CHOICE:
            reads = nest.sources.reads(node, position)
            parts = [None if r.operand is None else (node.args[r.operand], r.position) for r in reads]
            return " or ".join("0" if e is None else self.element(*self.behind_views(*e)) for e in parts)
        operands = ", ".join(self.element(*self.behind_views(*e)) for e in nest.sources.sources(node, position))
        return f"{node.primitive.name}({operands})"

    def behind_views(self, node: Node, position: Position) -> Element:
        """The element that views show."""
        while not self.nest.sources.is_stored(node) and self.nest.schedule.forms[node] is Form.VIEW:
            ((node, position),) = self.nest.sources.sources(node, position)
        return node, position

    def indexed(self, array: Node, at: IndexedPosition, indices: Sequence[Node]) -> str:
        """An element at computed indices."""
        elements = iter(self.nest.sources.index_elements(indices, at))
        parts = [show_affine(a.affine) if a.affine is not None else self.element(*next(elements)) for a in at.axes]
        return f"%{self.numbers.get(array, '?')}[{', '.join(parts)}]"

    def element(self, node: Node, position: Position) -> str:
        """A value at a position, or a number that is part of the program."""
        if isinstance(node, Constant) and node.size == 1:
            return f"{node.value}"
        return self.name(node, position)

    def name(self, node: Node, position: Sequence[Affine]) -> str:
        """A value at a position."""
        return f"%{self.numbers.get(node, '?')}[{', '.join(map(show_affine, position))}]"


def show_affine(index: Affine) -> str:
    """An affine function of counters.

    >>> from wengert.compiler.forms.affine import Affine, Counter
    >>> show_affine(Affine(-1, ((Counter(0, 9), 2), (Counter(1, 9), -1))))
    '2*i0 - i1 - 1'
    """
    text = ""
    for counter, k in index.terms:
        sign = " - " if k < 0 else " + "
        text += f"{sign}{'' if abs(k) == 1 else f'{abs(k)}*'}i{counter.axis}"
    if index.constant or not text:
        text += f"{' - ' if index.constant < 0 else ' + '}{abs(index.constant)}"
    return text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" - ") else text.removeprefix(" + ")
