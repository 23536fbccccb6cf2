"""Operations that hold a function: one call of it is one operation, whatever the function does inside.

Custom rules, checkpoints, integrals and compiled functions are such operations. A `Call` defines how it runs in each
mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.control.closures import CapturedValues, Closure
from wengert.control.values import as_tensors, is_smooth, strip_tensor, to_owned
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import find_own, is_own, iterate_payloads, new_level, payloads, strip_level
from wengert.core.primitive import SHAPED, Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.batch import Batched, bind_axis
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet, Run, Series
from wengert.modes.tensor import Tensor
from wengert.ops.shape.reshaping import broadcast_to

ARRAY = object()
"""Stands for an array among the leaves of the arguments."""


class Call:
    """One call: its arguments, split into arrays and the rest, and how it runs in each mode.

    `function` takes the arguments. `pull` maps cotangents of the results to cotangents of the live arrays, `push` maps
    tangents of the arrays to tangents of the results. If the function turns out to capture values of some mode, it is
    closed: these values become the last arrays.
    """

    has_rule = False  # whether its derivative differs from that of the operations inside
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
        self.closures: dict[str, Closure] = {}
        self.known: Sequence[Any] | None = None  # results of the run that found captured values

    def __call__(self, primitive: Primitive) -> Any:
        with recording.repeating(primitive.name):
            try:
                outs = primitive.op(*self.arrays, call=self)
            except CapturedValues as found:
                outs = self.run_closed(primitive, found)
        self.arrays = []  # the tape keeps what it needs
        return tree.unflatten(self.structure_out, outs)

    def run_closed(self, primitive: Primitive, found: CapturedValues) -> tuple[Any, ...]:
        """The results with captured values as further arrays; operation by operation if it cannot be traced."""
        try:
            self.close()
        except (TrackedValueError, GradientError) as error:
            if self.has_rule:
                raise self.captured_error() from error
            return self.run_inline(self.arrays)
        self.is_tracked, self.known = has_history(self.arrays), found.known
        outs: tuple[Any, ...] = primitive.op(*self.arrays, call=self)
        self.known = None
        return outs

    def close(self) -> None:
        """Close the functions that the call holds."""
        self.close_over("function", self.assemble(self.arrays))

    def close_over(self, name: str, args: tuple[Any, ...]) -> None:
        """Close one of the functions, for arguments like these."""
        self.closures[name] = Closure(getattr(self, name), args, self.name, self.arrays)

    def held(self, name: str, x: Sequence[Any]) -> Callable[..., Any]:
        """One of the functions, where the arrays of the call are x."""
        function: Callable[..., Any] = self.closures[name].bind(x) if name in self.closures else getattr(self, name)
        return function

    def evaluate(self, x: Sequence[Any]) -> Any:
        """What the function returns, where the arrays of the call are x."""
        return self.held("function", x)(*self.assemble(x))

    def assemble(self, arrays: Iterable[Any], fixed: Callable[[Any], Any] = lambda a: a) -> tuple[Any, ...]:
        """The arguments with these arrays in them; `fixed` is applied to the other leaves."""
        rest = iter(arrays)
        leaves = [next(rest) if a is ARRAY else fixed(a) for a in self.leaves]
        args: tuple[Any, ...] = tree.unflatten(self.structure, leaves)
        return args

    def select_arrays(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves at the positions where the arguments have arrays."""
        return [leaf for leaf, a in zip(leaves, self.leaves, strict=True) if a is ARRAY]

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on plain arrays.

        If there were tensors among the arguments, the function gets tensors without history, whose memory it cannot
        change.
        """
        if self.known is not None:
            return tuple(self.flatten_results(tree.unflatten(self.structure_out, self.known)))
        return self.strip_results(self.evaluate(as_tensors(x) if self.has_values else x))

    def strip_results(self, out: Any) -> tuple[Any, ...]:
        """The plain arrays in what the function returned."""
        outs = [strip_tensor(y) if isinstance(y, Array) else to_owned(y, self.name) for y in self.flatten_results(out)]
        if any(isinstance(y, Array) for y in outs):
            raise CapturedValues(outs)
        return tuple(outs)

    def captured_error(self) -> GradientError:
        """The error for a function that captures a tracked value, and cannot be traced to find it."""
        return user_error(
            GradientError,
            f"{self.name} uses a tracked value that is not among its arguments, and cannot be traced to find it",
            because="its gradient would be lost. Pass it as an argument, which may be a list or dict of arrays, or "
            "detach it.",
        )

    def flatten_results(self, out: Any) -> list[Any]:
        """The leaves of what the function returned; their structure and specs are stored."""
        leaves, self.structure_out = tree.flatten(out)
        self.specs = [Spec.of(y) for y in leaves]
        return leaves

    def run_inline(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on values of any mode, as if the function had been called directly."""
        return tuple(self.flatten_results(self.evaluate(x)))

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> Sequence[Any]:
        """The cotangents of the arrays x, for cotangents t of the results; each kind of call defines it."""
        raise NotImplementedError  # each kind defines it

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The results at x and their tangents, for tangents t of x; each kind of call defines it."""
        raise NotImplementedError  # each kind defines it

    def in_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on values, of which `top` has the highest level."""
        if isinstance(top, Tensor):
            return self.in_reverse_mode(primitive, top, x)
        if isinstance(top, Symbol):
            return self.in_graph(primitive, top, x)
        if isinstance(top, Dual | Jet) and not recording.is_recording():
            return tuple(primitive.op(*[strip_level(a, top.level) for a in x], call=self))
        if isinstance(top, Dual):
            return self.find_captured(self.in_forward_mode(top.level, x), top.level)
        if isinstance(top, Jet):
            return self.find_captured(self.in_taylor_mode(primitive, top, x), top.level)
        if isinstance(top, Batched):
            return self.find_captured(self.in_batched_mode(primitive, top, x), top.level)
        if not self.has_rule:
            return self.run_inline(x)
        live = tuple(find_own(x, type(top), top.level))
        return tuple(top.process(primitive, top.level, tuple(x), {"call": self, "live": live}))

    def in_graph(self, primitive: Primitive, top: Symbol, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results as symbols.

        A graph that an operation holds is differentiated itself, so a call with a rule is one operation in it. In other
        graphs, which are traced again for a derivative, there are the operations of the function.
        """
        if not self.has_rule or top.extra is None:
            return self.run_inline(x)
        if not top.extra.is_held:
            top.extra.has_rules = True  # the graph does not show them
            return self.run_inline(x)
        if not self.is_closed:
            raise CapturedValues
        return tuple(top.process(primitive, top.level, tuple(x), {"call": self}))

    @property
    def is_closed(self) -> bool:
        """Whether the functions of the call are graphs."""
        return bool(self.closures)

    def result_specs(self) -> list[Spec]:
        """The specs of the results of a closed call."""
        closed = self.closures["function"].closed
        self.structure_out, self.specs = closed.result, [node.spec for node in closed.body.outputs]
        return self.specs

    def token(self) -> str:
        """A string that is equal for closed calls that do the same."""
        graphs = [f"{name} {c.start} {c.closed.body.fingerprint}" for name, c in self.closures.items()]
        return f"{type(self).__name__} {self.structure!r} {' '.join(graphs)}"

    def __repr__(self) -> str:
        return f"<call of {self.name}>"

    def in_reverse_mode(self, primitive: Primitive, top: Tensor, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results as tensors, with one node for the whole call."""
        live = tuple([is_own(a, Tensor, top.level) and a.node is not None for a in x])
        outs: tuple[Tensor, ...] = Tensor.process(primitive, top.level, tuple(x), {"call": self, "live": live})
        for y in outs:
            if isinstance(y.value, Array) and y.value.level >= top.level:
                raise CapturedValues
            if not is_smooth(y):
                y.node = None
        return outs

    def find_captured(self, outs: tuple[Any, ...], level: int) -> tuple[Any, ...]:
        """The results; if one has a payload of their own level, that comes from a captured value."""
        for y in outs:
            if isinstance(y, Dual):
                parts = [y.value, y.tangent]
            else:
                parts = y.series.coefficients if isinstance(y, Jet) else [getattr(y, "value", None)]
            if any(isinstance(part, Array) and part.level >= level for part in parts):
                raise CapturedValues
        return outs

    def in_forward_mode(self, level: int, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results as duals, by `push`."""
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
        """The results as jets: `push` of series that are one coefficient shorter gives their derivative."""
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
        """The results as batches, by one call on arrays with a batch axis."""
        own = find_own(x, Batched, top.level)
        outs = primitive.op(*payloads(x, own), call=BatchedCall(self, own, len(top.value), name_of_level(top.level)))
        return tuple([Batched(y, top.level) for y in outs])


class BatchedCall(Call):
    """The calls of all elements of a batch, as one call on arrays whose first axis is the batch, named or not."""

    def __init__(self, call: Call, mine: Sequence[bool], n: int, axis_name: str | None):
        self.name, self.call, self.mine, self.n, self.axis_name = call.name, call, mine, n, axis_name
        self.has_rule = call.has_rule

    @property
    def is_closed(self) -> bool:
        return self.call.is_closed

    def result_specs(self) -> list[Spec]:
        self.specs = [Spec((self.n, *spec.shape), spec.dtype) for spec in self.call.result_specs()]
        self.structure_out = self.call.structure_out
        return self.specs

    def token(self) -> str:
        return f"batch of {self.n} {self.axis_name} {self.mine} {self.call.token()}"

    def as_batches(self, x: Sequence[Any], mine: Sequence[bool], level: int) -> list[Any]:
        return [Batched(a, level) if m and a is not None else a for a, m in zip(x, mine, strict=True)]

    def strip_batch(self, y: Any, level: int) -> Any:
        """All elements of a result; one that does not depend on the batch is repeated."""
        return y.value if is_own(y, Batched, level) else broadcast_to(y, (self.n, *np.shape(y)))

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(map(strip_tensor, self.run_inline(as_tensors(x))))

    def run_inline(self, x: Sequence[Any]) -> tuple[Any, ...]:
        level = new_level()
        with bind_axis(self.axis_name, level, self.n):
            outs = self.call.run_inline(self.as_batches(x, self.mine, level))
        return tuple([self.strip_batch(y, level) for y in outs])

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        level = new_level()
        with bind_axis(self.axis_name, level, self.n):
            outs, pushed = self.call.push(self.as_batches(x, self.mine, level), self.as_batches(t, self.mine, level))
        return [self.strip_batch(y, level) for y in outs], [self.strip_batch(c, level) for c in pushed]

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        level = new_level()
        given = self.as_batches(t, [True] * len(t), level)
        with bind_axis(self.axis_name, level, self.n):
            found = self.call.pull(given, self.as_batches(x, self.mine, level), live)
        whole = [None if c is None else self.strip_batch(c, level) for c in found]
        return [c if c is None or m else c.sum(axis=0) for c, m in zip(whole, self.mine, strict=True)]


def call_in_mode(primitive: Primitive, top: Array, x: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A call on values, of which `top` has the highest level."""
    if (trace := recording.capturing_trace(top.level, x)) is not None:
        return trace.run(primitive, x, params)
    return params["call"].in_mode(primitive, top, x)


def call_operation(name: str) -> Primitive:
    """An operation that holds a function, which it gets as a `Call`; its nodes keep the arrays among the arguments."""
    return Primitive(
        Definition(
            name=name,
            impl=lambda *x, call, live=None: call.run(x),
            kind="general",
            inputs=("*x",),
            takes_params=True,
            outputs=0,
            spec=lambda *_, call, live=None: tuple(call.result_specs()),  # a parameter of the operation
            vjp=lambda t, x, call, live: pull_call(call, t, x, live),
            in_mode=call_in_mode,
        )
    )


def has_history(arrays: Sequence[Any]) -> bool:
    """Whether a gradient may be asked for with respect to one of these values."""
    return recording.is_recording() and any(
        x.node is not None for a in arrays for x in iterate_payloads(a) if isinstance(x, Tensor)
    )


def pull_call(call: Call, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
    """The cotangents of a call, without history where the backward pass is not recorded."""
    plain = not any(isinstance(v, Array) for v in (*t, *x))
    found = [None if c is None else strip_tensor(c) for c in call.pull(t, x, live)]
    return [c.value if plain and isinstance(c, Tensor) and not c.level else c for c in found]
