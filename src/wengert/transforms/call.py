"""A call of a function that is one operation to the tape, whatever it does inside: what custom rules and checkpoints
are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import SHAPED, Primitive, new_level
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.reverse import Tensor, is_traced, snapshot
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import Node, pull_back
from wengert.modes.taylor import Jet, Run, Series
from wengert.ops.shape.reshaping import broadcast_to

ARRAY = object()
"""Stands for an array among the leaves of the arguments."""


class Call:
    """The arguments of one call taken apart into arrays and the rest, and how to compute with them.

    `function` takes the arguments; `pull` turns cotangents of its results into those of the live arrays, `push`
    tangents the other way.
    """

    has_rule = False  # whether its derivative is another than that of the operations inside
    function: Callable
    structure_out: tree.Structure
    specs: list[Spec]

    def __init__(self, name: str, args: tuple):
        self.name = name
        leaves, self.structure = tree.flatten(args)
        self.arrays = [a for a in leaves if isinstance(a, SHAPED)]
        self.has_values = any(isinstance(a, Array) for a in self.arrays)
        self.leaves = [ARRAY if isinstance(a, SHAPED) else a for a in leaves]
        self.is_tracked = recording.recording() and any(
            x.node is not None for a in self.arrays for x in layers(a) if isinstance(x, Tensor)
        )

    def __call__(self, primitive: Primitive) -> Any:
        with recording.repeated(primitive.name):
            outs = primitive.op(*self.arrays, call=self)
        self.arrays = []  # the tape knows what to keep
        return tree.unflatten(self.structure_out, outs)

    def assemble(self, arrays: Iterable[Any], fixed: Callable[[Any], Any] = lambda a: a) -> tuple:
        """The arguments with these arrays in them."""
        rest = iter(arrays)
        return tree.unflatten(self.structure, [next(rest) if a is ARRAY else fixed(a) for a in self.leaves])

    def among_arrays(self, leaves: Sequence[Any]) -> list:
        """Those of the leaves that stand where the arguments have arrays."""
        return [leaf for leaf, a in zip(leaves, self.leaves, strict=True) if a is ARRAY]

    def run(self, x: Sequence[Any]) -> tuple:
        """The results on plain arrays.

        The function sees those of tensors as tensors without history, so that it cannot change them.
        """
        return self.plain(self.function(*self.assemble(tensors(x) if self.has_values else x)))

    def plain(self, out: Any) -> tuple:
        """The arrays in what the function returned, which must not have a history of its own."""
        outs = [bare(y) if isinstance(y, Array) else owned(y, self.name) for y in self.opened(out)]
        if any(isinstance(y, Array) for y in outs):
            raise self.hidden()
        return tuple(outs)

    def hidden(self) -> GradientError:
        return user_error(
            GradientError,
            f"{self.name} uses a tracked value that is not among its arguments",
            because="its gradient would be lost. Pass it as an argument, which may be a list or dict of arrays, or "
            "detach it.",
        )

    def opened(self, out: Any) -> list:
        """The leaves of what the function returned; how to put them back is remembered."""
        leaves, self.structure_out = tree.flatten(out)
        self.specs = [Spec.of(y) for y in leaves]
        return leaves

    def straight(self, x: Sequence[Any]) -> tuple:
        """The results on values of any mode, as if the function had been called without all this."""
        return tuple(self.opened(self.function(*self.assemble(x))))

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> Sequence[Any]:
        raise NotImplementedError  # each kind of call defines it

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        raise NotImplementedError  # each kind of call defines it

    def other_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple:
        """The results where the value of the highest level is not a tensor."""
        if isinstance(top, Symbol):
            if self.has_rule and top.extra is not None:
                top.extra.has_rules = True  # which the graph does not show
            return self.straight(x)
        if isinstance(top, Dual | Jet) and not recording.recording():
            below = [a.value if isinstance(a, Dual | Jet) and a.level == top.level else a for a in x]
            return primitive.op(*below, call=self)
        if isinstance(top, Dual):
            return self.closed(self.dual(top.level, x), top.level)
        if isinstance(top, Jet):
            return self.closed(self.jet(primitive, top, x), top.level)
        if isinstance(top, Batched):
            return self.closed(self.batched(primitive, top, x), top.level)
        if not self.has_rule:
            return self.straight(x)
        mine = tuple([isinstance(a, type(top)) and a.level == top.level for a in x])
        return top.process(
            primitive, top.level, tuple(x), {"call": self, "live": mine}
        )  # one operation, whatever the mode does with it

    def closed(self, outs: tuple, level: int) -> tuple:
        """Results inside which there is nothing of their own level: that would be a value which was captured."""
        for y in outs:
            parts = (
                [y.value, y.tangent]
                if isinstance(y, Dual)
                else y.series.terms
                if isinstance(y, Jet)
                else [getattr(y, "value", None)]
            )
            if any(isinstance(part, Array) and part.level >= level for part in parts):
                raise self.hidden()
        return outs

    def dual(self, level: int, x: Sequence[Any]) -> tuple:
        mine = [isinstance(a, Dual) and a.level == level for a in x]
        values = [a.value if m else a for a, m in zip(x, mine, strict=True)]
        tangents = [a.tangent if m else zeros(a) for a, m in zip(x, mine, strict=True)]
        outs, pushed = self.push(tensors(values, tangents), tensors(tangents, values))
        return tuple(
            [Dual(bare(y), bare(t), level) if is_smooth(y) else bare(y) for y, t in zip(outs, pushed, strict=True)]
        )

    def jet(self, primitive: Primitive, top: Jet, x: Sequence[Any]) -> tuple:
        """By `out' = push(x')`, on series that are shorter by one coefficient."""
        order, level = top.series.run.order, top.level
        run, inner = Run(order - 1), new_level()

        def coefficients(a: Any) -> list:
            if not (isinstance(a, Jet) and a.level == level):
                return [a] + [zeros(a)] * order
            return [zeros(a) if a.series[k] is None else a.series[k] for k in range(order + 1)]

        series = [coefficients(a) for a in x]
        if not order:
            return tuple(
                [Jet(Series(top.series.run, [y]), level) for y in primitive.op(*[c[0] for c in series], call=self)]
            )
        values = [Jet(Series(run, c[:-1]), inner) if is_smooth(c[0]) else c[0] for c in series]
        slopes = [Jet(Series(run, [(k + 1) * c[k + 1] for k in range(order)]), inner) for c in series]
        outs, pushed = self.push(values, slopes)
        results = []
        for y, slope in zip(outs, pushed, strict=True):
            first = y.value if isinstance(y, Jet) and y.level == inner else y
            terms = (
                [slope.series[k] for k in range(order)]
                if isinstance(slope, Jet) and slope.level == inner
                else [slope] + [None] * (order - 1)
            )
            scaled = [None if c is None else bare(c / (k + 1.0)) for k, c in enumerate(terms)]
            results.append(Jet(Series(top.series.run, [bare(first), *scaled]), level))
        return tuple(results)

    def batched(self, primitive: Primitive, top: Batched, x: Sequence[Any]) -> tuple:
        mine = [isinstance(a, Batched) and a.level == top.level for a in x]
        outs = primitive.op(
            *[a.value if m else a for a, m in zip(x, mine, strict=True)], call=BatchedCall(self, mine, len(top.value))
        )
        return tuple([Batched(y, top.level) for y in outs])


class BatchedCall(Call):
    """A call for each element of a batch, as one call on arrays that have the batch as their first axis."""

    def __init__(self, call: Call, mine: Sequence[bool], n: int):
        self.name, self.call, self.mine, self.n = call.name, call, mine, n

    def rows(self, x: Sequence[Any], mine: Sequence[bool], level: int) -> list:
        return [Batched(a, level) if m and a is not None else a for a, m in zip(x, mine, strict=True)]

    def whole(self, y: Any, level: int) -> Any:
        """All elements of a result, which need not depend on the batch."""
        return y.value if isinstance(y, Batched) and y.level == level else broadcast_to(y, (self.n, *np.shape(y)))

    def run(self, x: Sequence[Any]) -> tuple:
        return tuple(map(bare, self.straight(tensors(x))))

    def straight(self, x: Sequence[Any]) -> tuple:
        level = new_level()
        return tuple([self.whole(y, level) for y in self.call.straight(self.rows(x, self.mine, level))])

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list, list]:
        level = new_level()
        outs, pushed = self.call.push(self.rows(x, self.mine, level), self.rows(t, self.mine, level))
        return [self.whole(y, level) for y in outs], [self.whole(c, level) for c in pushed]

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        level = new_level()
        found = self.call.pull(self.rows(t, [True] * len(t), level), self.rows(x, self.mine, level), live)
        whole = [None if c is None else self.whole(c, level) for c in found]
        return [c if c is None or m else c.sum(axis=0) for c, m in zip(whole, self.mine, strict=True)]


def operation(name: str) -> Primitive:
    """The operation that a `Call` is to the tape: it keeps the arrays among the arguments, and nothing else."""
    primitive = Primitive(
        name,
        lambda *x, call, live: call.run(x),
        "general",
        ("*x",),
        vjp=lambda t, x, call, live: pulled(call, t, x, live),
        params={},
        outputs=0,
    )

    def op(*x: Any, call: Call, live: Any = None) -> tuple:
        top = max((a for a in x if isinstance(a, Array)), key=lambda a: a.level, default=None)
        if top is None:
            return call.run(x)
        if not isinstance(top, Tensor):
            return call.other_mode(primitive, top, x)
        live = tuple([isinstance(a, Tensor) and a.level == top.level and a.node is not None for a in x])
        outs = Tensor.process(primitive, top.level, x, {"call": call, "live": live})
        for y in outs:
            if isinstance(y.value, Array) and y.value.level >= top.level:
                raise call.hidden()
            if not is_smooth(y):
                y.node = None
        return outs

    primitive.op = op
    return primitive


def pulled(call: Call, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
    """The cotangents of a call; without history where the walk back is not recorded."""
    plain = not any(isinstance(v, Array) for v in (*t, *x))
    found = [None if c is None else bare(c) for c in call.pull(t, x, live)]
    return [c.value if plain and isinstance(c, Tensor) and not c.level else c for c in found]


class Transposed:
    """A linear function on a tape of its own: `inputs` are where it starts, and `transpose` pulls cotangents back to
    them.
    """

    def __init__(self, values: Sequence[Any]):
        self.level = new_level()
        self.nodes = [
            None if v is None else Node(None, {}, (), (), v) for v in values
        ]  # no leaves: these may be changed in place
        self.inputs = [
            None if v is None else Tensor(v, self.level, node) for v, node in zip(values, self.nodes, strict=True)
        ]

    def __enter__(self) -> Transposed:
        self.recorded = recording.enter(recording.Block({"enabled": True, "inference": False}))
        return self

    def __exit__(self, *exc: Any) -> None:
        recording.leave(self.recorded)

    def transpose(self, outs: Sequence[Any], t: Sequence[Any], arrived: dict[Node, Any] | None = None) -> list:
        """The cotangents of the inputs, None where there are none, on top of what has already `arrived` at their nodes."""
        seeds: dict[Node, Any] = dict(arrived or {})
        for y, c in zip(outs, t, strict=True):
            if c is not None and isinstance(y, Tensor) and y.level == self.level and y.node is not None:
                seeds[y.node] = seeds[y.node] + c if y.node in seeds else c
        found: dict[Node, Any] = {}
        pull_back(seeds, found.__setitem__)
        return [found.get(node) if node is not None else None for node in self.nodes]


def layers(x: Any) -> Iterable[Array]:
    """A value and those of lower level inside it."""
    while isinstance(x, Array):
        yield x
        x = x.value


def tensors(x: Sequence[Any], beside: Sequence[Any] = ()) -> list:
    """Plain arrays as tensors without history, which protect their numbers.

    Beside values of other modes, as arrays of their own.
    """
    if any(isinstance(a, Array) for a in (*x, *beside)):
        return [a.copy() if isinstance(a, np.ndarray) else a for a in x]
    return [Tensor(a) for a in x]


def bare(y: Any) -> Any:
    """The numbers of a tensor without history; in a trace, what it stands for there."""
    if isinstance(y, Tensor) and y.node is None and not y.level:
        return snapshot(y) if is_traced(y) else y.value
    return y


def owned(y: Any, name: str) -> Any:
    """A plain result as an array that nobody else can change."""
    array = np.array(y)
    if array.dtype.kind not in "biufc":
        raise user_error(
            TypeError, f"{name} returned a {type(y).__name__} where an array or a tree of arrays was needed"
        )
    return array[()] if not array.ndim else array


def is_smooth(x: Any) -> bool:
    """Whether a value can have a derivative."""
    return Spec.of(x).dtype.kind in "fc"


def zeros(x: Any) -> np.ndarray:
    spec = x if isinstance(x, Spec) else Spec.of(x)
    return np.zeros(spec.shape, spec.dtype)
