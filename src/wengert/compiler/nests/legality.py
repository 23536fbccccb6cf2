"""What may be decided: one function for each kind of decision, from the accesses of a nest alone.

Each returns why a decision is refused, or None. Nothing else asks whether something may be done; whether it pays is the
business of a policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from wengert.compiler.forms.gather import Written
from wengert.compiler.nests.body_stages import find_stages
from wengert.compiler.nests.borders import Borders
from wengert.compiler.nests.decisions import Decision, Kind, find
from wengert.compiler.nests.nest import Nest
from wengert.core import machine

Rule = Callable[[Nest, Decision, Sequence[Decision]], str | None]


def lanes(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Elements at neighbouring indices are computed at once: none of them may wait for another one."""
    order, (_, axis, amount) = nest.order, new
    if order.is_fixed:
        return "its additions have lanes of their own"
    if axis in nest.axes:
        return "it is reduced, and its terms are added one by one"
    if axis not in nest.innermost_axes() or (find(others, "rows") and axis != nest.slice_axes[-1]):
        return "what is written to one element would change its order"
    if axis == order.scatter_axis and (amount > order.grain or len(kept_axes(nest, others)) > 1):
        return "its loop is cut into pieces"
    if amount & (amount - 1) or not 1 < amount <= nest.domain[axis]:
        return f"it has {nest.domain[axis]} elements, and lanes are a power of two"
    if 8 * amount * len(nest.nodes) > machine.current.max_stack_bytes_of_lanes:
        return "the values of all lanes need too much memory"
    return None


def outer(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Another axis has the outermost loop: the order of what is added to one element must stay."""
    chosen = find(others, "lanes")
    if nest.kernel.scatters:
        return "what is written to one element would change its order"
    if new.axis not in kept_axes(nest, ()) or (chosen is not None and chosen.axis == new.axis):
        return "it is reduced, or has the lanes"
    return None


def segments(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Bodies for the parts between borders: the nest has borders, and whole vectors between them."""
    if (refusal := has_borders(nest, new, others)) is not None:
        return refusal
    amount = decided_lanes(others).amount
    return None if Borders(nest, new.axis, amount).whole_vectors(1) else "no whole vector is between two borders"


def overlap(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Vectors that overlap at borders: nothing counts elements twice, and threads do not share the axis."""
    if (refusal := has_borders(nest, new, others)) is not None:
        return refusal
    borders = Borders(nest, new.axis, decided_lanes(others).amount)
    shared = find(others, "threads")
    if nest.kernel.folds:
        return "elements that are computed twice would be added twice"
    if shared is not None and shared.axis == new.axis:
        return "threads share its loop"
    return None if len(borders.segments) > len(borders.gaps) and len(borders.segments) > 1 else "no segment is long"


def block(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Sums of columns on the stack: each lane has a sum of its own."""
    chosen = find(others, "lanes")
    if not (nest.kernel.reductions and nest.axes) or nest.outer or nest.order.cuts:
        return "it has no sums of columns in one piece"
    if chosen is None or chosen.axis != new.axis or chosen.axis in nest.axes:
        return "the lanes are not along the columns"
    if find(others, "segments") or find(others, "overlap"):
        return "its loop has several bodies"
    if any(node.dtype.kind == "b" for node in nest.kernel.reductions):
        return "lanes are bits, which have no addresses"
    return None


def tile(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Neighbours along an axis side by side: each has sums of its own, and what all of them read is read once.

    The last tile may begin within the one before it: the same sums are computed and stored twice.
    """
    chosen = find(others, "lanes")
    if nest.outer or nest.kernel.scatters or not (nest.kernel.reductions and nest.axes):
        return "nothing is folded in its loops"
    if new.axis not in kept_axes(nest, ()) or (chosen is not None and chosen.axis == new.axis):
        return "it is reduced, or has the lanes"
    if not 1 < new.amount <= nest.domain[new.axis]:
        return f"it has {nest.domain[new.axis]} elements"
    if any(find(others, kind) for kind in ("segments", "overlap", "block", "stages")):
        return "its loop has several bodies"
    return None


def stages(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Long functions before the rest: all of the body has lanes, in the innermost loop, without borders."""
    chosen = find(others, "lanes")
    if chosen is None or chosen.axis != new.axis or not is_innermost(nest, new.axis):
        return "its loop is not the innermost one, with lanes"
    if nest.kernel.scatters or nest.outer or find(others, "segments") or find(others, "overlap"):
        return "its loop has several bodies"
    return None if find_stages(nest, new.axis) else "its body has no stages"


def rows(nest: Nest, new: Decision, _: Sequence[Decision]) -> str | None:
    """Rows of a scatter: its last axes are those of slices, within which targets differ."""
    is_last = bool(nest.slice_axes) and new.axis == nest.slice_axes[-1]
    return None if is_last else "its elements may have one target"


def threads(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Threads share a loop: no two iterations write one element, or each piece has sums of its own."""
    order, scatter = nest.order, nest.kernel.scatter
    if nest.outer:
        return "the loop over rows is outside of it"
    if find(others, "ranges"):
        return "threads share the result"
    if order.cuts:
        return None if new.axis == next(iter(order.cuts)) else "the pieces are along another axis"
    if scatter is not None and order.scatter_axis is not None:
        return None if new.axis == order.scatter_axis else "the pieces are along another axis"
    if new.axis != outermost_axis(nest, others):
        return "its loop is not the outermost one"
    if scatter is not None and not writes_along_loop(nest, new.axis, others):
        return "several of its iterations may write one element"
    steps = [d.amount for d in others if d.kind in ("lanes", "tile") and d.axis == new.axis]
    if any(new.amount % step for step in steps):
        return "a part would end inside a vector, or a tile"
    return "threads share the interior" if (found := find(others, "overlap")) and found.axis == new.axis else None


def ranges(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Each thread takes what belongs to its part of the result: always right, as each writes its own elements."""
    if nest.kernel.scatter is None or nest.order.scatter_axis is not None:
        return "it has no scatter that threads could share so"
    if find(others, "threads"):
        return "threads share the loop"
    return None if new.axis == 0 else "the outermost axis stands for the whole result"


RULES: dict[Kind, Rule] = {
    "lanes": lanes, "outer": outer, "segments": segments, "overlap": overlap, "block": block, "tile": tile,
    "stages": stages, "rows": rows, "threads": threads, "ranges": ranges,
}  # fmt: skip


def refuse(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Why a decision may not be added to others; None if it may: each of them may stand beside all others then."""
    if new.axis not in nest.inner_axes:
        return "the nest has no such axis"
    if find(others, new.kind):
        return "it was decided before"
    if (refusal := RULES[new.kind](nest, new, others)) is not None:  # type: ignore[index]  # a kind of its own
        return refusal
    for other in others:
        beside = [new, *[d for d in others if d is not other]]
        if other not in given(nest) and (refusal := RULES[other.kind](nest, other, beside)) is not None:  # type: ignore[index]  # a kind of its own
            return f"{other} would not be possible: {refusal}"
    return None


AMOUNTS: dict[Kind, tuple[int, ...]] = {
    "lanes": (2, 4, 8, 16), "segments": (1, 2, 3), "block": (1, 2, 3), "tile": (2, 3, 4), "stages": (1, 2, 4),
    "threads": (1, 2, 4, 8, 16), "ranges": (1, 2, 5),
}  # fmt: skip
"""Amounts that are tried; the other kinds have none."""


def legal(nest: Nest, decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions that may be added to others."""
    tried = [Decision(kind, axis, n) for kind in RULES for axis in nest.inner_axes for n in AMOUNTS.get(kind, (0,))]
    return [d for d in tried if refuse(nest, d, decisions) is None]


def given(nest: Nest) -> list[Decision]:
    """The decisions that a nest has from the beginning: the lanes of its order of additions."""
    order = nest.order
    return [Decision("lanes", order.axis, order.lanes)] if order.is_fixed and order.axis is not None else []


# What the rules ask


def kept_axes(nest: Nest, decisions: Sequence[Decision]) -> list[int]:
    """The axes that are not reduced, the outermost first."""
    first, last, rows = find(decisions, "outer"), find(decisions, "lanes"), find(decisions, "rows")
    inside = nest.slice_axes if rows is not None else ()
    is_first = lambda i: first.axis == i if first is not None else i == nest.order.scatter_axis
    key = lambda i: (not is_first(i), i in inside, last is not None and i == last.axis)
    return sorted([i for i in nest.inner_axes if i not in nest.axes], key=key)


def reduced_axes(nest: Nest) -> list[int]:
    """The axes that are reduced, the outermost first: their order is that of the additions."""
    return sorted([i for i in nest.inner_axes if i in nest.axes], key=lambda i: i == nest.order.axis)


def outermost_axis(nest: Nest, decisions: Sequence[Decision]) -> int | None:
    """The kept axis whose loop is the outermost one with several steps."""
    kept = kept_axes(nest, decisions)
    return next(iter([*[i for i in kept if nest.domain[i] > 1], *kept]), None)


def is_innermost(nest: Nest, axis: int) -> bool:
    """Whether an axis with lanes has the innermost loop: reduced axes are inside of the others."""
    return axis in nest.axes or not nest.axes


def writes_along_loop(nest: Nest, axis: int, decisions: Sequence[Decision]) -> bool:
    """Whether the outermost loop of a scatter runs along an axis of the result."""
    inside = nest.slice_axes if find(decisions, "rows") is not None else ()
    position, extent = nest.counted_position[0], nest.domain[0]
    targets = [Written.by(node).target(node.shape, nest.counted_position).axes[0] for node in nest.kernel.scatters]
    is_along = all(target.affine == position and target.extent == extent for target in targets)
    return axis == 0 and is_along and 0 not in inside


def row_count(nest: Nest, decisions: Sequence[Decision]) -> int:
    """The number of rows of the result of a scatter; of its elements, if it does not write rows."""
    node = nest.kernel.scatter
    assert node is not None
    return node.size // row_length(nest, decisions)


def row_length(nest: Nest, decisions: Sequence[Decision]) -> int:
    """The number of elements of the result of a scatter in a row; one if it does not write rows."""
    node = nest.kernel.scatter
    if node is None or find(decisions, "rows") is None:
        return 1
    return math.prod(node.shape[node.ndim - len(nest.slice_axes) :])


def decided_lanes(decisions: Sequence[Decision]) -> Decision:
    """The decision on lanes, which is known to be there."""
    found = find(decisions, "lanes")
    assert found is not None
    return found


def has_borders(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Why the axis of lanes has no borders between which bodies could be."""
    chosen = find(others, "lanes")
    if chosen is None or chosen.axis != new.axis:
        return "it has no lanes"
    if nest.kernel.scatters or nest.schedule.is_tiny or find(others, "block") or find(others, "stages"):
        return "its loop has one body"
    if find(others, "segments") or find(others, "overlap"):
        return "its bodies are decided"
    return None if Borders(nest, new.axis, chosen.amount).are_there else "it has no borders"
