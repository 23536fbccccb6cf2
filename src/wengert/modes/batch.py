"""Batched mode: Batched, a batch of values of one shape that are computed together.

The batch is the first axis of the payload; a program sees one element. Each operation runs once for the whole batch, by
its entry of the aspect `batching`, or in a loop.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.axis_names import AXES, NamedAxis, name_of_level
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.foreign_keywords import refuse_size_call
from wengert.core.kinds import keep_params
from wengert.core.levels import find_own, numpy_of, payloads
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.batching import Params, align_axes, batching, default_rule
from wengert.modes.guards import note_change
from wengert.ops.shape.joining import stack, unstack


class Batched(Array):
    """A batch of values; `shape` and `ndim` are those of one element."""

    __slots__ = ()

    def __init__(self, value: Any, level: int):
        self.value, self.level, self.extra = value, level, None

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: Params) -> Any:
        if recording.active and (trace := recording.capturing_trace(level)) is not None:
            return trace.run(primitive, args, params)
        collect = primitive.definition.collect
        if collect is not None and name_of_level(level) == params["axis_name"]:
            return collect(args[0].value)
        own = find_own(args, Batched, level)
        out = run_batch(primitive, payloads(args, own), own, params)
        return Batched(out, level) if primitive.outputs == 1 else tuple([Batched(o, level) for o in out])

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape[1:]
        return shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        refuse_size_call(sys._getframe(1))
        return math.prod(self.shape)

    @property
    def is_live(self) -> bool:
        return False  # batches have derivatives at other levels only

    def _plain(self, what: str) -> np.ndarray:
        raise user_error(
            TrackedValueError,
            f"{what} needs one number or array, but under vmap this value is a batch of {self.value.shape[0]}",
            "Use an operation of wengert or NumPy instead; to choose between values, wg.where(condition, x, y).",
        )

    def __bool__(self) -> bool:
        return bool(self._plain("The truth of a value (`if`, `while`, `and`, `or`, `not`)"))

    def numpy(self) -> np.ndarray:
        return self._plain("numpy()")

    def item(self, *_index: Any) -> Any:
        return self._plain("item()")

    def tolist(self) -> Any:
        return self._plain("tolist()")

    def __format__(self, spec: str) -> str:
        return format(self._plain(f"A number in the format {spec!r}") if spec and self.size == 1 else repr(self), spec)

    def detach(self) -> Batched:
        """The same batch without its derivatives at lower levels."""
        return Batched(self.value.detach() if isinstance(self.value, Array) else self.value, self.level)

    def __repr__(self) -> str:
        return f"batched({self.value!r})"


class bind_axis:
    """A block in which a name stands for a batch axis; nothing for the name None.

    Without a level, elements run one by one in the block.
    """

    __slots__ = ("axis", "token")

    def __init__(self, name: str | None, level: int | None, size: int = 0):
        self.axis = None if name is None else NamedAxis(name, level, size)

    def __enter__(self) -> None:
        if self.axis is not None:
            self.token = AXES.set((self.axis, *AXES.get()))
            note_change()

    def __exit__(self, *exc: Any) -> None:
        if self.axis is not None:
            AXES.reset(self.token)
            note_change()


def run_batch(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], params: Params) -> Any:
    """Run an operation on all elements; `mine` says which values have the batch as their first axis."""
    if primitive.kind == "elementwise" or primitive.definition.batch is keep_params:  # most operations
        return primitive.op(*align_axes(values, mine), **params)
    rule = batching.entries.get(primitive) or default_rule(primitive)
    n = next(v.shape[0] for v, m in zip(values, mine, strict=True) if m)
    out = rule(primitive, values, mine, n, params) if rule else None
    return run_in_loop(primitive, values, mine, n, params) if out is None else out


def run_in_loop(primitive: Primitive, values: Sequence[Any], mine: Sequence[bool], n: int, params: Params) -> Any:
    """Run an operation on one element after the other; for an empty batch on zeros, for the shape of the result."""
    if "reuse" in params:
        params = params | {"reuse": False}
    if n:
        rows = zip(*[unstack(v) if m else repeat(v) for v, m in zip(values, mine, strict=True)], strict=False)
        outs = [primitive.op(*row, **params) for row in rows]
        join: Callable[[Any], Any] = lambda results: stack_results(primitive, results)
    else:
        outs = [
            primitive.op(
                *[numpy_of(v).zeros(v.shape[1:], v.dtype) if m else v for v, m in zip(values, mine, strict=True)],
                **params,
            )
        ]
        join = lambda results: numpy_of(results[0]).zeros((0, *Spec.of(results[0]).shape), Spec.of(results[0]).dtype)
    return join(outs) if primitive.outputs == 1 else tuple(map(join, zip(*outs, strict=True)))


def stack_results(primitive: Primitive, outs: Sequence[Any]) -> Any:
    """The results for the elements as one batch."""
    shapes = {Spec.of(out).shape for out in outs}
    if len(shapes) > 1:
        raise user_error(
            ValueError,
            f"{primitive.name} has results of different shapes, {' and '.join(map(str, sorted(shapes)))}, for elements "
            f"of one batch",
            "Under vmap a shape cannot depend on numbers; wg.where can choose between values of one shape.",
        )
    return stack(outs)
