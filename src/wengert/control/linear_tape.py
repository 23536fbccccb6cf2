"""Linear functions, recorded to be transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.levels import is_own, new_level
from wengert.modes import recording
from wengert.modes.backward import backward_pass
from wengert.modes.tape import TapeNode
from wengert.modes.tensor import Tensor


class LinearTape:
    """A tape for one linear function: call it on `inputs`, and `transpose` pulls cotangents back to them."""

    def __init__(self, values: Sequence[Any]):
        self.level = new_level()
        self.nodes = [
            None if v is None else TapeNode(None, {}, (), (), v) for v in values
        ]  # inputs may change in place
        self.inputs = [
            None if v is None else Tensor(v, self.level, node) for v, node in zip(values, self.nodes, strict=True)
        ]

    def __enter__(self) -> LinearTape:
        self.recorded = recording.enter(recording.Block({"enabled": True, "inference": False}))
        return self

    def __exit__(self, *exc: Any) -> None:
        recording.leave(self.recorded)

    def transpose(self, outs: Sequence[Any], t: Sequence[Any], arrived: dict[TapeNode, Any] | None = None) -> list[Any]:
        """The cotangents of the inputs, None where there are none, added to those that `arrived` at their nodes."""
        seeds = list((arrived or {}).items())
        for y, c in zip(outs, t, strict=True):
            if c is not None and is_own(y, Tensor, self.level) and y.node is not None:
                seeds.append((y.node, c))
        found: dict[TapeNode, Any] = {}
        backward_pass(seeds, found.__setitem__)
        return [found.get(node) if node is not None else None for node in self.nodes]
