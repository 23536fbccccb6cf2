"""Checkpoints: compute again in the backward pass what would otherwise have to be kept.

A function under `checkpoint` is one node of the tape, which keeps only its arguments. The backward pass runs the
function again on a new tape, and pulls cotangents back through that. The other modes need no tape, and run the function
as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Never, ParamSpec, TypeVar

from wengert.control.call import Call, call_operation
from wengert.control.linear_tape import LinearTape
from wengert.control.values import as_tensors, strip_tensor
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import find_own, highest_value, new_level, payloads, strip_level
from wengert.core.primitive import Primitive, gives_constants
from wengert.modes import recording
from wengert.modes.tensor import Tensor, record_result, split_operands

__all__ = ["checkpoint", "checkpoint_sequential"]

Policy = Callable[[str], bool]
P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(f: Callable[P, R], policy: Policy | None = None, **foreign: Never) -> Callable[P, R]:
    """`f`, of which reverse mode keeps only the arguments, and which it runs again for the gradient.

    `f` must do the same each time it is called. `policy(name)` says whether to keep the results of an operation instead
    of computing them again, for example `lambda name: name == "matmul"`. Captured values have derivatives as arguments
    have; if `f` cannot be traced to find them, all its operations are recorded as without a checkpoint.

    >>> import numpy as np
    >>> x = Tensor(np.float64(2.0)).requires_grad_()
    >>> checkpoint(lambda x: np.sin(np.exp(x)))(x).backward()
    >>> bool(x.grad == np.cos(np.exp(2.0)) * np.exp(2.0))
    True
    """
    if foreign:
        refuse_keywords(foreign)
    name = getattr(f, "__name__", "function")

    @wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not recording.is_recording():
            return recording.as_read(f)(*args, **kwargs)
        call = Checkpoint(name, (args, kwargs), policy)
        call.function = lambda args, kwargs: recording.as_read(f)(*args, **kwargs)
        return call(CHECKPOINT)

    return checkpointed


CHECKPOINT = call_operation("checkpoint")


def checkpoint_sequential(functions: Sequence[Callable[..., Any]], segments: int, x: Any) -> Any:
    """Apply the functions to `x` one after the other, in `segments` checkpointed segments.

    Reverse mode keeps the input of each segment; the last segment is recorded in full.

    >>> import numpy as np
    >>> x = Tensor(np.float64(0.5)).requires_grad_()
    >>> checkpoint_sequential([np.sin, np.exp, np.sqrt], 2, x).backward()
    """
    if segments < 1:
        raise user_error(ValueError, f"checkpoint_sequential needs at least one segment, not {segments}")
    functions = list(functions)
    bounds = [len(functions) * i // segments for i in range(segments + 1)]
    parts = [functions[start:stop] for start, stop in zip(bounds, bounds[1:], strict=False)]
    for i, part in enumerate(parts):
        run = chain(part)
        x = run(x) if i == len(parts) - 1 else checkpoint(run)(x)
    return x


def chain(functions: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
    """The functions as one function, applied one after the other."""

    def segment(x: Any) -> Any:
        for f in functions:
            x = recording.as_read(f)(x)
        return x

    return segment


class Checkpoint(Call):
    """A call that runs again in the backward pass."""

    def __init__(self, name: str, args: tuple[Any, ...], policy: Policy | None = None):
        super().__init__(name, args)
        self.policy = policy
        self.kept: list[Results] = []  # of the run on plain arrays, for one backward pass that is not recorded

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        if self.policy is None:
            return super().run(x)
        level, results = new_level(), Results(self.policy)
        outs = self.flatten_results(self.evaluate([PolicyValue(a, level, results) for a in as_tensors(x)]))
        self.kept = [results]
        return self.strip_results(tree.unflatten(self.structure_out, [strip_level(y, level) for y in outs]))

    def in_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple[Any, ...]:
        return self.in_reverse_mode(primitive, top, x) if isinstance(top, Tensor) else self.run_inline(x)

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        plain = not any(isinstance(v, Array) for v in (*t, *x))
        specs = self.specs
        with LinearTape([v if alive else None for v, alive in zip(x, live, strict=True)]) as tape:
            inputs = [i if i is not None else v for v, i in zip(as_tensors(x, t), tape.inputs, strict=True)]
            if plain and self.kept:
                level, results = new_level(), self.kept.pop().replay()
                outs = [
                    strip_level(y, level) for y in self.run_inline([PolicyValue(a, level, results) for a in inputs])
                ]
            else:
                outs = list(self.run_inline(inputs))
            if self.specs != specs:
                raise user_error(
                    GradientError,
                    f"{self.name} gave {self.specs} when it ran again for the gradient, and {specs} before",
                )
            return tape.transpose(outs, t)


class Results:
    """The results of the operations that a policy chose, in the order in which they ran."""

    def __init__(self, policy: Policy, outs: Iterable[Any] | None = None):
        self.policy = policy
        self.outs: list[Any] = []
        self.replayed = None if outs is None else iter(outs)

    def replay(self) -> Results:
        """The same results, for a second run."""
        return Results(self.policy, self.outs)

    def compute(self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
        if not self.policy(primitive.name):
            return primitive.op(*values, **params)
        if self.replayed is None:
            out = primitive.op(*values, **params)
            self.outs.append(tuple(map(strip_tensor, out)) if primitive.outputs != 1 else strip_tensor(out))
            return out
        out = next(self.replayed)
        top = highest_value(values)
        if top is None:
            return out
        assert isinstance(top, Tensor)  # the second run is always recorded
        return record_result(primitive, top.level, params, *split_operands(values, top.level), out)


class PolicyValue(Array):
    """A value in a function with a policy: operations on it are computed by `results`."""

    __slots__ = ()

    def __init__(self, value: Any, level: int, results: Results):
        self.value, self.level, self.extra = value, level, results

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        own = find_own(args, PolicyValue, level)
        results = next(a.extra for a, mine in zip(args, own, strict=True) if mine)
        out = results.compute(primitive, payloads(args, own), params)
        if gives_constants(primitive):
            return out
        if primitive.outputs == 1:
            return PolicyValue(out, level, results)
        return tuple([PolicyValue(o, level, results) for o in out])
