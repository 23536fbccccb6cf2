"""What a graph costs: operations, bytes, flops, memory, and how large it would be as a tree."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from wengert.core.infer import is_elementwise
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.evaluation import remaining_uses
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

VIEWS = frozenset(
    ("reshape", "expand_dims", "transpose", "broadcast_to", "diagonal", "getitem", "flip", "split", "unstack", "stop_gradient", OUTPUT.name)
)
"""Operations that give the numbers of their argument again, and move none of them."""

MOVES = VIEWS | {
    "astype", "astype_discrete", "copy", "roll", "embed_diagonal", "tril", "triu", "concatenate", "stack", "pad", "full_like",
    "gather", "set_at", "winners", "positive", "real", "imag",
}  # fmt: skip
"""Operations that compute nothing."""

PER_ELEMENT = {
    "sum": 1, "mean": 1, "prod": 1, "max": 1, "min": 1, "all": 1, "any": 1, "count_nonzero": 1, "argmax": 1, "argmin": 1,
    "cumsum": 1, "cumprod": 1, "norm": 2, "logsumexp": 3,
}  # fmt: skip
"""Flops for each element of the argument."""


class Stats(NamedTuple):
    """What evaluating a graph in order costs. Each elementwise function counts as one flop for each element.

    `peak_memory` has the inputs and constants in it all the time, other values from when they are made to their last use.
    `tree_size` is the number of operations if nothing were shared: what the formula would have, written out.
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
            "written as a tree": f"{self.tree_size:,} operations" if self.tree_size < 10**15 else f"{_rounded(self.tree_size)} operations",
        }
        width = max(map(len, rows)) + 2
        return "\n".join([f"{name:<{width}}{value}" for name, value in rows.items()])


def stats(graph: Graph) -> Stats:
    """Counts over all operations of a graph."""
    read = written = flops = 0
    for node in graph.operations:
        flops += flops_of(node)
        if node.primitive.name not in VIEWS:
            read += sum([nbytes(a) for a in node.args])
            written += nbytes(node)
    names = Counter([node.primitive.name for node in graph.operations])
    by_name = dict(sorted(names.items(), key=lambda item: (-item[1], item[0])))
    return Stats(len(graph.operations), by_name, read, written, flops, peak_memory(graph), tree_size(graph))


def nbytes(node: Node) -> int:
    """The size of a value, of all its parts if it has several."""
    parts = [node.spec] if isinstance(node.spec, Spec) else node.spec
    return sum([spec.size * spec.dtype.itemsize for spec in parts])


def flops_of(node: Operation) -> int:
    """The arithmetic of one operation."""
    name = node.primitive.name
    if name in MOVES:
        return 0
    if name in PER_ELEMENT:
        return PER_ELEMENT[name] * node.args[0].size
    if name == "matmul":
        return 2 * node.size * node.args[0].shape[-1]
    if name == "einsum":
        terms = node.params["subscripts"].split("->")[0].split(",")
        extents = {letter: n for term, a in zip(terms, node.args, strict=True) for letter, n in zip(term, a.shape, strict=True)}
        return 2 * prod(extents.values())
    if name in ("scatter", "add_at"):
        return node.args[name == "add_at"].size if name == "add_at" or node.params["key"].repeats else 0
    if is_elementwise(node.primitive):
        return node.size
    return sum([spec.size for spec in ([node.spec] if isinstance(node.spec, Spec) else node.spec)])


def peak_memory(graph: Graph) -> int:
    """The most bytes that are held at one time. A view keeps what it is a view of, and holds nothing itself."""
    held = sum([nbytes(node) for node in (*graph.inputs, *graph.constants)])
    kept = {*graph.inputs, *graph.constants}
    uses = remaining_uses(graph)
    peak = held
    for node in graph.operations:
        if node.primitive.name not in VIEWS:
            held += nbytes(node)
            peak = max(peak, held)
        dead: list[Node] = [] if uses[node] else [node]
        for a in node.args:
            if node.primitive.name not in VIEWS:
                uses[a] -= 1
                dead += [a] * (not uses[a])
        held -= _freed(dead, uses, kept)
    return peak


def _freed(dead: list[Node], uses: dict[Node, int], kept: set[Node]) -> int:
    """The bytes that go with values that are used no more; with a view goes its hold on its argument."""
    freed = 0
    while dead:
        node = dead.pop()
        if isinstance(node, Operation) and node.primitive.name in VIEWS:
            uses[node.args[0]] -= 1
            dead += [node.args[0]] * (not uses[node.args[0]])
        elif node not in kept:
            freed += nbytes(node)
    return freed


def tree_size(graph: Graph) -> int:
    """The number of operations if every use of a value computed it anew: 1 + the sizes of the operands, for each output."""
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
