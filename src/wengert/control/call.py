"""Operations that hold a function: one call of it is one operation, whatever the function does inside.

Custom rules, checkpoints, integrals and compiled functions are such operations. A `Call` says once how it runs in each mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.control.values import as_tensors, is_smooth, strip_tensor, to_owned
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import find_own, is_own, layers, new_level, payloads, strip_level
from wengert.core.primitive import SHAPED, Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet, Run, Series
from wengert.modes.tensor import Tensor
from wengert.ops.shape.reshaping import broadcast_to

ARRAY = object()
"""Stands for an array among the leaves of the arguments."""


class Call:
    """The arguments of one call taken apart into arrays and the rest, and how to compute with them.

    `function` takes the arguments; `pull` turns cotangents of its results into those of the live arrays, `push`
    tangents the other way.
    """

    has_rule = False  # whether its derivative is another than that of the operations inside
    function: Callable[..., Any]
    structure_out: tree.Structure
    specs: list[Spec]

    def __init__(self, name: str, args: tuple[Any, ...]):
        self.name = name
        leaves, self.structure = tree.flatten(args)
        self.arrays = [a for a in leaves if isinstance(a, SHAPED)]
        self.has_values = any(isinstance(a, Array) for a in self.arrays)
        self.leaves = [ARRAY if isinstance(a, SHAPED) else a for a in leaves]
        self.is_tracked = has_history(self.arrays)

    def __call__(self, primitive: Primitive) -> Any:
        with recording.repeated(primitive.name):
            outs = primitive.op(*self.arrays, call=self)
        self.arrays = []  # the tape knows what to keep
        return tree.unflatten(self.structure_out, outs)

    def assemble(self, arrays: Iterable[Any], fixed: Callable[[Any], Any] = lambda a: a) -> tuple[Any, ...]:
        """The arguments with these arrays in them."""
        rest = iter(arrays)
        return tree.unflatten(self.structure, [next(rest) if a is ARRAY else fixed(a) for a in self.leaves])

    def select_arrays(self, leaves: Sequence[Any]) -> list[Any]:
        """Those of the leaves that stand where the arguments have arrays."""
        return [leaf for leaf, a in zip(leaves, self.leaves, strict=True) if a is ARRAY]

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on plain arrays.

        The function sees those of tensors as tensors without history, so that it cannot change them.
        """
        return self.strip_results(self.function(*self.assemble(as_tensors(x) if self.has_values else x)))

    def strip_results(self, out: Any) -> tuple[Any, ...]:
        """The arrays in what the function returned, which must not have a history of its own."""
        outs = [strip_tensor(y) if isinstance(y, Array) else to_owned(y, self.name) for y in self.flatten_results(out)]
        if any(isinstance(y, Array) for y in outs):
            raise self.captured_error()
        return tuple(outs)

    def captured_error(self) -> GradientError:
        return user_error(
            GradientError,
            f"{self.name} uses a tracked value that is not among its arguments",
            because="its gradient would be lost. Pass it as an argument, which may be a list or dict of arrays, or "
            "detach it.",
        )

    def flatten_results(self, out: Any) -> list[Any]:
        """The leaves of what the function returned; how to put them back is remembered."""
        leaves, self.structure_out = tree.flatten(out)
        self.specs = [Spec.of(y) for y in leaves]
        return leaves

    def run_inline(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on values of any mode, as if the function had been called without all this."""
        return tuple(self.flatten_results(self.function(*self.assemble(x))))

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> Sequence[Any]:
        raise NotImplementedError  # each kind of call defines it

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        raise NotImplementedError  # each kind of call defines it

    def in_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on values, of which `top` has the highest level: how the operation runs in each mode."""
        if isinstance(top, Tensor):
            return self.in_reverse_mode(primitive, top, x)
        if isinstance(top, Symbol):
            if self.has_rule and top.extra is not None:
                top.extra.has_rules = True  # which the graph does not show
            return self.run_inline(x)
        if isinstance(top, Dual | Jet) and not recording.is_recording():
            return primitive.op(*[strip_level(a, top.level) for a in x], call=self)
        if isinstance(top, Dual):
            return self.refuse_captured(self.in_forward_mode(top.level, x), top.level)
        if isinstance(top, Jet):
            return self.refuse_captured(self.in_taylor_mode(primitive, top, x), top.level)
        if isinstance(top, Batched):
            return self.refuse_captured(self.in_batched_mode(primitive, top, x), top.level)
        if not self.has_rule:
            return self.run_inline(x)
        live = tuple(find_own(x, type(top), top.level))
        return top.process(primitive, top.level, tuple(x), {"call": self, "live": live})  # whatever that mode does

    def in_reverse_mode(self, primitive: Primitive, top: Tensor, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results as tensors, with one node for the whole call."""
        live = tuple([is_own(a, Tensor, top.level) and a.node is not None for a in x])
        outs = Tensor.process(primitive, top.level, tuple(x), {"call": self, "live": live})
        for y in outs:
            if isinstance(y.value, Array) and y.value.level >= top.level:
                raise self.captured_error()
            if not is_smooth(y):
                y.node = None
        return outs

    def refuse_captured(self, outs: tuple[Any, ...], level: int) -> tuple[Any, ...]:
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
                raise self.captured_error()
        return outs

    def in_forward_mode(self, level: int, x: Sequence[Any]) -> tuple[Any, ...]:
        values = [strip_level(a, level) for a in x]
        tangents = [a.tangent if is_own(a, Dual, level) else zeros_like(a) for a in x]
        outs, pushed = self.push(as_tensors(values, tangents), as_tensors(tangents, values))
        return tuple(
            [
                Dual(strip_tensor(y), strip_tensor(t), level) if is_smooth(y) else strip_tensor(y)
                for y, t in zip(outs, pushed, strict=True)
            ]
        )

    def in_taylor_mode(self, primitive: Primitive, top: Jet, x: Sequence[Any]) -> tuple[Any, ...]:
        """By `out' = push(x')`, on series that are shorter by one coefficient."""
        order, level = top.series.run.order, top.level
        run, inner = Run(order - 1), new_level()

        def coefficients(a: Any) -> list[Any]:
            if not is_own(a, Jet, level):
                return [a] + [zeros_like(a)] * order
            return [zeros_like(a) if a.series[k] is None else a.series[k] for k in range(order + 1)]

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
            varies = is_own(slope, Jet, inner)
            terms = [slope.series[k] for k in range(order)] if varies else [slope] + [None] * (order - 1)
            scaled = [None if c is None else strip_tensor(c / (k + 1.0)) for k, c in enumerate(terms)]
            results.append(Jet(Series(top.series.run, [strip_tensor(strip_level(y, inner)), *scaled]), level))
        return tuple(results)

    def in_batched_mode(self, primitive: Primitive, top: Batched, x: Sequence[Any]) -> tuple[Any, ...]:
        own = find_own(x, Batched, top.level)
        outs = primitive.op(*payloads(x, own), call=BatchedCall(self, own, len(top.value)))
        return tuple([Batched(y, top.level) for y in outs])


class BatchedCall(Call):
    """A call for each element of a batch, as one call on arrays that have the batch as their first axis."""

    def __init__(self, call: Call, mine: Sequence[bool], n: int):
        self.name, self.call, self.mine, self.n = call.name, call, mine, n

    def rows(self, x: Sequence[Any], mine: Sequence[bool], level: int) -> list[Any]:
        return [Batched(a, level) if m and a is not None else a for a, m in zip(x, mine, strict=True)]

    def whole(self, y: Any, level: int) -> Any:
        """All elements of a result, which need not depend on the batch."""
        return y.value if is_own(y, Batched, level) else broadcast_to(y, (self.n, *np.shape(y)))

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(map(strip_tensor, self.run_inline(as_tensors(x))))

    def run_inline(self, x: Sequence[Any]) -> tuple[Any, ...]:
        level = new_level()
        return tuple([self.whole(y, level) for y in self.call.run_inline(self.rows(x, self.mine, level))])

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        level = new_level()
        outs, pushed = self.call.push(self.rows(x, self.mine, level), self.rows(t, self.mine, level))
        return [self.whole(y, level) for y in outs], [self.whole(c, level) for c in pushed]

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        level = new_level()
        found = self.call.pull(self.rows(t, [True] * len(t), level), self.rows(x, self.mine, level), live)
        whole = [None if c is None else self.whole(c, level) for c in found]
        return [c if c is None or m else c.sum(axis=0) for c, m in zip(whole, self.mine, strict=True)]


def call_operation(name: str) -> Primitive:
    """An operation that holds a function, which it gets as a `Call`. A node keeps the arrays among its arguments."""
    return Primitive(
        Definition(
            name=name,
            impl=lambda *x, call, live=None: call.run(x),
            kind="general",
            inputs=("*x",),
            takes_params=True,
            outputs=0,
            vjp=lambda t, x, call, live: pull_call(call, t, x, live),
            in_mode=lambda primitive, top, x, params: params["call"].in_mode(primitive, top, x),
        )
    )


def has_history(arrays: Sequence[Any]) -> bool:
    """Whether a gradient may be asked for with respect to one of these values."""
    return recording.is_recording() and any(
        x.node is not None for a in arrays for x in layers(a) if isinstance(x, Tensor)
    )


def pull_call(call: Call, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
    """The cotangents of a call; without history where the backward pass is not recorded."""
    plain = not any(isinstance(v, Array) for v in (*t, *x))
    found = [None if c is None else strip_tensor(c) for c in call.pull(t, x, live)]
    return [c.value if plain and isinstance(c, Tensor) and not c.level else c for c in found]
