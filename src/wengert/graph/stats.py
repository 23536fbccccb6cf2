"""What a graph costs: operations, bytes, flops, memory, and how large it would be as a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from wengert.core.aspects import Aspect
from wengert.core.infer import is_elementwise
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.evaluation import remaining_uses
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

flops: Aspect[Callable[[Operation], int]] = Aspect(
    "flops",
    "the arithmetic of one node, where it is not one flop for each element",
    rest="one for each element, or none",
)


class Stats(NamedTuple):
    """What evaluating a graph in order costs. Each elementwise function counts as one flop for each element.

    `peak_memory` has the inputs and constants in it all the time, other values from when they are made to their last
    use. `tree_size` is the number of operations if nothing were shared: what the formula would have, written out.
    """

    operations: int
    by_name: dict[str, int]
    bytes_read: int
    bytes_written: int
    flops: int
    peak_memory: int
    tree_size: int

    def __str__(self) -> str:
        kinds = ", ".join([f"{count} {name}" for name, count in self.by_name.items()])
        rows = {
            "operations": f"{self.operations:,}" + (f" ({kinds})" if kinds else ""),
            "bytes read": _bytes(self.bytes_read),
            "bytes written": _bytes(self.bytes_written),
            "flops": f"{self.flops:,}",
            "peak memory": _bytes(self.peak_memory),
            "written as a tree": f"{self.tree_size:,} operations"
            if self.tree_size < 10**15
            else f"{_rounded(self.tree_size)} operations",
        }
        width = max(map(len, rows)) + 2
        return "\n".join([f"{name:<{width}}{value}" for name, value in rows.items()])


def stats(graph: Graph) -> Stats:
    """Counts over all operations of a graph."""
    read = written = arithmetic = 0
    for node in graph.operations:
        arithmetic += flops_of(node)
        if not node.primitive.facts.view:
            read += sum([nbytes(a) for a in node.args])
            written += nbytes(node)
    names = Counter([node.primitive.name for node in graph.operations])
    by_name = dict(sorted(names.items(), key=lambda item: (-item[1], item[0])))
    return Stats(len(graph.operations), by_name, read, written, arithmetic, peak_memory(graph), tree_size(graph))


def nbytes(node: Node) -> int:
    """The size of a value, of all its parts if it has several."""
    parts = [node.spec] if isinstance(node.spec, Spec) else node.spec
    return sum([spec.size * spec.dtype.itemsize for spec in parts])


def flops_of(node: Operation) -> int:
    """The arithmetic of one operation."""
    if node.primitive.facts.moves:
        return 0
    if (count := flops.of(node.primitive)) is not None:
        return count(node)
    if is_elementwise(node.primitive):
        return node.size
    return sum([spec.size for spec in ([node.spec] if isinstance(node.spec, Spec) else node.spec)])


def per_element(count: int) -> Callable[[Operation], int]:
    """So many flops for each element of the argument."""
    return lambda node: count * node.args[0].size


def peak_memory(graph: Graph) -> int:
    """The most bytes that are held at one time. A view keeps what it is a view of, and holds nothing itself."""
    held = sum([nbytes(node) for node in (*graph.inputs, *graph.constants)])
    kept = {*graph.inputs, *graph.constants}
    uses = remaining_uses(graph)
    peak = held
    for node in graph.operations:
        if not node.primitive.facts.view:
            held += nbytes(node)
            peak = max(peak, held)
        dead: list[Node] = [] if uses[node] else [node]
        for a in node.args:
            if not node.primitive.facts.view:
                uses[a] -= 1
                dead += [a] * (not uses[a])
        held -= _freed(dead, uses, kept)
    return peak


def _freed(dead: list[Node], uses: dict[Node, int], kept: set[Node]) -> int:
    """The bytes that go with values that are used no more; with a view goes its hold on its argument."""
    freed = 0
    while dead:
        node = dead.pop()
        if isinstance(node, Operation) and node.primitive.facts.view:
            uses[node.args[0]] -= 1
            dead += [node.args[0]] * (not uses[node.args[0]])
        elif node not in kept:
            freed += nbytes(node)
    return freed


def tree_size(graph: Graph) -> int:
    """The number of operations if every use of a value computed it anew: 1 + the sizes of the operands, for each
    output.
    """
    sizes: dict[Node, int] = {}
    for node in graph.operations:
        own = node.primitive is not OUTPUT
        sizes[node] = own + sum([sizes.get(a, 0) for a in node.args])
    return sum([sizes.get(node, 0) for node in graph.outputs])


def _rounded(count: int) -> str:
    """About how many, of numbers that may be too large for a float."""
    digits = str(count) if count < 10**4000 else None
    if digits is None:
        return f"about 2^{count.bit_length() - 1}"
    return f"about {digits[0]}.{digits[1]}e{len(digits) - 1}"


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"
