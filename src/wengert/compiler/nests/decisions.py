"""Decisions: how the loops of a nest run. They are data, and no legal list of them changes a result.

| kind | axis | amount |
|---|---|---|
| `lanes` | the axis of SIMD lanes, whose loop is the innermost one | lanes |
| `outer` | the axis whose loop is the outermost one | - |
| `segments` | that of the lanes: its longest parts between borders have bodies of their own, without guards | parts |
| `overlap` | that of the lanes: all such parts do, vectors overlap at their ends, elements between are single | - |
| `block` | that of the lanes: sums of columns are on the stack, while rows are read in the order of memory | vectors |
| `tile` | one that is kept, without lanes: neighbours along it are folded side by side | elements |
| `stages` | that of the lanes: long functions are computed for some vectors, then the rest | vectors |
| `rows` | the last one of a scatter: what its slices select is written as rows | - |
| `threads` | the outermost axis: threads share its loop, or its pieces | the least part |
| `ranges` | the outermost axis of a scatter: threads share its result, and each runs the whole loop | the least part |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from wengert.compiler.nests.nest import Nest
from wengert.core.machine.record import Machine

Kind = Literal["lanes", "outer", "segments", "overlap", "block", "tile", "stages", "rows", "threads", "ranges"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GridKind = Literal["along", "tile", "strips", "lanes", "rows", "steps", "group", "pieces"]
"""The kinds of decisions about the threads of a GPU (`grid_legality.py`)."""


class Decision(NamedTuple):
    """One decision about the loop over an axis."""

    kind: Kind | GridKind
    axis: int
    amount: int = 0

    def __str__(self) -> str:
        return f"{self.kind}{f' {self.amount}' if self.amount else ''} along i{self.axis}"


Policy = Callable[[Nest, Machine], Sequence[Decision]]
"""What decides: the same nest on the same machine has the same decisions. Those that are given may be left out."""


def find(decisions: Sequence[Decision], kind: Kind | GridKind) -> Decision | None:
    """The decision of a kind; there is at most one."""
    return next((d for d in decisions if d.kind == kind), None)
